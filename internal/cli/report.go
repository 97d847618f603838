package cli

import (
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// report prints a report and sets the exit status to that of its verdict.
func (a *app) report(r *replay.Report) {
	a.status = r.Verdict.ExitStatus()
	if a.json {
		a.print(r.Value())
		return
	}
	head := r.Head()
	a.printf("%s\n", strings.Replace(head, string(r.Verdict), a.verdict(r.Verdict), 1))
	if r.Verb == replay.Verify {
		a.phases(r)
	} else {
		a.printf("%s\n", a.out.bold(clean(r.Sentence())))
		a.counts(r)
	}
	a.divergences(r)
	for _, m := range r.Remarks {
		a.printf("%s %s\n", a.out.dim("·"), clean(m))
	}
}

func (a *app) verdict(v replay.Verdict) string {
	switch v {
	case replay.Verified, replay.Same:
		return a.out.good(string(v))
	case replay.Failed:
		return a.out.bad(string(v))
	default:
		return a.out.warn(string(v))
	}
}

func (a *app) phases(r *replay.Report) {
	a.printf("\n")
	width := 0
	for _, p := range r.Phases {
		width = max(width, len(p.Name))
	}
	for _, p := range r.Phases {
		mark, note := a.out.good("✓"), number(p.Checked)
		switch {
		case p.Failed > 0:
			mark, note = a.out.bad("✗"), a.out.bad(fmt.Sprintf("%s of %s failed", number(p.Failed), number(max(p.Checked, p.Failed))))
		case p.Checked == 0:
			mark, note = a.out.dim("·"), a.out.dim("nothing to check")
		}
		a.printf("%s %-*s  %s\n", mark, width, p.Name, note)
		if p.First != nil {
			a.finding(p.First)
		}
	}
	a.printf("\n%s\n", countLine(r.Counts))
}

func (a *app) finding(f *ledger.Finding) {
	where := clean(f.Where)
	if f.N >= 0 {
		where = fmt.Sprintf("entry %d, %s", f.N, where)
	}
	a.printf("    %s at %s: %s\n", a.out.bad(f.Code.Error()), where, clean(f.Msg))
	if f.Expected != "" {
		a.printf("    expected %s\n", clean(f.Expected))
	}
	if f.Found != "" {
		a.printf("    found    %s\n", clean(f.Found))
	}
}

func countLine(list []replay.Count) string {
	parts := make([]string, len(list))
	for i, c := range list {
		name := strings.ReplaceAll(c.Name, "_", " ")
		if c.N == 1 {
			name = one(name)
		}
		parts[i] = number(c.N) + " " + name
	}
	return strings.Join(parts, " · ")
}

// one returns what is counted in the singular.
func one(name string) string {
	first, rest, more := strings.Cut(name, " ")
	if stem, ok := strings.CutSuffix(first, "ies"); ok {
		first = stem + "y"
	} else {
		first = strings.TrimSuffix(first, "s")
	}
	if more {
		first += " " + rest
	}
	return first
}

// mainCounts is how many of the counts of a comparison are printed even if
// they are zero.
const mainCounts = 4

func (a *app) counts(r *replay.Report) {
	var list []replay.Count
	for i, c := range r.Counts {
		if i < mainCounts || c.N > 0 {
			list = append(list, c)
		}
	}
	if line := countLine(list); line != "" {
		a.printf("%s\n", line)
	}
}

// maxFollowing is how many of the divergences that follow from the first one
// are printed; --json has more.
const maxFollowing = 10

// divergences says where it differs first, with the entries and what stands
// there, and then in a line each what follows from that. The sentence of the
// report has said why.
func (a *app) divergences(r *replay.Report) {
	if len(r.Divergences) == 0 {
		return
	}
	first := r.Divergences[0]
	a.printf("\n%s\n", a.sentence(r.Verb, &first))
	a.places(r, &first)
	if first.Msg != "" && len(first.Where) == 0 && first.Kind != replay.Missing {
		a.printf("    %s\n", clean(first.Msg))
	}
	rest := r.Divergences[1:]
	if len(rest) > 0 {
		a.printf("%s\n", a.out.dim("what follows from it:"))
	}
	for i := range rest {
		if i == maxFollowing {
			a.printf("  %s\n", a.out.dim(fmt.Sprintf("and %s more; --json lists them", number(r.Total-1-maxFollowing))))
			break
		}
		a.printf("  %s\n", a.sentence(r.Verb, &rest[i]))
	}
}

// sentence says a divergence in a line.
func (a *app) sentence(verb replay.Verb, d *replay.Divergence) string {
	name := clean(d.Name)
	if name == "" {
		name = clean(d.What)
	}
	head := ""
	if d.Step > 0 {
		head = fmt.Sprintf("step %d ", d.Step)
	}
	head += a.out.name(name)
	var entries []string
	if d.Recorded >= 0 {
		entries = append(entries, fmt.Sprintf("entry %d", d.Recorded))
	}
	if d.Now >= 0 && d.Now != d.Recorded {
		side := "now"
		if verb == replay.Diff {
			side = "second run"
		}
		entries = append(entries, fmt.Sprintf("%s entry %d", side, d.Now))
	}
	place := ""
	if len(entries) > 0 {
		place = a.out.dim(" (" + strings.Join(entries, ", ") + ")")
	}
	switch d.Kind {
	case replay.Missing:
		if verb == replay.Diff {
			return head + " is " + a.out.bad("only in the first run") + place
		}
		return head + " was recorded and " + a.out.bad("did not come again") + place
	case replay.Extra:
		if verb == replay.Diff {
			return head + " is " + a.out.bad("only in the second run") + place
		}
		text := head + " came and is " + a.out.bad("not in the record") + place
		if d.Nearest >= 0 {
			text += fmt.Sprintf("; nearest is entry %d", d.Nearest)
		}
		return text
	default:
		text := head + " " + a.out.bad("differs")
		if d.What == "call" || d.What == "outcome" {
			text = head + ": its " + what(d.What) + " " + a.out.bad("differs")
		}
		if len(d.Where) > 0 && len(d.Where[0].Pointer) > 0 && d.What != "exit status" {
			text += " at " + pointer(d.Where[0].Pointer)
		}
		return text + place
	}
}

// what says in the user's words which half of a call is meant.
func what(s string) string {
	switch s {
	case "call":
		return "request"
	case "outcome":
		return "answer"
	default:
		return s
	}
}

// pointer leaves out the part that names the content: a request and an answer
// have one.
func pointer(p string) string {
	if rest, ok := strings.CutPrefix(p, "/contents/0"); ok && rest != "" {
		p = rest
	}
	if at, ok := strings.CutPrefix(p, "@"); ok {
		return "byte " + at
	}
	return clean(p)
}

// maxPlaces is how many places of a difference are printed.
const maxPlaces = 5

func (a *app) places(r *replay.Report, d *replay.Divergence) {
	left, right := "recorded", "now     "
	if r.Verb == replay.Diff {
		left, right = "first ", "second"
	}
	for i, w := range d.Where {
		if i == maxPlaces {
			a.printf("    %s\n", a.out.dim(fmt.Sprintf("and %d more places", len(d.Where)-i)))
			return
		}
		a.printf("    %s\n", a.out.name(pointer(w.Pointer)))
		a.printf("      %s %s\n      %s %s\n", a.out.dim(left), excerpt(w.A, w.B), a.out.dim(right), excerpt(w.B, w.A))
	}
}

// excerpt spells a value in a line. Of a long text it shows the place where
// that differs from the other one.
func excerpt(v, other canon.Value) string {
	if v.IsZero() {
		return "nothing"
	}
	s, o := clean(v.String()), clean(other.String())
	const before, most = 20, 100
	if len([]rune(s)) <= most {
		return s
	}
	x, y := []rune(s), []rune(o)
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	from := max(0, min(i-before, len(x)-most))
	text := string(x[from:min(len(x), from+most)])
	if from > 0 {
		text = "…" + text
	}
	if from+most < len(x) {
		text += "…"
	}
	return text
}

// ask reads a level of --level.
func level(s string) (ledger.Level, bool, error) {
	switch s {
	case "":
		return 0, false, nil
	case "0", "chain":
		return ledger.LevelChain, true, nil
	case "1", "signed":
		return ledger.LevelSigned, true, nil
	case "2", "logged":
		return ledger.LevelLogged, true, nil
	case "3", "witnessed":
		return ledger.LevelWitnessed, true, nil
	}
	return 0, false, fault.New(ErrUsage, "cli.verify", "%q is no level; there are 0 chain, 1 signed, 2 logged and 3 witnessed", s)
}
