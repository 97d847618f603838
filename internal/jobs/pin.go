package jobs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrPin means that the file which says how far a governance ledger had grown
// cannot be read or written. It lies in the folder of the user's keys; put it
// back from a copy, or delete it if you know why the ledger is another one.
const ErrPin fault.Unavailable = "jobs.pin_failed"

// maxPin is how long a pin may be, in bytes.
const maxPin = 4 << 10

// pins is where it is written down, outside of a store, how far its governance
// ledgers had grown when this user last wrote to them. A copy of a ledger in
// another store goes on by itself, and has a pin of its own.
type pins struct {
	folder string
	store  string // names the store
}

// storeKeyScope is the scope whose key is of one store and never leaves it.
const storeKeyScope = "reprise/store-key"

// pinsOf returns the pins of a store, to read them: of a store without a key
// there are none.
func pinsOf(ctx context.Context, store drive.Store, k *keys.Keys) (pins, error) {
	scope, err := store.Scope(ctx, storeKeyScope, nil)
	if gone(err) {
		return pins{}, nil
	}
	return newPins(k, scope), err
}

// newPins returns the pins of the store with that key.
func newPins(k *keys.Keys, scope blob.Scope) pins {
	return pins{filepath.Join(k.Dir(), "governance"), canon.MAC(scope.Key[:], []byte("reprise/pin/v1")).String()[:16]}
}

// pin writes down how far the ledger has grown.
func (g *Governance) pin(ctx context.Context, last ledger.Ref) error {
	fresh := blob.Scope{ID: storeKeyScope}
	if _, err := io.ReadFull(g.cfg.Rand, fresh.Key[:]); err != nil {
		return fault.Wrap(ErrRandom, "jobs.pin", err, "no randomness")
	}
	scope, err := g.cfg.Store.Scope(ctx, storeKeyScope, &fresh)
	if err != nil {
		return err
	}
	return newPins(g.keys, scope).write(last)
}

func (p pins) file(run ledger.RunID) string {
	return filepath.Join(p.folder, string(run)+"-"+p.store+".json")
}

// where says in an error which pin is meant, without the folder of the user.
func (p pins) where(run ledger.RunID) string {
	return "pin: governance/" + filepath.Base(p.file(run)) + " in the folder of the keys"
}

// read returns the position that a governance ledger must contain, or nil.
func (p pins) read(run ledger.RunID) (*ledger.Position, error) {
	const op = "jobs.pin"
	if !run.Valid() || p.store == "" {
		return nil, nil
	}
	b, err := os.ReadFile(p.file(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(ErrPin, op, err, "the pin of the governance ledger %s", run)
	}
	if len(b) > maxPin {
		return nil, fault.New(ErrPin, op, "the pin of the governance ledger %s has %d bytes", run, len(b)).With(p.where(run))
	}
	v, err := canon.Parse(b)
	if err != nil {
		return nil, fault.Wrap(ErrPin, op, err, "the pin of the governance ledger %s", run)
	}
	ref, err := ledger.ParseRef(v)
	if err != nil || ref.Run != run || ref.N < 0 {
		return nil, fault.New(ErrPin, op, "what is pinned of the governance ledger %s is of something else", run).With(p.where(run))
	}
	return &ledger.Position{Count: ref.N + 1, Last: ref.ID}, nil
}

// write writes down how far a ledger has grown. Where the folder of the keys
// takes no files, as where it is mounted for reading only, nothing is pinned.
func (p pins) write(last ledger.Ref) error {
	const op = "jobs.pin"
	if pin, err := p.read(last.Run); err != nil || pin != nil && pin.Count > last.N {
		return err // another process has gone further
	}
	b, err := canon.Encode(last.Value(), canon.Native)
	if err != nil {
		return err
	}
	name := p.file(last.Run)
	if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
		err = replaceFile(name, b)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return fault.Wrap(ErrPin, op, err, "the pin of the governance ledger %s", last.Run)
}

// replaceFile writes a file whole or not at all.
func replaceFile(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".pin-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
