package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/store"
)

// ErrBlobs means that a store keeps its contents elsewhere than --blobs or
// REPRISE_BLOBS says. Where they are is decided when a store is made: leave the
// flag out, or make another store.
const ErrBlobs fault.Conflict = "cli.contents_elsewhere"

// blobsFile is where a store with a file says that its contents are elsewhere:
// one line, beside it. Without one they are in the file itself.
func (p place) blobsFile() string { return p.file + ".blobs" }

// contents returns where the contents of a store are; empty is where its ledgers
// are. What the command line says must be what the store says.
func (p place) contents() (string, error) {
	if p.file == "" {
		return p.blobs, nil
	}
	b, err := os.ReadFile(p.blobsFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fault.Wrap(ErrFile, "cli.store", err, "where the contents of the store are")
	}
	have := strings.TrimSpace(string(b))
	if p.blobs == "" || p.blobs == have {
		return have, nil
	}
	if have == "" {
		return "", fault.New(ErrBlobs, "cli.store", "%s keeps its contents itself, not in %s; that is decided when a store is made", p.file, p.blobs)
	}
	return "", fault.New(ErrBlobs, "cli.store", "%s keeps its contents in %s, not in %s", p.file, have, p.blobs)
}

// placeBlobs makes a store that is not there yet keep its contents where the
// command line says, once that place is known to take them.
func (a *app) placeBlobs(ctx context.Context, p place) error {
	if _, err := os.Stat(p.file); err == nil || p.blobs == "" {
		return nil //nolint:nilerr // what is there says where its contents are
	}
	s, err := store.Open(ctx, "memory:", &store.Options{Blobs: p.blobs, S3: a.s3()})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return fault.Wrap(ErrFile, "cli.store", os.WriteFile(p.blobsFile(), []byte(p.blobs+"\n"), 0o600), "where the contents of the store are")
}
