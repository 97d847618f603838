package canon_test

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const errRecord fault.Invalid = "canon_test.record"

func TestRecordReadsWhatIsNamedAndNothingElse(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("ab", 32)
	whole := `{"count":3,"id":"` + id + `","kind":"b","list":["x"],"name":"n","none":null,"on":true,"sub":{"name":"m"}}`
	read := func(text string) error {
		v, err := canon.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r := canon.ReadRecord(v, errRecord, "test", "a thing", "count", "id", "kind", "list", "name", "none", "on", "sub", "more?")
		r.Count("count", 10)
		r.Digest("id")
		r.Word("kind", "a", "b")
		r.Names("list", 2)
		r.Name("name")
		r.TextOrNull("none", 5)
		r.Bool("on")
		sub := r.Sub("sub", "name")
		sub.Name("name")
		r.Take("sub", sub.Err)
		return r.Err
	}
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, now, want string }{
		{whole, `[]`, "a thing is no object"},
		{`"name":"n",`, ``, "a thing lacks the member name"},
		{`"on":true`, `"on":true,"other":1`, "not known here"},
		{`"count":3`, `"count":11`, "a thing.count is no count of at most 10"},
		{`"count":3`, `"count":-0`, "a thing.count is no count of at most 10"},
		{`"count":3`, `"count":"3"`, "a thing.count is no count of at most 10"},
		{id, "ABCD", "a thing.id is no id of 64"},
		{`"kind":"b"`, `"kind":"c"`, `a thing.kind is "c", which is none of`},
		{`["x"]`, `["x","y","z"]`, "a thing.list is no list of at most 2"},
		{`["x"]`, `["x",""]`, "a thing.list holds something else than names"},
		{`"name":"n"`, `"name":""`, "a thing.name is empty"},
		{`"name":"n"`, `"name":"` + strings.Repeat("n", canon.MaxName+1) + `"`, "a thing.name is no text of at most 256 bytes"},
		{`"none":null`, `"none":""`, "a thing.none is empty; none is null"},
		{`"on":true`, `"on":1`, "a thing.on is neither true nor false"},
		{`"m"`, `7`, "a thing.sub.name is no text"},
	} {
		err := read(strings.Replace(whole, c.old, c.now, 1))
		if fault.CodeOf(err) != errRecord || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s for %s: %v, want %s: %s", c.now, c.old, err, errRecord, c.want)
		}
	}
}

func TestValuesOfLists(t *testing.T) {
	t.Parallel()
	type role string
	length := func(s string) canon.Value { return canon.Int(int64(len(s))) }
	for _, tt := range []struct {
		name string
		got  canon.Value
		want string
	}{
		{"strings", canon.Strings([]string{"b", "a"}), `["b","a"]`},
		{"a type of strings", canon.Strings([]role{"admin"}), `["admin"]`},
		{"no strings", canon.Strings[string](nil), `[]`},
		{"each element", canon.ArrayOf([]string{"four", ""}, length), `[4,0]`},
		{"an absent element", canon.ArrayOf([]string{"x", ""}, canon.Text), `["x",null]`},
		{"an empty text is left out", canon.Object(canon.M("a", canon.Text("")), canon.M("b", canon.Text("x"))), `{"b":"x"}`},
		{"or is null", canon.Object(canon.M("a", canon.Text("").OrNull()), canon.M("b", canon.Text("x").OrNull())), `{"a":null,"b":"x"}`},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
