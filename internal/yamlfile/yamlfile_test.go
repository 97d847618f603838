package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const errFile fault.Invalid = "yamlfile_test.file"

type person struct {
	name  string
	age   uint64
	here  bool
	likes []string
	more  string
}

func read(text string) ([]person, error) {
	n, err := yamlfile.Parse("people.yaml", []byte(text), errFile)
	if err != nil {
		return nil, err
	}
	top, err := n.Section("people")
	if err != nil {
		return nil, err
	}
	return yamlfile.List(top, "people", func(n yamlfile.Node) (p person, err error) {
		s, err := n.Section("name", "age", "here", "likes", "more")
		if err != nil {
			return p, err
		}
		if p.name, err = s.Text("name"); err != nil {
			return p, err
		}
		if p.age, err = s.Count("age", 18); err != nil {
			return p, err
		}
		if p.here, err = s.Flag("here"); err != nil {
			return p, err
		}
		if p.likes, err = s.Texts("likes"); err != nil {
			return p, err
		}
		more, err := s.JSON("more")
		if err == nil && !more.IsZero() {
			p.more = more.String()
		}
		return p, err
	})
}

func TestWhatPeopleWriteIsRead(t *testing.T) {
	t.Parallel()
	got, err := read(`
people:
  - name: Ada
    likes: [tea, 1.50]
    more: {b: [1, 2.5, null], a: "x"}
  - {name: "Bo", age: 3, here: true}
`)
	if err != nil || len(got) != 2 {
		t.Fatalf("read = %+v, %v", got, err)
	}
	a, b := got[0], got[1]
	if a.name != "Ada" || a.age != 18 || a.here || strings.Join(a.likes, " ") != "tea 1.50" || a.more != `{"b":[1,2.5,null],"a":"x"}` {
		t.Errorf("the first is %+v", a)
	}
	if b.name != "Bo" || b.age != 3 || !b.here || b.likes != nil || b.more != "" {
		t.Errorf("the second is %+v", b)
	}
	if got, err := read("people:\n"); err != nil || got != nil {
		t.Errorf("an empty list = %+v, %v", got, err)
	}
}

func TestWhatIsWrongIsSaidWithItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "people.yaml"},
		{"not YAML", "people: [", "people.yaml"},
		{"two documents", "people:\n---\npeople:\n", "more than one document"},
		{"no mapping", "- people\n", "people.yaml:1: a list where names and values should stand"},
		{"unknown name", "people:\n- name: a\n  nick: b\n", `people.yaml:3: "nick" is not known here; known are name, age`},
		{"twice", "people:\n- name: a\n  name: b\n", `people.yaml:3: "name" stands twice`},
		{"no list", "people: {a: b}\n", "people.yaml:1: a mapping where a list should stand"},
		{"no text", "people:\n- name: [a]\n", "people.yaml:2: a list where a text should stand"},
		{"no flag", "people:\n- here: maybe\n", "here is neither true nor false"},
		{"no count", "people:\n- age: -1\n", "age is not a whole number from 0"},
		{"a number of YAML's own", "people:\n- more: {a: 0x10}\n", "people.yaml:2: 0x10 is no number as JSON spells it"},
		{"an anchor", "people:\n- more: &x {a: 1}\n- more: *x\n", "people.yaml:3"},
		{"too deep", "people:\n- more: " + strings.Repeat("[", 70) + strings.Repeat("]", 70), "nested deeper than 64"},
		{"too large", "#" + strings.Repeat("x", 4<<20) + "\npeople:\n", "has more than 4194304 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := read(c.text)
			if fault.CodeOf(err) != errFile || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read = %+v, %v, want %s: %s", got, err, errFile, c.want)
			}
		})
	}
}
