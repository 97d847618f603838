package jobs_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memory"
)

// counting counts how often runs are listed or read.
type counting struct {
	drive.Store
	mu    sync.Mutex
	reads map[ledger.RunID]int
	lists int
}

func (s *counting) Runs(ctx context.Context) iter.Seq2[ledger.RunInfo, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	return s.Store.Runs(ctx)
}

func (s *counting) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[run]++
	return s.Store.Read(ctx, run, from)
}

// crowd fills a store with runs that have nothing to do with jobs.
func crowd(t testing.TB, s ledger.Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan int)
	for range 64 {
		wg.Go(func() {
			for range next {
				ledgertest.NewWriter(t, s).Append(t, s, "open", "more")
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// A replay looks at the runs that it is about, and at no other, however many the
// store holds.
func TestReplayLooksAtNoOtherRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	crowd(t, r.store, 50)
	res := r.done(birds)
	s := &counting{Store: r.store, reads: map[ledger.RunID]int{}}
	out, err := r.over(s).Replay(context.Background(), on(res.Run, production))
	if err != nil {
		t.Fatal(err)
	}
	about := map[ledger.RunID]bool{res.Run: true, out.Audit: true, r.governance().Run(): true}
	for run, n := range s.reads {
		if !about[run] {
			t.Errorf("run %s was read %d times", run, n)
		}
	}
	if s.lists != 0 {
		t.Errorf("all runs were listed %d times", s.lists)
	}
}

// The governance of a tenant is found as fast in a store of ten thousand runs as
// in one of a hundred.
func BenchmarkOpenGovernance(b *testing.B) {
	for _, open := range []struct {
		name string
		open func(b *testing.B) store.Store
	}{
		{"memory", func(*testing.B) store.Store { return memory.New(nil) }},
		{"sqlite", func(b *testing.B) store.Store {
			s, err := store.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "reprise.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			return s
		}},
	} {
		for _, runs := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("%s/runs=%d", open.name, runs), func(b *testing.B) {
				s := open.open(b)
				crowd(b, s, runs/2)
				k := newKeys(b)
				r := runner(b, s, k)
				if _, err := jobs.OpenGovernance(b.Context(), r.Config, k, ""); err != nil {
					b.Fatal(err)
				}
				crowd(b, s, runs/2)
				for b.Loop() {
					if _, err := jobs.OpenGovernance(b.Context(), r.Config, k, ""); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
