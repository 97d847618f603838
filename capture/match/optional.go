package match

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrNormaliser means that a normaliser is asked for, or was used when a run
// was recorded, that this program does not have. Look at the name; a record
// that was made with a newer version needs that version.
const ErrNormaliser fault.Invalid = "capture.no_such_normaliser"

// Ids of the normalisers that are off unless they are asked for.
const (
	// JSONStrings writes JSON that stands inside a string in its canonical
	// form: the arguments of tools, and what they gave.
	JSONStrings = "json-strings@1"
	// UUIDs leaves out which UUID stands somewhere, but not which of them are
	// the same.
	UUIDs = "uuids@1"
	// Times leaves out points in time as RFC 3339 writes them, but not which of
	// them are the same.
	Times = "times@1"
)

// Optional returns the rules that are off unless they are asked for when a run
// is recorded: with them two prompts that say different things to a model may
// count as the same. A record names the rules that it was made with, and a
// replay uses those and no others.
func Optional() []Normaliser {
	return []Normaliser{
		{Name: "json-strings", Version: 1, Doc: "JSON inside strings is compared as JSON: white space and the order of members do not count"},
		{Name: "uuids", Version: 1, Doc: "which UUIDs a request holds; the same one twice still counts"},
		{Name: "times", Version: 1, Doc: "which points in time a request holds, as 2006-01-02T15:04:05Z; the same one twice still counts"},
	}
}

// Select returns the built-in rules and, of the optional ones, those named: by
// name, or by id.
func Select(names []string) ([]Normaliser, error) {
	out := Normalisers()
	for _, name := range names {
		n, ok := named(name)
		if !ok {
			return nil, fault.New(ErrNormaliser, "match.Select", "there is no normaliser %q; those that can be added are %s", name, strings.Join(optionalNames(), ", "))
		}
		if !slices.ContainsFunc(out, func(o Normaliser) bool { return o.ID() == n.ID() }) {
			out = append(out, n)
		}
	}
	return out, nil
}

func optionalNames() []string {
	var out []string
	for _, n := range Optional() {
		out = append(out, n.Name)
	}
	return out
}

func named(name string) (Normaliser, bool) {
	for _, n := range append(Normalisers(), Optional()...) {
		if n.Name == name || n.ID() == name {
			return n, true
		}
	}
	return Normaliser{}, false
}

// RuleIDs returns the ids of rules, as the open of a run lists them in the
// member [RulesMember].
func RuleIDs(list []Normaliser) canon.Value {
	out := make([]canon.Value, len(list))
	for i := range list {
		out[i] = canon.String(list[i].ID())
	}
	return canon.Array(out...)
}

// RulesMember is the member of an open's data that lists the normalisers of the
// run.
const RulesMember = "normalisers"

// unlisted are the rules of records that list none: those that were built in
// before records did.
var unlisted = []string{"volatile-ids@1", "realtime-ids@1", "mcp-meta@1", DateCwd, MultipartBoundary}

// RulesOf returns the normalisers that a run was recorded with. A replay that
// used others would not find what is there, or find what is not.
func RulesOf(opened canon.Value) ([]Normaliser, error) {
	ids := unlisted
	if list := opened.Get(RulesMember); list.Kind() == canon.KindArray {
		ids = nil
		for _, v := range list.Elems() {
			ids = append(ids, v.Str())
		}
	}
	out := make([]Normaliser, 0, len(ids))
	for _, id := range ids {
		n, ok := named(id)
		if !ok || n.ID() != id {
			return nil, fault.New(ErrNormaliser, "match.RulesOf", "the record was made with the normaliser %q, which this version does not have", id)
		}
		out = append(out, n)
	}
	return out, nil
}

// numbered replaces texts by {name:n}, where n counts the different ones in
// the order in which they come.
type numbered struct {
	id, name string
	at       *regexp.Regexp
}

var (
	uuidsRule = numbered{UUIDs, "uuid", regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`)}
	timesRule = numbered{Times, "time", regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?\b`)}
)

func (n numbered) replace(body []byte) ([]byte, bool) {
	if !n.at.Match(body) {
		return body, false
	}
	seen := map[string]int{}
	return n.at.ReplaceAllFunc(body, func(found []byte) []byte {
		key := strings.ToLower(string(found))
		if seen[key] == 0 {
			seen[key] = len(seen) + 1
		}
		return []byte("{" + n.name + ":" + strconv.Itoa(seen[key]) + "}")
	}), true
}

// inner returns v with every string that is a JSON object or array in the
// canonical form of that.
func inner(v canon.Value) (canon.Value, bool) {
	if s, ok := v.AsString(); ok {
		if !protocol.LooksJSON([]byte(s)) {
			return v, false
		}
		out, err := canon.Canonicalize([]byte(s))
		if err != nil || string(out) == s {
			return v, false
		}
		return canon.String(string(out)), true
	}
	return each(v, func(string) bool { return true }, inner)
}
