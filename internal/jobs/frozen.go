package jobs

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// EngineSnapshot is the engine of a run that holds one snapshot and nothing
	// else: one that was made on its own, before any job begins with it.
	EngineSnapshot = "job.snapshot"

	modeFreeze      = "freeze"
	snapshotContent = "snapshot"
)

// Held is a snapshot that a store holds, and where.
type Held struct {
	job.Snapshot
	Run ledger.RunID
	// Others are the ids of the snapshots that stand beside it in a job; of one
	// that was made on its own there are none.
	Others map[job.Kind]string
}

// FindSnapshot returns the snapshot of that id, checked with the server key that
// it names. It refuses with MISSING_SNAPSHOT what the store does not hold as one
// of that kind, and with INTEGRITY_FAILURE what is not what was signed.
func FindSnapshot(ctx context.Context, store drive.Store, k *keys.Keys, kind job.Kind, id string) (Held, error) {
	const op = "jobs.FindSnapshot"
	for o, err := range opens(ctx, store, job.Engine) {
		if err != nil {
			return Held{}, err
		}
		if o.Data().Get(kind.Field()).Str() != id {
			continue
		}
		h := Held{Run: o.Run, Others: map[job.Kind]string{}}
		for _, other := range job.Kinds() {
			h.Others[other] = o.Data().Get(other.Field()).Str()
		}
		return h, h.read(ctx, store, k, o, snapshotContent+"."+string(kind), id)
	}
	for o, err := range opens(ctx, store, EngineSnapshot) {
		if err != nil {
			return Held{}, err
		}
		if d := o.Data(); d.Get("snapshot_id").Str() == id && d.Get("kind").Str() == string(kind) {
			h := Held{Run: o.Run}
			return h, h.read(ctx, store, k, o, snapshotContent, id)
		}
	}
	return Held{}, fault.New(job.ErrMissingSnapshot, op, "the store holds no %s snapshot of that id", kind).With(kind.Field())
}

func (h *Held) read(ctx context.Context, store drive.Store, k *keys.Keys, o *ledger.Opened, name, id string) error {
	const op = "jobs.FindSnapshot"
	i := o.Attachment(name)
	if i < 0 {
		return fault.New(job.ErrMissingSnapshot, op, "run %s names snapshot %s and does not hold it", o.Run, id)
	}
	b, err := drive.NewReader(store, o.Run).Bytes(ctx, o, i)
	switch {
	case errors.Is(err, ledger.ErrAbsent):
		return fault.Wrap(job.ErrMissingSnapshot, op, err, "snapshot %s", id)
	case fault.ClassOf(err) == fault.ClassIntegrity:
		return fault.Wrap(job.ErrIntegrity, op, err, "snapshot %s is not what was recorded", id)
	case err != nil:
		return err
	}
	if h.Snapshot, err = job.ParseSnapshot(b); err != nil {
		return err
	}
	if h.ID != id {
		return fault.New(job.ErrIntegrity, op, "what stands for snapshot %s is %s", id, h.ID)
	}
	m := Materials{keys: k}
	key, err := m.Key(h.KeyID)
	if err != nil {
		return h.Check() // it names the key that lacks
	}
	return h.Check(key)
}

// Freeze signs a content as a snapshot of its kind, and keeps it in a run of its
// own. One that the store holds already is returned as it is.
func (r *Runner) Freeze(ctx context.Context, kind job.Kind, seed det.Seed, content canon.Value) (Held, error) {
	s, err := job.Make(kind, seed, content)
	if err != nil {
		return Held{}, err
	}
	if err := readable(kind, s.Content); err != nil {
		return Held{}, err
	}
	old, err := FindSnapshot(ctx, r.Config.Store, r.Keys, kind, s.ID)
	if !errors.Is(err, job.ErrMissingSnapshot) {
		return old, err
	}
	key, err := r.Keys.Server()
	if err != nil {
		return Held{}, err
	}
	if s, err = s.Seal(job.Key{ID: key.ID, Secret: key.Secret}); err != nil {
		return Held{}, err
	}
	b, err := s.Bytes()
	if err != nil {
		return Held{}, err
	}
	data := canon.Object(
		canon.M("job_seed", canon.String(string(seed))),
		canon.M("kind", canon.String(string(kind))),
		canon.M("snapshot_id", canon.String(s.ID)))
	run, err := drive.Open(ctx, r.Config, drive.Opening{
		Engine: EngineSnapshot, Mode: modeFreeze, Title: string(kind) + " snapshot", Data: data,
		Contents: []ledger.Content{{Name: snapshotContent, Type: job.SnapshotMedia, Bytes: b}},
	})
	if err != nil {
		return Held{}, err
	}
	return Held{Snapshot: s, Run: run.Run()}, run.Seal(ctx, "frozen", data, nil)
}

// readable refuses a content that no job could begin with.
func readable(kind job.Kind, v canon.Value) error {
	var err error
	switch kind {
	case job.KindSelfRep:
		_, err = job.ParseSelfRep(v)
	case job.KindBrainState:
		_, err = job.ParseBrain(v)
	case job.KindRouter:
		_, err = job.ParseRouterConfig(v)
	case job.KindPrivacy:
		_, err = job.ParsePrivacy(v)
	case job.KindGovernance:
		_, err = job.ParseGovernance(v)
	}
	return err
}
