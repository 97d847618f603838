package match

import (
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// GeminiListing is the id of the normaliser for the tree of the working folder
// that Gemini CLI shows its model: the default store stands in it while a run
// is recorded, and not where a file with that run is tested. In the match key
// the tree is as if there were no store.
const GeminiListing = "gemini-listing@1"

const (
	sessionContext = "<session_context>" // what the text with the tree begins with
	storeFolder    = ".reprise/"

	branchNext = "├───" // in front of an entry that others of its folder follow
	branchLast = "└───"
	lineNext   = "│   " // in front of what is within such an entry
	lineLast   = "    "
)

// withoutStore returns a request whose trees do not show the store, and
// whether any did.
func withoutStore(v canon.Value) (canon.Value, bool) {
	return reach(v, []string{"contents", "*", "parts", "*", "text"}, func(x canon.Value) (canon.Value, bool) {
		s := x.Str()
		if !strings.HasPrefix(s, sessionContext) || !strings.Contains(s, storeFolder) {
			return x, false
		}
		out := prune(s)
		return canon.String(out), out != s
	})
}

// prune takes the folders of stores out of the trees in s.
func prune(s string) string {
	lines := strings.Split(s, "\n")
	for i := 0; i < len(lines); i++ {
		indent, rest, ok := splitBranch(lines[i])
		if !ok || strings.TrimSuffix(rest[len(branchNext):], "...") != storeFolder {
			continue
		}
		within := indent + lineNext
		last := strings.HasPrefix(rest, branchLast)
		if last {
			within = indent + lineLast
		}
		end := i + 1
		for end < len(lines) && strings.HasPrefix(lines[end], within) {
			end++
		}
		lines = append(lines[:i], lines[end:]...)
		if last {
			endAt(lines[:i], indent)
		}
		i--
	}
	return strings.Join(lines, "\n")
}

// endAt makes the last entry at an indent the last one of its folder.
func endAt(lines []string, indent string) {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, ok := strings.CutPrefix(lines[i], indent)
		switch {
		case ok && strings.HasPrefix(rest, lineNext):
			lines[i] = indent + lineLast + rest[len(lineNext):]
		case ok && strings.HasPrefix(rest, branchNext):
			lines[i] = indent + branchLast + rest[len(branchNext):]
			return
		default:
			return
		}
	}
}

// splitBranch splits a line of a tree before what stands in front of its entry.
func splitBranch(line string) (indent, rest string, ok bool) {
	rest = line
	for strings.HasPrefix(rest, lineNext) || strings.HasPrefix(rest, lineLast) {
		if strings.HasPrefix(rest, lineNext) {
			rest = rest[len(lineNext):]
		} else {
			rest = rest[len(lineLast):]
		}
	}
	return line[:len(line)-len(rest)], rest, strings.HasPrefix(rest, branchNext) || strings.HasPrefix(rest, branchLast)
}
