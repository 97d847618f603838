package drive

import (
	"io"

	"github.com/reprise-dev/reprise/internal/scratch"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Large is a content that is not held in memory.
type Large struct {
	Name string
	Type string
	// Give writes the bytes. It is called more than once and must give the
	// same every time.
	Give func(w io.Writer) error
}

// is reports whether a recorded attachment holds this content.
func (l *Large) is(a *ledger.Attachment, salt *canon.Salt) (bool, error) {
	if a.Name != l.Name {
		return false, nil
	}
	b := canon.NewBinder(salt)
	n := counter{to: b}
	if err := l.Give(&n); err != nil {
		return false, err
	}
	return n.n == a.Size && b.Sum() == a.Bind, nil
}

// maxLarge is how many large contents are cut into chunks at a time: each
// needs memory for what is not stored yet.
const maxLarge = 4

func (s *Session) attachLarge(d *ledger.Draft, st *stage, l *Large, in string) error {
	s.large <- struct{}{}
	defer func() { <-s.large }()
	salt, err := s.salts.next()
	if err != nil {
		return err
	}
	scope, err := s.scopeOf(in)
	if err != nil {
		return err
	}
	w := newBlobWriter(s, scope, salt, l.Type, st)
	if in != "" {
		w.Apart()
	}
	n := counter{to: w}
	if err := l.Give(&n); err != nil {
		return err
	}
	part, bind, err := w.Close()
	if err != nil {
		return err
	}
	d.Att = append(d.Att, ledger.Attachment{Name: l.Name, Type: l.Type, Size: n.n, Bind: bind})
	d.Parts = append(d.Parts, part)
	return nil
}

type counter struct {
	to io.Writer
	n  int64
}

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// Scratch returns an empty file for bytes that are too many for memory. It
// stands beside what the session stages, and nobody can read it but this
// process. The caller closes it.
func (s *Session) Scratch() (*scratch.File, error) {
	dir := ""
	if s.spool != nil {
		dir = s.spool.dir
	}
	return scratch.Create(dir, s.salts)
}
