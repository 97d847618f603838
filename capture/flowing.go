package capture

import (
	"errors"
	"io"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/scratch"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// flowing is the record of an answer that streams. Every byte of it goes to
// the client at once; into the record it goes when it is known that it is no
// part of a secret, which may be later. Which parts it came in is kept all the
// same.
type flowing struct {
	a     *answering
	st    *drive.Stream
	blind bool
	red   redact.Cleaner
	parts []drive.Part // that are not in the record with all their bytes
	in    int64        // bytes that came
	at    int64        // of them in parts that are in the record
	out   int64        // bytes that are recorded
	put   int64        // of them in parts
	buf   []byte
}

// write takes the next part.
func (p *flowing) write(b []byte) error {
	if err := p.st.Begun(); err != nil {
		return err
	}
	p.parts = append(p.parts, drive.Part{After: p.st.Arrive(), Size: len(b)})
	p.in += int64(len(b))
	p.buf = p.red.Write(p.buf[:0], b, false)
	return p.record(false)
}

func (p *flowing) end(o *effect.Outcome, _ bool) error {
	p.buf = p.red.Write(p.buf[:0], nil, true)
	o.Redacted = redact.Union(o.Redacted, p.red.Found())
	o.Data = p.a.seen(o.Data, p.blind)
	return p.record(true)
}

func (*flowing) close() {}

func (p *flowing) record(last bool) error {
	if len(p.buf) > 0 {
		if err := p.st.Put(p.buf); err != nil {
			return err
		}
		p.out += int64(len(p.buf))
	}
	done := p.in - int64(p.red.Held())
	if last {
		done = p.in
	}
	n := 0
	for _, part := range p.parts {
		end := p.at + int64(part.Size)
		if end > done {
			break
		}
		// What stands between is as long in the record as it came, unless a
		// secret was in it.
		size := max(0, p.out-(done-end)-p.put)
		if last && n == len(p.parts)-1 {
			size = p.out - p.put
		}
		p.st.Part(part.After, int(size))
		p.at, p.put = end, p.put+size
		n++
	}
	p.parts = append(p.parts[:0], p.parts[n:]...)
	return nil
}

// recorder is what records an answer that streams.
type recorder interface {
	// write takes the next part, which may be given to the client then.
	write(b []byte) error
	// end takes what was held back, and adds to the outcome what is known of
	// all of it. An answer that broke off need not be whole.
	end(o *effect.Outcome, broke bool) error
	close()
}

// recorder returns what records the answer.
func (a *answering) recorder(st *drive.Stream) (recorder, error) {
	red := a.h.p.o.Redactor.Cleaner
	list, known := codings.List(a.resp.Header.Get("Content-Encoding"))
	if len(list) == 0 || !known {
		return &flowing{a: a, st: st, red: red(a.resp.Header), blind: !known}, nil
	}
	f, err := a.h.p.s.Scratch()
	if err != nil {
		return nil, err
	}
	d := &decoding{a: a, st: st, f: f}
	if len(list) == 1 {
		d.ahead = redact.NewClearing(list[0], red(a.resp.Header), DefaultMaxRequest)
	}
	return d, nil
}

// decoding records an answer that is compressed and streams. It is decoded as
// it comes, and goes into the record as far as nothing is in it that may be a
// secret. Nothing can be taken out of its middle: so all of it is put aside
// too, and if a secret is found the record begins anew when the answer has
// ended. If the process is killed before, the record has what came before that.
type decoding struct {
	a     *answering
	st    *drive.Stream
	f     *scratch.File
	ahead *redact.Clearing // nil: nothing is recorded before the end
	parts []drive.Part
	next  int   // of parts, that is recorded next
	at    int64 // where that begins
	out   int64 // bytes that are recorded
}

func (d *decoding) close() {
	d.behind()
	_ = d.f.Close()
}

// behind ends that the answer is decoded as it comes.
func (d *decoding) behind() {
	if d.ahead != nil {
		d.ahead.Stop()
		d.ahead = nil
	}
}

func (d *decoding) write(p []byte) error {
	if err := d.st.Begun(); err != nil {
		return err
	}
	d.parts = append(d.parts, drive.Part{After: d.st.Arrive(), Size: len(p)})
	if _, err := d.f.Write(p); err != nil || d.ahead == nil {
		return err
	}
	clear, ok := d.ahead.Write(p)
	if !ok {
		d.behind()
	}
	return d.record(clear)
}

// record records the bytes that came up to there.
func (d *decoding) record(to int64) error {
	if to > d.out {
		if err := copyTo(putting(d.st.Put), d.f.Reader(d.out, to-d.out)); err != nil {
			return err
		}
		d.out = to
	}
	for ; d.next < len(d.parts); d.next++ {
		p := d.parts[d.next]
		if d.at+int64(p.Size) > d.out {
			break
		}
		d.st.Part(p.After, p.Size)
		d.at += int64(p.Size)
	}
	return nil
}

// anew begins the record anew, if it has begun.
func (d *decoding) anew() (err error) {
	if d.out > 0 {
		d.st, err = d.a.x.Stream(ResponseName, contentType(d.a.resp.Header), d.a.head)
	}
	return err
}

func (d *decoding) end(o *effect.Outcome, broke bool) error {
	if d.ahead != nil && d.ahead.End(broke) {
		return d.record(d.f.Size())
	}
	coding := d.a.resp.Header.Get("Content-Encoding")
	red := d.a.h.p.o.Redactor.Cleaner
	look := red(d.a.resp.Header)
	err := d.plain(coding, look, func([]byte) error { return nil })
	switch {
	case errors.Is(err, scratch.ErrScratch):
		return err
	case err != nil && !broke: // it is not what it says
		if err := d.anew(); err != nil {
			return err
		}
		o.Data = d.a.seen(o.Data, true)
		plain := red(d.a.resp.Header)
		err = d.put(func(to func([]byte) error) error { return d.plain("", plain, to) })
		o.Redacted = redact.Union(o.Redacted, plain.Found())
		return err
	case look.Found() == nil:
		return d.record(d.f.Size())
	}
	if err := d.anew(); err != nil {
		return err
	}
	o.Redacted = redact.Union(o.Redacted, look.Found())
	return d.put(func(to func([]byte) error) error {
		e, err := codings.NewWriter(coding, putting(to))
		if err != nil {
			return err
		}
		err = d.plain(coding, red(d.a.resp.Header), func(p []byte) error {
			_, err := e.Write(p)
			return err
		})
		if err != nil && !broke {
			return err
		}
		if broke {
			return e.Flush()
		}
		return e.Close()
	})
}

// put records bytes that are not those that came, in as many parts.
func (d *decoding) put(give func(to func([]byte) error) error) error {
	var size int64
	err := give(func(p []byte) error {
		size += int64(len(p))
		return d.st.Put(p)
	})
	n := int64(len(d.parts))
	for i, p := range d.parts {
		k := int64(i)
		d.st.Part(p.After, int(size*(k+1)/n-size*k/n))
	}
	return err
}

// plain gives f what stands behind a coding, without secrets.
func (d *decoding) plain(coding string, red redact.Cleaner, f func(p []byte) error) error {
	r, closer, err := codings.NewReader(coding, d.f.Reader(0, d.f.Size()))
	if err != nil {
		return err
	}
	defer closer()
	buf, _ := parts.Get().(*[]byte)
	defer parts.Put(buf)
	var out []byte
	var size int64
	for {
		n, err := r.Read(*buf)
		if size += int64(n); size > DefaultMaxRequest {
			return fault.New(codings.Err, "capture.decoding", "more than %d bytes", DefaultMaxRequest)
		}
		if out = red.Write(out[:0], (*buf)[:n], err != nil); len(out) > 0 {
			if err := f(out); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// putting is a function as a writer.
type putting func(p []byte) error

// Write implements [io.Writer].
func (f putting) Write(p []byte) (int, error) { return len(p), f(p) }
