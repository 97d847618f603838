package codings

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// NewReader returns a reader of what stands behind the coding of r, and what
// lets go of it. Its end is io.EOF only if the body is whole and nothing follows
// it. It refuses a coding that is not known with [Err].
func NewReader(coding string, r io.Reader) (_ io.Reader, closer func(), err error) {
	const op = "codings.NewReader"
	list, ok := List(coding)
	if !ok {
		return nil, nil, fault.New(Err, op, "the coding %q", coding)
	}
	var closers []func()
	closer = func() {
		for _, c := range closers {
			c()
		}
	}
	for _, name := range slices.Backward(list) {
		in := bufio.NewReaderSize(r, ReadAhead)
		switch name {
		case "zstd":
			d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				closer()
				return nil, nil, fault.Wrap(Err, op, err, "the coding zstd")
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
			err = fault.New(Err, "codings.Reader", "something follows the body")
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
