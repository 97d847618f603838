package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrFile means that a file call cannot be made: there is no such file, it is
// no text, or its path leads out of the folder. Nothing was changed.
const ErrFile fault.Invalid = "live.file"

// maxNames bounds a listing.
const maxNames = 10_000

// file reads and writes text files under one folder: {"op", "root"} and the
// arguments {"path", "content", "before"}. Neither .. nor a link leads out of
// the folder. A write says what the file held before, so that it can be put
// back.
func (w *World) file(_ context.Context, c *effect.Call) (effect.Outcome, error) {
	const op = "live.file"
	args, err := canon.Parse(content(c, "arguments"))
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrArguments, op, err, "the arguments")
	}
	root, err := os.OpenRoot(c.Data.Get("root").Str())
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrFile, op, err, "the folder")
	}
	defer root.Close()
	name := path.Clean(args.Get("path").Str())
	var out canon.Value
	switch c.Data.Get("op").Str() {
	case "read":
		out, err = w.readFile(root, name)
	case "list":
		out, err = listFolder(root, name)
	case "write":
		out, err = w.writeFile(root, name, []byte(args.Get("content").Str()))
	case "restore":
		out, err = w.restoreFile(root, name, args.Get("before"))
	default:
		err = fault.New(ErrArguments, op, "no operation %q on files", c.Data.Get("op").Str())
	}
	if err != nil {
		return effect.Outcome{}, err
	}
	b, err := canon.Encode(out, canon.Foreign)
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrFile, op, err, "what %s holds", name)
	}
	o := said(canon.Object())
	o.Contents = []ledger.Content{{Name: "output", Type: "application/json", Bytes: b}}
	return o, nil
}

// text reads a file that holds text; ok is false if there is none.
func (w *World) text(root *os.Root, name string) (text string, ok bool, err error) {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fault.Wrap(ErrFile, "live.file", err, "opening %s", name)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, w.Most+1))
	switch {
	case err != nil:
		return "", false, fault.Wrap(ErrFile, "live.file", err, "reading %s", name)
	case int64(len(b)) > w.Most:
		return "", false, fault.New(ErrTooLarge, "live.file", "%s has more than %d bytes", name, w.Most)
	case !utf8.Valid(b):
		return "", false, fault.New(ErrFile, "live.file", "%s is no text", name)
	}
	return string(b), true, nil
}

func (w *World) readFile(root *os.Root, name string) (canon.Value, error) {
	text, ok, err := w.text(root, name)
	if err == nil && !ok {
		err = fault.New(ErrFile, "live.file", "there is no file %s", name)
	}
	return canon.Object(canon.M("content", canon.String(text)), canon.M("path", canon.String(name))), err
}

func listFolder(root *os.Root, name string) (canon.Value, error) {
	f, err := root.Open(name)
	if err != nil {
		return canon.Value{}, fault.Wrap(ErrFile, "live.file", err, "opening %s", name)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return canon.Value{}, fault.Wrap(ErrFile, "live.file", err, "listing %s", name)
	}
	list := make([]canon.Value, 0, len(entries))
	for _, e := range sorted(entries) {
		kind := "file"
		switch {
		case e.IsDir():
			kind = "folder"
		case !e.Type().IsRegular():
			kind = "other"
		}
		list = append(list, canon.Object(canon.M("kind", canon.String(kind)), canon.M("name", canon.String(e.Name()))))
	}
	return canon.Object(canon.M("entries", canon.Array(list...)), canon.M("path", canon.String(name))), nil
}

// writeFile writes a file whole: into one beside it, which then takes its
// place.
func (w *World) writeFile(root *os.Root, name string, b []byte) (canon.Value, error) {
	before := canon.Null()
	was, ok, err := w.text(root, name)
	if err != nil {
		return canon.Value{}, err
	}
	if ok {
		before = canon.String(was)
	}
	if err := replace(root, name, b); err != nil {
		return canon.Value{}, err
	}
	sum := sha256.Sum256(b)
	return canon.Object(
		canon.M("before", before),
		canon.M("path", canon.String(name)),
		canon.M("sha256", canon.String(hex.EncodeToString(sum[:]))),
		canon.M("size", canon.Int(int64(len(b)))),
	), nil
}

func (w *World) restoreFile(root *os.Root, name string, before canon.Value) (canon.Value, error) {
	if text, ok := before.AsString(); ok {
		return w.writeFile(root, name, []byte(text))
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return canon.Value{}, fault.Wrap(ErrFile, "live.file", err, "removing %s", name)
	}
	return canon.Object(canon.M("path", canon.String(name)), canon.M("removed", canon.Bool(true))), nil
}

// replace puts b in the place of a file. What fails leaves the file as it was.
func replace(root *os.Root, name string, b []byte) error {
	const op = "live.file"
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return fault.Wrap(ErrFile, op, err, "the folder of %s", name)
		}
	}
	tmp := path.Join(path.Dir(name), ".reprise-"+hex.EncodeToString([]byte(path.Base(name)))[:min(16, 2*len(path.Base(name)))])
	f, err := root.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fault.Wrap(ErrFile, op, err, "writing %s", name)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
		return fault.Wrap(ErrFile, op, err, "writing %s", name)
	}
	return nil
}

func sorted(entries []fs.DirEntry) []fs.DirEntry {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}
