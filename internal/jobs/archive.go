package jobs

import (
	"bytes"
	"context"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/s3blob"
)

// ErrNotArchived means that a job is over, and whole in the store, but is not in
// the archive that its file asks for. Archive it with "reprise export JOB --to".
const ErrNotArchived fault.Unavailable = "jobs.not_archived"

// snapshotDir is where snapshots are in a vault: each under its snapshot_id, and
// there under the digest of its bytes, because what is signed anew, with another
// server key, keeps its id.
const snapshotDir = "snapshots"

// Archived is what a vault holds of a job.
type Archived struct {
	URL       string // of the bundle
	Bundle    s3blob.Object
	Snapshots []s3blob.Object // in the order of the document
}

// Archive puts everything that a replay of a job needs into a vault: one bundle,
// under its digest, and beside it the snapshots under their ids (M-98, M-99). A
// run that is no job has no snapshots. To repeat it stores nothing twice.
func Archive(ctx context.Context, store drive.Store, run ledger.RunID, v *s3blob.Vault) (*Archived, error) {
	o, err := archive.Deposit(ctx, store, run, v, nil)
	if err != nil {
		return nil, err
	}
	a := &Archived{URL: v.URL(o), Bundle: o}
	for s, err := range Snapshots(ctx, store, run, "") {
		if err != nil {
			return nil, err
		}
		b, err := s.Bytes()
		if err != nil {
			return nil, err
		}
		o, err := v.Put(ctx, snapshotDir+"/"+s.ID, ".json", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, err
		}
		a.Snapshots = append(a.Snapshots, o)
	}
	return a, nil
}

// archiveRun archives a job that is over as its file asks for. That it is over
// stays true whatever becomes of it.
func (r *Runner) archiveRun(ctx context.Context, run ledger.RunID, place string) (*Archived, error) {
	const op = "jobs.Archive"
	open := r.Vault
	if open == nil {
		open = func(ctx context.Context, place string) (*s3blob.Vault, error) {
			return s3blob.OpenVault(ctx, place, nil)
		}
	}
	v, err := open(ctx, place)
	if err != nil {
		return nil, fault.Wrap(ErrNotArchived, op, err, "the job is over and in the store, but not archived")
	}
	defer v.Close()
	a, err := Archive(ctx, r.Config.Store, run, v)
	if err != nil {
		return nil, fault.Wrap(ErrNotArchived, op, err, "the job is over and in the store, but not archived")
	}
	return a, nil
}
