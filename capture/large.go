package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/internal/scratch"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrWhole means that a request cannot be matched piece by piece and is too
// large to be held: its JSON is over the limit beside its long texts, or a
// normaliser was asked for that needs it whole. Nothing was sent. Raise the
// limit, or leave the normaliser out.
const ErrWhole fault.Invalid = "capture.too_large_to_match"

// large is a request that is not held in memory. It stands in a scratch file
// as it came, which nobody else can read, because its secrets are in there. It
// is read from there as often as it is needed: to be matched, to be stored
// without its secrets, and to be sent.
type large struct {
	file  *scratch.File
	fresh func() (*scratch.File, error)

	coding string         // behind which it is looked; empty: behind none
	blind  bool           // it has one behind which nobody can look
	find   *redact.Finder // of secrets, as far as they were known when it came
	names  []string

	left  []byte // of JSON, without its long texts; nil: it is not JSON
	aside *aside
	norms []string // that changed something until now
	plain canon.Digest

	room  *Room
	taken int64
	whole int64 // limit of what may be held
}

// part is how many bytes pass by at a time.
const part = 64 << 10

// take gives f the bytes of the request, behind its coding if asked to.
func (g *large) take(decoded bool, f func(p []byte) error) error {
	r := g.file.Reader(0, g.file.Size())
	if decoded && g.coding != "" {
		d, closer, err := codings.NewReader(g.coding, r)
		if err != nil {
			return err
		}
		defer closer()
		r = d
	}
	buf, _ := parts.Get().(*[]byte)
	defer parts.Put(buf)
	for {
		n, err := r.Read((*buf)[:part])
		if n > 0 {
			if err := f((*buf)[:n]); err != nil {
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

// replacing gives f what comes of bytes when what a finder finds is replaced.
// The last call has no bytes.
func replacing(by *redact.Finder, f func(p []byte) error) (write func(p []byte) error, end func() ([]string, error)) {
	if by == nil {
		return f, func() ([]string, error) { return nil, nil }
	}
	r := by.Stream()
	var out []byte
	write = func(p []byte) error {
		if out = r.Write(out[:0], p, false); len(out) == 0 {
			return nil
		}
		return f(out)
	}
	end = func() ([]string, error) {
		out = r.Write(out[:0], nil, true)
		if len(out) > 0 {
			if err := f(out); err != nil {
				return nil, err
			}
		}
		return r.Found(), nil
	}
	return write, end
}

// clean gives f the request behind its coding without secrets.
func (g *large) clean(f func(p []byte) error) error {
	write, end := replacing(g.find, f)
	err := g.take(true, write)
	if err == nil {
		g.names, err = end()
	}
	return err
}

// give writes what is stored of the request: as it came if no secret is in it,
// else coded anew.
func (g *large) give(w io.Writer) error {
	to := func(p []byte) error {
		_, err := w.Write(p)
		return err
	}
	if g.names == nil {
		return g.take(false, to)
	}
	if g.coding == "" {
		return g.clean(to)
	}
	e, err := codings.NewWriter(g.coding, w)
	if err != nil {
		return err
	}
	err = g.clean(func(p []byte) error {
		_, err := e.Write(p)
		return err
	})
	if err != nil {
		return err
	}
	return e.Close()
}

// read looks at the request once: for secrets, and for what its key is taken
// of as far as that does not depend on what it asks for.
func (g *large) read(ctx context.Context, coding string, red *redact.Redactor, r *match.Rules, limit int64) error {
	g.find = red.Finder()
	list, known := codings.List(coding)
	switch {
	case !known:
		g.blind = true
	case len(list) > 0:
		g.coding = coding
	}
	err := g.pass(ctx, r, limit)
	if err != nil && g.coding != "" && fault.CodeOf(err) != ErrWhole && fault.CodeOf(err) != ErrBody && !errors.Is(err, scratch.ErrScratch) {
		// It is not what it says, and taken as it is.
		g.coding, g.blind = "", true
		g.drop()
		err = g.pass(ctx, r, limit)
	}
	return err
}

// pass is one look.
func (g *large) pass(ctx context.Context, r *match.Rules, limit int64) error {
	const op = "capture.large"
	if r.Whole() {
		if err := g.reserve(ctx, g.file.Size()); err != nil {
			return err
		}
		return g.hold(limit)
	}
	var s sorter
	var size int64
	g.norms = nil
	s.json = func() (*lifter, error) { return g.lifter(ctx) }
	s.forms = r.Forms()
	set, setEnd := replacing(r.Setting(), s.write)
	err := g.clean(func(p []byte) error {
		if size += int64(len(p)); g.coding != "" && size > limit {
			return fault.New(codings.Err, op, "more than %d bytes behind the coding", limit)
		}
		return set(p)
	})
	if err != nil {
		return err
	}
	names, err := setEnd()
	if err != nil {
		return err
	}
	g.norms = match.Settled(names)
	var form bool
	if g.left, g.plain, form, err = s.end(); err != nil {
		return err
	}
	if form {
		g.norms = append(g.norms, match.MultipartBoundary)
	}
	if s.l != nil && s.l.bad {
		g.left = nil
	}
	if s.l != nil && g.left == nil {
		return g.again(r)
	}
	return nil
}

// again takes the digest of a request that looked like JSON and is none.
func (g *large) again(r *match.Rules) error {
	h := canon.NewStream()
	to := func(p []byte) error {
		_, err := h.Write(p)
		return err
	}
	set, setEnd := replacing(r.Setting(), to)
	if err := g.clean(set); err != nil {
		return err
	}
	_, err := setEnd()
	g.plain = h.Sum()
	return err
}

// lifter returns what takes the long texts out of JSON.
func (g *large) lifter(ctx context.Context) (*lifter, error) {
	file, err := g.fresh()
	if err != nil {
		return nil, err
	}
	g.aside = &aside{mark: file.Token(), file: file}
	return &lifter{texts: g.aside, room: func(n int) error {
		if n <= maxPooled || g.taken > 0 {
			if int64(n) > g.whole {
				return fault.New(ErrWhole, "capture.large", "the JSON of a request has more than %d bytes beside its long texts", g.whole)
			}
			return nil
		}
		return g.reserve(ctx, min(g.whole, g.file.Size()))
	}}, nil
}

// reserve takes room in memory.
func (g *large) reserve(ctx context.Context, n int64) error {
	if n > g.whole {
		return fault.New(ErrWhole, "capture.large", "a request of %d bytes must be held to be matched; the limit is %d", n, g.whole)
	}
	if g.taken > 0 {
		return nil
	}
	var err error
	g.taken, err = g.room.take(ctx, max(1, n))
	return err
}

// hold takes the request whole, for normalisers that need that.
func (g *large) hold(limit int64) error {
	b := []byte{}
	err := g.clean(func(p []byte) error {
		if b = append(b, p...); int64(len(b)) > min(limit, g.whole) {
			return fault.New(ErrWhole, "capture.large", "a request of more than %d bytes must be held to be matched", min(limit, g.whole))
		}
		return nil
	})
	g.left, g.aside = b, nil
	return err
}

// form returns the digest of the form of the request that its key is taken of,
// and which normalisers changed something: the same as [rules.normal] gives.
func (g *large) form(r *match.Rules, kind string) (canon.Digest, []string, error) {
	switch {
	case g.left == nil:
		return g.plain, g.norms, nil
	case g.aside == nil:
		form, norms := r.Form(kind, g.left)
		return canon.SHA256(form), norms, nil
	}
	form, norms, ok := r.JSON(kind, g.left)
	norms = append(slices.Clone(g.norms), norms...)
	if !ok {
		err := g.again(r)
		return g.plain, norms, err
	}
	h := canon.NewStream()
	mark := []byte(g.aside.mark)
	for {
		i := bytes.Index(form, mark)
		if i < 0 {
			_, _ = h.Write(form)
			return h.Sum(), norms, nil
		}
		_, _ = h.Write(form[:i])
		form = form[i+len(mark):]
		n := bytes.IndexByte(form, '.')
		at, err := strconv.Atoi(string(form[:n]))
		if err != nil {
			return canon.Digest{}, nil, fault.Wrap(ErrRecord, "capture.large", err, "a mark")
		}
		form = form[n+1:]
		var from int64
		if at > 0 {
			from = g.aside.ends[at-1]
		}
		if err := copyTo(h, g.aside.file.Reader(from, g.aside.ends[at]-from)); err != nil {
			return canon.Digest{}, nil, err
		}
	}
}

func copyTo(w io.Writer, r io.Reader) error {
	buf, _ := parts.Get().(*[]byte)
	defer parts.Put(buf)
	_, err := io.CopyBuffer(w, r, *buf)
	return err
}

// sketch returns the form with its long texts named by their digests, for
// people.
func (g *large) sketch(r *match.Rules, kind string) ([]byte, error) {
	var k sketch
	k.begin(r)
	if err := g.clean(k.write); err != nil {
		return nil, err
	}
	return k.end(r, kind)
}

// drop lets go of what was needed to match the request.
func (g *large) drop() {
	g.left = nil
	if g.aside != nil {
		_ = g.aside.file.Close()
		g.aside = nil
	}
	if g.taken > 0 {
		g.room.give(g.taken)
		g.taken = 0
	}
}

// content returns the request as it is stored.
func (g *large) content(typ string) *drive.Large {
	return &drive.Large{Name: RequestName, Type: typ, Give: g.give}
}

// sorter finds out what passes by, JSON or a form or neither, and takes of it
// what a key is made of.
type sorter struct {
	json  func() (*lifter, error)
	forms bool

	head []byte // until it is known what it is
	is   kindOf
	l    *lifter
	h    *canon.Stream
	line []byte // of a form: its boundary
	cut  *redact.Replacer
	form *canon.Stream
	out  []byte
	tail []byte
}

type kindOf uint8

const (
	unknown kindOf = iota
	other
	isJSONText
	maybeForm
)

// write takes the next bytes.
func (s *sorter) write(p []byte) error {
	if s.is == unknown {
		s.head = append(s.head, p...)
		if len(s.head) < match.MaxBoundary+4 || blank(s.head) && len(s.head) < maxPooled {
			return nil
		}
		return s.decide()
	}
	return s.more(p)
}

// blank reports whether b is white space, which may stand in front of JSON.
func blank(b []byte) bool { return len(bytes.TrimLeft(b, " \t\r\n")) == 0 }

func (s *sorter) decide() error {
	switch line, ok := match.BoundaryLine(s.head); {
	case protocol.LooksJSON(s.head):
		l, err := s.json()
		if err != nil {
			return err
		}
		s.is, s.l = isJSONText, l
	case s.forms && ok:
		s.is, s.line, s.h, s.form = maybeForm, bytes.Clone(line), canon.NewStream(), canon.NewStream()
		s.cut = match.Boundary(line).Stream()
	default:
		s.is, s.h = other, canon.NewStream()
	}
	head := s.head
	s.head = nil
	return s.more(head)
}

func (s *sorter) more(p []byte) error {
	switch s.is {
	case isJSONText:
		return s.l.write(p)
	case maybeForm:
		s.out = s.cut.Write(s.out[:0], p, false)
		_, _ = s.form.Write(s.out)
		s.tail = append(s.tail, p...)
		s.tail = append(s.tail[:0], s.tail[max(0, len(s.tail)-formEnd):]...)
	default:
	}
	if s.h != nil {
		_, _ = s.h.Write(p)
	}
	return nil
}

// formEnd is how long the end of a form is: \r\n, its last line and \r\n.
const formEnd = match.MaxBoundary + 12

// end returns what is left of JSON, or else the digest of the form, and
// whether it is that of a form of parts.
func (s *sorter) end() (left []byte, d canon.Digest, form bool, err error) {
	if s.is == unknown {
		if err := s.decide(); err != nil {
			return nil, d, false, err
		}
	}
	switch {
	case s.is == isJSONText:
		return s.l.left, d, false, nil
	case s.is == maybeForm && match.EndsForm(s.tail, s.line):
		_, _ = s.form.Write(s.cut.Write(s.out[:0], nil, true))
		return nil, s.form.Sum(), true, nil
	default:
		return nil, s.h.Sum(), false, nil
	}
}

// sketch makes the form of a request for people from bytes that pass by.
type sketch struct {
	l       *lifter
	set     func(p []byte) error
	setEnd  func() ([]string, error)
	decided bool
	h       *canon.Stream
	n       int64
}

func (k *sketch) begin(r *match.Rules) {
	k.h = canon.NewStream()
	k.set, k.setEnd = replacing(r.Setting(), k.text)
}

func (k *sketch) write(p []byte) error { return k.set(p) }

// Write implements [io.Writer].
func (k *sketch) Write(p []byte) (int, error) { return len(p), k.set(p) }

func (k *sketch) text(p []byte) error {
	if !k.decided {
		if k.decided = !blank(p); protocol.LooksJSON(p) {
			k.l = &lifter{texts: &digested{}, room: func(n int) error {
				if n > maxSketch {
					return errSketch
				}
				return nil
			}}
		}
	}
	k.n += int64(len(p))
	_, _ = k.h.Write(p)
	if k.l == nil {
		return nil
	}
	err := k.l.write(p)
	if errors.Is(err, errSketch) {
		k.l, err = nil, nil
	}
	return err
}

// maxSketch bounds a form that is shown to people.
const maxSketch = 8 << 20

var errSketch = fault.New(ErrWhole, "capture.sketch", "too much to be shown")

func (k *sketch) end(r *match.Rules, kind string) ([]byte, error) {
	if _, err := k.setEnd(); err != nil {
		return nil, err
	}
	if k.l != nil && !k.l.bad {
		if form, _, ok := r.JSON(kind, k.l.left); ok {
			return form, nil
		}
	}
	return []byte(canon.String("{" + strconv.FormatInt(k.n, 10) + " bytes, SHA-256 " + k.h.Sum().String() + "}").String()), nil
}
