package jobs

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Shown is something unredacted that a replay for a data subject has shown.
type Shown struct {
	ID    string
	Value canon.Value
}

// disclose shows what was said before redaction: the input of the job and the
// outputs of its agents. Each access is in the governance ledger before
// anything of it is returned (M-87, M-88).
func (p *replaying) disclose(ctx context.Context) error {
	held, rules, err := p.held(ctx)
	if err != nil {
		return err
	}
	role := string(govern.Admin) // allowed has seen to that
	for _, h := range held {
		raw, access, err := rules.Read(h, job.Reader{Actor: p.asked.Actor, Role: role, DSR: true, Raw: true, Reason: p.q.By.Reason})
		if errors.Is(err, job.ErrAccess) && h.Raw.IsZero() {
			continue // nothing but what is redacted was kept
		}
		if err != nil {
			return err
		}
		data := access.With("job_id", canon.String(p.job.JobID)).With("request_id", canon.String(p.out.Request))
		if err := p.g.append(ctx, func(*standing) ([]line, error) { return []line{{EventAccess, service, data}}, nil }); err != nil {
			return err
		}
		p.out.Shown = append(p.out.Shown, Shown{h.ID, raw})
	}
	return nil
}

// held returns what the run holds twice: as it was said, and redacted.
func (p *replaying) held(ctx context.Context) ([]job.Held, job.Privacy, error) {
	var out []job.Held
	var rules job.Privacy
	read := drive.NewReader(p.r.Config.Store, p.job.Run)
	iteration := ""
	for o, err := range read.All(ctx) {
		if err != nil {
			return nil, rules, err
		}
		if o.Kind != ledger.KindOpen && o.Kind != ledger.KindCall && o.Kind != ledger.KindOutcome {
			continue
		}
		contents, err := read.Contents(ctx, o)
		if errors.Is(err, ledger.ErrAbsent) || gone(err) {
			continue // it was erased
		}
		if err != nil {
			return nil, rules, err
		}
		switch o.Kind {
		case ledger.KindOpen:
			s, err := job.ParseSnapshot(contentOf(contents, "snapshot."+string(job.KindPrivacy)))
			if err != nil {
				return nil, rules, err
			}
			if rules, err = job.ParsePrivacy(s.Content); err != nil {
				return nil, rules, err
			}
			v, err := canon.Parse(contentOf(contents, "job"))
			if err != nil {
				return nil, rules, err
			}
			out = append(out, job.Held{ID: "query_text", Redacted: canon.Null(), Raw: v.Get("query_text")})
		case ledger.KindCall:
			if id := o.Data().Get("iteration_id").Str(); id != "" {
				iteration = id // else it is a call that an agent makes
			}
		default:
			b := contentOf(contents, job.OutputContent)
			if b == nil || iteration == "" || o.Body.Get("status").Str() != string(effect.OK) {
				continue
			}
			v, err := canon.Parse(b)
			if err != nil {
				return nil, rules, fault.Wrap(job.ErrIntegrity, "jobs.held", err, "entry %d", o.N)
			}
			out = append(out, job.Held{ID: "agent_output " + iteration, Redacted: canon.Null(), Raw: v})
		}
	}
	return out, rules, nil
}
