package drive_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// entryOf returns a reference to entry n of a run.
func entryOf(t *testing.T, store drive.Store, run ledger.RunID, n int64) ledger.Ref {
	t.Helper()
	o, err := drive.NewReader(store, run).Open(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Ref{Run: run, N: n, ID: o.ID}
}

// forkOrLive answers from a journal while it lasts, and is live after it.
type forkOrLive struct{ *effect.Journal }

func (f forkOrLive) Answer(k effect.Key, c *effect.Call) (effect.Answer, error) {
	a, err := f.Journal.Answer(k, c)
	if errors.Is(err, effect.ErrMissing) && len(f.Left()) == 0 {
		return effect.Answer{Mode: effect.MakeIt}, nil
	}
	return a, err
}

// spec: T-39, T-40
func TestBranchAppendsNothingForWhatItsSourceHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newMemory(t)
	record := func(o drive.Opening, prompts ...string) ledger.RunID {
		s, err := drive.Open(ctx, config(t, store, "recorder"), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range prompts {
			if _, err := exchange(ctx, s, p, shout); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Seal(ctx, "done", canon.Value{}, nil); err != nil {
			t.Fatal(err)
		}
		verify(t, store, s.Run())
		return s.Run()
	}
	branch := func(source ledger.RunID, last int64, prompts ...string) ledger.RunID {
		j, err := drive.ReadJournal(ctx, store, source, last)
		if err != nil {
			t.Fatal(err)
		}
		at := entryOf(t, store, source, last)
		return record(drive.Opening{
			Engine: "capture", Mode: drive.ModeBranch, Source: &at, From: source, Trunk: true,
			Sources: drive.All(forkOrLive{j}),
		}, prompts...)
	}
	before := bodies(t, store, record(drive.Opening{Engine: "capture", Mode: "record"}, "unrelated"))
	source := record(drive.Opening{Engine: "capture", Mode: "record"}, "one", "one", "two", "three")
	first := branch(source, 4, "one", "one", "other", "one")
	want := []string{"open", "call chat", "outcome", "call chat", "outcome", "seal"}
	if got := bodies(t, store, first); !slices.Equal(got, want) {
		t.Errorf("entries of the branch = %v, want %v: its first entry after open is the first beyond its source", got, want)
	}
	second := branch(first, 2, "one", "one", "other", "more")
	if got := bodies(t, store, second); !slices.Equal(got, []string{"open", "call chat", "outcome", "seal"}) {
		t.Errorf("entries of the branch of the branch = %v", got)
	}
	j := journal(t, store, second)
	rep, err := drive.Open(ctx, config(t, store, "replayer"), drive.Opening{Sources: drive.All(j), From: second, Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"one", "one", "other", "more"} {
		if got, err := exchange(ctx, rep, p, noUpstream); err != nil || got != p+"!" {
			t.Errorf("replay of the branch: %q = %q, %v", p, got, err)
		}
	}
	if len(j.Left()) != 0 || len(rep.Misses()) != 0 {
		t.Errorf("left %v, misses %v; want the whole history and nothing else", j.Left(), rep.Misses())
	}
	if err := rep.Seal(ctx, "done", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := bodies(t, store, source); len(got) != 10 || len(before) != 4 {
		t.Errorf("the source has %d entries, want 10: a branch never rewrites it", len(got))
	}
}

// spec: T-38
func TestBranchOfAnEngineFoldsItsSourceFirst(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newMemory(t)
	source := runJob(t, store, 3)
	all := bodies(t, store, source)
	cut := int64(slices.Index(all, "commit")) // round 0 is done
	at := entryOf(t, store, source, cut)
	s, err := drive.Open(ctx, config(t, store, "one"), drive.Opening{Engine: "job", Mode: drive.ModeBranch, Source: &at})
	if err != nil {
		t.Fatal(err)
	}
	st, err := drive.Run(ctx, s, &job{rounds: 2, rule: "1"}, agents)
	if err != nil {
		t.Fatal(err)
	}
	if alive, _ := st.World.Len(); alive != 2 {
		t.Errorf("the branch's world has %d rounds, want that of its source and its own", alive)
	}
	if err := s.Seal(ctx, "done", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	got := bodies(t, store, s.Run())
	decisions := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != "decision route" })
	if len(decisions) != 1 {
		t.Errorf("entries of the branch = %v, want the second round only", got)
	}
	report, err := drive.Replay(ctx, store, s.Run(), &job{rounds: 2, rule: "1"}, "audit")
	if err != nil || report.Verdict != replay.Same {
		t.Errorf("Replay of the branch = %+v, %v; want same", report, err)
	}
	other := entryOf(t, store, source, cut+1)
	other.N = cut
	if s, err = drive.Open(ctx, config(t, store, "one"), drive.Opening{Engine: "job", Mode: drive.ModeBranch, Source: &other}); err != nil {
		t.Fatal(err)
	}
	if _, err := drive.Run(ctx, s, &job{rounds: 2}, agents); !errors.Is(err, drive.ErrLineage) {
		t.Errorf("a branch that names another entry = %v, want %v", err, drive.ErrLineage)
	}
}
