package regress_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// element is what the schema that CI servers read JUnit by says of one: the
// attributes it must have, those that it may have besides, and its children.
type element struct{ must, may, children []string }

func words(s string) []string { return strings.Fields(s) }

// junitSchema is junit-10.xsd of Jenkins' xUnit plugin, as far as it concerns
// what is written here.
var junitSchema = map[string]element{
	"testsuites": {may: words("name time tests failures errors"), children: words("testsuite")},
	"testsuite": {
		must:     words("name tests failures errors"),
		may:      words("group time skipped timestamp hostname id package file log url version"),
		children: words("testsuite properties testcase system-out system-err"),
	},
	"properties": {children: words("property")},
	"property":   {must: words("name value")},
	"testcase":   {must: words("name"), may: words("time classname group"), children: words("skipped error failure system-out system-err")},
	"failure":    {may: words("type message")},
	"error":      {may: words("type message")},
	"skipped":    {may: words("type message")},
	"system-out": {},
	"system-err": {},
}

func TestJUnitIsValid(t *testing.T) {
	t.Parallel()
	s := suite()
	s.Cases[0].Report.Detail = conditions("hermetic", "the network")
	var b strings.Builder
	if err := s.JUnit(&b); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	open := []string{""}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name, parent := x.Name.Local, open[len(open)-1]
			e, known := junitSchema[name]
			if !known || parent == "" && name != "testsuites" || parent != "" && !slices.Contains(junitSchema[parent].children, name) {
				t.Errorf("<%s> stands in <%s>", name, parent)
			}
			var has []string
			for _, a := range x.Attr {
				has = append(has, a.Name.Local)
				if !slices.Contains(e.must, a.Name.Local) && !slices.Contains(e.may, a.Name.Local) {
					t.Errorf("<%s> has the attribute %s", name, a.Name.Local)
				}
			}
			for _, a := range e.must {
				if !slices.Contains(has, a) {
					t.Errorf("<%s> lacks the attribute %s", name, a)
				}
			}
			seen[name]++
			open = append(open, name)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	for _, name := range words("testsuites testsuite properties testcase failure error system-out") {
		if seen[name] == 0 {
			t.Errorf("no <%s> was checked", name)
		}
	}
}

func conditions(level, open string) canon.Value {
	return canon.Object(canon.M("level", canon.String(level)), canon.M("blocked", canon.Array()), canon.M("not_blocked", canon.Array(canon.String(open))))
}

// Every format says what the agents could reach; where recordings differ in
// that, of how many it holds.
func TestSuiteSaysWhatWasNotBlocked(t *testing.T) {
	t.Parallel()
	s := suite()
	if got := s.Conditions(); len(got) != 0 {
		t.Errorf("Conditions = %q of reports without any", got)
	}
	s.Cases[0].Report.Detail = conditions("hermetic", "files")
	if got, want := strings.Join(s.Conditions(), "\n"), "level: hermetic\nnot blocked: files"; got != want {
		t.Errorf("Conditions = %q, want %q", got, want)
	}
	for name, write := range map[string]func(io.Writer) error{"Markdown": s.Markdown, "HTML": s.HTML, "JUnit": s.JUnit} {
		var b strings.Builder
		if err := write(&b); err != nil || !strings.Contains(b.String(), "hermetic") || !strings.Contains(b.String(), "not blocked") {
			t.Errorf("%s says nothing of it, %v", name, err)
		}
	}
	s.Cases = append(s.Cases, regress.Case{Name: "b", Report: suite().Cases[0].Report}, regress.Case{Name: "c", Report: suite().Cases[0].Report})
	s.Cases[4].Report.Detail = conditions("hermetic", "files")
	s.Cases[5].Report.Detail = conditions("tools live", "all")
	want := "level: hermetic (2 of 3 recordings)\nnot blocked: files (2 of 3 recordings)\nlevel: tools live (1 of 3 recordings)\nnot blocked: all (1 of 3 recordings)"
	if got := strings.Join(s.Conditions(), "\n"); got != want {
		t.Errorf("Conditions = %q, want %q", got, want)
	}
}
