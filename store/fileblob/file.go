package fileblob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

var errNoDir = errors.New("is a file, not a folder")

// writeOnce makes a file with those contents, whole and durable but for its
// name, or leaves the one that is there.
func writeOnce(path string, contents []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), newPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	if _, err = f.Write(contents); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// mkdir makes a folder and those above it, and makes their names durable.
func mkdir(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errNoDir}
	}
	up := filepath.Dir(dir)
	if up != dir {
		if err := mkdir(up); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(up)
}
