package drive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrDamaged means that not all of what a killed process had staged for a run
// can be read: the disk has lost or changed it. What the ledger holds is sound,
// and has what came before the damage. The staged files were set aside where the
// message says; try again, and the run goes on without what is lost.
const ErrDamaged fault.Integrity = "drive.spool_damaged"

// checker checks staged entries before they come into the ledger: what stands
// there cannot be taken back, and a chunk that is not what its id says would
// stand for others as well.
type checker struct {
	store  Store
	keys   map[string][32]byte
	chunks map[canon.Digest][]byte
}

// take returns those chunks that are what their ids say.
func (c *checker) take(ctx context.Context, list []blob.Chunk) (good []blob.Chunk, err error) {
	for _, x := range list {
		key, ok := c.keys[x.Scope]
		if !ok {
			s, err := c.store.Scope(ctx, x.Scope, nil)
			if fault.ClassOf(err) == fault.ClassNotFound || fault.ClassOf(err) == fault.ClassInvalid {
				continue // no scope has that name
			}
			if err != nil {
				return nil, err
			}
			key = s.Key
			c.keys[x.Scope] = key
		}
		if canon.MAC(key[:], x.Bytes) == x.ID {
			good = append(good, x)
			c.chunks[x.ID] = x.Bytes
		}
	}
	return good, nil
}

// follows reports whether e is whole and stands behind at.
func (c *checker) follows(ctx context.Context, at ledger.Position, e *ledger.Entry) (bool, error) {
	o, err := ledger.Parse(e)
	if err != nil || o.N != at.Count || o.Prev != at.Last || ledger.ID(e.Header) != e.ID ||
		o.Size != int64(len(e.Body)) || canon.Bind(&e.Salt, e.Body) != o.Bind || len(o.Att) != len(o.Parts) {
		return false, nil //nolint:nilerr // it cannot be read
	}
	for i := range o.Att {
		bind := canon.NewBinder(&e.Parts[i].Salt)
		err := blob.Rebuild(e.Parts[i], func(id canon.Digest) ([]byte, error) {
			if b, ok := c.chunks[id]; ok {
				return b, nil
			}
			return c.store.Get(ctx, e.Parts[i].Scope, id)
		}, bind)
		if err != nil {
			switch fault.ClassOf(err) {
			case fault.ClassNotFound, fault.ClassInvalid, fault.ClassIntegrity:
				return false, nil
			default:
				return false, err // nobody knows
			}
		}
		if bind.Sum() != o.Att[i].Bind {
			return false, nil
		}
	}
	return true, nil
}

// setAside keeps the staged files of a run in a folder of their own, and leaves
// in their place what can still be read of open answers. Entries are left out:
// what could be used of them is in the ledger.
func setAside(root string, run ledger.RunID) (string, error) {
	const op = "drive.setAside"
	names, err := spoolFiles(filepath.Join(root, string(run)))
	if err != nil {
		return "", err
	}
	dir, err := asideFolder(root, run)
	if err != nil {
		return "", fault.Wrap(ErrSpool, op, err, "a folder for damaged files")
	}
	for _, name := range names {
		if err := copyFile(name, filepath.Join(dir, filepath.Base(name))); err != nil {
			return "", fault.Wrap(ErrSpool, op, errors.Join(err, os.RemoveAll(dir)), "a damaged file")
		}
	}
	for _, name := range names {
		if err := salvage(name); err != nil {
			return "", fault.Wrap(ErrSpool, op, err, "what can be read of a damaged file")
		}
	}
	return dir, nil
}

// maxAside bounds how often the files of one run are set aside.
const maxAside = 100

// asideFolder makes a folder that is no run's.
func asideFolder(root string, run ledger.RunID) (dir string, err error) {
	for i := range maxAside {
		dir = filepath.Join(root, fmt.Sprintf("%s.damaged-%d", run, i+1))
		if err = os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return dir, err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeSynced(to, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}

// writeSynced makes a file that is on the disk when it returns.
func writeSynced(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// salvage replaces a file by those of its frames that belong to answers and can
// be read.
func salvage(name string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	temp := name + ".salvaged" // nobody reads a file of that name
	err = writeSynced(temp, func(out io.Writer) error {
		var err error
		_ = readFrames(bufio.NewReaderSize(in, 1<<16), func(f frame) bool {
			if f.sound() && f.kind != frameEntries {
				_, err = out.Write(f.append(nil))
			}
			return err == nil
		})
		return err
	})
	if err != nil {
		return err
	}
	return os.Rename(temp, name)
}
