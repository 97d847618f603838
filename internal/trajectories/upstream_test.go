package trajectories_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/internal/trajectories/trajectoriestest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// The tests of this file carry the names of upstream's tests of its ledger and
// replay, against runs of this engine. Pins are in TestPinsFindDrift.

// changed is a store that gives other entries of a run than it has.
type changed struct {
	drive.Store
	run  ledger.RunID
	edit func([]*ledger.Entry) []*ledger.Entry
}

func (c changed) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	if run != c.run {
		return c.Store.Read(ctx, run, from)
	}
	return func(yield func(*ledger.Entry, error) bool) {
		var all []*ledger.Entry
		for e, err := range c.Store.Read(ctx, run, 0) {
			if err != nil {
				yield(nil, err)
				return
			}
			k := *e
			all = append(all, &k)
		}
		for i, e := range c.edit(all) {
			if int64(i) >= from && !yield(e, nil) {
				return
			}
		}
	}
}

func proveChanged(t *testing.T, r *trajectoriestest.Rig, run ledger.RunID, edit func([]*ledger.Entry) []*ledger.Entry) *replay.Report {
	t.Helper()
	p, err := trajectories.Prove(context.Background(), changed{r.Store, run, edit}, run, &trajectories.ProveOptions{Derive: true})
	if err != nil {
		t.Fatalf("%v (%s)", err, fault.CodeOf(err))
	}
	return p.Report
}

func TestLedgersThatUpstreamRefuses(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	other := trajectoriestest.New(t)
	other.Store = r.Store
	foreign, _ := other.Run()
	var first *ledger.Entry
	for e, err := range r.Store.Read(context.Background(), foreign, 0) {
		if err != nil {
			t.Fatal(err)
		}
		k := *e
		first = &k
		break
	}
	header := func(e *ledger.Entry, from, to string) *ledger.Entry {
		k := *e
		if k.Header = bytes.Replace(e.Header, []byte(from), []byte(to), 1); bytes.Equal(k.Header, e.Header) {
			t.Fatalf("%s is not in %s", from, e.Header)
		}
		k.ID = ledger.ID(k.Header)
		return &k
	}
	for _, tt := range []struct {
		name string
		edit func([]*ledger.Entry) []*ledger.Entry
	}{
		{"rejects_out_of_order_seq", func(l []*ledger.Entry) []*ledger.Entry { l[5], l[6] = l[6], l[5]; return l }},
		{"rejects_mixed_trajectory_ids", func(l []*ledger.Entry) []*ledger.Entry { l[5] = first; return l }},
		{"rejects_root_relabeled_under_wrong_trajectory", func(l []*ledger.Entry) []*ledger.Entry {
			l[0] = header(l[0], string(run), string(foreign))
			return l
		}},
		{"rejects_non_root_first_entry", func(l []*ledger.Entry) []*ledger.Entry { return l[1:] }},
		{"rejects_root_with_nonzero_seq", func(l []*ledger.Entry) []*ledger.Entry { l[0] = header(l[0], `"n":0`, `"n":3`); return l }},
		{"rejects_root_with_parent_some", func(l []*ledger.Entry) []*ledger.Entry {
			l[0] = header(l[0], `"prev":null`, `"prev":"`+l[1].ID.String()+`"`)
			return l
		}},
		{"an entry is missing", func(l []*ledger.Entry) []*ledger.Entry { return slices.Delete(l, 7, 8) }},
		{"an entry stands twice", func(l []*ledger.Entry) []*ledger.Entry { return slices.Insert(l, 7, l[7]) }},
		{"the body of another entry", func(l []*ledger.Entry) []*ledger.Entry { l[9].Body = l[31].Body; return l }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if rep := proveChanged(t, r, run, tt.edit); rep.Verdict != replay.Failed {
				t.Errorf("verdict = %s, want failed", rep.Verdict)
			}
		})
	}
}

// spec: T-20
func TestACommitOfAnotherTrajectoryIsRefused(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	n := r.Entry(run, trajectoriestest.Kind(ledger.KindCommit, ""))
	for name, path := range map[string][]string{
		"trajectory_id": {"body", "trajectory_id"}, "proposal_id": {"body", "proposal_id"}, "writ_id": {"body", "writ_id"}, "its own id": {"id"},
	} {
		forged := r.Forge(run, func(i int64, d *ledger.Draft, _ map[string][]byte) bool {
			if i == n {
				d.Body = d.Body.With("data", replaced(t, d.Body.Get("data"), path, canon.String(canon.SHA256(nil).String())))
			}
			return true
		})
		rep := prove(t, r, forged, nil).Report
		if f := firstAt(rep, n); f == nil || rep.Verdict != replay.Failed {
			t.Errorf("%s: verdict %s, %+v; want a failure at entry %d", name, rep.Verdict, f, n)
		}
	}
}

func firstAt(r *replay.Report, n int64) *ledger.Finding {
	if f := first(r); f != nil && f.N == n {
		return f
	}
	return nil
}

func TestRootAndCommitAppend(t *testing.T) { // root_and_commit_append, replay_rebuilds_world
	t.Parallel()
	r := trajectoriestest.New(t)
	r.Propose("worker", "kv_set", `{"key":"a","value":"1"}`)
	r.Propose("worker", "kv_set", `{"key":"b","value":"2"}`)
	run, _ := r.Run()
	p := prove(t, r, run, nil)
	if p.Report.Verdict != replay.Verified || p.World.Commits != 2 {
		t.Errorf("verdict = %s, %d commits; want 2", p.Report.Verdict, p.World.Commits)
	}
	it, ok := p.World.Find("kv", "a")
	if v, err := p.World.Value(context.Background(), &it); !ok || err != nil || v.Str() != "1" {
		t.Errorf("kv a = %s, %v; want 1", v, err)
	}
}

// skilled is a run whose agent is bound to a skill.
func skilled(t *testing.T) (*trajectoriestest.Rig, ledger.RunID) {
	r := trajectoriestest.New(t)
	r.Charter.Agents[0].Skill = &trajectory.Skill{
		Name: "careful", Version: 1, Title: "Careful", Instructions: "Be careful with {what}.",
		Tools: []string{"kv_*"}, Ceiling: trajectory.Ceiling{Read: true, Write: true},
		Params: []trajectory.Param{{Key: "what", Default: "money"}},
	}
	r.Propose("worker", "kv_set", `{"key":"a","value":1}`)
	r.Propose("worker", "memory_store", `{"key":"a","value":1}`)
	run, _ := r.Run()
	return r, run
}

func TestSkillBoundAppendsAndSelfVerifiesOnReplay(t *testing.T) { // skill_bound_appends_and_self_verifies_on_replay
	t.Parallel()
	r, run := skilled(t)
	if rep := prove(t, r, run, nil).Report; rep.Verdict != replay.Verified {
		t.Fatalf("verdict = %s: %+v", rep.Verdict, first(rep))
	}
	n := r.Entry(run, trajectoriestest.Kind(ledger.KindSkillBound, ""))
	forged := r.Forge(run, func(i int64, d *ledger.Draft, _ map[string][]byte) bool {
		if i == n {
			d.Body = d.Body.With("data", replaced(t, d.Body.Get("data"), []string{"skill", "instructions"}, canon.String("Be bold.")))
		}
		return true
	})
	expect(t, prove(t, r, forged, nil).Report, trajectories.ErrNotDerived, n)
}

func TestSameNoteDistinctTrajectoriesDoNotCollide(t *testing.T) { // same_note_distinct_trajectories_do_not_collide
	t.Parallel()
	a := trajectoriestest.New(t)
	b := trajectoriestest.New(t)
	b.Store = a.Store
	writ := b.Writ("worker of another run")
	b.Charter.Writs, b.Charter.Agents[0].Writ = []*trajectory.Writ{writ}, writ.ID
	ra, _ := a.Run()
	rb, _ := b.Run()
	x, y := prove(t, a, ra, nil).Report, prove(t, b, rb, nil).Report
	if x.Verdict != replay.Verified || y.Verdict != replay.Verified || x.Detail.Get("trajectory_id").Str() == y.Detail.Get("trajectory_id").Str() {
		t.Errorf("%s %s and %s %s; want two verified trajectories", x.Verdict, x.Detail.Get("trajectory_id"), y.Verdict, y.Detail.Get("trajectory_id"))
	}
}

func TestDeterminismSameInputsSameID(t *testing.T) { // determinism_same_inputs_same_id
	t.Parallel()
	var heads []string
	for range 2 {
		r, run := story(t)
		heads = append(heads, prove(t, r, run, nil).Report.Detail.Get("head_commit").Str())
	}
	if heads[0] == "" || heads[0] != heads[1] {
		t.Errorf("head commits = %q, want one", heads)
	}
}

func TestConcurrentAppendAtSameSeqAdmitsExactlyOne(t *testing.T) { // concurrent_append_at_same_seq_admits_exactly_one
	t.Parallel()
	ctx := context.Background()
	r := trajectoriestest.New(t, trajectoriestest.Tool{Declaration: book})
	r.Policy(rules)
	r.Propose("worker", "book", `{"id":"B1"}`)
	run, _ := r.Run() // it waits, and is not sealed
	lease, err := r.Store.Acquire(ctx, run, "two at once", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	at, err := r.Store.At(ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			p, err := ledger.Prepare(ledger.Draft{
				Run: run, Kind: ledger.KindEvent, Salt: canon.Salt{byte(i + 1)}, T: "2026-03-01T09:00:00.000000Z",
				Body: canon.Object(canon.M("name", canon.String("noise")), canon.M("data", canon.Int(int64(i)))), Refs: canon.Object(canon.M("note", canon.Bool(true))),
			})
			if errs[i] = err; err == nil {
				e, _ := at.Next(run, p)
				errs[i] = r.Store.Append(ctx, &ledger.Batch{Lease: lease, At: at, Entries: []ledger.Entry{e}})
			}
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, ledger.ErrConflict):
			t.Errorf("Append = %v, want %v", err, ledger.ErrConflict)
		}
	}
	if won != 1 {
		t.Errorf("%d writers appended at entry %d, want one", won, at.Count)
	}
	if rep := prove(t, r, run, nil).Report; rep.Verdict != replay.Verified {
		t.Errorf("verdict = %s: %+v", rep.Verdict, first(rep))
	}
}

// TestPendingApprovalStatus covers pending_approval_round_trips_with_new_status_format,
// pre_rfc_pending_approval_fails_to_deserialize_cleanly and
// post_rfc_pending_approval_deserializes_cleanly.
func TestPendingApprovalStatus(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	for l, err := range trajectories.Trail(context.Background(), r.Store, run, -1) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Label != trajectory.LabelSuspended {
			continue
		}
		p, err := trajectory.ParseProposalEntry(l.Whole)
		if err != nil || p.Status.Kind != trajectory.Suspended || p.Status.Channel != "desk" {
			t.Fatalf("ParseProposalEntry = %+v, %v; want it suspended on desk", p, err)
		}
		again, err := p.Entry()
		if err != nil || !again.Equal(l.Whole) {
			t.Errorf("Entry = %s, %v; want %s", again, err, l.Whole)
		}
		old := l.Whole.With("body", l.Whole.Get("body").With("status", canon.String("suspended")))
		if _, err := trajectory.ParseProposalEntry(old); !errors.Is(err, trajectory.ErrProposal) {
			t.Errorf("ParseProposalEntry with a status that is a string = %v, want %v", err, trajectory.ErrProposal)
		}
	}
}

// spec: T-31
func TestReplayAsksNoOtherPolicies(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	// What the policies are today decides nothing about a run of yesterday.
	r.Policy(`{"name":"nothing","version":"1","rules":[{"name":"no","when":{"field":"intent.author","op":"ne","value":""},"decision":{"kind":"deny","reason":"no"}}]}`)
	p := prove(t, r, run, nil)
	if d := document(t, r, p).Get("detail"); p.Report.Verdict != replay.Verified || d.Get("commits").Len() != 2 || d.Get("commits").At(0).Get("policy_trace").Get("rules_evaluated").String() != `["writ.authority@1","desk@2"]` {
		t.Errorf("verdict = %s, commits = %s; want those of the recorded policies", p.Report.Verdict, d.Get("commits"))
	}
	now := r.Charter.Policies.Hash()
	expect(t, prove(t, r, run, func(o *trajectories.ProveOptions) { o.Pins.PolicySet = &now }).Report,
		trajectory.ErrPolicyDrift, r.Entry(run, trajectoriestest.Kind(ledger.KindCommit, "")))
}

// spec: T-32
func TestVerifyingIsNotSimulating(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	rep := prove(t, r, run, nil).Report
	if rep.Verb != replay.Verify || !rep.Authoritative || rep.Mode != "" {
		t.Errorf("a proof is %q in mode %q, authoritative %v; want an authoritative verification", rep.Verb, rep.Mode, rep.Authoritative)
	}
	var b bytes.Buffer
	if _, err := trajectories.WriteRerunJSON(&b, run, trajectories.RerunTools(context.Background(), r.Store, run, &trajectories.RerunOptions{Call: r.Call})); err != nil {
		t.Fatal(err)
	}
	v, err := canon.Parse(b.Bytes())
	if err != nil || v.Get("verb").Str() != "rerun" || v.Get("mode").Str() != "tools" || v.Get("authoritative").String() != "false" {
		t.Errorf("a rerun is %s; want another verb, its mode, and no authority", b.Bytes())
	}
}
