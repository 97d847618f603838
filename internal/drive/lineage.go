package drive

import (
	"context"
	"iter"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ModeBranch is the mode in the open of a run that goes on from an entry of
// another one.
const ModeBranch = "branch"

// MaxLineage is how many branches may stand on one another.
const MaxLineage = 256

// ErrLineage means that the runs that a branch stands on cannot be followed:
// one is missing, was changed, or they go in a circle.
const ErrLineage fault.Integrity = "drive.broken_lineage"

// SourceOf returns the last entry of its source that a branch stands on (T-39).
// It gives false for an entry that does not open a branch, and [ErrLineage] for
// a branch that does not say where it left.
func SourceOf(open *ledger.Opened) (ref ledger.Ref, ok bool, err error) {
	if open.N != 0 || open.Body.Get("mode").Str() != ModeBranch {
		return ledger.Ref{}, false, nil
	}
	ref, err = ledger.ParseRef(open.Body.Get("refs").Get("source"))
	if err != nil {
		return ref, false, fault.Wrap(ErrLineage, "drive.SourceOf", err, "run %s does not say where it left its source", open.Run)
	}
	return ref, true, nil
}

// Lineage yields the entries of a run as one history: of a branch first those
// of its source up to where it left, and then its own (T-38). An entry says by
// its Run which of them it belongs to. Contents are not resolved.
func Lineage(ctx context.Context, store ledger.Store, run ledger.RunID) iter.Seq2[*ledger.Opened, error] {
	return func(yield func(*ledger.Opened, error) bool) {
		lineage(ctx, store, ledger.Ref{Run: run, N: -1}, 0, yield)
	}
}

// lineage yields the history up to and with entry to.N; all if that is
// negative. It returns false if the reader wants no more.
func lineage(ctx context.Context, store ledger.Store, to ledger.Ref, depth int, yield func(*ledger.Opened, error) bool) bool {
	fail := func(format string, args ...any) bool {
		yield(nil, fault.New(ErrLineage, "drive.Lineage", format, args...))
		return false
	}
	if depth > MaxLineage {
		return fail("more than %d branches stand on one another", MaxLineage)
	}
	at := int64(-1)
	for e, err := range store.Read(ctx, to.Run, 0) {
		if err != nil {
			yield(nil, err)
			return false
		}
		o, err := ledger.Parse(e)
		if err != nil {
			yield(nil, err)
			return false
		}
		if source, ok, err := SourceOf(&o); err != nil {
			yield(nil, err)
			return false
		} else if ok && !lineage(ctx, store, source, depth+1, yield) {
			return false
		}
		if at = o.N; !yield(&o, nil) {
			return false
		}
		if o.N == to.N {
			if o.ID != to.ID {
				return fail("entry %d of run %s is not the one that a branch left", to.N, to.Run)
			}
			return true
		}
	}
	if to.N >= 0 {
		return fail("run %s ends at entry %d; a branch left it at entry %d", to.Run, at, to.N)
	}
	return true
}
