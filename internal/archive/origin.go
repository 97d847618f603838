package archive

import (
	"context"
	"iter"
	"slices"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// origin is where ledgers that are verified come from.
type origin interface {
	// has reports whether the run is there.
	has(ctx context.Context, run ledger.RunID) (bool, error)
	manifests(ctx context.Context, run ledger.RunID) ([][]byte, error)
	// lenient reports whether a run that is absent is withheld, not lost.
	lenient() bool
	// evidence returns what there is of a run, for one pass.
	evidence(ctx context.Context, run ledger.RunID) ledger.Evidence
}

// stored is the runs of a store.
type stored struct {
	store   Store
	partial bool
}

func (s stored) has(ctx context.Context, run ledger.RunID) (bool, error) {
	_, err := s.store.At(ctx, run)
	if fault.ClassOf(err) == fault.ClassNotFound {
		return false, nil
	}
	return err == nil, err
}

func (s stored) manifests(ctx context.Context, run ledger.RunID) ([][]byte, error) {
	return manifestsOf(ctx, s.store, run)
}

func (s stored) lenient() bool { return s.partial }

func (s stored) evidence(ctx context.Context, run ledger.RunID) ledger.Evidence {
	return ledger.Evidence{
		Run: run, Entries: s.store.Read(ctx, run, 0),
		Statements: s.store.Statements(ctx, run, ledger.HeadType),
		Attachment: drive.NewReader(s.store, run).Attachment(ctx),
		Scopes:     true, Withheld: s.partial,
	}
}

// carried is the runs of a bundle. Those that its list names and that the
// damage of the file took are there, and empty.
type carried struct {
	b    *bundle.Bundle
	runs map[ledger.RunID]bool
}

func carriedBy(b *bundle.Bundle) carried {
	c := carried{b, map[ledger.RunID]bool{}}
	for _, run := range b.Runs() {
		c.runs[run] = true
	}
	return c
}

func (c carried) has(_ context.Context, run ledger.RunID) (bool, error) { return c.runs[run], nil }

func (c carried) manifests(_ context.Context, run ledger.RunID) ([][]byte, error) {
	return c.b.Manifests(run), nil
}

func (carried) lenient() bool { return true }

func (c carried) evidence(_ context.Context, run ledger.RunID) ledger.Evidence {
	return c.b.Evidence(run)
}

// arriving is the runs of a bundle, and behind them those of the store that it
// goes into: what a bundle leaves out may be there already.
type arriving struct {
	carried
	there stored
}

func (a arriving) of(run ledger.RunID) origin {
	if a.runs[run] {
		return a.carried
	}
	return a.there
}

func (a arriving) has(ctx context.Context, run ledger.RunID) (bool, error) {
	return a.of(run).has(ctx, run)
}

func (a arriving) manifests(ctx context.Context, run ledger.RunID) ([][]byte, error) {
	return a.of(run).manifests(ctx, run)
}

func (a arriving) evidence(ctx context.Context, run ledger.RunID) ledger.Evidence {
	return a.of(run).evidence(ctx, run)
}

// beginning cuts ev behind its first count entries. Heads that reach further
// are not asked.
func beginning(ev *ledger.Evidence, count int64) {
	entries, heads := ev.Entries, ev.Statements
	ev.Part = true
	ev.Entries = func(yield func(*ledger.Entry, error) bool) {
		n := int64(0)
		for e, err := range entries {
			if n++; !yield(e, err) || n == count {
				return
			}
		}
	}
	ev.Statements = func(yield func(ledger.Statement, error) bool) {
		for st, err := range heads {
			if err == nil && st.Count > count {
				continue
			}
			if !yield(st, err) {
				return
			}
		}
	}
}

// openOf returns the open of a run without its contents, or nil if it cannot
// be read or is not the one that its header binds: then its verification says
// so, and nothing else may be built on it.
func openOf(entries iter.Seq2[*ledger.Entry, error]) (*ledger.Opened, error) {
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		o, err := ledger.Parse(e)
		if err != nil || o.Body.IsZero() || ledger.ID(e.Header) != e.ID || canon.Bind(&e.Salt, e.Body) != o.Bind || o.Kind != ledger.KindOpen {
			return nil, nil //nolint:nilerr // verification says what is wrong with it
		}
		o.Parts, o.Att = nil, slices.Clone(o.Att)
		return &o, nil
	}
	return nil, nil
}
