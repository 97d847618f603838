package transport

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// minSecret is how long a value must be to be looked for. A shorter one stands
// in too much that is no secret.
const minSecret = 6

// secret is a value that must not reach the ledger.
type secret struct {
	name string
	raw  []byte
}

// Redactor keeps secrets out of what comes back.
type Redactor struct {
	rules   Rules
	secrets []secret
}

// Rules are what a redactor goes by besides the values of variables.
type Rules struct {
	Mark    string   // what stands for a secret
	Members []string // names of members whose values are secret
	// Redact cleans a value by rules of its own, and returns in how many
	// places; nil cleans nothing.
	Redact func(canon.Value) (canon.Value, int)
}

// NewRedactor returns a redactor of the values of the named environment
// variables.
func NewRedactor(rules Rules, names []string, environ func(string) string) *Redactor {
	d := &Redactor{rules: rules}
	all := slices.Clone(names)
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		v := environ(name)
		if len(v) < minSecret {
			continue
		}
		d.secrets = append(d.secrets, secret{name, []byte(v)})
		if quoted, err := json.Marshal(v); err == nil && string(quoted[1:len(quoted)-1]) != v {
			d.secrets = append(d.secrets, secret{name, quoted[1 : len(quoted)-1]})
		}
	}
	// A secret that another one is part of goes last.
	slices.SortStableFunc(d.secrets, func(a, b secret) int { return len(b.raw) - len(a.raw) })
	return d
}

// Outcome cleans what a call gave. Of a tool's answer members are looked at
// too; a model's answer keeps its form.
func (d *Redactor) Outcome(o *effect.Outcome, tool bool) {
	found := map[string]bool{}
	for i := range o.Contents {
		c := &o.Contents[i]
		if tool {
			d.membersOf(c, found)
		}
		c.Bytes = d.bytes(c.Bytes, found)
	}
	if len(d.secrets) > 0 && !o.Data.IsZero() {
		if b := d.bytes([]byte(o.Data.String()), found); len(found) > 0 {
			if v, err := canon.Parse(b); err == nil {
				o.Data = v
			}
		}
	}
	for name := range found {
		o.Redacted = append(o.Redacted, name)
	}
	slices.Sort(o.Redacted)
	o.Redacted = slices.Compact(o.Redacted)
}

// Text cleans a message.
func (d *Redactor) Text(s string) string { return string(d.bytes([]byte(s), map[string]bool{})) }

func (d *Redactor) bytes(b []byte, found map[string]bool) []byte {
	for _, s := range d.secrets {
		if bytes.Contains(b, s.raw) {
			b = bytes.ReplaceAll(b, s.raw, []byte(d.rules.Mark))
			found["env:"+s.name] = true
		}
	}
	return b
}

// membersOf replaces the values of secret members, also in JSON that stands in
// a string, as results of MCP tools have it.
func (d *Redactor) membersOf(c *ledger.Content, found map[string]bool) {
	v, err := canon.Parse(c.Bytes)
	if err != nil {
		return
	}
	clean, n := d.value(v)
	if n == 0 {
		return
	}
	b, err := canon.Encode(clean, canon.Foreign)
	if err != nil {
		return
	}
	c.Bytes = b
	found["members"] = true
}

func (d *Redactor) value(v canon.Value) (canon.Value, int) {
	out, n := v, 0
	if d.rules.Redact != nil {
		out, n = d.rules.Redact(v)
	}
	out, m := d.walk(out)
	return out, n + m
}

func (d *Redactor) walk(v canon.Value) (canon.Value, int) {
	n := 0
	switch v.Kind() {
	case canon.KindArray:
		elems := slices.Clone(v.Elems())
		for i, e := range elems {
			x, count := d.walk(e)
			elems[i], n = x, n+count
		}
		return canon.Array(elems...), n
	case canon.KindObject:
		members := slices.Clone(v.Members())
		for i, m := range members {
			if d.secretMember(m.Name) && m.Value.Str() != d.rules.Mark {
				members[i].Value, n = canon.String(d.rules.Mark), n+1
				continue
			}
			x, count := d.walk(m.Value)
			members[i].Value, n = x, n+count
		}
		return canon.Object(members...), n
	case canon.KindString:
		return d.inner(v)
	default:
		return v, 0
	}
}

// inner cleans JSON that stands in a string.
func (d *Redactor) inner(v canon.Value) (canon.Value, int) {
	s := v.Str()
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return v, 0
	}
	in, err := canon.Parse([]byte(s))
	if err != nil {
		return v, 0
	}
	clean, n := d.value(in)
	if n == 0 {
		return v, 0
	}
	b, err := canon.Encode(clean, canon.Foreign)
	if err != nil {
		return v, 0
	}
	return canon.String(string(b)), n
}

func (d *Redactor) secretMember(name string) bool {
	return slices.ContainsFunc(d.rules.Members, func(m string) bool { return strings.EqualFold(m, name) })
}
