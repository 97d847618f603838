package match

import (
	"regexp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// GeminiSkills is the id of the normaliser for the skills that Gemini CLI lists
// to its model, in the system prompt and in the tool that activates one, in the
// order in which it got to read their files. In the match key they stand in the
// order of their texts.
const GeminiSkills = "gemini-skills@1"

// activateSkill is the tool that the list is of; a request without its name
// lists no skills.
const activateSkill = "activate_skill"

var (
	skillList  = regexp.MustCompile(`(?s)(<available_skills>\n)(.*?)(\n</available_skills>)`)
	skillBlock = regexp.MustCompile(`(?s)  <skill>\n.*?\n  </skill>`)
	skillNames = regexp.MustCompile(`(\(Available: )('[^']+'(?:, '[^']+')*)(\))`)
	skillName  = regexp.MustCompile(`'[^']+'`)
)

// inSkillOrder returns a request whose lists of skills are in order, and
// whether any was not.
func inSkillOrder(v canon.Value) (canon.Value, bool) {
	text := func(list, item *regexp.Regexp, between string) func(canon.Value) (canon.Value, bool) {
		return func(x canon.Value) (canon.Value, bool) {
			s := x.Str()
			out := arranged(s, list, item, between)
			return canon.String(out), out != s
		}
	}
	v, some := reach(v, []string{"systemInstruction", "parts", "*", "text"}, text(skillList, skillBlock, "\n"))
	v, more := reach(v, []string{"tools", "*", "functionDeclarations", "*"}, func(tool canon.Value) (canon.Value, bool) {
		if tool.Get("name").Str() != activateSkill {
			return tool, false
		}
		tool, a := reach(tool, []string{"description"}, text(skillNames, skillName, ", "))
		tool, b := reach(tool, []string{"parametersJsonSchema", "properties", "name", "enum"}, inTextOrder)
		return tool, a || b
	})
	return v, some || more
}

// arranged returns s with the items of a list that stands in it in order. What
// is not such a list to the letter stays as it is.
func arranged(s string, list, item *regexp.Regexp, between string) string {
	m := list.FindStringSubmatchIndex(s)
	if m == nil {
		return s
	}
	body := s[m[4]:m[5]]
	items := item.FindAllString(body, -1)
	if strings.Join(items, between) != body || slices.IsSorted(items) {
		return s
	}
	slices.Sort(items)
	return s[:m[4]] + strings.Join(items, between) + s[m[5]:]
}

// inTextOrder returns an array of strings in order.
func inTextOrder(v canon.Value) (canon.Value, bool) {
	elems := v.Elems()
	by := func(a, b canon.Value) int { return strings.Compare(a.Str(), b.Str()) }
	isText := func(e canon.Value) bool { return e.Kind() == canon.KindString }
	if slices.IsSortedFunc(elems, by) || slices.ContainsFunc(elems, func(e canon.Value) bool { return !isText(e) }) {
		return v, false
	}
	elems = slices.Clone(elems)
	slices.SortFunc(elems, by)
	return canon.Array(elems...), true
}
