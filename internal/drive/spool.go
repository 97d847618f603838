package drive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// spool is the folder in which the answers that are still coming to one run
// are staged, a file each. A file is a line of JSON, {head, name, type}, and
// then frames: nanoseconds and length as unsigned varints, and the bytes. The
// folder is there from the first answer on until the session ends, so that
// its presence says that a run was not closed.
//
// A nil spool stages nothing.
type spool struct{ dir string }

func openSpool(root string, run ledger.RunID) (*spool, error) {
	if root == "" {
		return nil, nil
	}
	s := &spool{dir: filepath.Join(root, string(run))}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.openSpool", err, "the spool folder")
	}
	return s, nil
}

func (s *spool) close() error {
	if s == nil {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fault.Wrap(ErrSpool, "drive.spool", err, "the spool folder")
	}
	return nil
}

// staged is the file of one answer; a nil one takes everything and keeps
// nothing.
type staged struct {
	f   *os.File
	buf []byte
}

func (s *spool) begin(n int64, name, typ string, head canon.Value) (*staged, error) {
	if s == nil {
		return nil, nil
	}
	line, err := canon.Encode(canon.Object(
		canon.M("head", head),
		canon.M("name", canon.String(name)),
		canon.M("type", canon.String(typ)),
	), canon.Native)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, strconv.FormatInt(n, 10)+".part"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.spool", err, "the answer to the call at entry %d", n)
	}
	return &staged{f: f}, nil
}

func (st *staged) write(dt int64, p []byte) error {
	if st == nil {
		return nil
	}
	st.buf = binary.AppendUvarint(st.buf[:0], uint64(dt))
	st.buf = binary.AppendUvarint(st.buf, uint64(len(p)))
	st.buf = append(st.buf, p...)
	if _, err := st.f.Write(st.buf); err != nil {
		return fault.Wrap(ErrSpool, "drive.spool", err, "an answer")
	}
	return nil
}

// remove deletes the file. That it may fail is no loss: the outcome is
// durable, and the folder goes at the end.
func (st *staged) remove() {
	if st != nil {
		_ = st.f.Close()
		_ = os.Remove(st.f.Name())
	}
}

// partial is an answer that a killed process had staged.
type partial struct {
	name, typ string
	head      canon.Value
	frames    []frame
}

type frame struct {
	dt    int64
	bytes []byte
}

// maxFrame bounds a frame that is read back; the writer's parts are smaller.
const maxFrame = 64 << 20

// readPartial reads what was staged for a call. A torn last frame is left
// out: the client never saw its end. Nothing staged gives nil.
func readPartial(root string, run ledger.RunID, n int64) (*partial, error) {
	if root == "" {
		return nil, nil
	}
	f, err := os.Open(filepath.Join(root, string(run), strconv.FormatInt(n, 10)+".part"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.Recover", err, "the staged answer to entry %d", n)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, nil //nolint:nilerr // the head itself is torn: nothing had come
	}
	v, err := canon.Parse([]byte(strings.TrimSuffix(line, "\n")))
	if err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.Recover", err, "the staged answer to entry %d", n)
	}
	p := &partial{name: v.Get("name").Str(), typ: v.Get("type").Str(), head: v.Get("head")}
	for {
		dt, err := binary.ReadUvarint(r)
		if err != nil {
			return p, nil //nolint:nilerr // the end, or a torn frame
		}
		size, err := binary.ReadUvarint(r)
		if err != nil || size > maxFrame {
			return p, nil //nolint:nilerr // a torn frame
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(r, b); err != nil {
			return p, nil //nolint:nilerr // a torn frame
		}
		p.frames = append(p.frames, frame{int64(dt), b})
	}
}
