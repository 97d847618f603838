package trajectories

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrObserved means that a document says of no world what there is in it. Give
// the digest of one, or a list of {kind, id, version, value}.
const ErrObserved fault.Invalid = "trajectory.bad_observation"

// World is the world behind an entry of a run, the commits of its sources
// included.
type World struct {
	ledger.World
	Commits int64

	read  *drive.Reader
	large map[thing]content // where the values stand that are attachments
}

type thing struct{ kind, id string }

// content is an attachment of an entry.
type content struct {
	entry *ledger.Opened
	index int
}

// Fold folds the commits of a run's history up to and with entry last of the
// run itself; a negative last means all. It checks that the deltas fit, and
// nothing else.
func Fold(ctx context.Context, store drive.Store, run ledger.RunID, last int64) (*World, error) {
	w := &World{read: drive.NewReader(store, run), large: map[thing]content{}}
	end := int64(-1)
	for o, err := range drive.Lineage(ctx, store, run) {
		if err != nil {
			return nil, err
		}
		if o.Run == run {
			if last >= 0 && o.N > last {
				break
			}
			end = o.N
		}
		if o.Kind != ledger.KindCommit {
			continue
		}
		if err := w.commit(ctx, o); err != nil {
			return nil, err
		}
	}
	if end < last {
		return nil, fault.New(ledger.ErrNotFound, "trajectories.Fold", "run %s has no entry %d; its last one is %d", run, last, end)
	}
	return w, nil
}

func (w *World) commit(ctx context.Context, o *ledger.Opened) error {
	w.Commits++
	changes, err := ledger.ParseDelta(o.Body.Get("delta"))
	if err != nil {
		return err
	}
	for _, c := range changes {
		key := thing{c.Kind, c.ID}
		delete(w.large, key)
		var value *canon.Digest
		if i := o.Attachment(c.Att); c.Att != "" && i >= 0 {
			d := ledger.NewWorldValue()
			switch err := w.read.WriteTo(ctx, o, i, d); {
			case err == nil:
				sum := d.Sum()
				value = &sum
				w.large[key] = content{o, i}
			case fault.CodeOf(err) != fault.Code(ledger.ErrAbsent):
				return err
			}
		}
		if err := w.Apply(c, value); err != nil {
			return err
		}
	}
	return nil
}

// Value returns the value of an item as its tool gave it. An absent one is
// [ledger.ErrAbsent].
func (w *World) Value(ctx context.Context, it *ledger.Item) (canon.Value, error) {
	b := it.Value
	if at, ok := w.large[thing{it.Kind, it.ID}]; ok {
		var err error
		if b, err = w.read.Bytes(ctx, at.entry, at.index); err != nil {
			return canon.Value{}, err
		}
	}
	if b == nil {
		return canon.Value{}, fault.New(ledger.ErrAbsent, "trajectories.World", "the value of %s %s is not there", it.Kind, it.ID)
	}
	v, err := canon.Parse(b)
	if err != nil {
		return canon.Value{}, err
	}
	if lowered, err := trajectory.Lower(v); err == nil {
		return lowered, nil
	}
	return v, nil // of another engine
}

// Document returns the world as one value, as [ParseObserved] reads it: all of
// it, or the things of one kind.
func (w *World) Document(ctx context.Context, run ledger.RunID, kind string) (canon.Value, error) {
	list := []canon.Value{}
	for _, it := range w.Items() {
		if kind != "" && it.Kind != kind {
			continue
		}
		v, err := w.item(ctx, &it)
		if err != nil {
			return v, err
		}
		list = append(list, v)
	}
	v := canon.Object(
		canon.M("run", canon.String(string(run))),
		canon.M("commits_replayed", canon.Int(w.Commits)),
		canon.M("resources", canon.Array(list...)),
	)
	if d, ok := w.Hash(); ok && kind == "" {
		v = v.With("world_hash", canon.String(d.String()))
	}
	return v, nil
}

// Observed is a world that somebody saw: its hash, or all that was in it.
type Observed struct {
	Hash  *canon.Digest
	Items []ObservedItem // sorted by kind and id; of interest without a hash
}

// ObservedItem is one thing that somebody saw.
type ObservedItem struct {
	Kind, ID string
	Version  int64
	Value    canon.Value
}

// ParseObserved reads 64 hexadecimal digits, a list of {kind, id, version,
// value}, or an object with such a list as resources, as the command world and
// the source system print it.
func ParseObserved(b []byte) (*Observed, error) {
	const op = "trajectories.ParseObserved"
	b = bytes.TrimSpace(b)
	if d, err := canon.ParseDigest(string(b)); err == nil {
		return &Observed{Hash: &d}, nil
	}
	v, err := canon.Parse(b)
	if err != nil {
		return nil, fault.Wrap(ErrObserved, op, err, "neither a digest nor JSON")
	}
	if d, err := canon.ParseDigest(v.Str()); err == nil {
		return &Observed{Hash: &d}, nil
	}
	if v.Kind() == canon.KindObject {
		v = v.Get("resources")
	}
	if v.Kind() != canon.KindArray {
		return nil, fault.New(ErrObserved, op, "neither a digest nor a list of {kind, id, version, value}")
	}
	o := &Observed{}
	for i, e := range v.Elems() {
		it := ObservedItem{Kind: e.Get("kind").Str(), ID: e.Get("id").Str(), Value: e.Get("value")}
		var ok bool
		if it.Version, ok = e.Get("version").AsInt(); !ok || it.Kind == "" || it.ID == "" || it.Value.IsZero() || e.Len() != 4 {
			return nil, fault.New(ErrObserved, op, "element %d is not {kind, id, version, value}", i)
		}
		o.Items = append(o.Items, it)
	}
	slices.SortStableFunc(o.Items, func(a, b ObservedItem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	for i := 1; i < len(o.Items); i++ {
		if a, b := o.Items[i-1], o.Items[i]; a.Kind == b.Kind && a.ID == b.ID {
			return nil, fault.New(ErrObserved, op, "%s %s is there twice", a.Kind, a.ID)
		}
	}
	return o, nil
}

// compare gives found every thing in which the world is not the one that was
// seen: what there should be and what there is.
func (w *World) compare(ctx context.Context, o *Observed, found func(where, expected, found string)) error {
	items, seen := w.Items(), o.Items
	for len(items) > 0 || len(seen) > 0 {
		var order int
		switch {
		case len(items) == 0:
			order = 1
		case len(seen) == 0:
			order = -1
		default:
			order = cmp.Or(cmp.Compare(items[0].Kind, seen[0].Kind), cmp.Compare(items[0].ID, seen[0].ID))
		}
		switch {
		case order > 0:
			found(seen[0].Kind+" "+seen[0].ID, fmt.Sprintf("version %d", seen[0].Version), "nothing")
			seen = seen[1:]
			continue
		case order < 0:
			found(items[0].Kind+" "+items[0].ID, "nothing", fmt.Sprintf("version %d", items[0].Version))
			items = items[1:]
			continue
		}
		it, was := &items[0], &seen[0]
		items, seen = items[1:], seen[1:]
		if it.Version != was.Version {
			found(was.Kind+" "+was.ID, fmt.Sprintf("version %d", was.Version), fmt.Sprintf("version %d", it.Version))
			continue
		}
		v, err := w.Value(ctx, it)
		if err != nil {
			return err
		}
		a, err := canon.Encode(was.Value, canon.Foreign)
		if err != nil {
			return fault.Wrap(ErrObserved, "trajectories.compare", err, "%s %s", was.Kind, was.ID)
		}
		b, err := canon.Encode(v, canon.Foreign)
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			found(was.Kind+" "+was.ID, excerpt(a), excerpt(b))
		}
	}
	return nil
}

// excerpt is the beginning of a value, for a report.
func excerpt(b []byte) string {
	const most = 200
	if len(b) <= most {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b[:most], nil)) + "…"
}
