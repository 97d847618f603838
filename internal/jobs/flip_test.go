package jobs_test

import (
	"context"
	"flag"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// every makes the test flip every byte, which takes minutes, and not one in so
// many.
var every = flag.Bool("every-byte", false, "flip every byte of every stored object of a job")

const stride = 67

// apart is a store whose job run is that of another store, and whatever else is
// written stands in one of its own: each replay finds a fresh governance.
type apart struct {
	drive.Store // all but the job
	job         drive.Store
	run         ledger.RunID
}

func (s apart) of(id string) drive.Store {
	if strings.HasPrefix(id, string(s.run)) {
		return s.job
	}
	return s.Store
}

func (s apart) Acquire(ctx context.Context, run ledger.RunID, holder string, ttl time.Duration) (ledger.Lease, error) {
	return s.of(string(run)).Acquire(ctx, run, holder, ttl)
}

func (s apart) At(ctx context.Context, run ledger.RunID) (ledger.Position, error) {
	return s.of(string(run)).At(ctx, run)
}

func (s apart) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return s.of(string(run)).Read(ctx, run, from)
}

func (s apart) Statements(ctx context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	return s.of(string(run)).Statements(ctx, run, typ)
}

func (s apart) Scope(ctx context.Context, id string, create *blob.Scope) (blob.Scope, error) {
	return s.of(id).Scope(ctx, id, create)
}

func (s apart) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	return s.of(scope).Get(ctx, scope, id)
}

func (s apart) List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error] {
	return s.of(scope).List(ctx, scope)
}

// object is something that a store keeps of a job.
type object struct {
	name string
	size int
	with func(at int) drive.Store // the store with one bit of that byte flipped
}

// objects returns all that is stored of a job.
func (r *rig) objects(run ledger.RunID) []object {
	r.t.Helper()
	ctx := context.Background()
	flip := func(b []byte, at int) []byte {
		b = slices.Clone(b)
		b[at] ^= 1 << (at % 8)
		return b
	}
	var out []object
	seen := map[canon.Digest]bool{}
	n := int64(0)
	for e, err := range r.store.Read(ctx, run, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		at := n
		entry := func(name string, size int, change func(*ledger.Entry, int)) {
			out = append(out, object{name, size, func(i int) drive.Store {
				return altered{Store: r.store, run: run, entry: func(m int64, e *ledger.Entry) *ledger.Entry {
					if m != at {
						return e
					}
					c := *e
					c.Parts = slices.Clone(e.Parts)
					change(&c, i)
					return &c
				}}
			}})
		}
		entry("id", len(e.ID), func(e *ledger.Entry, i int) { e.ID[i] ^= 1 })
		entry("header", len(e.Header), func(e *ledger.Entry, i int) { e.Header = flip(e.Header, i) })
		entry("salt", len(e.Salt), func(e *ledger.Entry, i int) { e.Salt[i] ^= 1 })
		entry("body", len(e.Body), func(e *ledger.Entry, i int) { e.Body = flip(e.Body, i) })
		for j, p := range e.Parts {
			entry("recipe", len(p.Recipe), func(e *ledger.Entry, i int) { e.Parts[j].Recipe = flip(e.Parts[j].Recipe, i) })
			entry("part salt", len(p.Salt), func(e *ledger.Entry, i int) { e.Parts[j].Salt[i] ^= 1 })
			if seen[canon.SHA256([]byte(p.Scope))] {
				continue
			}
			seen[canon.SHA256([]byte(p.Scope))] = true
			for id, err := range r.store.List(ctx, p.Scope) {
				if err != nil {
					r.t.Fatal(err)
				}
				b, err := r.store.Get(ctx, p.Scope, id)
				if err != nil {
					r.t.Fatal(err)
				}
				out = append(out, object{"chunk", len(b), func(i int) drive.Store {
					return altered{Store: r.store, run: run, chunk: func(got canon.Digest, b []byte) ([]byte, error) {
						if got == id {
							b = flip(b, i)
						}
						return b, nil
					}}
				}})
			}
		}
		n++
	}
	return out
}

// Whatever byte of whatever is stored of a job is changed, a replay says
// INTEGRITY_FAILURE, and the job stands still.
func TestAnyFlippedByteIsAnIntegrityFailureAndHalts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	step, flips := stride, 0
	if *every {
		step = 1
	}
	for k, o := range r.objects(res.Run) {
		for at := k % step; at < o.size; at += step {
			flips++
			alone := apart{Store: memory.New(nil), job: o.with(at), run: res.Run}
			runner := r.over(alone)
			_, err := runner.Replay(context.Background(), on(res.Run, production))
			g, gErr := jobs.OpenGovernance(context.Background(), runner.Config, r.keys, "")
			if gErr != nil {
				t.Fatal(gErr)
			}
			if code := codeOf(err); code != job.ErrIntegrity.Error() || len(g.Standing()) == 0 {
				t.Fatalf("byte %d of %s (object %d): Replay = %v with %d halts, want INTEGRITY_FAILURE and the halt", at, o.name, k, err, len(g.Standing()))
			}
		}
	}
	t.Logf("%d flips", flips)
}
