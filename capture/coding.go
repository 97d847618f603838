package capture

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ContentCoding is the id under which a report says that two requests are the
// same only behind their content coding.
const ContentCoding = "content-coding@1"

// errCoding means that a body is not in the coding that it says, or in one
// that is not known. It is never shown: such a body is taken as it is.
const errCoding fault.Invalid = "capture.content_coding"

const (
	maxCodings    = 4       // that stand one behind the other
	zstdWindow    = 8 << 20 // bytes that a zstd body may refer back to, as browsers allow
	decoderBuffer = 16 << 10
)

// codings returns the codings of a body in the order in which they were
// applied; ok is false if one of them is not known.
func codings(header string) (list []string, ok bool) {
	for name := range strings.SplitSeq(header, ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "identity":
		case "gzip", "x-gzip", "deflate", "zstd", "br":
			list = append(list, name)
		default:
			return nil, false
		}
	}
	return list, len(list) <= maxCodings
}

// decoder returns a reader of what stands behind the coding of r. Its end is
// io.EOF only if the body is whole and nothing follows it.
func decoder(coding string, r io.Reader) (_ io.Reader, closer func(), err error) {
	const op = "capture.decoder"
	list, ok := codings(coding)
	if !ok {
		return nil, nil, fault.New(errCoding, op, "the coding %q", coding)
	}
	var closers []func()
	closer = func() {
		for _, c := range closers {
			c()
		}
	}
	for _, name := range slices.Backward(list) {
		in := bufio.NewReaderSize(r, decoderBuffer)
		switch name {
		case "zstd":
			d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				closer()
				return nil, nil, fault.Wrap(errCoding, op, err, "the coding zstd")
			}
			closers = append(closers, d.Close)
			r = d
		case "br":
			r = brotli.NewReader(in)
		case "deflate":
			r = &inflating{in: in}
		default:
			r = &inflating{in: in, gzip: true}
		}
	}
	return r, closer, nil
}

// inflating reads a body that is deflated: with the frame of gzip, with that
// of zlib, or, as some servers misread the standard, with none.
type inflating struct {
	in   *bufio.Reader
	gzip bool
	r    io.Reader
}

// Read implements [io.Reader]. The frame is read with the first bytes and not
// before.
func (d *inflating) Read(p []byte) (n int, err error) {
	if d.r == nil {
		if d.r, err = d.open(); err != nil {
			return 0, err
		}
	}
	n, err = d.r.Read(p)
	if err == io.EOF && !d.gzip { //nolint:errorlint // the reader gives it as it is
		if _, more := d.in.ReadByte(); more == nil {
			err = fault.New(errCoding, "capture.decoder", "something follows the body")
		}
	}
	return n, err
}

func (d *inflating) open() (io.Reader, error) {
	if d.gzip {
		return gzip.NewReader(d.in)
	}
	const method = 8
	if head, err := d.in.Peek(2); err == nil && head[0]&0x0f == method && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(d.in)
	}
	return flate.NewReader(d.in), nil
}

// encoder returns a writer that codes what is written to it. Close ends the
// body; Flush makes what was written so far readable.
func encoder(coding string, w io.Writer) (*encoding, error) {
	list, ok := codings(coding)
	if !ok {
		return nil, fault.New(errCoding, "capture.encoder", "the coding %q", coding)
	}
	e := &encoding{to: w}
	for _, name := range slices.Backward(list) {
		var next flusher
		switch name {
		case "zstd":
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow/8))
			if err != nil {
				return nil, fault.Wrap(errCoding, "capture.encoder", err, "the coding zstd")
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

// encoding is codings one behind the other.
type encoding struct {
	to     io.Writer
	stages []flusher // from the last coding to the first
}

// Write implements [io.Writer].
func (e *encoding) Write(p []byte) (int, error) { return e.to.Write(p) }

// Flush makes readable what was written.
func (e *encoding) Flush() error { return e.outward(flusher.Flush) }

// Close ends the body.
func (e *encoding) Close() error { return e.outward(flusher.Close) }

func (e *encoding) outward(f func(flusher) error) error {
	for _, s := range slices.Backward(e.stages) {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// plainOf returns what a coded body holds, or false for a coding that is not
// known, a body that is not what it says, and one that would be too large.
func plainOf(coding string, b []byte, limit int64) ([]byte, bool) {
	out, err := decode(coding, b, limit)
	return out, err == nil
}

// decode returns what a coded body holds; with an error, what could be read.
func decode(coding string, b []byte, limit int64) ([]byte, error) {
	r, closer, err := decoder(coding, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer closer()
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = fault.New(errCoding, "capture.decode", "more than %d bytes", limit)
	}
	return out, err
}

// code codes a body; one that is not whole has no end.
func code(coding string, b []byte, whole bool) ([]byte, error) {
	var out bytes.Buffer
	w, err := encoder(coding, &out)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if whole {
		err = w.Close()
	} else {
		err = w.Flush()
	}
	return out.Bytes(), err
}

// safe is what is stored of a body.
type safe struct {
	stored []byte
	plain  []byte // what it holds behind its coding
	names  []string
	blind  bool // nobody could look behind its coding
}

// safe returns what is stored of a request's body and the names of the secrets
// that were in it. A body without secrets is stored as it came. One with
// secrets is coded anew, so that its coding stays true.
func (r *Redactor) safe(coding string, b []byte, limit int64) (safe, error) {
	if coding == "" || len(b) == 0 {
		stored, names := r.Bytes(b)
		return safe{stored: stored, plain: stored, names: names}, nil
	}
	return safely(coding, b, limit, false, r.Bytes)
}

// safely is safe with what finds the secrets behind the coding. A body that
// broke off need not be whole.
func safely(coding string, b []byte, limit int64, broke bool, clean func([]byte) ([]byte, []string)) (safe, error) {
	list, known := codings(coding)
	if known && len(list) == 0 || len(b) == 0 {
		stored, names := clean(b)
		return safe{stored: stored, plain: stored, names: names}, nil
	}
	p, err := decode(coding, b, limit)
	if err == nil || broke && known && int64(len(p)) <= limit {
		out, names := clean(p)
		if names == nil {
			return safe{stored: b, plain: p}, nil
		}
		stored, err := code(coding, out, !broke)
		return safe{stored: stored, plain: out, names: names}, err
	}
	stored, names := clean(b)
	return safe{stored: stored, plain: stored, names: names, blind: true}, nil
}
