package archive

import (
	"bytes"
	"context"
	"io"
	"iter"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ExportOptions are what may be chosen. A nil *ExportOptions chooses the
// defaults.
type ExportOptions struct {
	// Withhold leaves contents out, as bundle.Options does. Nil withholds
	// nothing.
	Withhold func(run ledger.RunID, n int64, what int) bool
	// Alone leaves out the runs that the run points at. A branch without its
	// source is partial.
	Alone bool
}

// Export writes the bundle of a run. The runs that it points at come along,
// each once: what a branch stands on, what a replay replays, what was
// delegated. Those that are not in the store are left out.
func Export(ctx context.Context, store Store, run ledger.RunID, w io.Writer, opts *ExportOptions) error {
	if opts == nil {
		opts = &ExportOptions{}
	}
	if _, err := store.At(ctx, run); err != nil {
		return err
	}
	runs := []ledger.RunID{run}
	if !opts.Alone {
		var err error
		if runs, err = needed(ctx, store, run); err != nil {
			return err
		}
	}
	var src bundle.Source
	for _, id := range runs {
		r, err := source(ctx, store, id)
		if err != nil {
			return err
		}
		src.Runs = append(src.Runs, r)
	}
	gone, err := erased(ctx, store, runs)
	if err != nil {
		return err
	}
	return bundle.Write(w, src, bundle.Options{Withhold: func(run ledger.RunID, n int64, what int) bool {
		return gone[run][place{n, what}] || opts.Withhold != nil && opts.Withhold(run, n, what)
	}})
}

type place struct {
	n    int64
	what int
}

// erased returns the contents that the runs say are erased: a bundle withholds
// them.
func erased(ctx context.Context, store Store, runs []ledger.RunID) (map[ledger.RunID]map[place]bool, error) {
	out := map[ledger.RunID]map[place]bool{}
	for _, run := range runs {
		names := map[int64][]ledger.Attachment{} // of entries with contents in a scope of their own
		for e, err := range store.Read(ctx, run, 0) {
			if err != nil {
				return nil, err
			}
			if e.Body == nil || len(e.Parts) == 0 && !bytes.Contains(e.Body, []byte(`"erased":`)) {
				continue
			}
			o, err := ledger.Parse(e)
			if err != nil {
				continue // verification says so; a bundle of a broken run is still evidence
			}
			for i := range o.Att {
				if i < len(e.Parts) && e.Parts[i].Scope != e.Scope {
					names[o.N] = o.Att
				}
			}
			for _, x := range ledger.ParseErasure(&o) {
				for i, a := range names[x.N] {
					if a.Name != x.Att {
						continue
					}
					if out[run] == nil {
						out[run] = map[place]bool{}
					}
					out[run][place{x.N, i}] = true
				}
			}
		}
	}
	return out, nil
}

// needed returns run and the runs that it points at, directly or through
// others, in the order in which they are found.
func needed(ctx context.Context, store Store, run ledger.RunID) ([]ledger.RunID, error) {
	runs := []ledger.RunID{run}
	seen := map[ledger.RunID]bool{run: true}
	for i := 0; i < len(runs); i++ {
		for e, err := range store.Read(ctx, runs[i], 0) {
			if err != nil {
				return nil, err
			}
			for _, id := range pointsAt(e) {
				if seen[id] {
					continue
				}
				seen[id] = true
				switch _, err := store.At(ctx, id); {
				case err == nil:
					runs = append(runs, id)
				case fault.ClassOf(err) != fault.ClassNotFound:
					return nil, err
				}
			}
		}
	}
	return runs, nil
}

// pointsAt returns the runs that the refs of e name, but not the parent of a
// child: a run answers for what it delegated, and tells nothing of who gave it
// its work.
func pointsAt(e *ledger.Entry) []ledger.RunID {
	if e.Body == nil {
		return nil
	}
	o, err := ledger.Parse(e)
	if err != nil {
		return nil // verification says so; a bundle of a broken run is still evidence
	}
	v := o.Body.Get("refs")
	if o.Kind == ledger.KindOpen {
		v = v.Without("parent")
	}
	return refs(nil, v)
}

func refs(runs []ledger.RunID, v canon.Value) []ledger.RunID {
	if ref, err := ledger.ParseRef(v); err == nil {
		return append(runs, ref.Run)
	}
	for _, m := range v.Members() {
		runs = refs(runs, m.Value)
	}
	for _, e := range v.Elems() {
		runs = refs(runs, e)
	}
	return runs
}

func source(ctx context.Context, store Store, run ledger.RunID) (bundle.Run, error) {
	manifests, err := manifestsOf(ctx, store, run)
	if err != nil {
		return bundle.Run{}, err
	}
	get := func(scope string, id canon.Digest) ([]byte, error) { return store.Get(ctx, scope, id) }
	return bundle.Run{
		ID: run, Manifests: manifests, Get: get,
		Entries: store.Read(ctx, run, 0),
		Heads:   store.Statements(ctx, run, ledger.HeadType),
		Pieces: func(e *ledger.Entry, i int) iter.Seq2[blob.Piece, error] {
			p := e.Parts[i]
			return blob.Pieces(p, func(id canon.Digest) ([]byte, error) { return get(p.Scope, id) })
		},
	}, nil
}

func manifestsOf(ctx context.Context, store ledger.Store, run ledger.RunID) ([][]byte, error) {
	var out [][]byte
	for st, err := range store.Statements(ctx, run, sign.ManifestType) {
		if err != nil {
			return nil, err
		}
		out = append(out, st.Envelope)
	}
	return out, nil
}
