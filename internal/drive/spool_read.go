package drive

import (
	"bufio"
	"cmp"
	"encoding/binary"
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

// readSpool yields the frames of a run's spool. A torn last frame of a file is
// left out: no client saw its end.
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
			more := readFrames(bufio.NewReaderSize(f, 1<<16), func(f frame) bool { return yield(f, nil) })
			_ = f.Close()
			if !more {
				return
			}
		}
	}
}

// readFrames yields the frames of one file to its end or to a torn one, and
// reports whether more are wanted.
func readFrames(r *bufio.Reader, yield func(frame) bool) bool {
	for {
		f, ok := readFrame(r)
		if !ok {
			return true
		}
		if !yield(f) {
			return false
		}
	}
}

func readFrame(r *bufio.Reader) (f frame, ok bool) {
	var err error
	if f.kind, err = r.ReadByte(); err != nil {
		return f, false
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
	return f, err == nil
}

func readSized(r *bufio.Reader) ([]byte, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil || size > maxFrame {
		return nil, io.ErrUnexpectedEOF
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
				return nil, fault.Wrap(ErrSpool, "drive.Recover", err, "the staged answer to entry %d", f.n)
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
// their order.
func readPending(root string, run ledger.RunID, count int64) (list []pending, err error) {
	for f, err := range readSpool(root, run) {
		if err != nil {
			return nil, err
		}
		if f.kind != frameEntries {
			continue
		}
		p, ok := parsePending(run, f.n, f.bytes)
		if !ok {
			return nil, fault.New(ErrSpool, "drive.Recover", "the staged entries from %d on cannot be read", f.n)
		}
		if f.n+int64(len(p.entries)) > count {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b pending) int { return cmp.Compare(a.first, b.first) })
	return list, nil
}
