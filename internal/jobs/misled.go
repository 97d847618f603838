package jobs

import (
	"context"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// search looks into a store for why chunks that entries lead to are not there.
type search struct {
	ctx    context.Context //nolint:containedctx // of the one search that it lives for
	store  drive.Store
	wanted map[canon.Digest]bool // chunks that entries lead to
	scopes map[string]bool       // true: its key is gone, and all of it was erased
	lost   []*lostContent
	tries  int // how often a lost content was put together
}

// lostContent is a content of which chunks are not there.
type lostContent struct {
	content
	absent map[canon.Digest]int64 // how long each is; 0: it is a list of others, whose length nobody knows
}

func (c *lostContent) part() blob.Part               { return c.o.Parts[c.i] }
func (c *lostContent) attachment() ledger.Attachment { return c.o.Att[c.i] }

// maxTries bounds how often contents that are lost are put together with a chunk
// that is there in the place of the one that is not.
const maxTries = 10_000

// misled refuses a run in which something was changed so that it looks as if it
// were missing. Chunks and entries become durable together: a chunk that no
// entry leads to, or with which a lost content is whole, says that what leads to
// it was changed. What is missing and is nothing that a replay asks for was
// taken away, unless all of its scope was erased.
func misled(ctx context.Context, store drive.Store, run ledger.RunID) error {
	s := &search{ctx: ctx, store: store, wanted: map[canon.Digest]bool{}, scopes: map[string]bool{}}
	for e, err := range store.Read(ctx, run, 0) {
		if err != nil {
			return err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return err
		}
		for i := range o.Parts {
			if err := s.look(&o, i); err != nil {
				return err
			}
		}
	}
	for _, c := range s.lost {
		if name := c.attachment().Name; !isMaterial(c.o.Kind, name) && !s.scopes[c.part().Scope] {
			return fault.New(job.ErrIntegrity, "jobs.Replay", "the content %s of entry %d is not there, and was not erased", name, c.o.N)
		}
	}
	return s.stray()
}

func isMaterial(k ledger.Kind, name string) bool {
	switch k {
	case ledger.KindOpen, ledger.KindDecision, ledger.KindPendingApproval, ledger.KindResult:
		return name == job.LogContent || name == "event" || name == job.OutputContent || strings.HasPrefix(name, "snapshot.")
	default:
		return false
	}
}

// look follows the recipe of a content.
func (s *search) look(o *ledger.Opened, i int) error {
	p := o.Parts[i]
	if _, known := s.scopes[p.Scope]; !known {
		_, err := s.store.Scope(s.ctx, p.Scope, nil)
		if err != nil && !gone(err) {
			return err
		}
		s.scopes[p.Scope] = err != nil
	}
	if p.Recipe == nil {
		return nil
	}
	c := &lostContent{content: content{o, i}, absent: map[canon.Digest]int64{}}
	get := func(id canon.Digest, length int64) ([]byte, error) {
		s.wanted[id] = true
		b, err := s.store.Get(s.ctx, p.Scope, id)
		switch {
		case gone(err):
			c.absent[id] = length
		case err == nil && length != 0 && length != int64(len(b)):
			return nil, fault.New(job.ErrIntegrity, "jobs.Replay", "the content %s of entry %d is not what was recorded: chunk %s has %d bytes, and not %d", c.attachment().Name, o.N, id, len(b), length)
		}
		return b, err
	}
	for x, err := range blob.Pieces(p, func(id canon.Digest) ([]byte, error) { return get(id, 0) }) {
		if err == nil && x.Literal == nil {
			_, err = get(x.ID, x.Length)
		}
		if err != nil && !gone(err) {
			return err
		}
	}
	if len(c.absent) > 0 {
		s.lost = append(s.lost, c)
	}
	return nil
}

// stray refuses chunks that should have been led to.
func (s *search) stray() error {
	for scope := range s.scopes {
		for id, err := range s.store.List(s.ctx, scope) {
			if err != nil {
				return err
			}
			b, err := s.store.Get(s.ctx, scope, id)
			if err != nil {
				return err
			}
			if !s.wanted[id] || slices.ContainsFunc(s.lost, func(c *lostContent) bool { return c.part().Scope == scope && s.completes(c, b) }) {
				return fault.New(job.ErrIntegrity, "jobs.Replay", "no entry leads to the chunk %s, and what an entry leads to instead is not there", id)
			}
		}
	}
	return nil
}

// completes reports whether a lost content is the one that was recorded with
// these bytes in the place of the only chunk that it lacks.
func (s *search) completes(c *lostContent, b []byte) bool {
	p, a := c.part(), c.attachment()
	if a.Holds(p.Salt, b) {
		return true
	}
	if len(c.absent) != 1 || s.tries == maxTries {
		return false
	}
	for _, length := range c.absent {
		if length != 0 && length != int64(len(b)) {
			return false
		}
	}
	s.tries++
	bind := canon.NewBinder(&p.Salt)
	err := blob.Rebuild(p, func(id canon.Digest) ([]byte, error) {
		if _, lost := c.absent[id]; lost {
			return b, nil
		}
		return s.store.Get(s.ctx, p.Scope, id)
	}, bind)
	return err == nil && bind.Sum() == a.Bind
}
