package capture

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/internal/scratch"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// lifter takes the long texts out of JSON that passes by, so that what is left
// is small enough for the normalisers: an image of 20 MB in a request is one
// text. A mark stands in the place of each. Names of members are not taken
// out, because they decide the order.
//
// What is not JSON is found out when what is left is read as JSON, but for
// what is wrong within a long text, which sets bad.
type lifter struct {
	texts lifted
	room  func(n int) error // is told how much is left so far

	left  []byte
	stack []byte // open objects and arrays
	name  bool   // a string that comes is the name of a member

	in   bool // a string
	esc  bool // the last byte of it began an escape
	from int  // where it begins in left
	long bool // it is being taken out
	cut  []byte
	bad  bool
	n    int // texts that were taken out

	piece, form []byte // memory that is used again
}

// lifted takes the long texts, in canonical form without quotation marks.
type lifted interface {
	text(p []byte) error
	// end ends a text and returns what stands in its place.
	end(i int) (string, error)
}

const (
	longText  = 16 << 10 // from this length on a text is taken out
	textPiece = 32 << 10 // in pieces of this length
)

// write takes the next bytes.
func (l *lifter) write(p []byte) error {
	for len(p) > 0 {
		var err error
		if l.in {
			p, err = l.inside(p)
		} else {
			p = l.outside(p)
		}
		if err == nil && l.room != nil {
			err = l.room(len(l.left))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outside takes what stands outside of strings, and the quotation mark that
// begins one.
func (l *lifter) outside(p []byte) []byte {
	for i, c := range p {
		switch c {
		case '"':
			l.left = append(l.left, p[:i+1]...)
			l.in, l.from = true, len(l.left)
			return p[i+1:]
		case '{', '[':
			l.stack = append(l.stack, c)
			l.name = c == '{'
		case '}', ']':
			l.stack = l.stack[:max(0, len(l.stack)-1)]
			l.name = false
		case ',':
			l.name = len(l.stack) > 0 && l.stack[len(l.stack)-1] == '{'
		case ':':
			l.name = false
		}
	}
	l.left = append(l.left, p...)
	return nil
}

// inside takes the next bytes of a string up to its end.
func (l *lifter) inside(p []byte) ([]byte, error) {
	n, ends := l.until(p)
	var err error
	if l.long {
		l.cut = append(l.cut, p[:n]...)
		err = l.pieces(false)
	} else {
		l.left = append(l.left, p[:n]...)
		if !l.name && len(l.left)-l.from >= longText {
			l.long = true
			l.cut = append(l.cut[:0], l.left[l.from:]...)
			l.left = l.left[:l.from]
			err = l.pieces(false)
		}
	}
	if !ends || err != nil {
		return p[n:], err
	}
	if l.long {
		if err := l.pieces(true); err != nil {
			return nil, err
		}
		stand, err := l.texts.end(l.n)
		if err != nil {
			return nil, err
		}
		l.left = append(l.left, stand...)
		l.n++
	}
	l.in, l.long = false, false
	l.left = append(l.left, '"')
	return p[n+1:], nil
}

// until returns how many bytes of p belong to the string, and whether it ends
// behind them. It takes at most a piece.
func (l *lifter) until(p []byte) (n int, ends bool) {
	p = p[:min(len(p), textPiece)]
	for n < len(p) {
		if l.esc {
			l.esc = false
			n++
			continue
		}
		rest := p[n:]
		end := bytes.IndexByte(rest, '"')
		if end >= 0 {
			rest = rest[:end]
		}
		if i := bytes.IndexByte(rest, '\\'); i >= 0 {
			l.esc = true
			n += i + 1
			continue
		}
		return n + len(rest), end >= 0
	}
	return n, false
}

// pieces gives away what can be of a long text: cut where neither a character
// nor an escape is torn, because each piece is made canonical by itself.
func (l *lifter) pieces(last bool) error {
	for len(l.cut) >= textPiece || last && len(l.cut) > 0 {
		n := len(l.cut)
		if !last {
			n = whole(l.cut)
		}
		l.piece = append(append(append(l.piece[:0], '"'), l.cut[:n]...), '"')
		form, err := canon.AppendCanonical(l.form[:0], l.piece)
		if l.form = form; err != nil {
			l.bad = true
			form = l.piece
		}
		if err := l.texts.text(form[1 : len(form)-1]); err != nil {
			return err
		}
		l.cut = append(l.cut[:0], l.cut[n:]...)
	}
	return nil
}

// whole returns the most bytes of the inside of a JSON string that end between
// two characters, however these are written.
func whole(b []byte) int {
	n := len(b)
	const pair = len(`\ud83d\ude00`)
	for i := max(0, n-pair); i < n; i++ {
		if b[i] != '\\' || !escapeAt(b, i) {
			continue
		}
		// An escape begins here. If it is the second half of a pair, the cut is
		// in front of the first.
		if i >= pair/2 && highHalf(b[i-pair/2:i]) && escapeAt(b, i-pair/2) {
			return i - pair/2
		}
		return i
	}
	for k := 1; k < utf8.UTFMax && k <= n; k++ {
		if utf8.RuneStart(b[n-k]) {
			if !utf8.FullRune(b[n-k:]) {
				return n - k
			}
			break
		}
	}
	return n
}

// escapeAt reports whether the backslash at i begins an escape, and is not the
// second of an escaped one.
func escapeAt(b []byte, i int) bool {
	run := i
	for run > 0 && b[run-1] == '\\' {
		run--
	}
	return (i-run)%2 == 0
}

// highHalf reports whether b is the escape of the first half of a character
// beyond 16 bits.
func highHalf(b []byte) bool {
	return b[0] == '\\' && b[1] == 'u' && (b[2] == 'd' || b[2] == 'D') && (b[3] >= '8' && b[3] <= '9' || b[3]|0x20 == 'a' || b[3]|0x20 == 'b')
}

// aside puts long texts into a file.
type aside struct {
	mark string
	file *scratch.File
	ends []int64
}

func (a *aside) text(p []byte) error {
	_, err := a.file.Write(p)
	return err
}

func (a *aside) end(i int) (string, error) {
	a.ends = append(a.ends, a.file.Size())
	return a.mark + strconv.Itoa(i) + ".", nil
}

// digested says of long texts only how long they are and which: enough to
// tell two of them apart, and to show that to a person.
type digested struct {
	h *canon.Stream
	n int64
}

func (d *digested) text(p []byte) error {
	if d.h == nil {
		d.h = canon.NewStream()
	}
	d.n += int64(len(p))
	_, err := d.h.Write(p)
	return err
}

func (d *digested) end(int) (string, error) {
	s := "{" + strconv.FormatInt(d.n, 10) + " bytes, SHA-256 " + d.h.Sum().String() + "}"
	d.h, d.n = nil, 0
	return s, nil
}
