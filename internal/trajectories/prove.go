package trajectories

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Codes of what a proof finds beside the checks of the ledger.
const (
	// ErrNotDerived means that an entry does not follow from those before it:
	// the charter, the answers of models and tools, the clock and the acts of
	// people give another decision under the law that the ledger holds. Trust
	// nothing from it on.
	ErrNotDerived fault.Integrity = "trajectory.not_derived"
	// ErrLink means that a branch and its source, or a delegate and who handed
	// it work, do not say the same of one another. Trust neither.
	ErrLink fault.Integrity = "trajectory.broken_link"
)

// maxHanded bounds the delegations that one proof keeps in mind.
const maxHanded = 10_000

// ProveOptions say what of a trajectory is proven.
type ProveOptions struct {
	archive.VerifyOptions // its Check is chosen here
	Pins                  trajectory.Pins
	// Derive computes every decision again from what came in. A ledger that
	// another version of the compiler decided is then partial at best.
	Derive bool
	// Fold keeps the world for the caller.
	Fold bool
	// Seen is a world to compare with.
	Seen *Observed
}

// Proof is what [Prove] found.
type Proof struct {
	Report *replay.Report
	World  *World // if it was asked for and could be folded
	Last   int64  // the last entry that was looked at
}

// Prove verifies a trajectory, the runs that it stands on, and its delegates
// if that is asked for: the ledger, what the engine knows of its entries, the
// pins, and that every decision follows from its inputs. No model and no tool
// is called, and nothing is written (T-33, T-35).
func Prove(ctx context.Context, store archive.Store, run ledger.RunID, o *ProveOptions) (*Proof, error) {
	c := checks{
		ctx: ctx, store: store, run: run, opts: o, proof: &Proof{Last: -1},
		ends: map[ledger.Ref]*check{}, runs: map[ledger.RunID]*check{}, handed: map[ledger.Ref]canon.Digest{},
	}
	v := o.VerifyOptions
	if o.Seen != nil && o.Seen.Hash != nil {
		v.World = o.Seen.Hash
	}
	v.Check = c.choose
	report, err := archive.VerifyRun(ctx, store, run, &v)
	if err := errors.Join(err, c.err); err != nil {
		return nil, err
	}
	if c.partial && report.Verdict == replay.Verified {
		report.Verdict = replay.Partial
	}
	c.proof.Report = report
	return c.proof, nil
}

// Check returns what verifies trajectories among the runs of a verification:
// for [archive.VerifyOptions.Check]. It derives nothing again.
func Check(pins trajectory.Pins) func(ledger.Opened) (ledger.Check, error) {
	c := checks{
		opts: &ProveOptions{Pins: pins}, ends: map[ledger.Ref]*check{}, runs: map[ledger.RunID]*check{},
		handed: map[ledger.Ref]canon.Digest{},
	}
	return c.choose
}

// checks are the checks of all runs of one verification.
type checks struct {
	ctx   context.Context //nolint:containedctx // of the one call of Prove that it lives for
	store archive.Store
	run   ledger.RunID
	opts  *ProveOptions
	proof *Proof

	ends    map[ledger.Ref]*check // those that are over, by their last entry
	runs    map[ledger.RunID]*check
	handed  map[ledger.Ref]canon.Digest // charters given to delegates, by the call
	partial bool                        // something could not be derived
	err     error
}

func (c *checks) choose(open ledger.Opened) (ledger.Check, error) {
	if open.Body.Get("engine").Str() != trajectory.Engine {
		return nil, nil
	}
	k := &check{Audit: trajectory.NewAudit(c.opts.Pins), all: c, open: open, at: ledger.Ref{N: -1}}
	c.runs[open.Run] = k
	return k, nil
}

// check is what this engine checks of one run.
type check struct {
	*trajectory.Audit
	all  *checks
	open ledger.Opened
	at   ledger.Ref // the last entry so far
	left left       // of a branch
	seal string     // the status that it was sealed with
	hash string     // of the folded world
	live int64      // things in it
}

// left is where a branch says that it left its source.
type left struct {
	trajectory, commit string // commit is empty before the first
	commits            int64
}

// stands is where a run stands, as a branch of it has to say.
func (k *check) stands() left {
	s := k.Summary()
	at := left{trajectory: s.Trajectory.String(), commits: k.left.commits + s.Commits}
	if !s.Head.IsZero() {
		at.commit = s.Head.String()
	}
	return at
}

// Entry implements [ledger.Check].
func (k *check) Entry(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	k.at = ledger.Ref{Run: h.Run, N: h.N, ID: e.ID}
	switch h.Kind {
	case ledger.KindCall:
		if err := k.hand(e, f); err != nil {
			return err
		}
	case ledger.KindBranch:
		if o, err := ledger.Parse(e); err == nil && h.N == 1 {
			d := o.Data()
			k.left = left{trajectory: d.Get("source_trajectory_id").Str(), commit: d.Get("source_commit_id").Str()}
			k.left.commits, _ = d.Get("source_commits").AsInt()
		}
	case ledger.KindSeal:
		if o, err := ledger.Parse(e); err == nil {
			k.seal = o.Body.Get("status").Str()
		}
	default:
	}
	return k.Audit.Entry(e, h, f)
}

// hand keeps the charter that a call gives to a delegate.
func (k *check) hand(e *ledger.Entry, f *ledger.Findings) error {
	if !bytes.Contains(e.Body, []byte(`"kind":"trajectory"`)) || len(k.all.handed) >= maxHanded {
		return nil
	}
	var b bytes.Buffer
	if err := f.Content(e, trajectory.CharterName, &b); err != nil {
		if fault.ClassOf(err) == fault.ClassIntegrity {
			return nil // withheld or lost: the kernel has said so
		}
		return err
	}
	k.all.handed[k.at] = canon.BLAKE3(b.Bytes())
	return nil
}

// End implements [ledger.Check].
func (k *check) End(f *ledger.Findings) {
	k.Audit.End(f)
	k.all.ends[k.at] = k
	k.source(f)
	k.parent(f)
	if k.all.store == nil || k.all.err != nil {
		return
	}
	asked := k.open.Run == k.all.run
	if asked {
		k.all.proof.Last = k.at.N
	}
	if k.all.opts.Derive {
		k.derive(f)
	}
	if asked {
		k.fold(f)
	}
}

// source holds a branch against the source that it says it left.
func (k *check) source(f *ledger.Findings) {
	ref, err := ledger.ParseRef(k.open.Body.Get("refs").Get("source"))
	if err != nil || k.open.Body.Get("mode").Str() != drive.ModeBranch {
		return
	}
	s := k.all.ends[ref]
	if s == nil {
		return // it is absent, or fails
	}
	f.Checked(ledger.PhasePins, 1)
	fail := func(where string, expected, found string) {
		f.Fail(ledger.PhasePins, ledger.Finding{Code: ErrLink, N: k.open.N, Where: where, Expected: expected, Found: found, Msg: "a branch does not say of its source what that is"})
	}
	switch at := s.stands(); {
	case s.Law() != k.Law():
		fail("charter", s.Law().String(), k.Law().String())
	case k.left.trajectory != at.trajectory:
		fail("source_trajectory_id", at.trajectory, k.left.trajectory)
	case k.left.commit != at.commit:
		fail("source_commit_id", at.commit, k.left.commit)
	case k.left.commits != at.commits:
		fail("source_commits", fmt.Sprint(at.commits), fmt.Sprint(k.left.commits))
	}
}

// parent holds a delegate against the call that handed it work (T-43).
func (k *check) parent(f *ledger.Findings) {
	charter := k.Charter()
	ref, err := ledger.ParseRef(k.open.Body.Get("refs").Get("parent"))
	if err != nil || charter == nil {
		return
	}
	fail := func(where, expected, found, msg string) {
		f.Fail(ledger.PhasePins, ledger.Finding{Code: ErrLink, N: k.open.N, Where: where, Expected: expected, Found: found, Msg: msg})
	}
	law, ok := k.all.handed[ref]
	p := k.all.runs[ref.Run]
	if !ok || p == nil || p.Charter() == nil {
		return // it is not verified with its parent, or that fails
	}
	f.Checked(ledger.PhasePins, 1)
	writ := charter.Writ(charter.Agents[0].Writ)
	above := p.Charter().Writ(writ.Body.Parent)
	switch {
	case law != k.Law():
		fail("charter", law.String(), k.Law().String(), "the delegate works under another charter than it was given")
	case charter.Parent == nil || charter.Parent.Trajectory != p.Summary().Trajectory:
		fail("parent", p.Summary().Trajectory.String(), "", "the charter of the delegate names another parent")
	case above == nil:
		fail("writ", "", writ.ID.String(), "the writ of the delegate comes from none of its parent's")
	default:
		if err := trajectory.CheckChild(above, writ); err != nil {
			fail("writ", "", writ.ID.String(), fault.Text(err))
		}
	}
}

// derive gives the history to a fresh machine, and makes every difference a
// failure of its entry.
func (k *check) derive(f *ledger.Findings) {
	c := k.all
	charter := k.Charter()
	if charter == nil || k.at.N < 0 {
		return // it fails already, or there is nothing
	}
	if charter.Compiler != trajectory.CompilerVersion {
		c.partial = true
		f.Remark("partial: run %s was decided by %s and this is %s, so whether its decisions follow cannot be shown here", k.open.Run, charter.Compiler, trajectory.CompilerVersion)
		return
	}
	r, err := k.replay(f)
	switch {
	case err == nil:
	case fault.CodeOf(err) == fault.Code(ledger.ErrAbsent):
		c.partial = true
		f.Remark("partial: run %s cannot be derived again: %s", k.open.Run, fault.Text(err))
		return
	case cannotFollow(err):
		f.Fail(ledger.PhasePins, ledger.Finding{Code: ErrNotDerived, N: -1, Where: "derivation", Msg: "the record cannot be followed: " + fault.Text(err)})
		return
	default:
		c.err = err
		return
	}
	for _, n := range r.Counts {
		if n.Name == "decisions" {
			f.Checked(ledger.PhasePins, n.N)
		}
	}
	for i := range r.Divergences {
		if d := &r.Divergences[i]; d.Run == "" { // else the source says so itself
			k.notDerived(f, d)
		}
	}
}

// replay derives what there is of the run. What the machine would do behind
// the last entry counts only if the run says that it was done.
func (k *check) replay(f *ledger.Findings) (*replay.Report, error) {
	c, run := k.all, k.open.Run
	const mode = "verify"
	if k.seal == sealedDone {
		return drive.Replay(c.ctx, c.store, run, trajectory.NewMachine(), mode)
	}
	at, err := c.store.At(c.ctx, run)
	if err != nil {
		return nil, err
	}
	switch {
	case at.Count != k.at.N+1: // a beginning on purpose
	case k.seal != "":
		f.Remark("run %s was sealed as %s before it was done", run, k.seal)
	default:
		f.Remark("run %s is not sealed: it may go on", run)
	}
	return drive.ReplayUntil(c.ctx, c.store, run, trajectory.NewMachine(), mode, k.at.N)
}

// sealedDone is the status of the seal of a trajectory that came to its end.
const sealedDone = "done"

// cannotFollow reports whether an error is about what the ledger says, and not
// about reading it.
func cannotFollow(err error) bool {
	switch fault.ClassOf(err) {
	case fault.ClassIntegrity, fault.ClassInvalid, fault.ClassHalted, fault.ClassConflict, fault.ClassDenied:
		return true
	default:
		return fault.CodeOf(err) == fault.Code(effect.ErrNoOutcome)
	}
}

func (k *check) notDerived(f *ledger.Findings, d *replay.Divergence) {
	n := d.Recorded
	if n < 0 {
		n = k.at.N
	}
	x := ledger.Finding{Code: ErrNotDerived, N: n, Where: d.What + " " + d.Name, Msg: d.Msg}
	if len(d.Where) > 0 {
		w := &d.Where[0]
		x.Where += " at " + w.Pointer
		x.Expected, x.Found = spelled(w.B), spelled(w.A)
		x.Msg = "what is recorded does not follow from what came before it"
	}
	if d.Follows {
		x.Msg = strings.TrimSpace(x.Msg + " (it may follow from the difference before)")
	}
	f.Fail(ledger.PhasePins, x)
}

func spelled(v canon.Value) string {
	if v.IsZero() {
		return "nothing"
	}
	return excerpt([]byte(v.String()))
}

// fold rebuilds the world, and compares it with one that was seen.
func (k *check) fold(f *ledger.Findings) {
	c := k.all
	w, err := Fold(c.ctx, c.store, k.open.Run, k.at.N)
	if err != nil {
		if !cannotFollow(err) && fault.ClassOf(err) != fault.ClassNotFound {
			c.err = err
		}
		return // the pass over the ledger says what does not fit
	}
	if d, ok := w.Hash(); ok {
		k.hash = d.String()
	}
	k.live, _ = w.Len()
	if c.opts.Fold {
		c.proof.World = w
	}
	if c.opts.Seen == nil || c.opts.Seen.Hash != nil {
		return
	}
	f.Checked(ledger.PhaseWorld, 1)
	err = w.compare(c.ctx, c.opts.Seen, func(where, expected, found string) {
		f.Fail(ledger.PhaseWorld, ledger.Finding{Code: ledger.ErrWorldMismatch, N: -1, Where: where, Expected: expected, Found: found, Msg: "world divergence after replay"})
	})
	switch {
	case err == nil:
	case fault.CodeOf(err) == fault.Code(ledger.ErrAbsent):
		c.partial = true
		f.Remark("partial: %s, so it cannot be compared", fault.Text(err))
	default:
		c.err = err
	}
}

// Detail implements [archive.Detailer]: the report of the source document.
// The calls of tools are counted here and listed by [Lists].
func (k *check) Detail() canon.Value {
	s := k.Summary()
	v := s.Value()
	v = v.Without("tool_calls").With("tool_calls_seen", v.Get("tool_calls")).With("engine", canon.String(trajectory.Engine))
	if k.hash != "" {
		v = v.With("final_world_hash", canon.String(k.hash)).With("resources", canon.Int(k.live))
	}
	return v
}
