package archive

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/s3blob"
)

// ErrScratch means that a bundle on its way to or from a vault has no room in
// the folder for temporary files. Make room, or set TMPDIR.
const ErrScratch fault.Unavailable = "archive.no_scratch_file"

// Where bundles are in a vault, and how they end.
const (
	BundleDir = "bundles"
	BundleExt = ".reprise"
)

// Deposit puts the bundle of a run into a vault, under the digest of its bytes.
// It is there as a whole, and durable, or not at all.
func Deposit(ctx context.Context, store Store, run ledger.RunID, v *s3blob.Vault, opts *ExportOptions) (s3blob.Object, error) {
	var o s3blob.Object
	err := scratch(func(f *os.File) error {
		if err := Export(ctx, store, run, f, opts); err != nil {
			return err
		}
		size, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return fault.Wrap(ErrScratch, "archive.Deposit", err, "%s", f.Name())
		}
		o, err = v.Put(ctx, BundleDir, BundleExt, f, size)
		return err
	})
	return o, err
}

// Withdraw reads a bundle from a vault and hands it to use, once it is known to
// be the one that its name says.
func Withdraw(ctx context.Context, v *s3blob.Vault, name string, use func(r io.ReaderAt, size int64) error) error {
	return scratch(func(f *os.File) error {
		if err := v.Get(ctx, name, f); err != nil {
			return err
		}
		size, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return fault.Wrap(ErrScratch, "archive.Withdraw", err, "%s", f.Name())
		}
		return use(f, size)
	})
}

// scratch lends a temporary file. It is the user's alone.
func scratch(use func(*os.File) error) (err error) {
	f, err := os.CreateTemp("", "reprise-bundle-")
	if err != nil {
		return fault.Wrap(ErrScratch, "archive.scratch", err, "a temporary file")
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	return use(f)
}
