package ledger

import (
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Limits on what a batch may hold, beside those of headers, bodies and
// chunks.
const (
	// MaxRecipe is the size limit of a recipe, in bytes; a longer one is cut
	// into chunks by its writer.
	MaxRecipe = 64 << 10
	// MaxCount is how many entries a ledger may have.
	MaxCount = 1 << 31
)

// Check refuses a batch that no store may take, with [ErrBatch]. It checks
// that the entries follow b.At and one another and keep the limits; it
// hashes nothing. Every store calls it first.
func (b *Batch) Check() error {
	const op = "ledger.Batch.Check"
	if b.Lease.Run == "" {
		return b.checkStoreWide()
	}
	if !b.Lease.Run.Valid() {
		return fault.New(ErrBatch, op, "run %q is not a UUID of version 7", b.Lease.Run)
	}
	if b.At.Count < 0 || b.At.Count > MaxCount-int64(len(b.Entries)) || (b.At.Count == 0) != b.At.Last.IsZero() {
		return fault.New(ErrBatch, op, "%d entries behind position %d: not a position, or over the limit of %d", len(b.Entries), b.At.Count, int64(MaxCount))
	}
	at := b.At
	for i := range b.Entries {
		var err error
		if at, err = at.follow(b.Lease.Run, &b.Entries[i]); err != nil {
			return err
		}
	}
	for _, s := range b.Statements {
		if s.Run != b.Lease.Run {
			return fault.New(ErrBatch, op, "a statement about run %q in a batch of run %s", s.Run, b.Lease.Run)
		}
	}
	return blob.CheckChunks(b.Chunks)
}

func (b *Batch) checkStoreWide() error {
	const op = "ledger.Batch.Check"
	if len(b.Entries) > 0 || len(b.Chunks) > 0 || len(b.Statements) == 0 {
		return fault.New(ErrBatch, op, "a batch without a lease holds statements and nothing else")
	}
	for _, s := range b.Statements {
		if s.Run != "" {
			return fault.New(ErrBatch, op, "a statement about run %s needs the lease of that run", s.Run)
		}
	}
	return nil
}

// follow checks e as the entry behind at.
func (at Position) follow(run RunID, e *Entry) (Position, error) {
	const op = "ledger.Batch.Check"
	h, err := parseHeader(e.Header, run, false)
	if err != nil {
		return at, fault.Wrap(ErrBatch, op, err, "entry %d", at.Count)
	}
	switch {
	case h.Run != run || h.N != at.Count || h.Prev != at.Last:
		return at, fault.New(ErrBatch, op, "entry %d of run %s stands where entry %d of run %s must follow %s", h.N, h.Run, at.Count, run, at.Last)
	case e.ID.IsZero():
		return at, fault.New(ErrBatch, op, "entry %d has no id", h.N)
	case len(e.Body) > MaxBody:
		return at, fault.New(ErrBatch, op, "entry %d: a body of %d bytes is over the limit of %d", h.N, len(e.Body), MaxBody)
	case len(e.Parts) > MaxAttachments:
		return at, fault.New(ErrBatch, op, "entry %d: %d attachments are over the limit of %d", h.N, len(e.Parts), MaxAttachments)
	case len(e.Scope) > blob.MaxScope:
		return at, fault.New(ErrBatch, op, "entry %d: a scope id of %d bytes is over the limit of %d", h.N, len(e.Scope), blob.MaxScope)
	}
	for i, p := range e.Parts {
		if len(p.Scope) > blob.MaxScope || len(p.Recipe) > MaxRecipe || p.Size < 0 {
			return at, fault.New(ErrBatch, op, "entry %d, attachment %d: scope, recipe or size is out of range", h.N, i)
		}
	}
	return Position{Count: at.Count + 1, Last: e.ID}, nil
}
