package spec_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/spec"
)

func ExampleClauses() {
	clauses, err := spec.Clauses()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(clauses), "clauses; the last one is")
	last := clauses[len(clauses)-1]
	fmt.Printf("%s (%s, line %s): %s\n", last.ID, last.Document, last.Lines, last.Text)
	// Output:
	// 420 clauses; the last one is
	// T-54 (thymos, line 87): A full terminal walkthrough of deterministic replay is documented.
}

func TestReferencesReadsTheSpecComment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		comment string
		want    []string
	}{
		{"// spec: T-12", []string{"T-12"}},
		{"// spec: T-12, M-101", []string{"T-12", "M-101"}},
		{"// spec: M-41..44", []string{"M-41", "M-42", "M-43", "M-44"}},
		{"// spec: M-99..101,S-01", []string{"M-99", "M-100", "M-101", "S-01"}},
		{"//spec: P-07", []string{"P-07"}},
		{"// see the spec: T-12", nil},
		{"// T-12 holds", nil},
	} {
		got, err := spec.References(test.comment)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("References(%q) = %q, %v, want %q", test.comment, got, err, test.want)
		}
	}
}

func TestReferencesRefusesWhatIsNoList(t *testing.T) {
	t.Parallel()
	for _, comment := range []string{
		"// spec:", "// spec: T-1", "// spec: X-12", "// spec: T-12 and more", "// spec: T-12,",
		"// spec: M-44..41", "// spec: M-41..M-44", "// spec: MACE-S-01",
	} {
		if got, err := spec.References(comment); !errors.Is(err, spec.ErrMalformed) {
			t.Errorf("References(%q) = %q, %v, want %v", comment, got, err, spec.ErrMalformed)
		}
	}
}
