package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store"
)

// place is where a store is.
type place struct {
	dsn   string
	file  string // of an SQLite store; empty otherwise
	dir   string // the folder of the file
	spool string // empty: answers that are still coming are not staged
	blobs string // where its contents are, as the command line says; empty: it says nothing
}

// The store of a working folder.
const (
	defaultDir  = ".reprise"
	defaultFile = "reprise.db"
)

// place reads --store and REPRISE_STORE. A text without a colon is a folder
// that holds a store as the default one does.
func (a *app) place() place {
	name := a.store
	if name == "" {
		name = a.lookup("REPRISE_STORE")
	}
	if name == "" {
		name = defaultDir
	}
	if !strings.Contains(name, ":") {
		name = "sqlite:" + filepath.ToSlash(filepath.Join(name, defaultFile))
	}
	p := place{dsn: name, blobs: a.blobs}
	if p.blobs == "" {
		p.blobs = a.lookup("REPRISE_BLOBS")
	}
	if dir, ok := strings.CutPrefix(p.blobs, "file:"); ok && dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			p.blobs = "file:" + filepath.ToSlash(abs) // a store is used from other folders too
		}
	}
	if file, ok := strings.CutPrefix(name, "sqlite:"); ok && file != "" && !strings.HasPrefix(file, "//") {
		p.file = filepath.FromSlash(file)
		p.dir = filepath.Dir(p.file)
		// Recovery clears what belongs to no run of the store, so no two stores
		// of a folder may share one.
		p.spool = p.file + ".spool"
		if filepath.Base(p.file) == defaultFile {
			p.spool = filepath.Join(p.dir, "spool")
		}
	}
	return p
}

// flag returns the --store flag with which the same store is found again, or
// nothing if that needs none.
func (a *app) flag() string {
	out := ""
	if a.store != "" {
		out = " --store " + quote(a.store)
	}
	if a.blobs != "" && a.place().file == "" {
		out += " --blobs " + quote(a.blobs) // a store with a file remembers
	}
	return out
}

// opened is a store that is open.
type opened struct {
	store.Store
	place
	holder string
	a      *app
}

// openNew opens the store and makes it if it is not there.
func (a *app) openNew(ctx context.Context) (*opened, error) {
	p := a.place()
	if p.file != "" {
		if err := makeFolder(p.dir); err != nil {
			return nil, err
		}
		if err := a.placeBlobs(ctx, p); err != nil {
			return nil, err
		}
		// SQLite gives the files beside it the same permissions.
		f, err := os.OpenFile(p.file, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fault.Wrap(ErrFile, "cli.store", err, "the store")
		}
		if err := f.Close(); err != nil {
			return nil, fault.Wrap(ErrFile, "cli.store", err, "the store")
		}
	}
	return a.open(ctx, p)
}

// makeFolder makes the folder of a store, for the user alone. What is recorded
// is no source code, so a repository around it is told to leave it out.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil && filepath.Base(dir) == defaultDir {
		err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
	}
	return fault.Wrap(ErrFile, "cli.store", err, "the folder of the store")
}

// openOld opens a store that must be there, and closes the runs whose process
// was killed.
func (a *app) openOld(ctx context.Context) (*opened, error) {
	p := a.place()
	if p.file != "" {
		if _, err := os.Stat(p.file); errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(ErrNoStore, "cli.store", "there is no store at %s; nothing was recorded here yet", p.file)
		}
	}
	s, err := a.open(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.recoverRuns(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (a *app) open(ctx context.Context, p place) (*opened, error) {
	blobs, err := p.contents()
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, p.dsn, &store.Options{Blobs: blobs, S3: a.s3(), Now: a.now})
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	// Two holders of one name would take each other's leases for their own.
	mark := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", host, os.Getpid(), a.now().UnixNano()))
	return &opened{Store: s, place: p, holder: "reprise-" + hex.EncodeToString(mark[:8]), a: a}, nil
}

// config returns what a session needs. Runs are signed by the user's keys.
func (s *opened) config(k *keys.Keys) (drive.Config, error) {
	cfg := drive.Config{Store: s.Store, Now: s.a.now, Rand: s.a.rand, Spool: s.spool, Holder: s.holder}
	if k == nil {
		return cfg, nil
	}
	var err error
	cfg.Signer, err = k.Signer()
	cfg.Manifests = k.Manifests()
	return cfg, err
}

// signing returns the user's keys, and what a session needs that signs with
// them.
func (s *opened) signing() (*keys.Keys, drive.Config, error) {
	k, err := s.a.openKeys()
	if err != nil {
		return nil, drive.Config{}, err
	}
	cfg, err := s.config(k)
	return k, cfg, err
}

// outside is what runs may reach of this process.
func (a *app) outside() live.World {
	return live.World{Now: a.now, Rand: a.rand, Environ: a.lookup}
}

// inTurn lets one line after another be printed, whoever prints it.
func inTurn[E any](line func(E)) func(E) {
	var mu sync.Mutex
	return func(e E) {
		mu.Lock()
		defer mu.Unlock()
		line(e)
	}
}

// recoverRuns closes runs whose process was killed. What it appends is signed
// if keys are there; none are made for it.
func (s *opened) recoverRuns(ctx context.Context) error {
	if _, err := os.Stat(s.spool); s.spool == "" || err != nil {
		return nil //nolint:nilerr // no spool folder: nothing was recorded, or all of it ended
	}
	k, err := s.a.readKeys()
	if err != nil {
		return err
	}
	cfg, err := s.config(k)
	if err != nil {
		return err
	}
	runs, err := drive.Recover(ctx, cfg)
	for _, r := range runs {
		s.a.sayf("%s the recorder of run %s was killed; its open calls are closed as interrupted\n", s.a.err.warn("recovered:"), short(r.Run))
		if r.Lost != nil {
			s.a.sayf("%s %s: %s\n", s.a.err.bad("lost:"), fault.CodeOf(r.Lost), clean(fault.Text(r.Lost)))
		}
	}
	return err
}

// writing reports whether a process is still writing to a run.
func (s *opened) writing(run ledger.RunID) bool {
	if s.spool == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(s.spool, string(run)))
	return err == nil
}

// configDir returns the user's configuration folder.
func (a *app) configDir() (string, error) {
	if dir := a.lookup("REPRISE_CONFIG"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fault.Wrap(ErrUsage, "cli.config", err, "no folder for the user's keys; set REPRISE_CONFIG")
	}
	return filepath.Join(dir, "reprise"), nil
}

// openKeys opens the user's keys and makes them at first use.
func (a *app) openKeys() (*keys.Keys, error) {
	dir, err := a.configDir()
	if err != nil {
		return nil, err
	}
	return keys.Open(filepath.Join(dir, "keys"), a.rand)
}

// readKeys opens the user's keys if there are any, else it returns nil.
func (a *app) readKeys() (*keys.Keys, error) {
	dir, err := a.configDir()
	if err != nil {
		return nil, nil //nolint:nilerr // without a folder there are no keys
	}
	return keys.Read(filepath.Join(dir, "keys"), a.rand)
}

// shortLen is how much of an id is shown: the time in it, and a little of the
// rest so that it is unique.
const shortLen = 18

func short(run ledger.RunID) string { return string(run)[:min(shortLen, len(run))] }

// complete offers the newest runs as the first so many arguments. What it
// cannot read it does not offer.
func (a *app) complete(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const offered = 20
		p := a.place()
		if _, err := os.Stat(p.file); len(args) >= most || err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		s, err := a.open(cmd.Context(), p)
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		defer s.Close()
		out := []string{"last\tthe newest run"}
		for info, err := range s.Runs(cmd.Context()) {
			if err != nil || len(out) > offered {
				break
			}
			out = append(out, string(info.Run)+"\t"+info.Opened)
		}
		return out, cobra.ShellCompDirectiveDefault
	}
}

// standsStill says how to go on with a job or a trajectory that an error has
// stopped, if it was begun.
func (a *app) standsStill(what string, run ledger.RunID) {
	if run == "" {
		return
	}
	a.sayf("%s the %s stands still where it was; go on with\n", a.err.warn("‖"), what)
	a.next(a.stderr, a.err, what+" resume "+short(run)+a.flag())
}

// openRun opens the store that must hold a run of that name. The caller closes
// it.
func (a *app) openRun(ctx context.Context, name string) (*opened, ledger.RunInfo, error) {
	s, err := a.openOld(ctx)
	if err != nil {
		return nil, ledger.RunInfo{}, err
	}
	info, err := s.find(ctx, name)
	if err != nil {
		return nil, info, errors.Join(err, s.Close())
	}
	return s, info, nil
}

// openSummary opens the store that must hold a run of that name, and reads the
// run for a heading. The caller closes the store.
func (a *app) openSummary(ctx context.Context, name string) (*opened, insight.Run, error) {
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return nil, insight.Run{}, err
	}
	r, err := s.summary(ctx, info)
	if err != nil {
		return nil, r, errors.Join(err, s.Close())
	}
	return s, r, nil
}

// openTrajectory opens the store that must hold a trajectory of that name. The
// caller closes it.
func (a *app) openTrajectory(ctx context.Context, name string) (*opened, ledger.RunInfo, error) {
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return nil, info, err
	}
	if err := s.needTrajectory(ctx, info.Run); err != nil {
		return nil, info, errors.Join(err, s.Close())
	}
	return s, info, nil
}

// find resolves the name of a run: last, last~N, an id or the beginning of one.
func (s *opened) find(ctx context.Context, name string) (ledger.RunInfo, error) {
	return insight.Find(ctx, s, name)
}
