package drive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrSealed means that a run has ended and takes nothing more. Branch from it.
const ErrSealed fault.Conflict = "drive.run_sealed"

// Resume goes on with a run that was not sealed. What its process had staged
// comes into the ledger: entries that were not durable, and calls that were
// open when it ended are closed as interrupted, with the bytes that came. A run
// whose writer may still be alive gives [ledger.ErrLeased]. One of which not all
// that was staged can be read gives [ErrDamaged], once: what can be read is kept,
// and the next Resume goes on with it.
func Resume(ctx context.Context, cfg Config, run ledger.RunID, o Opening) (*Session, error) {
	lease, err := cfg.Store.Acquire(ctx, run, cfg.Holder, leaseTTL)
	if err != nil {
		return nil, err
	}
	var s *Session
	if err = reclaim(ctx, cfg, lease); err == nil {
		s, err = resume(ctx, cfg, run, o)
	}
	if err != nil {
		// What was not taken over is left to others at once. If that fails the
		// lease runs out, and the error that came first is the one that counts.
		_, _ = cfg.Store.Acquire(context.WithoutCancel(ctx), run, cfg.Holder, 0)
	}
	return s, err
}

func resume(ctx context.Context, cfg Config, run ledger.RunID, o Opening) (*Session, error) {
	var at ledger.Position
	var tree ledger.Tree
	seen := map[effect.Key]int64{}
	open := map[int64]effect.Key{}
	messages := map[int64]int64{} // of open calls
	var order []int64
	for e, err := range cfg.Store.Read(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		p, err := ledger.Parse(e)
		if err != nil {
			return nil, err
		}
		at = ledger.Position{Count: at.Count + 1, Last: ledger.ID(e.Header)}
		tree.Append(at.Last)
		switch p.Kind {
		case ledger.KindCall:
			_, k, err := effect.ParseCall(p.Body)
			if err != nil {
				return nil, err
			}
			open[p.N] = k
			order = append(order, p.N)
			seen[effect.Key{Path: k.Path, Match: k.Match}] = k.Occurrence + 1
		case ledger.KindEvent:
			if n, ok := p.Body.Get("refs").Get("call").AsInt(); ok {
				messages[n]++
			}
		case ledger.KindOutcome:
			n, _ := p.Body.Get("refs").Get("call").AsInt()
			delete(open, n)
			delete(messages, n)
		case ledger.KindSeal:
			return nil, fault.New(ErrSealed, "drive.Resume", "run %s is sealed", run)
		default:
		}
	}
	if at.Count == 0 {
		return nil, fault.New(ledger.ErrNotFound, "drive.Resume", "there is no run %s", run)
	}
	staged, err := readPartials(cfg.Spool, run, open)
	if errors.Is(err, ErrDamaged) {
		err = aside(cfg.Spool, run, err)
	}
	if err != nil {
		return nil, err
	}
	s, err := begin(ctx, cfg, run, o, at, tree)
	if err != nil {
		return nil, err
	}
	if err := s.redeclare(ctx); err != nil {
		return nil, errors.Join(err, s.w.close(ctx))
	}
	s.seen = seen
	for _, n := range order {
		if k, ok := open[n]; ok {
			if err := s.interrupt(ctx, n, k, staged[n], messages[n]); err != nil {
				return nil, errors.Join(err, s.w.close(ctx))
			}
		}
	}
	return s, nil
}

// redeclare puts the key manifests beside the run that were written since it
// was begun: the heads to come are signed with keys that only those list. A run
// that somebody else has begun keeps the manifests that it has.
func (s *Session) redeclare(ctx context.Context) error {
	n := 0
	for st, err := range s.cfg.Store.Statements(ctx, s.run, sign.ManifestType) {
		if err != nil {
			return err
		}
		if n >= len(s.cfg.Manifests) || !bytes.Equal(st.Envelope, s.cfg.Manifests[n]) {
			return nil
		}
		n++
	}
	s.w.declare(s.cfg.Manifests[n:], n)
	return nil
}

// interrupt closes a call that another process left open. Of its messages the
// ledger has so many.
func (s *Session) interrupt(ctx context.Context, n int64, k effect.Key, p *partial, messages int64) error {
	x := &Exchange{s: s, n: n, key: k, started: s.cfg.Now()}
	o := effect.Outcome{Status: effect.Interrupted}
	if p != nil {
		x.scope, o.Data = p.scope, p.head
		if err := s.messages(n, p.messages, messages); err != nil {
			return err
		}
		if p.name == "" { // it had messages and no answer
			return x.End(ctx, o)
		}
		if err := x.refill(p); err != nil {
			return err
		}
	}
	return x.End(ctx, o)
}

// refill makes the stream that the killed process had.
func (x *Exchange) refill(p *partial) error {
	st, err := x.open(p.name, p.typ)
	if err != nil {
		return err
	}
	x.stream = st
	for _, f := range p.parts {
		if _, err := st.write(f.dt, f.bytes); err != nil {
			return err
		}
	}
	return nil
}

// Recovered is a run whose process was killed and whose open calls are closed.
type Recovered struct {
	Run ledger.RunID
	// Lost is [ErrDamaged] if not all of what its process had staged could be
	// read, and says where that is kept; else nil.
	Lost error
}

// Recover closes the open calls of every run whose process was killed, and
// returns those runs. They stay unsealed: nobody knows how they would have
// gone on. Runs that a live process may still be writing are left alone.
func Recover(ctx context.Context, cfg Config) ([]Recovered, error) {
	if cfg.Spool == "" {
		return nil, nil
	}
	dirs, err := os.ReadDir(cfg.Spool)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.Recover", err, "the spool folder")
	}
	cfg.Holder += ", recovering" // so that a run of this very process counts as alive
	var done []Recovered
	for _, d := range dirs {
		run := ledger.RunID(d.Name())
		if !run.Valid() {
			continue
		}
		r := Recovered{Run: run}
		s, err := Resume(ctx, cfg, run, Opening{})
		// Damage is found in entries and then in answers.
		for range 2 {
			if errors.Is(err, ErrDamaged) {
				r.Lost = errors.Join(r.Lost, err)
				s, err = Resume(ctx, cfg, run, Opening{})
			}
		}
		gone := false
		switch {
		case errors.Is(err, ledger.ErrLeased):
			continue
		case errors.Is(err, ErrSealed), errors.Is(err, ledger.ErrNotFound):
			gone = true
			err = (&spool{dir: cfg.Spool + string(os.PathSeparator) + string(run)}).close()
		case err == nil:
			err = s.Close(ctx)
		}
		if err != nil {
			return done, errors.Join(r.Lost, err)
		}
		if !gone || r.Lost != nil {
			done = append(done, r)
		}
	}
	return done, nil
}
