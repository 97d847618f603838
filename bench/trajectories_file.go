package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// A workload is written once, into a flat file of runs one after another, and
// read again for every figure: no million entries stand in memory, and what is
// measured is no database. Each entry is
//
//	length of what follows · id · salt · header · body · attachments
//
// with a length in front of each of the last three. The id of a run stands in
// front of its first entry, and a length of zero behind its last.
type fileWriter struct {
	w   *bufio.Writer
	buf []byte
}

// placed is an entry with the bytes of its attachments.
type placed struct {
	ledger.Entry
	contents [][]byte
}

func (f *fileWriter) entry(e *placed) error {
	b := append(f.buf[:0], e.ID[:]...)
	b = append(b, e.Salt[:]...)
	b = appendBytes(b, e.Header)
	b = appendBytes(b, e.Body)
	for i, c := range e.contents {
		b = append(b, e.Parts[i].Salt[:]...)
		b = appendBytes(b, c)
	}
	f.buf = b
	if _, err := f.w.Write(binary.AppendUvarint(nil, uint64(len(b)))); err != nil {
		return err
	}
	_, err := f.w.Write(b)
	return err
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// beginRun says which run follows.
func (f *fileWriter) beginRun(run ledger.RunID) error {
	_, err := f.w.WriteString(string(run))
	return err
}

func (f *fileWriter) endRun() error { return f.w.WriteByte(0) }

// fileReader reads the runs of a file in their order.
type fileReader struct {
	f    *os.File
	r    *bufio.Reader
	now  placed // the entry that was read last
	raw  []byte // all of it
	heap uint64 // high-water mark of the heap in use
	n    int64  // entries
	size int64  // bytes of headers, bodies and attachments
}

func openFile(path string) (*fileReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &fileReader{f: f, r: bufio.NewReaderSize(f, 64<<10)}, nil
}

func (f *fileReader) close() { f.f.Close() }

// runID reads which run follows.
func (f *fileReader) runID() (ledger.RunID, error) {
	var b [36]byte
	_, err := io.ReadFull(f.r, b[:])
	return ledger.RunID(b[:]), err
}

// heapEvery is after how many entries the size of the heap is taken.
const heapEvery = 2048

// run yields the entries of the next run. It reads all that it yields.
func (f *fileReader) run() iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		for {
			more, err := f.next()
			if err != nil {
				yield(nil, err)
				return
			}
			if !more || !yield(&f.now.Entry, nil) {
				return
			}
		}
	}
}

func (f *fileReader) next() (more bool, err error) {
	size, err := binary.ReadUvarint(f.r)
	if err != nil || size == 0 {
		return false, err
	}
	b := make([]byte, size) // of its own, as a store reads it
	if _, err := io.ReadFull(f.r, b); err != nil {
		return false, err
	}
	e := &f.now
	f.raw = b
	e.Parts, e.contents = e.Parts[:0], e.contents[:0]
	b = b[copy(e.ID[:], b):]
	b = b[copy(e.Salt[:], b):]
	e.Header, b = cutBytes(b)
	e.Body, b = cutBytes(b)
	f.size += int64(len(e.Header) + len(e.Body))
	for len(b) > 0 {
		p := blob.Part{Scope: benchScope, Recipe: []byte{0}}
		b = b[copy(p.Salt[:], b):]
		var c []byte
		c, b = cutBytes(b)
		p.Size = int64(len(c))
		f.size += p.Size
		e.Parts, e.contents = append(e.Parts, p), append(e.contents, c)
	}
	e.Scope = benchScope
	if f.n++; f.n%heapEvery == 1 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		f.heap = max(f.heap, m.HeapInuse)
	}
	return true, nil
}

func cutBytes(b []byte) (field, rest []byte) {
	n, at := binary.Uvarint(b)
	return b[at : at+int(n) : at+int(n)], b[at+int(n):]
}

// attachment is for [ledger.Evidence]: contents come with their entry.
func (f *fileReader) attachment(e *ledger.Entry, i int, w io.Writer) error {
	if e != &f.now.Entry {
		return fmt.Errorf("an attachment of another entry than the present one")
	}
	_, err := w.Write(f.now.contents[i])
	return err
}

// hashAll is what no verification can be faster than.
func (f *fileReader) hashAll() error {
	var x byte
	for {
		if _, err := f.runID(); errors.Is(err, io.EOF) {
			break
		}
		for _, err := range f.run() {
			if err != nil {
				return err
			}
			sum := sha256.Sum256(f.raw)
			x |= sum[0]
		}
	}
	if x == 0 {
		return fmt.Errorf("%d digests begin with a zero byte", f.n)
	}
	return nil
}
