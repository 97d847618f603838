package job

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrNoMaterial means that something that a replay asks for is not there: it
// was never kept, or it was erased. The replay says what follows.
const ErrNoMaterial fault.NotFound = "job.no_material"

// Materials is where a replay finds what it needs (M-23 to M-33). Each method
// refuses what is not there with [ErrNoMaterial]; any other error ends the
// replay as it is. Bytes are those that were stored: that they are sound is for
// the replay to check.
type Materials interface {
	// Log returns the reflective log with its MAC.
	Log() ([]byte, error)
	// Snapshot returns the snapshot of that id.
	Snapshot(id string) ([]byte, error)
	// Event returns the event that the log names.
	Event(ref EventRef) ([]byte, error)
	// Output returns the persisted output of that agent_output_id.
	Output(id string) ([]byte, error)
	// Key returns the server key of that id (M-32).
	Key(id string) (Key, error)
}

// Archive is materials in memory: all that a job has left behind, by name. It
// is filled by [Archive.Add] from the ledger of the job, or by hand from
// elsewhere, and implements [Materials].
type Archive struct {
	ReflectiveLog []byte
	Snapshots     map[string][]byte // by snapshot_id
	Events        map[string][]byte // by event_id
	Outputs       map[string][]byte // by agent_output_id
	Keys          []Key             // the server keys at hand
}

// NewArchive returns an empty archive with these keys.
func NewArchive(keys ...Key) *Archive {
	return &Archive{Snapshots: map[string][]byte{}, Events: map[string][]byte{}, Outputs: map[string][]byte{}, Keys: keys}
}

// Add takes what an entry of the job's ledger holds. The name is that of the
// entry's body. Entries and contents that no replay needs are passed over; one
// that is erased is simply not among the contents.
func (a *Archive) Add(kind ledger.Kind, name string, contents []ledger.Content) {
	for _, c := range contents {
		v, err := canon.Parse(c.Bytes)
		switch {
		case kind == ledger.KindOpen && c.Type == SnapshotMedia && err == nil:
			a.Snapshots[v.Get("snapshot_id").Str()] = c.Bytes
		case c.Type == EventMedia && err == nil:
			a.Events[v.Get("event_id").Str()] = c.Bytes
		case c.Type == OutputMedia && name == EventOutput:
			if event, err := canon.Parse(contentOf(contents, eventContent)); err == nil {
				a.Outputs[event.Get("payload").Get("agent_output_id").Str()] = c.Bytes
			}
		case kind == ledger.KindResult && c.Type == LogMedia:
			a.ReflectiveLog = c.Bytes
		}
	}
}

// Forget drops the outputs: what the erasure of [OutputScope] does to a job.
func (a *Archive) Forget() { clear(a.Outputs) }

// Log implements [Materials].
func (a *Archive) Log() ([]byte, error) {
	if a.ReflectiveLog == nil {
		return nil, absent("reflective log", "")
	}
	return a.ReflectiveLog, nil
}

// Snapshot implements [Materials].
func (a *Archive) Snapshot(id string) ([]byte, error) { return held(a.Snapshots, "snapshot", id) }

// Event implements [Materials].
func (a *Archive) Event(ref EventRef) ([]byte, error) { return held(a.Events, "event", ref.ID) }

// Output implements [Materials].
func (a *Archive) Output(id string) ([]byte, error) { return held(a.Outputs, "output", id) }

// Key implements [Materials].
func (a *Archive) Key(id string) (Key, error) {
	for _, k := range a.Keys {
		if k.ID == id {
			return k, nil
		}
	}
	return Key{}, absent("server key", id)
}

func held(of map[string][]byte, what, id string) ([]byte, error) {
	if b, ok := of[id]; ok {
		return b, nil
	}
	return nil, absent(what, id)
}

func absent(what, id string) error {
	return fault.New(ErrNoMaterial, "job.Materials", "there is no %s %s", what, id)
}

// divergenceTag keeps the digest of a divergence apart from others.
const divergenceTag = "reprise/job/divergence/v1\n"

// Divergence is a difference between what was recorded and what comes out now,
// as the event REPLAY_DIVERGENCE holds it.
type Divergence struct {
	ID        string      // [DivergenceID]
	Code      fault.Code  // REPLAY_DIVERGENCE or RESULT_MISMATCH
	Iteration int64       // -1: of none
	What      string      // router_output, agent_output, tick, …
	Diff      canon.Value // [Diff]
}

// Value returns the divergence as the audit holds it.
func (d Divergence) Value(seed det.Seed) canon.Value {
	return canon.Object(
		canon.M("code", canon.String(d.Code.Error())),
		canon.M("diff", d.Diff),
		canon.M("event_id", canon.String(d.ID)),
		canon.M("iteration", canon.Int(d.Iteration)),
		canon.M("job_seed", canon.String(string(seed))),
		canon.M("what", canon.String(d.What)))
}

// Diff returns what differs between two values, in a fixed order and in the
// profile of the document (M-63, M-97): {profile, differences: [{pointer,
// recorded, replayed}]}. What one side does not have is left out.
func Diff(recorded, replayed canon.Value) canon.Value {
	return Differences(canon.Diff(recorded, replayed, 0))
}

// Differences writes differences as [Diff] does: what was recorded is their A.
func Differences(list []canon.Difference) canon.Value {
	return canon.Object(
		canon.M("differences", canon.ArrayOf(list, func(d canon.Difference) canon.Value {
			return canon.Object(canon.M("pointer", canon.String(d.Pointer)), canon.M("recorded", d.A), canon.M("replayed", d.B))
		})),
		canon.M("profile", canon.String(string(canon.MACEFixed9))))
}
