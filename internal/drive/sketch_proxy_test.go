package drive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// journal reads the calls of a recorded run up to entry n; all if n is
// negative.
func journal(t *testing.T, store drive.Store, run ledger.RunID) *effect.Journal {
	t.Helper()
	j, err := drive.ReadJournal(context.Background(), store, run, -1)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// exchange plays a proxy: it begins a call and answers it from the record, or
// from upstream.
func exchange(ctx context.Context, s *drive.Session, prompt string, upstream func(string) string) (string, error) {
	x, err := s.Begin(ctx, modelCall(prompt))
	if err != nil {
		return "", err
	}
	if _, answered, err := x.Answered(); err != nil {
		return "", err
	} else if answered {
		b, err := x.Content(ctx, "response")
		if err != nil {
			return "", err
		}
		return string(b), x.End(ctx, effect.Outcome{})
	}
	st, err := x.Stream("response", "text/plain", canon.Value{})
	if err != nil {
		return "", err
	}
	reply := upstream(prompt)
	for i := range len(reply) {
		if _, err := st.Write([]byte(reply[i : i+1])); err != nil {
			return "", err
		}
	}
	return reply, x.End(ctx, effect.Outcome{Status: effect.OK})
}

func shout(s string) string { return s + "!" }

func noUpstream(string) string { panic("a replay called the upstream") }

func TestForeignProcessIsReplayedInAnyOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newMemory(t)
	rec, err := drive.Open(ctx, config(t, store, "recorder"), drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for k := range 8 {
				if _, err := exchange(ctx, rec, fmt.Sprintf("agent %d asks %d", i, k), shout); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := rec.Seal(ctx, "done", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	verify(t, store, rec.Run())

	j := journal(t, store, rec.Run())
	rep, err := drive.Open(ctx, config(t, store, "replayer"), drive.Opening{
		Engine: "capture", Mode: "replay", Sources: drive.All(j), From: rec.Run(), Lazy: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		for k := 7; k >= 0; k-- {
			prompt := fmt.Sprintf("agent %d asks %d", i, k)
			got, err := exchange(ctx, rep, prompt, noUpstream)
			if err != nil || got != prompt+"!" {
				t.Errorf("replay of %q = %q, %v", prompt, got, err)
			}
		}
	}
	if left := j.Left(); len(left) != 0 {
		t.Errorf("%d recorded calls were not asked for", len(left))
	}
	if err := rep.Seal(ctx, "done", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	verify(t, store, rep.Run())
}

func TestMissIsRecordedAndNeverAnswered(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newMemory(t)
	rec, err := drive.Open(ctx, config(t, store, "recorder"), drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"one", "two"} {
		if _, err := exchange(ctx, rec, p, shout); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Seal(ctx, "done", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	j := journal(t, store, rec.Run())
	rep, err := drive.Open(ctx, config(t, store, "replayer"), drive.Opening{Sources: drive.All(j), From: rec.Run(), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exchange(ctx, rep, "one", noUpstream); err != nil {
		t.Fatal(err)
	}
	if _, err := exchange(ctx, rep, "one", noUpstream); !errors.Is(err, effect.ErrMissing) {
		t.Errorf("a second occurrence = %v, want %v", err, effect.ErrMissing)
	}
	if _, err := exchange(ctx, rep, "too", noUpstream); !errors.Is(err, effect.ErrMissing) {
		t.Errorf("another prompt = %v, want %v", err, effect.ErrMissing)
	}
	if n := len(rep.Misses()); n != 2 {
		t.Errorf("misses = %d, want 2", n)
	}
	if near := j.Nearest(rep.Misses()[1].Key, &rep.Misses()[1].Call, 1); len(near) != 1 || near[0].Call.N != 3 {
		t.Errorf("nearest = %+v, want the unused call at entry 3", near)
	}
	if left := j.Left(); len(left) != 1 || left[0].Call.N != 3 {
		t.Errorf("left over = %+v, want the call at entry 3", left)
	}
	if err := rep.Seal(ctx, "diverged", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	verify(t, store, rep.Run())
}

func TestKilledRecorderLeavesTheBytesThatCame(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := time.Now()
	store := memory.New(&memory.Options{Now: func() time.Time { return clock }})
	cfg := config(t, store, "recorder")
	rec, err := drive.Open(ctx, cfg, drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exchange(ctx, rec, "finished", shout); err != nil {
		t.Fatal(err)
	}
	x, err := rec.Begin(ctx, modelCall("never finished"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := x.Stream("response", "text/event-stream", canon.Object(canon.M("status", canon.Int(200))))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"data: one\n\n", "data: two\n\n"} {
		if _, err := io.WriteString(st, part); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, store, rec)

	// The recorder is gone. Until its lease has run out nobody touches its run.
	other := cfg
	other.Holder = "another process"
	if done, err := drive.Recover(ctx, other); err != nil || len(done) != 0 {
		t.Errorf("Recover before the lease ran out = %v, %v; want nothing", done, err)
	}
	clock = clock.Add(time.Minute)
	done, err := drive.Recover(ctx, other)
	if err != nil || len(done) != 1 || done[0].Run != rec.Run() {
		t.Fatalf("Recover = %v, %v; want the run", done, err)
	}
	v := verify(t, store, rec.Run())
	if v.Sealed {
		t.Error("a killed run was sealed")
	}
	j := journal(t, store, rec.Run())
	rep, err := drive.Open(ctx, other, drive.Opening{Sources: drive.All(j), From: rec.Run(), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	if x, err = rep.Begin(ctx, modelCall("never finished")); err != nil {
		t.Fatal(err)
	}
	o, _, err := x.Answered()
	b, err2 := x.Content(ctx, "response")
	if err != nil || err2 != nil || o.Status != effect.Interrupted || string(b) != "data: one\n\ndata: two\n\n" {
		t.Errorf("the interrupted answer = %s %q, %v %v", o.Status, b, err, err2)
	}
	if status, _ := o.Data.Get("status").AsInt(); status != 200 {
		t.Errorf("the head of the interrupted answer = %v", o.Data)
	}
	timing, err := x.Content(ctx, drive.TimingName)
	if parts, err2 := drive.ParseTiming(timing); err != nil || err2 != nil || len(parts) != 2 || parts[0].Size != 11 {
		t.Errorf("timing = %v, %v %v; want two parts of 11 bytes", parts, err, err2)
	}
	if done, err := drive.Recover(ctx, other); err != nil || len(done) != 0 {
		t.Errorf("a second Recover = %v, %v; want nothing to do", done, err)
	}
}

// settle waits until the calls that were begun are durable, as they are when
// the process dies a moment later.
func settle(t *testing.T, store drive.Store, s *drive.Session) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		at, err := store.At(context.Background(), s.Run())
		if err == nil && at == s.At() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the entries do not become durable")
}
