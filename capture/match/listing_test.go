package match_test

import (
	"strconv"
	"testing"

	"github.com/reprise-dev/reprise/capture/match"
)

// Gemini CLI begins with a tree of its working folder, in which the default
// store stands while it is recorded. Where the recording is tested from a file
// there is none.
func TestStoreInTheTreeOfGeminiIsLeftOut(t *testing.T) {
	t.Parallel()
	request := func(tree string) string {
		return `{"contents":[{"role":"user","parts":[{"text":` + strconv.Quote("<session_context>\n- **Directory Structure:**\n\n/home/user/agent/\n"+tree+"\n\n</session_context>") + `}]},{"role":"user","parts":[{"text":"hi"}]}]}`
	}
	const inStore = "│   ├───reprise.db\n│   └───spool/\n│       └───one/\n"
	for _, c := range []struct {
		name, without, with string
		same                bool
	}{
		{"in the middle", "├───a.txt\n├───src/\n│   └───b.go\n└───z/", "├───a.txt\n├───.reprise/\n" + inStore + "├───src/\n│   └───b.go\n└───z/", true},
		{"the first", "└───src/\n    └───b.go", "├───.reprise/\n" + inStore + "└───src/\n    └───b.go", true},
		{"the last", "├───a.txt\n└───.git/\n    ├───x/\n    │   └───y\n    └───z", "├───a.txt\n├───.git/\n│   ├───x/\n│   │   └───y\n│   └───z\n└───.reprise/\n    ├───reprise.db\n    └───spool/", true},
		{"the only one", "", "└───.reprise/\n    └───reprise.db\n", true},
		{"further down, and not looked into", "└───app/\n    └───main.go", "└───app/\n    ├───main.go\n    └───.reprise/...", true},
		{"another file beside it", "├───a.txt\n└───z/", "├───b.txt\n├───.reprise/\n" + inStore + "└───z/", false},
		{"a file in another place", "├───src/\n│   └───a.go\n└───z/", "├───src/\n├───.reprise/\n" + inStore + "└───z/\n    └───a.go", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sameForm(t, request(c.without), request(c.with), c.same, match.GeminiListing)
		})
	}
	for _, said := range []string{`{"contents":[{"role":"user","parts":[{"text":"what is in\n├───.reprise/\n└───a"}]}]}`, request("└───x.reprise/")} {
		if _, changed, err := formOf(match.KindModel, said); err != nil || len(changed) > 0 {
			t.Errorf("%s is changed by %q, %v; want by nothing", said, changed, err)
		}
	}
}
