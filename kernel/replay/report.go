package replay

import (
	"fmt"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Verb is what was done.
type Verb string

// The verbs.
const (
	Verify   Verb = "verify"
	Replayed Verb = "replay"
	Simulate Verb = "simulate"
	Diff     Verb = "diff"
)

// Verdict is what came of it.
type Verdict string

// The verdicts.
const (
	Verified Verdict = "verified" // everything that was asked for holds
	Same     Verdict = "same"     // nothing differs
	Diverged Verdict = "diverged" // something is missing, extra or different
	Partial  Verdict = "partial"  // what is there holds, but not all is there
	Below    Verdict = "below"    // sound, but not at the level asked for
	Failed   Verdict = "failed"   // an integrity check failed
)

// ExitStatus returns the status with which a command ends that reports v.
func (v Verdict) ExitStatus() int {
	switch v {
	case Verified, Same:
		return fault.ExitDone
	case Failed:
		return fault.ExitIntegrity
	default:
		return fault.ExitDiverged
	}
}

// Kind says how something diverged.
type Kind string

// The kinds of divergence.
const (
	Missing   Kind = "missing"   // recorded, but it did not come again
	Extra     Kind = "extra"     // it came, but is not recorded
	Different Kind = "different" // it came again, but not the same
)

// MaxDivergences is how many divergences a report lists; it counts them all.
const MaxDivergences = 100

// Divergence is one difference between a record and what came now.
type Divergence struct {
	Kind     Kind
	What     string // call, outcome, decision, exit status
	Name     string // of the call or decision
	Recorded int64  // entry in the record, or -1
	// Run is the run in which that entry stands, if it is another one than
	// the report's: the history of a branch begins in its source.
	Run     ledger.RunID
	Now     int64 // entry in the run that replays, or -1
	Step    int64 // which call or decision it is, from 1
	Nearest int64 // for an extra call, the recorded call that it most likely stands for, or -1
	Where   []canon.Difference
	Follows bool // it comes after the first divergence, and most likely because of it
	Msg     string

	// NowRun is the run in which the entry Now stands, if it is another one
	// than the report's.
	NowRun ledger.RunID
	// Effect says in which of its parts the step shows the difference, such as
	// tool write_file /path; empty: it is not known.
	Effect string
	Cause  *Cause // of the first divergence, if it was looked for
}

// Count is a named number in a report, in the order of the report.
type Count struct {
	Name string
	N    int64
}

// Report is what a command, the API and a library call give back.
type Report struct {
	Verb          Verb
	Mode          string // of the replay, as its document calls it; empty for verify
	Verdict       Verdict
	Authoritative bool
	Run           ledger.RunID // what was looked at
	Other         ledger.RunID // the run that replayed it, or the other side of a diff
	Level         ledger.Level
	Asked         ledger.Level
	Phases        []ledger.Phase
	Counts        []Count
	Divergences   []Divergence
	Total         int64 // divergences, those not listed included
	Remarks       []string
	Detail        canon.Value // what an engine reports besides
}

// Diverge adds a divergence. The first one is the one to look at; all later
// ones are marked as following from it.
func (r *Report) Diverge(d Divergence) {
	d.Follows = r.Total > 0
	r.Total++
	if len(r.Divergences) < MaxDivergences {
		r.Divergences = append(r.Divergences, d)
	}
}

// Head returns the first line of the report.
func (r *Report) Head() string {
	authority := "authoritative"
	if !r.Authoritative {
		authority = "non-authoritative"
	}
	if r.Verb == Verify {
		return fmt.Sprintf("verify %s: %s · level %s (asked for %s) · %s", r.Run, r.Verdict, r.Level, r.Asked, authority)
	}
	subject := string(r.Run)
	if r.Verb == Diff {
		subject += " and " + string(r.Other)
	}
	return fmt.Sprintf("%s %s, mode %s: %s · %s", r.Verb, subject, r.Mode, r.Verdict, authority)
}

// OfVerification makes the report of a verification at the level asked for.
func OfVerification(v *ledger.Verification, asked ledger.Level) *Report {
	r := &Report{
		Verb: Verify, Authoritative: true, Run: v.Run, Level: v.Level, Asked: asked, Phases: v.Phases,
		Remarks: append(append([]string(nil), v.Remarks...), "not proven at this level: "+v.Level.NotProven()),
		Counts: []Count{
			{"entries", v.At.Count}, {"heads", v.Heads}, {"unsigned", v.Unsigned}, {"withheld", v.Withheld},
		},
	}
	switch {
	case v.Failed():
		r.Verdict = Failed
	case v.Level < asked:
		r.Verdict = Below
	case v.Withheld > 0:
		r.Verdict = Partial
	default:
		r.Verdict = Verified
	}
	return r
}

// Value returns the report as JSON, for --json and the API.
func (r *Report) Value() canon.Value {
	return canon.Object(
		canon.M("verb", canon.String(string(r.Verb))),
		canon.M("mode", canon.Text(r.Mode)),
		canon.M("verdict", canon.String(string(r.Verdict))),
		canon.M("authoritative", canon.Bool(r.Authoritative)),
		canon.M("exit_status", canon.Int(int64(r.Verdict.ExitStatus()))),
		canon.M("run", canon.Text(string(r.Run))),
		canon.M("other", canon.Text(string(r.Other))),
		canon.M("level", level(r.Verb, r.Level)),
		canon.M("asked", level(r.Verb, r.Asked)),
		canon.M("counts", counts(r.Counts)),
		canon.M("phases", canon.ArrayOf(r.Phases, phase)),
		canon.M("divergences", canon.ArrayOf(r.Divergences, divergence)),
		canon.M("divergences_total", canon.Int(r.Total)),
		canon.M("sentence", sentence(r)),
		canon.M("remarks", canon.Strings(r.Remarks)),
		canon.M("detail", r.Detail),
	)
}

func level(v Verb, l ledger.Level) canon.Value {
	if v != Verify {
		return canon.Value{}
	}
	return canon.Int(int64(l))
}

// index returns n, or an absent value for -1.
func index(n int64) canon.Value {
	if n < 0 {
		return canon.Value{}
	}
	return canon.Int(n)
}

func counts(in []Count) canon.Value {
	ms := make([]canon.Member, len(in))
	for i, c := range in {
		ms[i] = canon.M(c.Name, canon.Int(c.N))
	}
	return canon.Object(ms...)
}

func phase(p ledger.Phase) canon.Value {
	v := canon.Object(
		canon.M("name", canon.String(p.Name)),
		canon.M("checked", canon.Int(p.Checked)),
		canon.M("failed", canon.Int(p.Failed)),
	)
	if f := p.First; f != nil {
		v = v.With("first", canon.Object(
			canon.M("code", canon.String(f.Code.Error())),
			canon.M("n", index(f.N)),
			canon.M("where", canon.Text(f.Where)),
			canon.M("expected", canon.Text(f.Expected)),
			canon.M("found", canon.Text(f.Found)),
			canon.M("message", canon.Text(f.Msg)),
		))
	}
	return v
}

func divergence(d Divergence) canon.Value {
	return canon.Object(
		canon.M("kind", canon.String(string(d.Kind))),
		canon.M("what", canon.String(d.What)),
		canon.M("name", canon.Text(d.Name)),
		canon.M("step", canon.Int(d.Step)),
		canon.M("recorded", index(d.Recorded)),
		canon.M("run", canon.Text(string(d.Run))),
		canon.M("now", index(d.Now)),
		canon.M("nearest", index(d.Nearest)),
		canon.M("follows", canon.Bool(d.Follows)),
		canon.M("differences", canon.ArrayOf(d.Where, difference)),
		canon.M("message", canon.Text(d.Msg)),
		canon.M("effect", canon.Text(d.Effect)),
		canon.M("cause", d.Cause.value()),
	)
}

// sentence is absent in the report of a verification, which compares no steps.
func sentence(r *Report) canon.Value {
	if r.Verb == Verify {
		return canon.Value{}
	}
	return canon.String(r.Sentence())
}

func difference(d canon.Difference) canon.Value {
	return canon.Object(
		canon.M("pointer", canon.String(d.Pointer)),
		canon.M("recorded", d.A),
		canon.M("now", d.B),
	)
}
