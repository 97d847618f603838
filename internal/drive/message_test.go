package drive_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// lossy is a store whose disk is gone from some moment on.
type lossy struct {
	drive.Store
	gone atomic.Bool
}

func (l *lossy) Append(ctx context.Context, b *ledger.Batch) error {
	if l.gone.Load() { // for ever: the process is as good as dead
		return errors.New("the disk is gone")
	}
	return l.Store.Append(ctx, b)
}

// A message may be passed on when Message returns. So it is in the ledger
// after a kill, whether its entry had become durable or not.
func TestKilledRecorderLeavesTheMessagesThatWereSaid(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := time.Now()
	store := memory.New(&memory.Options{Now: func() time.Time { return clock }})
	disk := &lossy{Store: store}
	cfg := config(t, disk, "recorder")
	rec, err := drive.Open(ctx, cfg, drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	x, err := rec.Begin(ctx, modelCall("a socket"))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Duplex(ctx, canon.Object(canon.M("status", canon.Int(101)))); err != nil {
		t.Fatal(err)
	}
	say := func(text string) {
		t.Helper()
		if err := x.Message("message", canon.Object(canon.M("dir", canon.String("in"))), ledger.Content{Name: "message", Type: "text/plain", Bytes: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	say("two")
	settle(t, store, rec)
	disk.gone.Store(true)
	say("three")

	clock = clock.Add(time.Minute)
	other := cfg
	other.Store, other.Holder = store, "another process"
	if done, err := drive.Recover(ctx, other); err != nil || len(done) != 1 {
		t.Fatalf("Recover = %v, %v; want the run", done, err)
	}
	verify(t, store, rec.Run())
	r := drive.NewReader(store, rec.Run())
	var got []string
	for n := range int64(10) {
		o, err := r.Open(ctx, n)
		if errors.Is(err, ledger.ErrNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch o.Kind {
		case ledger.KindEvent:
			b, err := r.Bytes(ctx, o, 0)
			if call, _ := o.Body.Get("refs").Get("call").AsInt(); err != nil || call != x.N() || o.Data().Get("dir").Str() != "in" {
				t.Errorf("event %d = %s, %v", o.N, o.Body, err)
			}
			got = append(got, string(b))
		case ledger.KindOutcome:
			out, err := effect.ParseOutcome(o.Body)
			if status, _ := out.Data.Get("status").AsInt(); err != nil || out.Status != effect.Interrupted || status != 101 || len(o.Att) != 0 {
				t.Errorf("outcome = %s, %v", o.Body, err)
			}
			got = append(got, "closed")
		default:
		}
	}
	if want := []string{"one", "two", "three", "closed"}; len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Errorf("the ledger has %q, want %q", got, want)
	}
}
