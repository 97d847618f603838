// Package scratch keeps bytes that are too many for memory where nobody else
// can read them.
//
// A scratch file is encrypted with a key that is drawn for it and is only in
// the memory of this process, and its name is removed as soon as it is open,
// where the system allows that. What it holds is gone with the process, and
// was never on the disk in a form that anybody could read: so secrets may
// pass through it. It is not authenticated: who can write into the file of a
// process that runs can read the memory of the process too.
package scratch

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrScratch means that bytes could not be put aside. Look at the disk.
const ErrScratch fault.Unavailable = "scratch.failed"

// File is bytes that were put aside. One goroutine writes it; when it is
// written, any number may read it at the same time.
type File struct {
	f     *os.File
	block cipher.Block
	size  int64
	out   cipher.Stream
	buf   []byte
	nonce [16]byte
	named bool // it has its name still

	mu   sync.Mutex
	gone bool
}

const (
	keySize = 32
	bufSize = 64 << 10
)

// Create makes an empty file in a folder; an empty one is the system's for
// temporary files. The key comes from random. The caller closes the file.
func Create(dir string, random io.Reader) (*File, error) {
	const op = "scratch.Create"
	var key [keySize]byte
	f := &File{}
	if _, err := io.ReadFull(random, key[:]); err != nil {
		return nil, fault.Wrap(ErrScratch, op, err, "no randomness")
	}
	if _, err := io.ReadFull(random, f.nonce[:]); err != nil {
		return nil, fault.Wrap(ErrScratch, op, err, "no randomness")
	}
	var err error
	if f.block, err = aes.NewCipher(key[:]); err != nil {
		return nil, fault.Wrap(ErrScratch, op, err, "the cipher")
	}
	clear(key[:])
	if f.f, err = os.CreateTemp(dir, "*.scratch"); err != nil {
		return nil, fault.Wrap(ErrScratch, op, err, "a scratch file")
	}
	f.named = os.Remove(f.f.Name()) != nil // Close removes it then
	f.out = f.stream(0)
	return f, nil
}

// stream returns the key stream from a block on. Every file has a key of its
// own, so that the counter may begin at zero.
func (f *File) stream(block int64) cipher.Stream {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[8:], uint64(block)) //nolint:gosec // not negative
	return cipher.NewCTR(f.block, iv[:])
}

// Write appends bytes.
func (f *File) Write(p []byte) (n int, err error) {
	if f.buf == nil {
		f.buf = make([]byte, bufSize)
	}
	for len(p) > 0 {
		part := f.buf[:min(len(p), len(f.buf))]
		f.out.XORKeyStream(part, p[:len(part)])
		if _, err := f.f.Write(part); err != nil {
			return n, fault.Wrap(ErrScratch, "scratch.Write", err, "a scratch file")
		}
		n, p = n+len(part), p[len(part):]
		f.size += int64(len(part))
	}
	return n, nil
}

// Flushed lets go of what only writing needs.
func (f *File) Flushed() { f.buf = nil }

// Size returns how many bytes were written.
func (f *File) Size() int64 { return f.size }

// Token returns a text that nobody outside can know, drawn for this file.
func (f *File) Token() string { return hex.EncodeToString(f.nonce[:]) }

// Reader returns a reader of n bytes from an offset on, which is independent
// of all others.
func (f *File) Reader(off, n int64) io.Reader {
	s := f.stream(off / aes.BlockSize)
	var skip [aes.BlockSize]byte
	head := skip[:off%aes.BlockSize]
	s.XORKeyStream(head, head)
	return &reader{f: io.NewSectionReader(f.f, off, n), s: s}
}

type reader struct {
	f *io.SectionReader
	s cipher.Stream
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.s.XORKeyStream(p[:n], p[:n])
	if err != nil && err != io.EOF { //nolint:errorlint // the section gives it as it is
		err = fault.Wrap(ErrScratch, "scratch.Read", err, "a scratch file")
	}
	return n, err
}

// Close removes the file. A second one changes nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return nil
	}
	f.gone = true
	err := f.f.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.f.Name()))
	}
	return fault.Wrap(ErrScratch, "scratch.Close", err, "a scratch file")
}
