package match_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture/match"
)

// Gemini CLI reads the files of its skills at once, and lists them as they come.
func TestSkillsOfGeminiAreComparedInOneOrder(t *testing.T) {
	t.Parallel()
	request := func(tool string, skills ...string) string {
		var blocks, quoted, enum []string
		for _, s := range skills {
			blocks = append(blocks, "  <skill>\n    <name>"+s+"</name>\n    <description>does "+s+"</description>\n  </skill>")
			quoted = append(quoted, "'"+s+"'")
			enum = append(enum, strconv.Quote(s))
		}
		text := "You are an agent.\n<available_skills>\n" + strings.Join(blocks, "\n") + "\n</available_skills>\nBe brief."
		return `{"systemInstruction":{"parts":[{"text":` + strconv.Quote(text) + `}]},"tools":[{"functionDeclarations":[{"name":"` + tool + `","description":"Activates one (Available: ` + strings.Join(quoted, ", ") + `). Use it.",` +
			`"parametersJsonSchema":{"type":"object","properties":{"name":{"type":"string","enum":[` + strings.Join(enum, ",") + `]}}}}]}]}`
	}
	const tool = "activate_skill"
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"another order", request(tool, "creator", "support"), request(tool, "support", "creator"), true},
		{"another skill", request(tool, "creator", "support"), request(tool, "creator", "supper"), false},
		{"one more", request(tool, "creator", "support"), request(tool, "creator", "support", "x"), false},
		{"another tool that lists something", request("activate", "creator", "support"), request("activate", "support", "creator"), false},
		{"no list to the letter", strings.Replace(request(tool, "a", "b"), `</skill>\n  <skill>`, `</skill>\n\n  <skill>`, 1), strings.Replace(request(tool, "b", "a"), `</skill>\n  <skill>`, `</skill>\n\n  <skill>`, 1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sameForm(t, c.a, c.b, c.same, match.GeminiSkills)
		})
	}
}
