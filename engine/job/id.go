package job

import (
	"strconv"

	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrStamp means that an event does not carry the id and the instant that its
// seed, its place and its type give. It is not an event of this job, or it was
// changed: trust it no longer.
const ErrStamp fault.Integrity = "job.bad_stamp"

// EventID returns event_id (M-41). No type contains a colon and no index does,
// so the seed may.
func EventID(seed det.Seed, index int64, eventType string) string {
	return det.ID(string(seed), strconv.FormatInt(index, 10), eventType)
}

// SnapshotID returns snapshot_id (M-42). The config hash is the digest of the
// content ([Snapshot]), so that the id names the content (M-99).
func SnapshotID(configHash, schemaVersion, namespace string) string {
	return det.ID(configHash, schemaVersion, namespace)
}

// WorkingMemoryID returns wm_id (M-43).
func WorkingMemoryID(seed det.Seed, counter int64) string {
	return det.ID(string(seed), strconv.FormatInt(counter, 10))
}

// EpisodicID returns episodic_id (M-44). The formula is that of wm_id: an id
// says what it names only together with its kind.
func EpisodicID(seed det.Seed, counter int64) string {
	return det.ID(string(seed), strconv.FormatInt(counter, 10))
}

// DivergenceID returns the id of the event that reports a divergence.
func DivergenceID(seed det.Seed, iteration int64) string {
	return det.ID(string(seed), "div", strconv.FormatInt(iteration, 10))
}

// AdviceID returns advice_id.
func AdviceID(seed det.Seed, counter int64) string {
	return det.ID(string(seed), "advice", strconv.FormatInt(counter, 10))
}

// Stamp is the place of an event in its job, and what follows from it.
type Stamp struct {
	Index int64       // event_sequence_index: from 0, without gaps; the order of events
	ID    string      // event_id
	At    det.Instant // timestamp_seeded: an instant for people, which orders nothing
}

// NewStamp returns the stamp of the event of that type at an index, which must
// not be negative.
func NewStamp(seed det.Seed, index int64, eventType string) Stamp {
	at, err := seed.Instant(det.Epoch, uint64(index))
	if err != nil {
		panic("job: " + err.Error()) // the epoch and ten years fit
	}
	return Stamp{Index: index, ID: EventID(seed, index, eventType), At: at}
}

// Check refuses with [ErrStamp] a stamp that is not the one of that seed and
// type at its index.
func (s Stamp) Check(seed det.Seed, eventType string) error {
	if s.Index < 0 || s != NewStamp(seed, s.Index, eventType) {
		return fault.New(ErrStamp, "job.Stamp.Check", "event %d of type %s does not carry the id and instant of this seed", s.Index, eventType)
	}
	return nil
}
