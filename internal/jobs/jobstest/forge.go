// Package jobstest makes jobs for tests that nothing honest makes.
package jobstest

import (
	"context"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Forge writes a job a second time with another reflective log, and every
// signature as it should be, as somebody can who holds all keys. What is wrong
// with it is found by comparing only. The log is for edit to change, and the
// contents of the open are for opening; either may be nil.
func Forge(ctx context.Context, r *jobs.Runner, run ledger.RunID, edit func(*job.Log), opening func(*ledger.Content)) (ledger.RunID, error) {
	l, _, err := jobs.ReadLog(ctx, r.Config.Store, run)
	if err != nil {
		return "", err
	}
	if edit != nil {
		edit(l)
	}
	k, err := r.Keys.Server()
	if err != nil {
		return "", err
	}
	if err := l.Seal(job.Key{ID: k.ID, Secret: k.Secret}); err != nil {
		return "", err
	}
	log, err := l.Bytes()
	if err != nil {
		return "", err
	}
	read := drive.NewReader(r.Config.Store, run)
	var s *drive.Session
	for o, err := range read.All(ctx) {
		if err != nil {
			return "", err
		}
		contents, err := read.Contents(ctx, o)
		if err != nil {
			return "", err
		}
		switch o.Kind {
		case ledger.KindOpen:
			for i := range contents {
				if opening != nil {
					opening(&contents[i])
				}
			}
			s, err = drive.Open(ctx, r.Config, drive.Opening{Engine: job.Engine, Mode: "run", Title: "forged", Data: o.Data(), Contents: contents})
		case ledger.KindDecision, ledger.KindPendingApproval:
			err = s.Decide(ctx, ledger.Decision{Kind: o.Kind, Body: o.Body.Without("att", "refs", "scope"), Contents: contents})
		case ledger.KindResult:
			err = s.Decide(ctx, ledger.Decision{
				Kind: o.Kind, Body: o.Body.Without("att", "refs", "scope"), Contents: []ledger.Content{{Name: job.LogContent, Type: job.LogMedia, Bytes: log}},
			})
		case ledger.KindSeal:
			err = s.Seal(ctx, o.Body.Get("status").Str(), o.Data(), nil)
		default:
		}
		if err != nil {
			return "", err
		}
	}
	return s.Run(), nil
}

// Misroute makes a log say that the first decision chose somebody else
// (REPLAY-05).
func Misroute(l *job.Log) {
	l.Iterations[0].Router = l.Iterations[0].Router.With("selected_agent", canon.String("agent:nobody_v1"))
}
