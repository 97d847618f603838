package reprise

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/store"
)

// Codes of [Open].
const (
	// ErrFolder means that the folder of the store, or that of the user's
	// configuration, cannot be found or made. Name another one.
	ErrFolder fault.Unavailable = "reprise.folder"
	// ErrRandom means that no randomness could be read.
	ErrRandom fault.Unavailable = "reprise.no_randomness"
)

// DefaultStore is the store that the command line uses when none is named.
const DefaultStore = "sqlite:.reprise/reprise.db"

// Options are what may be chosen of a recorder. A nil *Options chooses the
// defaults.
type Options struct {
	// Keys is the folder of the user's keys, which are made at first use;
	// empty: the one that the command line uses.
	Keys string
	// Unsigned records without keys. Such runs reach no level above 0.
	Unsigned bool
	// Blobs names where chunks are kept, as file:DIR; empty: with the ledgers.
	Blobs string
	// Spool is the folder in which answers that are still coming are staged,
	// so that a kill does not lose them; empty: beside an SQLite store, and
	// for any other none.
	Spool string
	// Environ is what secrets are taken from that must never be stored, as
	// os.Environ gives it; nil: that of the process.
	Environ []string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Rand is a cryptographic source; nil: that of the system.
	Rand io.Reader
}

// Recorder is an open store with the user's keys. It is safe for concurrent
// use. Close it.
type Recorder struct {
	o        Options
	store    store.Store
	keys     *keys.Keys // nil: unsigned
	cfg      drive.Config
	storeKey [32]byte
}

// storeKeyScope is the scope whose key fingerprints credentials; the same as
// that of the command line, so that records of both can be compared.
const storeKeyScope = "reprise/store-key"

// Open opens the store of that name (sqlite:PATH or memory:; empty:
// [DefaultStore]) and makes it if it is not there. Runs whose process was
// killed are closed as interrupted.
func Open(ctx context.Context, dsn string, opts *Options) (*Recorder, error) {
	r := &Recorder{}
	if opts != nil {
		r.o = *opts
	}
	if r.o.Now == nil {
		r.o.Now = time.Now
	}
	if r.o.Rand == nil {
		r.o.Rand = rand.Reader
	}
	if r.o.Environ == nil {
		r.o.Environ = os.Environ()
	}
	if dsn == "" {
		dsn = DefaultStore
	}
	if file, ok := strings.CutPrefix(dsn, "sqlite:"); ok && file != "" && !strings.HasPrefix(file, "//") {
		dir := filepath.Dir(filepath.FromSlash(file))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fault.Wrap(ErrFolder, "reprise.Open", err, "the folder of the store")
		}
		if r.o.Spool == "" {
			r.o.Spool = filepath.Join(dir, "spool")
		}
	}
	if err := r.openKeys(); err != nil {
		return nil, err
	}
	var err error
	if r.store, err = store.Open(ctx, dsn, &store.Options{Blobs: r.o.Blobs, Now: r.o.Now}); err != nil {
		return nil, err
	}
	if err := r.configure(ctx); err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	return r, nil
}

func (r *Recorder) openKeys() error {
	if r.o.Unsigned {
		return nil
	}
	dir := r.o.Keys
	if dir == "" {
		config := os.Getenv("REPRISE_CONFIG")
		if config == "" {
			base, err := os.UserConfigDir()
			if err != nil {
				return fault.Wrap(ErrFolder, "reprise.Open", err, "no folder for the user's keys; set REPRISE_CONFIG or Options.Keys")
			}
			config = filepath.Join(base, "reprise")
		}
		dir = filepath.Join(config, "keys")
	}
	var err error
	r.keys, err = keys.Open(dir, r.o.Rand)
	return err
}

func (r *Recorder) configure(ctx context.Context) error {
	var mark [8]byte
	scope := blob.Scope{ID: storeKeyScope}
	for _, b := range [][]byte{mark[:], scope.Key[:]} {
		if _, err := io.ReadFull(r.o.Rand, b); err != nil {
			return fault.Wrap(ErrRandom, "reprise.Open", err, "no randomness")
		}
	}
	r.cfg = drive.Config{
		Store: r.store, Now: r.o.Now, Rand: r.o.Rand, Spool: r.o.Spool,
		Holder: "reprise-" + hex.EncodeToString(mark[:]), // two of one name would take each other's leases for their own
	}
	var err error
	if r.keys != nil {
		r.cfg.Manifests = r.keys.Manifests()
		if r.cfg.Signer, err = r.keys.Signer(); err != nil {
			return err
		}
	}
	if scope, err = r.store.Scope(ctx, storeKeyScope, &scope); err != nil {
		return err
	}
	r.storeKey = scope.Key
	done, err := drive.Recover(ctx, r.cfg)
	for _, x := range done {
		err = errors.Join(err, x.Lost)
	}
	return err
}

// Close closes the store. Runs that are being recorded must have ended.
func (r *Recorder) Close() error { return r.store.Close() }

// Run is one run in a list.
type Run struct {
	ID     ledger.RunID
	Title  string
	Mode   string // record, replay, branch, or a mode of an engine
	Calls  int64
	Sealed bool
	Status string // of the seal
	Opened string // as the recorder wrote it
	Ended  string
}

// Runs yields the runs of the store, newest first.
func (r *Recorder) Runs(ctx context.Context) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for info, err := range r.store.Runs(ctx) {
			var s insight.Run
			if err == nil {
				s, err = insight.Summarise(ctx, r.store, info)
			}
			ok := yield(Run{
				ID: s.Run, Title: s.Title, Mode: s.Mode, Calls: s.Calls, Sealed: s.Sealed, Status: s.Status, Opened: s.Opened, Ended: s.Ended,
			}, err)
			if !ok || err != nil {
				return
			}
		}
	}
}

// Verify recomputes every hash, link, tree and signature of a run, and says
// in its report whether it reaches the level. The user's own root key is
// trusted. A run is named by its id, the beginning of one, last or last~N, here
// and in the methods that follow.
func (r *Recorder) Verify(ctx context.Context, run string, level ledger.Level) (*replay.Report, error) {
	info, err := insight.Find(ctx, r.store, run)
	if err != nil {
		return nil, err
	}
	o := archive.VerifyOptions{Level: &level}
	if r.keys != nil {
		o.Roots, o.Manifests = r.keys.Roots(), r.keys.Manifests()
	}
	return archive.VerifyRun(ctx, r.store, info.Run, &o)
}

// Diff compares two runs, step by step. The first divergence says its cause.
func (r *Recorder) Diff(ctx context.Context, a, b string) (*replay.Report, error) {
	x, err := insight.Find(ctx, r.store, a)
	if err != nil {
		return nil, err
	}
	y, err := insight.Find(ctx, r.store, b)
	if err != nil {
		return nil, err
	}
	report, err := insight.Diff(ctx, r.store, x.Run, y.Run)
	if err != nil {
		return nil, err
	}
	return report, regress.Explain(ctx, r.store, report)
}

// Export writes a run, and the runs that it stands on, as a bundle: one file
// that others can verify offline and import.
func (r *Recorder) Export(ctx context.Context, run string, w io.Writer) error {
	info, err := insight.Find(ctx, r.store, run)
	if err != nil {
		return err
	}
	return archive.Export(ctx, r.store, info.Run, w, nil)
}

// Import verifies a bundle of that size and takes its runs in. It returns
// their ids in the order of the bundle. Nothing is written from a bundle that
// does not verify.
func (r *Recorder) Import(ctx context.Context, bundle io.ReaderAt, size int64) ([]ledger.RunID, error) {
	done, err := archive.Import(ctx, r.store, bundle, size, archive.ImportOptions{Rand: r.o.Rand, Holder: r.cfg.Holder})
	if err != nil {
		return nil, err
	}
	runs := make([]ledger.RunID, len(done))
	for i, d := range done {
		runs[i] = d.Run
	}
	return runs, nil
}

// PublicKey returns the user's root key in PEM form, for others to pin, or
// nothing if the recorder is unsigned.
func (r *Recorder) PublicKey() []byte {
	if r.keys == nil {
		return nil
	}
	return r.keys.Export()
}

// redactor returns what keeps secrets out of one run.
func (r *Recorder) redactor() *redact.Redactor {
	return redact.New(r.storeKey, redact.EnvSecrets(r.o.Environ))
}
