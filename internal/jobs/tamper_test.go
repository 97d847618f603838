package jobs_test

import (
	"context"
	"iter"
	"slices"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/jobs/jobstest"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// altered is a store whose entries and chunks of one run are read otherwise
// than they were written.
type altered struct {
	drive.Store
	run   ledger.RunID
	entry func(n int64, e *ledger.Entry) *ledger.Entry
	chunk func(id canon.Digest, b []byte) ([]byte, error)
}

func (s altered) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	entries := s.Store.Read(ctx, run, from)
	if run != s.run || s.entry == nil {
		return entries
	}
	return func(yield func(*ledger.Entry, error) bool) {
		n := from
		for e, err := range entries {
			if err == nil {
				e = s.entry(n, e)
			}
			n++
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s altered) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	b, err := s.Store.Get(ctx, scope, id)
	if err != nil || s.chunk == nil {
		return b, err
	}
	return s.chunk(id, b)
}

// newest returns the newest job.
func (r *rig) newest() ledger.RunID {
	r.t.Helper()
	for j, err := range jobs.List(context.Background(), r.store) {
		if err != nil {
			r.t.Fatal(err)
		}
		return j.Run
	}
	r.t.Fatal("there is no job")
	return ""
}

// entry returns the number of the first entry of that name.
func (r *rig) entry(run ledger.RunID, name string) int64 {
	r.t.Helper()
	i := slices.Index(r.audit(run), name)
	if i < 0 {
		r.t.Fatalf("run %s has no entry %s", run, name)
	}
	return int64(i)
}

// part returns the content of that name of an entry of the newest job.
func (r *rig) part(n int64, name string) (*ledger.Opened, int) {
	r.t.Helper()
	o, err := drive.NewReader(r.store, r.newest()).Open(context.Background(), n)
	if err != nil {
		r.t.Fatal(err)
	}
	i := o.Attachment(name)
	if i < 0 {
		r.t.Fatalf("entry %d has no content %s", n, name)
	}
	return o, i
}

// stored returns the store with another stored form of a content.
func (r *rig) stored(n int64, name string, with func(blob.Part) blob.Part) drive.Store {
	r.t.Helper()
	o, i := r.part(n, name)
	return altered{Store: r.store, run: o.Run, entry: func(at int64, e *ledger.Entry) *ledger.Entry {
		if at != n {
			return e
		}
		c := *e
		c.Parts = slices.Clone(e.Parts)
		c.Parts[i] = with(c.Parts[i])
		return &c
	}}
}

// without returns the store without a content.
func (r *rig) without(n int64, name string) drive.Store {
	return r.stored(n, name, func(p blob.Part) blob.Part { return blob.Part{Scope: p.Scope, Salt: p.Salt} })
}

// changed returns the store with one bit of a content flipped, in it or in the
// recipe that leads to it.
func (r *rig) changed(n int64, name string) drive.Store {
	return r.stored(n, name, func(p blob.Part) blob.Part {
		p.Recipe = slices.Clone(p.Recipe)
		p.Recipe[len(p.Recipe)-1] ^= 1
		return p
	})
}

// forge writes a job a second time, as somebody can who holds all keys. The
// contents of its open are for opening to change, if it is not nil.
func (r *rig) forge(res *jobs.Result, edit func(*job.Log), opening func(*ledger.Content)) ledger.RunID {
	r.t.Helper()
	run, err := jobstest.Forge(context.Background(), r.Runner, res.Run, edit, opening)
	if err != nil {
		r.t.Fatal(err)
	}
	r.sound(run)
	return run
}

// misrouted forges the first decision of a job.
func (r *rig) misrouted(res *jobs.Result) ledger.RunID {
	return r.forge(res, jobstest.Misroute, nil)
}

// apartFrom returns the store of a job as it is there, with everything else in a
// store of its own, which holds the governance that the job began under.
func (r *rig) apartFrom(run ledger.RunID, s drive.Store) drive.Store {
	r.t.Helper()
	return apart{Store: r.kept(r.governance().Run()).copied(r.t), job: s, run: run}
}
