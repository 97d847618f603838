package regress

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// conversations are the members of requests that hold one, in every API that
// is known.
var conversations = []string{"messages", "input", "contents"}

// first returns the difference that the model reads first.
func first(list []canon.Difference) canon.Difference {
	return slices.MinFunc(list, func(a, b canon.Difference) int {
		ra, rb := rank(a.Pointer), rank(b.Pointer)
		return cmp.Or(cmp.Compare(ra[0], rb[0]), cmp.Compare(ra[1], rb[1]))
	})
}

// rank places a pointer in the order in which a request is read.
func rank(pointer string) [2]int {
	steps := split(pointer)
	switch {
	case strings.HasPrefix(pointer, "#"):
		return [2]int{0, 0}
	case len(steps) == 0:
		return [2]int{6, 0}
	}
	at := 0
	if len(steps) > 1 {
		if n, err := strconv.Atoi(steps[1]); err == nil {
			at = n
		}
	}
	switch name := steps[0]; {
	case name == "model":
		return [2]int{1, 0}
	case name == "system" || name == "instructions" || name == "systemInstruction" || name == "system_instruction":
		return [2]int{2, at}
	case name == "tools" || name == "functions":
		return [2]int{3, at}
	case slices.Contains(conversations, name):
		return [2]int{4, at}
	default:
		return [2]int{5, at}
	}
}

// split returns the unescaped steps of a JSON pointer.
func split(pointer string) []string {
	if !strings.HasPrefix(pointer, "/") {
		return nil
	}
	steps := strings.Split(pointer[1:], "/")
	for i, s := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return steps
}

// part is a part of a request in the words of people.
type part struct {
	text  string // messages[7]
	about string
	role  role
	tool  string // its name, where it is a tool's definition, result or argument
	id    string // of the call whose result it is
}

// role says who speaks in a part.
type role int

const (
	ofAgent role = iota // parameters, instructions, definitions
	ofUser
	ofModel
	ofTool
)

// partAt names the part of a request that a difference is in. Was and now are
// the two requests; either may lack the part.
func partAt(d canon.Difference, was, now canon.Value) part {
	steps := split(d.Pointer)
	if len(steps) == 0 {
		return part{text: place(d.Pointer)}
	}
	p := part{text: steps[0]}
	n, isElem := -1, false
	if len(steps) > 1 {
		if i, err := strconv.Atoi(steps[1]); err == nil {
			n, isElem = i, true
			p.text = fmt.Sprintf("%s[%d]", steps[0], i)
		}
	}
	r := rank(d.Pointer)
	switch {
	case r[0] == 1:
		p.about = "the name of the model"
	case r[0] == 2:
		p.about = "the system prompt"
	case r[0] == 3 && isElem:
		t := one(was, now, steps[0], n)
		p.tool = toolName(t)
		p.about = "the definition of a tool"
		if p.tool != "" {
			p.about = "the definition of the tool " + p.tool
		}
	case r[0] == 3:
		p.about = "the tools"
	case r[0] == 4 && isElem:
		p.message(one(was, now, steps[0], n), pick(now, was, steps[0]), steps[2:])
	case r[0] == 4:
		p.role = ofUser
		p.about = "the prompt"
	case steps[0] == "params" && len(steps) > 2 && steps[1] == "arguments":
		p.text = strings.Join(steps, ".")
		p.about = "an argument of the tool"
	default:
		p.text = strings.Join(steps, ".")
		p.about = "a parameter"
	}
	return p
}

// place names what is no pointer: a member of the route, or a byte.
func place(pointer string) string {
	if name, ok := strings.CutPrefix(pointer, "#"); ok {
		return "the " + name
	}
	if at, ok := strings.CutPrefix(pointer, "@"); ok {
		return "byte " + at
	}
	return "the whole"
}

// one returns element n of a member, of now if it is there.
func one(was, now canon.Value, member string, n int) canon.Value {
	if v := now.Get(member).At(n); !v.IsZero() {
		return v
	}
	return was.Get(member).At(n)
}

func pick(a, b canon.Value, member string) canon.Value {
	if v := a.Get(member); !v.IsZero() {
		return v
	}
	return b.Get(member)
}

func toolName(t canon.Value) string {
	for _, v := range []canon.Value{t.Get("name"), t.Get("function").Get("name"), t.Get("functionDeclarations").At(0).Get("name")} {
		if s := v.Str(); s != "" {
			return s
		}
	}
	return ""
}

// message says who speaks in a message, and of a tool result which tool gave
// it. Inside is where in the message the difference is.
func (p *part) message(m, all canon.Value, inside []string) {
	if len(inside) > 1 && (inside[0] == "content" || inside[0] == "parts") {
		if n, err := strconv.Atoi(inside[1]); err == nil {
			if block := m.Get(inside[0]).At(n); p.block(block, all) {
				return
			}
		}
	}
	switch m.Get("role").Str() {
	case "system", "developer":
		p.about = "the system prompt"
		return
	case "tool", "function":
		p.result(m.Get("tool_call_id").Str(), m.Get("name").Str(), all)
		return
	case "assistant", "model":
		p.role, p.about = ofModel, "what the model had said"
		return
	}
	if p.block(m, all) {
		return
	}
	for _, c := range append(m.Get("content").Elems(), m.Get("parts").Elems()...) {
		if p.block(c, all) {
			return
		}
	}
	p.role, p.about = ofUser, "the prompt"
}

// block recognises the blocks that hold calls and results of tools.
func (p *part) block(b, all canon.Value) bool {
	switch b.Get("type").Str() {
	case "tool_result":
		p.result(b.Get("tool_use_id").Str(), "", all)
		return true
	case "function_call_output", "custom_tool_call_output":
		p.result(b.Get("call_id").Str(), "", all)
		return true
	case "function_call", "custom_tool_call", "tool_use", "reasoning":
		p.role, p.about = ofModel, "what the model had said"
		return true
	}
	if f := b.Get("functionResponse"); !f.IsZero() {
		p.result(f.Get("id").Str(), f.Get("name").Str(), all)
		return true
	}
	return false
}

func (p *part) result(id, name string, all canon.Value) {
	p.role, p.id, p.tool = ofTool, id, name
	if name == "" {
		p.tool = calledTool(all, id)
	}
	p.about = "the result of a tool"
	if p.tool != "" {
		p.about = "the result of the tool " + p.tool
	}
}

// calledTool finds the tool that a call id in a conversation names.
func calledTool(all canon.Value, id string) string {
	if id == "" {
		return ""
	}
	for _, m := range all.Elems() {
		if m.Get("call_id").Str() == id && m.Has("name") {
			return m.Get("name").Str()
		}
		for _, c := range m.Get("tool_calls").Elems() {
			if c.Get("id").Str() == id {
				return c.Get("function").Get("name").Str()
			}
		}
		for _, c := range m.Get("content").Elems() {
			if c.Get("id").Str() == id {
				return c.Get("name").Str()
			}
		}
	}
	return ""
}
