// Package spec holds the requirements that Reprise is built to: the five
// source documents, restated in our own words as 420 numbered clauses.
//
// Each document is one Markdown table in this folder, so that it reads well on
// a page, and is embedded, so that another implementation can test against it:
//
//	clauses, err := spec.Clauses()
//
// A test names the clauses that it holds with a comment of its own line,
//
//	// spec: T-12, M-41..44
//
// where M-41..44 stands for the four clauses from M-41 to M-44. [References]
// reads such a comment. The parity test of this package compares what tests
// name with the clauses: a reference to no clause fails, and so does a clause
// that no test names, unless open.txt lists it as open. MACE's own safety
// tests are called S-01 to S-06 by that document; they are written MACE-S-01
// and are not clauses.
package spec

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrMalformed means that a clause table, a list of open clauses or a "spec:"
// comment does not have its form. Mend the text at the place that the message
// names.
const ErrMalformed fault.Invalid = "spec.malformed"

// Document is one of the five source documents.
type Document struct {
	Letter string // the first letter of its clause ids
	Name   string // its name, and that of its file here without ".md"
	Engine string // the folder of the engine that implements it
	Count  int    // how many clauses it has
}

// Documents returns the five documents in the order of their files.
func Documents() []Document {
	return []Document{
		{"M", "mace", "engine/job", 111},
		{"S", "statewave", "engine/assembly", 57},
		{"A", "aos", "engine/plan", 129},
		{"P", "paxman", "engine/extract", 69},
		{"T", "thymos", "engine/trajectory", 54},
	}
}

// Clause is one requirement.
type Clause struct {
	ID       string // such as "T-12"; stable, never used again
	Document string // the Name of its document
	Lines    string // the lines of the document that it restates, such as "24,81-82"
	Text     string // the requirement, in our words
}

// tables is the folder of clause tables: one Markdown file for each document.
//
//go:embed *.md
var tables embed.FS

// Clauses returns every clause, document by document, in the order of their
// numbers. It fails with [ErrMalformed] when a table lacks a number or holds
// one twice, so that no clause can be lost by an edit.
func Clauses() ([]Clause, error) {
	var all []Clause
	for _, d := range Documents() {
		text, err := tables.ReadFile(d.Name + ".md")
		if err != nil {
			return nil, fault.Wrap(ErrMalformed, "spec.Clauses", err, "document %s", d.Name)
		}
		clauses, err := parseTable(d, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, clauses...)
	}
	return all, nil
}

func parseTable(d Document, text string) ([]Clause, error) {
	var clauses []Clause
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| "+d.Letter+"-") {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.HasSuffix(line, " |") {
			return nil, fault.New(ErrMalformed, "spec.Clauses", "%s.md:%d: want three cells: id, lines, requirement", d.Name, i+1)
		}
		c := Clause{
			ID:       strings.TrimPrefix(cells[0], "| "),
			Document: d.Name,
			Lines:    cells[1],
			Text:     strings.TrimSuffix(cells[2], " |"),
		}
		if want := id(d.Letter, len(clauses)+1); c.ID != want {
			return nil, fault.New(ErrMalformed, "spec.Clauses", "%s.md:%d: clause %s stands where %s belongs", d.Name, i+1, c.ID, want)
		}
		if c.Lines == "" || c.Text == "" {
			return nil, fault.New(ErrMalformed, "spec.Clauses", "%s.md:%d: clause %s has an empty cell", d.Name, i+1, c.ID)
		}
		clauses = append(clauses, c)
	}
	if len(clauses) != d.Count {
		return nil, fault.New(ErrMalformed, "spec.Clauses", "%s.md has %d clauses, want %d", d.Name, len(clauses), d.Count)
	}
	return clauses, nil
}

func id(letter string, n int) string { return fmt.Sprintf("%s-%02d", letter, n) }

var reference = regexp.MustCompile(`^([MSAPT])-(\d{2,3})(?:\.\.(\d{2,3}))?$`)

// References returns the clause ids that a comment names, in its order. A
// comment that does not begin with "spec:" names none. One that does but is
// not a list of ids and ranges fails with [ErrMalformed]; whether each id
// exists is not checked here.
func References(comment string) ([]string, error) {
	list, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(comment, "//")), "spec:")
	if !ok {
		return nil, nil
	}
	var ids []string
	for item := range strings.SplitSeq(list, ",") {
		m := reference.FindStringSubmatch(strings.TrimSpace(item))
		if m == nil {
			return nil, fault.New(ErrMalformed, "spec.References", "%q is not a clause id such as T-12 or a range such as M-41..44", strings.TrimSpace(item))
		}
		first, _ := strconv.Atoi(m[2]) // the pattern holds digits only
		last := first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		if last < first {
			return nil, fault.New(ErrMalformed, "spec.References", "the range %q runs backwards", strings.TrimSpace(item))
		}
		for n := first; n <= last; n++ {
			ids = append(ids, id(m[1], n))
		}
	}
	return ids, nil
}
