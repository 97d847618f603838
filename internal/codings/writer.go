package codings

import (
	"compress/gzip"
	"compress/zlib"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// NewWriter returns a writer that codes what is written to it. It refuses a
// coding that is not known with [Err].
func NewWriter(coding string, w io.Writer) (*Writer, error) {
	list, ok := List(coding)
	if !ok {
		return nil, fault.New(Err, "codings.NewWriter", "the coding %q", coding)
	}
	e := &Writer{to: w}
	for _, name := range slices.Backward(list) {
		var next flusher
		switch name {
		case "zstd":
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow/8))
			if err != nil {
				return nil, fault.Wrap(Err, "codings.NewWriter", err, "the coding zstd")
			}
			next = z
		case "br":
			next = brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: brotliLevel, LGWin: brotliWindow})
		case "deflate":
			next = zlib.NewWriter(w)
		default:
			next = gzip.NewWriter(w)
		}
		e.stages = append(e.stages, next)
		w = next
	}
	e.to = w
	return e, nil
}

// What is coded anew is stored, and compressed there: so it is done fast and
// with little memory.
const (
	brotliLevel  = 4
	brotliWindow = 18 // its logarithm
)

type flusher interface {
	io.WriteCloser
	Flush() error
}

// Writer is codings one behind the other.
type Writer struct {
	to     io.Writer
	stages []flusher // from the last coding to the first
}

// Write implements [io.Writer].
func (e *Writer) Write(p []byte) (int, error) { return e.to.Write(p) }

// Flush makes readable what was written.
func (e *Writer) Flush() error { return e.outward(flusher.Flush) }

// Close ends the body.
func (e *Writer) Close() error { return e.outward(flusher.Close) }

func (e *Writer) outward(f func(flusher) error) error {
	for _, s := range slices.Backward(e.stages) {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}
