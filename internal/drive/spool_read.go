package drive

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// frame is one frame of the spool.
type frame struct {
	kind    byte
	n       int64
	dt      int64 // of a part
	bytes   []byte
	message []byte // of a message
}

// sound reports whether a frame can be used for an answer, as far as one can
// tell without the others.
func (f *frame) sound() bool {
	switch f.kind {
	case frameHead:
		_, err := canon.Parse(f.bytes)
		return err == nil
	case frameMessage:
		_, err := parseSaid(f.bytes, f.message)
		return err == nil
	default:
		return true
	}
}

// append appends the frame as the spool has it.
func (f *frame) append(dst []byte) []byte {
	dst = append(dst, f.kind)
	dst = binary.AppendUvarint(dst, uint64(f.n)) //nolint:gosec // not negative
	if f.kind == framePart {
		dst = binary.AppendUvarint(dst, uint64(f.dt)) //nolint:gosec // as above
	}
	dst = append(binary.AppendUvarint(dst, uint64(len(f.bytes))), f.bytes...)
	if f.kind == frameMessage {
		dst = append(binary.AppendUvarint(dst, uint64(len(f.message))), f.message...)
	}
	return dst
}

// readSpool yields the frames of a run's spool. A torn last frame of a file is
// left out: no client saw its end. A file that cannot be read to its end for
// another reason gives [ErrDamaged] in the place of the rest, and the next one
// follows.
func readSpool(root string, run ledger.RunID) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		if root == "" {
			return
		}
		names, err := spoolFiles(filepath.Join(root, string(run)))
		if err != nil {
			yield(frame{}, err)
			return
		}
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				yield(frame{}, fault.Wrap(ErrSpool, "drive.Recover", err, "the staged answers"))
				return
			}
			more := true
			err = readFrames(bufio.NewReaderSize(f, 1<<16), func(f frame) bool {
				more = yield(f, nil)
				return more
			})
			_ = f.Close()
			if !more || err != nil && !yield(frame{}, err) {
				return
			}
		}
	}
}

// readFrames yields the frames of one file to its end or to a torn one, while
// more are wanted.
func readFrames(r *bufio.Reader, yield func(frame) bool) error {
	for {
		f, err := readFrame(r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fault.Wrap(ErrDamaged, "drive.Recover", err, "the rest of a staged file cannot be read")
		}
		if !yield(f) {
			return nil
		}
	}
}

func readFrame(r *bufio.Reader) (f frame, err error) {
	if f.kind, err = r.ReadByte(); err != nil {
		return f, err
	}
	if f.kind > frameEntries {
		return f, fault.New(ErrDamaged, "drive.Recover", "no frame begins with %d", f.kind)
	}
	n, err := binary.ReadUvarint(r)
	var dt uint64
	if err == nil && f.kind == framePart {
		dt, err = binary.ReadUvarint(r)
	}
	if err == nil {
		f.bytes, err = readSized(r)
	}
	if err == nil && f.kind == frameMessage {
		f.message, err = readSized(r)
	}
	f.n, f.dt = int64(n), int64(dt) //nolint:gosec // the writer's entry numbers and nanoseconds
	return f, err
}

func readSized(r *bufio.Reader) ([]byte, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if size > maxFrame {
		return nil, fault.New(ErrDamaged, "drive.Recover", "a part of %d bytes", size)
	}
	b := make([]byte, size)
	_, err = io.ReadFull(r, b)
	return b, err
}

// partial is an answer that a killed process had staged.
type partial struct {
	name, typ string
	scope     string
	head      canon.Value
	parts     []frame
	messages  []said
}

// readPartials reads what was staged for the calls that are asked for.
func readPartials(root string, run ledger.RunID, calls map[int64]effect.Key) (map[int64]*partial, error) {
	out := map[int64]*partial{}
	if len(calls) == 0 {
		return out, nil
	}
	for f, err := range readSpool(root, run) {
		if err != nil {
			return nil, err
		}
		if _, asked := calls[f.n]; !asked {
			continue
		}
		p := out[f.n]
		switch {
		case f.kind == frameHead:
			v, err := canon.Parse(f.bytes)
			if err != nil {
				return nil, fault.Wrap(ErrDamaged, "drive.Recover", err, "the staged answer to entry %d", f.n)
			}
			out[f.n] = &partial{name: v.Get("name").Str(), typ: v.Get("type").Str(), scope: v.Get("scope").Str(), head: v.Get("head")}
		case p == nil:
		case f.kind == framePart:
			p.parts = append(p.parts, f)
		case f.kind == frameMessage:
			m, err := parseSaid(f.bytes, f.message)
			if err != nil {
				return nil, err
			}
			p.messages = append(p.messages, m)
		}
	}
	return out, nil
}

// readPending reads the entries that were staged from number count on, in
// their order. A frame that cannot be read stands at its place, and says so;
// rest says that a file could not be read to its end.
func readPending(root string, run ledger.RunID, count int64) (list []pending, rest, err error) {
	for f, err := range readSpool(root, run) {
		if errors.Is(err, ErrDamaged) {
			rest = err
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if f.kind != frameEntries {
			continue
		}
		p, ok := parsePending(run, f.n, f.bytes)
		if !ok {
			p = pending{first: f.n, torn: true}
		}
		// One append stores what one frame has: all of it is there, or nothing.
		if f.n >= count || f.n+int64(len(p.entries)) > count {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b pending) int { return cmp.Compare(a.first, b.first) })
	return list, rest, nil
}
