package jobs_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// rewritten is a store in which somebody who holds no key has written one ledger
// anew.
type rewritten struct {
	drive.Store
	run        ledger.RunID
	entries    []ledger.Entry
	statements map[string][]ledger.Statement // by type
}

func (s *rewritten) At(ctx context.Context, run ledger.RunID) (ledger.Position, error) {
	if run != s.run {
		return s.Store.At(ctx, run)
	}
	if len(s.entries) == 0 {
		return ledger.Position{}, fault.New(ledger.ErrNotFound, "test", "there is no run %s", run)
	}
	n := len(s.entries)
	return ledger.Position{Count: int64(n), Last: s.entries[n-1].ID}, nil
}

func (s *rewritten) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	if run != s.run {
		return s.Store.Read(ctx, run, from)
	}
	return func(yield func(*ledger.Entry, error) bool) {
		for i := from; i < int64(len(s.entries)); i++ {
			e := s.entries[i]
			if !yield(&e, nil) {
				return
			}
		}
	}
}

func (s *rewritten) Statements(ctx context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	if run != s.run {
		return s.Store.Statements(ctx, run, typ)
	}
	return func(yield func(ledger.Statement, error) bool) {
		for _, st := range s.statements[typ] {
			if !yield(st, nil) {
				return
			}
		}
	}
}

func (s *rewritten) RunsOf(ctx context.Context, engine string) iter.Seq2[ledger.RunInfo, error] {
	return func(yield func(ledger.RunInfo, error) bool) {
		for info, err := range s.Store.RunsOf(ctx, engine) {
			if info.Run == s.run && len(s.entries) == 0 {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// rewrite returns the store with a copy of a ledger that can be written anew.
func (r *rig) rewrite(run ledger.RunID) *rewritten {
	r.t.Helper()
	s := &rewritten{Store: r.store, run: run, statements: map[string][]ledger.Statement{}}
	for e, err := range r.store.Read(context.Background(), run, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		c := *e
		c.Header, c.Body = bytes.Clone(e.Header), bytes.Clone(e.Body)
		s.entries = append(s.entries, c)
	}
	for _, typ := range []string{ledger.HeadType, sign.ManifestType} {
		for st, err := range r.store.Statements(context.Background(), run, typ) {
			if err != nil {
				r.t.Fatal(err)
			}
			s.statements[typ] = append(s.statements[typ], st)
		}
	}
	return s
}

// link makes every number, bind, link and id right again, as the entries stand.
func (s *rewritten) link(t *testing.T) {
	t.Helper()
	var at ledger.Position
	for i := range s.entries {
		e := &s.entries[i]
		h, err := ledger.ParseHeader(e.Header)
		if err != nil {
			t.Fatal(err)
		}
		h.N, h.Prev, h.Size, h.Bind = at.Count, at.Last, int64(len(e.Body)), canon.Bind(&e.Salt, e.Body)
		e.Header = h.Append(nil)
		e.ID = ledger.ID(e.Header)
		at = ledger.Position{Count: at.Count + 1, Last: e.ID}
	}
}

// behead drops the heads that say more than so many entries.
func (s *rewritten) behead(count int64) {
	s.statements[ledger.HeadType] = slices.DeleteFunc(s.statements[ledger.HeadType], func(st ledger.Statement) bool { return st.Count > count })
}

// resign signs every head anew, of the entries as they stand now.
func (s *rewritten) resign(t *testing.T, by sign.Signer) {
	t.Helper()
	var tree ledger.Tree
	heads := map[int64]ledger.Head{}
	for i, e := range s.entries {
		tree.Append(e.ID)
		heads[int64(i+1)] = ledger.Head{Run: s.run, Count: int64(i + 1), Last: e.ID, Root: tree.Root(), T: "2026-11-21T11:00:00Z"}
	}
	s.behead(int64(len(s.entries)))
	for i, st := range s.statements[ledger.HeadType] {
		h := heads[st.Count]
		b, err := h.Sign(by)
		if err != nil {
			t.Fatal(err)
		}
		s.statements[ledger.HeadType][i].Envelope = b
	}
}

// index returns the place of the n-th entry of that name.
func (s *rewritten) index(t *testing.T, name string, n int) int {
	t.Helper()
	for i := range s.entries {
		o, err := ledger.Parse(&s.entries[i])
		if err != nil {
			t.Fatal(err)
		}
		if o.Body.Get("name").Str() == name {
			if n--; n < 0 {
				return i
			}
		}
	}
	t.Fatalf("the ledger has no further %s", name)
	return 0
}

// unpin forgets how far the ledger had grown, as on a machine that has never
// written to it.
func (r *rig) unpin() {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.keys.Dir(), "governance")); err != nil {
		r.t.Fatal(err)
	}
}

// governed is a store whose governance ledger holds every kind of entry: an
// enrolment, a request with its votes and its result, a halt by a rule and one
// by a person, and their clearing. Two halts stand at the end.
func governed(t *testing.T) (*rig, ledger.RunID, ledger.RunID) {
	t.Helper()
	ctx := context.Background()
	r := newRig(t)
	res := r.done(birds)
	r.enrol("cat", govern.Council)
	r.enrol("oscar", govern.Operator)
	out, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Production, By: jobs.Act{As: "oscar"}})
	wantCode(t, err, jobs.ErrMode)
	for _, as := range []string{"operator", "cat"} {
		if _, err := r.governance().Approve(ctx, out.Request, govern.Approve, jobs.Act{As: as, Role: govern.Council}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Production, By: jobs.Act{As: "oscar"}, Approval: out.Request}); err != nil {
		t.Fatal(err)
	}
	_, err = r.over(r.changed(0, "snapshot.router")).Replay(ctx, on(res.Run, production))
	wantCode(t, err, job.ErrIntegrity)
	for range len(r.governance().Standing()) {
		if st, err := r.governance().Clear(ctx, r.governance().Standing()[0].Subject, true, jobs.Act{Role: govern.Council}); err != nil || st != govern.Open {
			t.Fatalf("Clear = %s, %v", st, err)
		}
		if st, err := r.governance().Clear(ctx, r.governance().Standing()[0].Subject, true, jobs.Act{As: "cat"}); err != nil || st != govern.Granted {
			t.Fatalf("Clear = %s, %v", st, err)
		}
	}
	if err := r.governance().Incident(ctx, []string{string(res.Run)}, jobs.Act{Reason: "a key was copied"}); err != nil {
		t.Fatal(err)
	}
	_, err = r.replay(on(res.Run, production))
	wantCode(t, err, govern.ErrHalted)
	g := r.governance().Run()
	r.sound(g)
	return r, res.Run, g
}

// distrusts fails if anything is permitted, told or written over a store.
func (r *rig) distrusts(what string, s *rewritten, run ledger.RunID, code fault.Code) {
	r.t.Helper()
	ctx := context.Background()
	before := len(s.entries)
	runner := r.over(s)
	_, err := jobs.OpenGovernance(ctx, runner.Config, r.keys, "")
	if fault.CodeOf(err) != fault.Code(jobs.ErrGovernance) || !names(err, code) {
		r.t.Errorf("%s: OpenGovernance = %v %q, want %s because of %v", what, err, details(err), jobs.ErrGovernance, code)
	}
	out, err := runner.Replay(ctx, jobs.ReplayRequest{Run: run}) // whoever asks, in whatever mode: it is not looked at
	if fault.CodeOf(err) != fault.Code(job.ErrIntegrity) || out != nil {
		r.t.Errorf("%s: a replay = %+v, %v; want INTEGRITY_FAILURE, and none", what, out, err)
	}
	if n := int64(len(s.entries)); n != int64(before) {
		r.t.Errorf("%s: %d entries were written", what, n-int64(before))
	}
}

func details(err error) []string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Detail
	}
	return nil
}

// names reports whether an error names the code of what was found; nil is any.
func names(err error, code fault.Code) bool {
	return code == nil || slices.Contains(details(err), "code: "+code.Error())
}

// acts are what somebody has an interest in changing, one of each kind.
var acts = []struct {
	name string
	n    int // which of that name
}{
	{jobs.EventRoster, 0},
	{jobs.EventRequest, 0},
	{jobs.EventRequest, 1},
	{jobs.EventResult, 1},
	{govern.EventVote, 0},
	{govern.EventVote, 2},
	{jobs.EventIntegrity, 0},
	{jobs.EventHalt, 0},
	{jobs.EventClear, 0},
	{jobs.EventIncident, 0},
}

func TestChangedGovernanceActIsFound(t *testing.T) {
	t.Parallel()
	r, run, gov := governed(t)
	for _, act := range acts {
		// changes are what somebody does to the entry at i.
		changes := map[string]func(s *rewritten, i int){
			"rewritten": func(s *rewritten, i int) {
				o, err := ledger.Parse(&s.entries[i])
				if err != nil {
					t.Fatal(err)
				}
				body, err := canon.Encode(o.Body.With("data", o.Data().With("note", canon.String("another"))), canon.Native)
				if err != nil {
					t.Fatal(err)
				}
				s.entries[i].Body = body
			},
			"removed":   func(s *rewritten, i int) { s.entries = slices.Delete(s.entries, i, i+1) },
			"reordered": func(s *rewritten, i int) { s.entries[i], s.entries[i+1] = s.entries[i+1], s.entries[i] },
			"repeated":  func(s *rewritten, i int) { s.entries = slices.Insert(s.entries, i, s.entries[i]) },
		}
		for how, change := range changes {
			at := func(s *rewritten) int { return s.index(t, act.name, act.n) }
			what := act.name + " " + how

			s := r.rewrite(gov)
			change(s, at(s))
			r.distrusts(what, s, run, nil)

			// With every hash and link made right again the signed heads say that
			// it is another ledger.
			s.link(t)
			r.distrusts(what+" and linked", s, run, ledger.ErrHeadMismatch)

			// Without those heads, what was pinned outside of the store does.
			s = r.rewrite(gov)
			i := at(s)
			change(s, i)
			s.link(t)
			s.behead(int64(i))
			r.distrusts(what+", linked and without heads", s, run, nil)
		}
	}
}

// Heads signed by somebody else vouch for nothing, whether their key is listed
// nowhere or in manifests under another root.
func TestResignedGovernanceIsFound(t *testing.T) {
	t.Parallel()
	r, run, gov := governed(t)
	halt := func(s *rewritten) { // the incident never was
		i := s.index(t, jobs.EventIncident, 0)
		s.entries = slices.Delete(s.entries, i, i+2)
		s.link(t)
	}
	mallory, err := keys.Open(filepath.Join(t.TempDir(), "mallory"), bytes.NewReader(bytes.Repeat([]byte{7, 1, 9}, 1<<12)))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := mallory.Signer()
	if err != nil {
		t.Fatal(err)
	}
	for _, pin := range []bool{true, false} {
		if !pin {
			r.unpin()
		}
		s := r.rewrite(gov)
		s.resign(t, signer)
		r.distrusts("signed by a key that no manifest lists", s, run, ledger.ErrHeadSignature)

		s = r.rewrite(gov)
		halt(s)
		s.resign(t, signer)
		r.distrusts("without the incident, signed by a key that no manifest lists", s, run, nil)

		s.statements[sign.ManifestType] = nil
		for i, m := range mallory.Manifests() {
			s.statements[sign.ManifestType] = append(s.statements[sign.ManifestType], ledger.Statement{Run: gov, Type: sign.ManifestType, Count: int64(i), Envelope: m})
		}
		r.distrusts("under another root", s, run, nil)

		s.behead(0)
		r.distrusts("without any head", s, run, nil)
	}
}

// An act that another key has signed in the name of its actor is found, by
// whoever the ledger around it is signed.
func TestForgedGovernanceActIsFound(t *testing.T) {
	t.Parallel()
	r, run, gov := governed(t)
	r.unpin()
	own, err := r.keys.Signer()
	if err != nil {
		t.Fatal(err)
	}
	mallory, err := sign.NewPrivateKey(bytes.Repeat([]byte{9}, ed25519.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range acts {
		s := r.rewrite(gov)
		i := s.index(t, act.name, act.n)
		o, err := ledger.Parse(&s.entries[i])
		if err != nil {
			t.Fatal(err)
		}
		if !o.Data().Has("act") {
			continue
		}
		said, err := govern.Peek(o.Data().Get("act"))
		if err != nil {
			t.Fatal(err)
		}
		forged, err := said.Sign(mallory)
		if err != nil {
			t.Fatal(err)
		}
		v, err := canon.Parse(forged)
		if err != nil {
			t.Fatal(err)
		}
		body, err := canon.Encode(o.Body.With("data", o.Data().With("act", v)), canon.Native)
		if err != nil {
			t.Fatal(err)
		}
		s.entries[i].Body = body
		s.link(t)
		s.resign(t, own) // as somebody could who has stolen the head key
		r.distrusts(act.name+" signed by another", s, run, govern.ErrSignature)
	}
}

// A ledger that was cut off behind one of its heads verifies by itself. That it
// was longer is known outside of the store.
func TestGovernanceThatWasCutOffIsFound(t *testing.T) {
	t.Parallel()
	r, run, gov := governed(t)
	whole := r.rewrite(gov)
	for _, head := range whole.statements[ledger.HeadType] {
		if head.Count == int64(len(whole.entries)) {
			continue
		}
		s := r.rewrite(gov)
		s.entries = s.entries[:head.Count]
		s.behead(head.Count)
		v, err := archive.VerifyRun(context.Background(), s, gov, &archive.VerifyOptions{Roots: r.keys.Roots(), Check: jobs.Check})
		if err != nil || v.Verdict != replay.Verified {
			t.Fatalf("cut off behind a head: %+v, %v", v, err)
		}
		r.distrusts("cut off behind a head", s, run, ledger.ErrExpectedHead)
	}
	s := r.rewrite(gov)
	s.entries = nil
	r.distrusts("all of it taken away", s, run, nil)
	if _, err := r.over(s).Replay(context.Background(), on(run, production)); !strings.Contains(err.Error(), "is not in the store any more") {
		t.Errorf("Replay = %v", err)
	}
}

// The ledger outlives its head keys: what a key vouched for that was revoked
// later, the pin does.
func TestGovernanceGoesOnAfterItsHeadKeyWasReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	first := r.keys.List()[0].Key.ID().String()
	replay := func(what string) {
		t.Helper()
		if _, err := r.over(r.store).Replay(context.Background(), on(res.Run, production)); err != nil {
			t.Fatalf("Replay after the head key was %s = %v", what, err)
		}
	}
	if _, err := r.keys.Rotate(); err != nil {
		t.Fatal(err)
	}
	replay("rotated")
	r.Runner = r.over(r.store)
	moved := r.moved(r.governance().Run()) // it says itself by which keys it is signed
	v, err := archive.VerifyRun(context.Background(), moved.store, r.governance().Run(), &archive.VerifyOptions{Roots: r.keys.Roots(), Check: jobs.Check})
	if err != nil || v.Level != ledger.LevelSigned {
		t.Errorf("VerifyRun by the manifests that it brings = %+v, %v", v, err)
	}
	if _, _, err := r.keys.Revoke(first); err != nil {
		t.Fatal(err)
	}
	replay("revoked")
	r.unpin()
	_, err = r.over(r.store).Replay(context.Background(), on(res.Run, production))
	wantCode(t, err, job.ErrIntegrity) // nothing vouches for it any more
}
