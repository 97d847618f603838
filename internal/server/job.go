package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	tagJobs = "jobs"
	// newestRequests is how many requests the governance of a tenant shows. All
	// of them are entries of its run.
	newestRequests = 200
)

// ErrReplaying means that another replay or vote is at work here, which write
// to one governance ledger one after another. Send it again.
const ErrReplaying fault.Unavailable = "server.replay_at_work"

// JobPath is a job in a path. It is exported because huma sees nothing else.
type JobPath struct {
	Job string `path:"job" maxLength:"36" doc:"The run of a job: its id, the beginning of one that no other shares, or last for the newest job" example:"last"`
}

func (s *Server) jobRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "listJobs", Method: http.MethodGet, Path: "/v1/jobs", Tags: []string{tagJobs},
		Summary:     "List jobs",
		Description: "Newest first, in pages: whether each can be replayed in production, and what is missing if it cannot. The same as a page for people is under /jobs/missing.",
		Errors:      failures(),
	}, func(ctx context.Context, in *struct {
		Limit      int            `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many jobs"`
		Before     string         `query:"before" maxLength:"36" doc:"Jobs older than the run with this id"`
		Replayable Optional[bool] `query:"replayable" doc:"Jobs that are over and can be replayed, or that cannot"`
	},
	) (*answer[api.JobPage], error) {
		return of(s.jobs(ctx, ledger.RunID(strings.ToLower(in.Before)), in.Limit, in.Replayable))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getJob", Method: http.MethodGet, Path: "/v1/jobs/{job}", Tags: []string{tagJobs},
		Summary: "Get where a job stands", Description: "With what it asks the council for, if it waits. Nothing is verified; see replay.",
		Errors: failures(http.StatusNotFound, http.StatusUnprocessableEntity),
	}, func(ctx context.Context, in *JobPath) (*answer[api.JobDetail], error) {
		return of(s.job(ctx, in.Job))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getJobLog", Method: http.MethodGet, Path: "/v1/jobs/{job}/log", Tags: []string{tagJobs},
		Summary: "Get the reflective log of a job", Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *JobPath) (*answer[api.JobLog], error) {
		return of(s.jobLog(ctx, in.Job))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getGovernance", Method: http.MethodGet, Path: "/v1/governance", Tags: []string{tagJobs},
		Summary:     "Get where the governance of a tenant stands",
		Description: "Who may act, what stands still, and who asked for which replay. Its run is a ledger like any other: its events are the entries of that run.",
		Errors:      failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		Tenant string `query:"tenant" maxLength:"256"`
	},
	) (*answer[api.Governance], error) {
		return of(s.governance(ctx, in.Tenant))
	})
	s.mux.HandleFunc("GET /jobs/missing", s.missingPage)
}

// findJob resolves the name of a job.
func (s *Server) findJob(ctx context.Context, name string) (*jobs.Stored, error) {
	if strings.EqualFold(name, "last") {
		for j, err := range jobs.List(ctx, s.store) {
			return j, err
		}
	}
	info, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return jobs.Find(ctx, s.store, info.Run)
}

func (s *Server) jobs(ctx context.Context, before ledger.RunID, limit int, replayable Optional[bool]) (api.JobPage, error) {
	page := api.JobPage{Jobs: []api.Job{}}
	for j, err := range jobs.List(ctx, s.store) {
		switch {
		case err != nil:
			return page, err
		case before != "" && j.Run >= before, replayable.Set && (!j.Done || j.Replayable != replayable.Value):
			continue
		case len(page.Jobs) == limit:
			page.Before = page.Jobs[limit-1].Run
			return page, nil
		}
		page.Jobs = append(page.Jobs, jobOf(j))
	}
	return page, nil
}

func jobOf(j *jobs.Stored) api.Job {
	out := api.Job{
		Run: string(j.Run), JobID: j.JobID, Title: j.Title, Seed: j.Seed, Tenant: j.Tenant, Status: j.Status, Done: j.Done,
		Missing: append([]string{}, j.Missing...), Snapshots: map[string]string{},
	}
	if j.Done {
		out.Replayable = &j.Replayable
	}
	for _, k := range job.Kinds() {
		out.Snapshots[k.Field()] = j.Snapshots[k]
	}
	return out
}

func (s *Server) job(ctx context.Context, name string) (api.JobDetail, error) {
	j, err := s.findJob(ctx, name)
	if err != nil {
		return api.JobDetail{}, err
	}
	out := api.JobDetail{Job: jobOf(j), Head: j.Last.ID.String()}
	if j.Done {
		return out, nil
	}
	r := jobs.Runner{}
	r.Config.Store = s.store
	q, need, err := r.Pending(ctx, j.Run)
	if fault.CodeOf(err) == fault.Code(jobs.ErrNobodyAsked) {
		return out, nil
	}
	if err != nil {
		return out, stored(err)
	}
	value, err := fixed9(q.Value())
	if err != nil {
		return out, err
	}
	out.Pending = &api.PendingAction{RequestID: q.ID(), Request: value, Matter: matterOf(q.Matter()), Verbs: texts(need.Verbs), Roles: texts(need.Roles)}
	return out, nil
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

// fixed9 writes a value as everything of a job is written.
func fixed9(v canon.Value) (json.RawMessage, error) { return canon.Encode(v, canon.MACEFixed9) }

func (s *Server) jobLog(ctx context.Context, name string) (api.JobLog, error) {
	j, err := s.findJob(ctx, name)
	if err != nil {
		return api.JobLog{}, err
	}
	if !j.Done {
		return api.JobLog{}, fault.New(jobs.ErrUnfinished, "server.jobLog", "job %s is not over", j.Run)
	}
	_, b, err := jobs.ReadLog(ctx, s.store, j.Run)
	return api.JobLog{Run: string(j.Run), Log: b}, err
}

// readGovernance returns the governance of a tenant, of which nothing is written.
func (s *Server) readGovernance(ctx context.Context, tenant string) (*jobs.Governance, error) {
	k, err := s.o.Keys()
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, fault.New(jobs.ErrNoGovernance, "server.governance", "there are no keys here, and so no governance")
	}
	r := jobs.Runner{Keys: k}
	r.Config.Store = s.store
	return r.ReadGovernance(ctx, tenant)
}

func (s *Server) governance(ctx context.Context, tenant string) (api.Governance, error) {
	g, err := s.readGovernance(ctx, tenant)
	if err != nil {
		return api.Governance{}, err
	}
	out := api.Governance{
		Run: string(g.Run()), LedgerID: g.LedgerID(), Tenant: tenant, Head: refOf(g.Last()),
		Halts: []api.Halt{}, Requests: []api.GovernedRequest{}, Proposals: []api.Proposal{},
	}
	if out.Roster, err = canon.Encode(g.Roster().Value(), canon.Native); err != nil {
		return out, err
	}
	for _, h := range g.Standing() {
		out.Halts = append(out.Halts, haltOf(g, h))
	}
	for _, q := range slices.Backward(g.Requests()) {
		if len(out.Requests) == newestRequests {
			break
		}
		x, err := governed(g, q)
		if err != nil {
			return out, err
		}
		out.Requests = append(out.Requests, x)
	}
	for _, p := range slices.Backward(g.Proposals()) {
		if len(out.Proposals) == newestRequests {
			break
		}
		out.Proposals = append(out.Proposals, proposalOf(g, p))
	}
	return out, nil
}

func haltOf(g *jobs.Governance, h govern.Halt) api.Halt {
	return api.Halt{Seq: h.Seq, Subject: h.Subject, Cause: h.Cause.Error(), Reason: h.Reason, Actor: h.Actor, Matter: matterOf(h.Matter(g.LedgerID()))}
}

func governed(g *jobs.Governance, q *jobs.Request) (api.GovernedRequest, error) {
	x := api.GovernedRequest{
		ID: q.ID, Actor: q.Actor, Done: q.Done, Code: q.Code, Audit: string(q.Audit), Matter: matterOf(g.VoteMatter(q)), Votes: int64(len(q.Votes) + len(q.Forced)),
	}
	if q.Refused != nil {
		x.Refused = q.Refused.Error()
	}
	var err error
	x.Request, err = canon.Encode(q.Value, canon.Foreign)
	return x, err
}

// governing lets one request at a time write to governance ledgers: the lease of
// the store keeps other processes away, but it is the same for all of this one.
func (s *Server) governing(ctx context.Context, do func(r *jobs.Runner) error) error {
	const op = "server.governing"
	if s.o.Jobs == nil {
		return fault.New(ErrReadOnly, op, "this server writes nothing")
	}
	late := time.NewTimer(turnPatience)
	defer late.Stop()
	select {
	case s.replays <- struct{}{}:
		defer func() { <-s.replays }()
		return do(s.o.Jobs)
	case <-late.C:
		return fault.New(ErrReplaying, op, "another replay or vote is at work")
	case <-s.closing:
		return fault.New(ErrStopping, op, "the server stops")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// actOf reads a signed act.
func actOf(b json.RawMessage) (canon.Value, error) {
	v, err := value(b, "act")
	if err != nil {
		return v, err
	}
	_, err = govern.Peek(v)
	return v, err
}
