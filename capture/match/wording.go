package match

import (
	"regexp"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Ids of the normalisers for what agents tell their model of a command beside
// its output. They look at the strings to which their pointers lead and at the
// words that the agent itself writes around the output there: an output that
// differs is another request.
const (
	// GeminiProcesses is about the numbers of processes. {pid:n} stands for
	// the n-th different one of a request, so that which of them are the same
	// still counts.
	GeminiProcesses = "gemini-processes@1"
	// CodexTimes is about how long a command took and the mark of its output;
	// {time} and {mark} stand for them.
	CodexTimes = "codex-times@1"
	// ClaudeAgents is about the ids of the agents that Claude Code starts and
	// how long they took. {agent:n} stands for the n-th different one of a
	// request.
	ClaudeAgents = "claude-agents@1"
	// GooseTurns is about the time of day that goose puts behind what a person
	// said, in the block in which it names the folder too, and about the ids of
	// the agents that it starts. {time} and {agent} stand for them.
	GooseTurns = "goose-turns@1"
	// OpencodeTasks is about the ids of the agents that opencode starts.
	// {agent:n} stands for the n-th different one of a request.
	OpencodeTasks = "opencode-tasks@1"
)

// wording is words that an agent writes around something that is drawn anew.
type wording struct {
	steps []string // to the strings
	at    *regexp.Regexp
	names []string // what stands for each group; one that ends in : is counted
	ends  string   // with this some string ends in every body that it changes; may be empty
}

// wordings returns those of a normaliser; none if it is no such one.
func wordings(id string) []wording {
	switch id {
	case GeminiProcesses:
		output := []string{"contents", "*", "parts", "*", "functionResponse", "response", "output"}
		return []wording{
			// The last lines behind the output of a command, and all that is
			// said of one that was sent to the background.
			{output, regexp.MustCompile(`\n(?:Background PIDs: (\d+(?:, \d+)*)\n)?Process Group PGID: (\d+)(?:\n</untrusted_context>)?\z`), []string{"pid:", "pid:"}, ""},
			{output, regexp.MustCompile(`\A(?:<untrusted_context>\n)?Command moved to background \(PID: (\d+)\)\. `), []string{"pid:"}, ""},
			{output, regexp.MustCompile(`\A(?:<untrusted_context>\n)?Command is running in background\. PID: (\d+)\. `), []string{"pid:"}, ""},
		}
	case CodexTimes:
		const number = `(\d+(?:\.\d+)?)`
		// The lines in front of an output: of a script, which has them in a
		// part of its own, and of a command, which is one text.
		script := regexp.MustCompile(`\AScript [^\n]+\nWall time ` + number + ` seconds\nOutput:\n\z`)
		command := regexp.MustCompile(`\A(?:Chunk ID: ([0-9a-f]+)\n|Exit code: -?\d+\n)?Wall time: ` + number + ` seconds\n`)
		return []wording{
			{[]string{"input", "*", "output", "*", "text"}, script, []string{"time"}, ""},
			{[]string{"input", "*", "output"}, command, []string{"mark", "time"}, ""},
		}
	case ClaudeAgents:
		// The lines behind the report of an agent.
		return []wording{{
			[]string{"messages", "*", "content", "*", "content", "*", "text"},
			regexp.MustCompile(`\nagentId: ([0-9a-z]+) \(use SendMessage with to: '([0-9a-z]+)'[^\n]*\)(?:\n<usage>subagent_tokens: \d+\ntool_uses: \d+\nduration_ms: (\d+)</usage>)?\z`),
			[]string{"agent:", "agent:", "time"},
			"",
		}}
	case GooseTurns:
		return gooseTurns()
	case OpencodeTasks:
		return opencodeTasks()
	default:
		return nil
	}
}

// gooseTurns returns the wordings of [GooseTurns], for each dialect that goose
// speaks.
func gooseTurns() (list []wording) {
	const end = "</turn-context>"
	turn := regexp.MustCompile(`(?:\A|\n)<turn-context>\n<current-time>([^<\n]+)</current-time>\n(?:[^\n]*\n)*` + end + `\z`)
	agent := regexp.MustCompile(`\ASubagent ID: (\d{8}_\d+)\n\n`)
	for _, steps := range [][]string{
		{"input", "*", "content", "*", "text"},    // responses
		{"messages", "*", "content", "*", "text"}, // messages
		{"messages", "*", "content"},              // chat completions
		{"contents", "*", "parts", "*", "text"},   // generateContent
	} {
		list = append(list, wording{steps, turn, []string{"time"}, end}, wording{steps, agent, []string{"agent"}, end})
	}
	return list
}

// opencodeTasks returns the wordings of [OpencodeTasks], for each dialect that
// opencode speaks.
func opencodeTasks() (list []wording) {
	const end = "</task>"
	task := regexp.MustCompile(`\A<task id="ses_([0-9A-Za-z]+)" state="(?s:.*)` + end + `\z`)
	for _, steps := range [][]string{
		{"input", "*", "output"},                                                   // responses
		{"messages", "*", "content", "*", "content"},                               // messages
		{"messages", "*", "content", "*", "content", "*", "text"},                  // the same
		{"messages", "*", "content"},                                               // chat completions
		{"contents", "*", "parts", "*", "functionResponse", "response", "content"}, // generateContent
	} {
		list = append(list, wording{steps, task, []string{"agent:"}, end})
	}
	return list
}

// wordIn finds what is counted in a group: one word, or those of a list.
var wordIn = regexp.MustCompile(`[0-9A-Za-z]+`)

// replace returns s with stand-ins in the place of the groups. Seen numbers
// what is counted.
func (w *wording) replace(s string, seen map[string]int) (string, bool) {
	m := w.at.FindStringSubmatchIndex(s)
	if m == nil {
		return s, false
	}
	out, from := "", 0
	for i, name := range w.names {
		a, z := m[2*i+2], m[2*i+3]
		if a < 0 {
			continue
		}
		with := "{" + name + "}"
		if name[len(name)-1] == ':' {
			with = wordIn.ReplaceAllStringFunc(s[a:z], func(n string) string {
				if seen[n] == 0 {
					seen[n] = len(seen) + 1
				}
				return "{" + name + strconv.Itoa(seen[n]) + "}"
			})
		}
		out += s[from:a] + with
		from = z
	}
	return out + s[from:], true
}

// reword returns v with the stand-ins of all wordings.
func reword(v canon.Value, list []wording) (canon.Value, bool) {
	seen, some := map[string]int{}, false
	for i := range list {
		var hit bool
		v, hit = reach(v, list[i].steps, func(x canon.Value) (canon.Value, bool) {
			s, ok := x.AsString()
			if !ok {
				return x, false
			}
			s, ok = list[i].replace(s, seen)
			return canon.String(s), ok
		})
		some = some || hit
	}
	return v, some
}
