package ledger

import (
	"context"
	"iter"
	"time"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of stores.
const (
	// ErrNotFound means that the store has no such run. List the runs.
	ErrNotFound fault.NotFound = "ledger.run_not_found"
	// ErrConflict means that the ledger has grown since it was read. Read it
	// again and decide anew.
	ErrConflict fault.Conflict = "ledger.conflict"
	// ErrLeased means that another process writes to the run. Wait until it
	// ends or its lease runs out.
	ErrLeased fault.Conflict = "ledger.leased"
	// ErrFenced means that the writer's lease ran out and another process
	// took the run over. Stop; nothing of this append was stored.
	ErrFenced fault.Halted = "ledger.fenced"
	// ErrBatch means that a batch cannot be what a ledger holds: entries that
	// do not follow one another or the position, contents over a limit, or a
	// statement about another run. Mend the caller.
	ErrBatch fault.Invalid = "ledger.bad_batch"
	// ErrStore means that the store cannot be reached or cannot store. What
	// was not acknowledged may or may not be there.
	ErrStore fault.Unavailable = "ledger.store_failed"
)

// Lease is the right to append to a run. Token grows with every new holder,
// so that a store can tell a late writer from the present one.
type Lease struct {
	Run   RunID
	Token int64
}

// Statement is a signed envelope that is kept beside the entries.
type Statement struct {
	Run      RunID  // empty for statements about the whole store
	Type     string // media type of the payload: [HeadType], sign.ManifestType
	Count    int64  // a head's count, a manifest's number
	Envelope []byte
}

// Batch is what one append adds. Statements about the whole store are
// appended without a lease, in a batch that holds nothing else.
type Batch struct {
	Lease      Lease
	At         Position // where the ledger must stand
	Entries    []Entry
	Chunks     []blob.Chunk // that the entries' recipes need and that are not stored yet
	Statements []Statement
}

// RunInfo is a line of a list of runs.
type RunInfo struct {
	Run    RunID
	At     Position
	Sealed bool
	Opened string // header time of entry 0
	Ended  string // header time of the last entry
}

// Store keeps ledgers. All methods are safe for concurrent use, also by other
// processes on the same store. A method that fails has stored either all or
// nothing; after an error other than [ErrConflict], [ErrFenced] and those of
// class invalid, the caller does not know which and must read [Store.At].
type Store interface {
	// Acquire takes or extends the lease of a run, which need not exist yet.
	// Holder names the process: the same holder gets the same token again. A
	// lease that another holds and that has not run out gives [ErrLeased].
	// A ttl of zero gives the lease back.
	Acquire(ctx context.Context, run RunID, holder string, ttl time.Duration) (Lease, error)

	// Append adds b.Entries behind b.At, and the chunks and statements with
	// them. All of it is durable when Append returns: it survives the loss of
	// power. If the ledger does not stand at b.At the error is [ErrConflict];
	// an append whose entries are already there, because an acknowledgement
	// was lost, succeeds. A lease that is not the present one gives
	// [ErrFenced], one that [Batch.Check] refuses its error, and a chunk whose
	// scope has no key [blob.ErrScopeNotFound]. A batch without entries needs
	// b.At to be a position that the ledger has reached, not its last.
	// Append keeps nothing of b.
	Append(ctx context.Context, b *Batch) error

	// At returns where a run stands, or [ErrNotFound].
	At(ctx context.Context, run RunID) (Position, error)

	// Read yields the entries of a run from number from on, in order, as they
	// stood when Read began or later. Their bytes are not to be changed.
	Read(ctx context.Context, run RunID, from int64) iter.Seq2[*Entry, error]

	// Statements yields the statements of a type about a run, by count.
	Statements(ctx context.Context, run RunID, typ string) iter.Seq2[Statement, error]

	// Runs yields the runs, newest first by run id.
	Runs(ctx context.Context) iter.Seq2[RunInfo, error]

	// RunsOf yields the runs whose entry 0 names that engine, as [EngineOf]
	// reads it, newest first. It looks at no other run, however many there are.
	// It is a cache of what the entries say, and no evidence of it.
	RunsOf(ctx context.Context, engine string) iter.Seq2[RunInfo, error]
}

// maxEngine is how long a name of an engine may be to be found by it.
const maxEngine = 64

// EngineOf returns the engine that the first entry of a run names; empty if it
// names none, or if its body is not there.
func EngineOf(e *Entry) string {
	v, err := canon.Parse(e.Body)
	if err != nil {
		return ""
	}
	name := v.Get("engine").Str()
	if len(name) > maxEngine {
		return ""
	}
	return name
}
