package jobs

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/s3blob"
)

const (
	// ErrNotArchived means that a job is over, and whole in the store, but is not
	// in the archive that its file asks for. Archive it with "reprise job archive
	// JOB".
	ErrNotArchived fault.Unavailable = "jobs.not_archived"
	// ErrNoArchive means that the file of a job asks for no archive. Say where to
	// put it: "reprise export JOB --to".
	ErrNoArchive fault.Invalid = "jobs.no_archive"
)

// archivedType is the media type of the statement that a job is in the archive
// that its file asks for. It stands beside the run, so that neither the run nor
// its bundle is another one for it: {bundle, head, place, v}.
const archivedType = "application/vnd.reprise.job-archived.v1+json"

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

// Archive puts a job that is over where its file asks for, and records that it is
// there. It may be repeated: what is there is not stored again.
func (r *Runner) Archive(ctx context.Context, run ledger.RunID) (*Archived, error) {
	const op = "jobs.Archive"
	s, err := Find(ctx, r.Config.Store, run)
	switch {
	case err != nil:
		return nil, err
	case !s.Done:
		return nil, fault.New(ErrUnfinished, op, "job %s is not over", run)
	case s.Archive == "":
		return nil, fault.New(ErrNoArchive, op, "the file of job %s asks for no archive", run)
	}
	return r.archiveRun(ctx, run, s.Archive)
}

// NotArchived yields the jobs that are over and of which no statement that a key
// of this user has signed says that they are where their files ask for, newest
// first: their process ended before they were there, or the archive could not be
// reached. Without keys that is all that ask for it.
func NotArchived(ctx context.Context, store drive.Store, k *keys.Keys) iter.Seq2[*Stored, error] {
	return func(yield func(*Stored, error) bool) {
		for s, err := range List(ctx, store) {
			if err == nil && (!s.Done || s.Archive == "") {
				continue
			}
			there := false
			if err == nil {
				there, err = s.archived(ctx, store, k)
			}
			if !there && !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// archived reports whether a statement says that the job, as it stands, is in the
// archive that its file asks for.
func (s *Stored) archived(ctx context.Context, store drive.Store, k *keys.Keys) (bool, error) {
	if k == nil {
		return false, nil
	}
	for st, err := range store.Statements(ctx, s.Run, archivedType) {
		if err != nil {
			return false, err
		}
		e, err := sign.ParseEnvelope(st.Envelope)
		if err != nil {
			continue // it says nothing
		}
		own := slices.ContainsFunc(k.List(), func(l keys.Listed) bool {
			return l.State != sign.Revoked && l.Key.ID() == e.KeyID && e.Check(l.Key, archivedType) == nil
		})
		v, err := canon.Parse(e.Payload)
		if own && err == nil && v.Get("place").Str() == s.Archive && v.Get("head").Equal(s.Last.Value()) {
			return true, nil
		}
	}
	return false, nil
}

// record states that a job is in its archive. Without a key to sign it nothing is
// stated.
func (r *Runner) record(ctx context.Context, run ledger.RunID, place string, a *Archived) error {
	if r.Config.Signer == nil {
		return nil
	}
	at, err := r.Config.Store.At(ctx, run)
	if err != nil {
		return err
	}
	b, err := canon.Encode(canon.Object(
		canon.M("bundle", canon.String(a.Bundle.Name)),
		canon.M("head", ledger.Ref{Run: run, N: at.Count - 1, ID: at.Last}.Value()),
		canon.M("place", canon.String(place)),
		canon.M("v", canon.Int(1))), canon.Native)
	if err != nil {
		return err
	}
	e, err := sign.Seal(r.Config.Signer, archivedType, b)
	if err != nil {
		return err
	}
	lease, err := r.Config.Store.Acquire(ctx, run, r.Config.Holder, archiveLease)
	if err != nil {
		return err
	}
	err = r.Config.Store.Append(ctx, &ledger.Batch{Lease: lease, At: at, Statements: []ledger.Statement{
		{Run: run, Type: archivedType, Count: at.Count, Envelope: e.Encode()},
	}})
	_, freed := r.Config.Store.Acquire(context.WithoutCancel(ctx), run, r.Config.Holder, 0)
	return errors.Join(err, freed)
}

// archiveLease is how long nobody else may write to a run that is over.
const archiveLease = 10 * time.Second

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
	if err := r.record(ctx, run, place, a); err != nil {
		return a, fault.Wrap(ErrNotArchived, op, err, "the job is archived, but that could not be recorded")
	}
	return a, nil
}
