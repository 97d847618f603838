package jobs

import (
	"context"
	"iter"
	"strings"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Snapshot is a snapshot of a store, as the run of a job holds it.
type Snapshot struct {
	Run  ledger.RunID
	ID   string
	Kind job.Kind

	m *Materials
}

// Snapshots yields the snapshots of a job, or of all if run is empty, whose id
// begins so.
func Snapshots(ctx context.Context, store drive.Store, run ledger.RunID, prefix string) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		for j, err := range List(ctx, store) {
			if err != nil {
				yield(nil, err)
				return
			}
			if run != "" && j.Run != run {
				continue
			}
			var m *Materials
			for _, k := range job.Kinds() {
				if !strings.HasPrefix(j.Snapshots[k], prefix) {
					continue
				}
				if m == nil {
					if m, err = ReadMaterials(ctx, store, j.Run, nil); err != nil {
						yield(nil, err)
						return
					}
				}
				if !yield(&Snapshot{Run: j.Run, ID: j.Snapshots[k], Kind: k, m: m}, nil) {
					return
				}
			}
		}
	}
}

// Bytes returns the snapshot as it is stored.
func (s *Snapshot) Bytes() ([]byte, error) { return s.m.Snapshot(s.ID) }

// Check checks the snapshot with the server key that it names. What is wrong is
// INTEGRITY_FAILURE.
func (s *Snapshot) Check(k *keys.Keys) error {
	b, err := s.Bytes()
	if err != nil {
		return err
	}
	x, err := job.ParseSnapshot(b)
	if err != nil {
		return err
	}
	m := Materials{keys: k}
	key, err := m.Key(x.KeyID)
	if err != nil {
		return x.Check() // it names the key that lacks
	}
	return x.Check(key)
}
