package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// The routes of the document that decide and do not run: the router and the
// brain state. They stand where the document says.

func (s *Server) brainRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "decideRoute", Method: http.MethodPost, Path: "/router/decide", Tags: []string{tagJobs},
		Summary: "Ask the router",
		Description: "A function of the snapshots and the request, computed as a job computes it; nothing is written. " +
			"PRIVACY_BLOCKED, PERMISSION_DENIED and ROUTER_NO_MATCH are decisions: the output holds the code, and the answer is 200. ROUTER_NO_SNAPSHOT is a problem.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct{ Body api.RouteRequest }) (*answer[api.RouteAnswer], error) {
		return of(s.route(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "createBrainSnapshot", Method: http.MethodPost, Path: "/brainstate/create_snapshot", Tags: []string{tagJobs},
		Summary:       "Freeze a brain state",
		Description:   "Signs the content with the server key and keeps it in a run of its own. The same content and seed give the same snapshot.",
		DefaultStatus: http.StatusOK, Errors: failures(),
	}, func(ctx context.Context, in *struct{ Body api.BrainSnapshotRequest }) (*answer[api.BrainSnapshot], error) {
		return of(s.freeze(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getBrainSnapshot", Method: http.MethodGet, Path: "/brainstate/{id}", Tags: []string{tagJobs},
		Summary: "Get a frozen brain state", Description: "Of a job or frozen on its own. It is checked: signature, digests, and where its id comes from.",
		Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" minLength:"64" maxLength:"64" doc:"The brainstate_snapshot_id"`
	},
	) (*answer[api.BrainSnapshot], error) {
		h, err := s.snapshot(ctx, job.KindBrainState, in.ID)
		if err != nil {
			return nil, err
		}
		return of(brainSnapshot(h))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "tickBrain", Method: http.MethodPost, Path: "/brainstate/tick", Tags: []string{tagJobs},
		Summary: "Compute one tick", Description: "Returns the state behind the tick. Nothing is written: freeze the state to keep it.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct{ Body api.TickRequest }) (*answer[api.TickAnswer], error) {
		return of(s.tick(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "queryBrain", Method: http.MethodPost, Path: "/brainstate/query", Tags: []string{tagJobs},
		Summary: "Ask what the brain state tells the router", DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct{ Body api.BrainQuery }) (*answer[api.BrainHints], error) {
		b, err := s.brain(ctx, in.Body.BrainStateID, in.Body.Content)
		h := b.Hints()
		return of(api.BrainHints{MaxDepthAllowed: h.MaxDepth, PreferHighAPT: h.PreferHighTrust, AllowExplore: h.AllowExplore}, err)
	})
}

// snapshot finds a snapshot and checks it.
func (s *Server) snapshot(ctx context.Context, kind job.Kind, id string) (jobs.Held, error) {
	k, err := s.o.Keys()
	if err != nil {
		return jobs.Held{}, err
	}
	return jobs.FindSnapshot(ctx, s.store, k, kind, id)
}

// brain is the brain state of a snapshot, or of a content that was sent.
func (s *Server) brain(ctx context.Context, id string, content json.RawMessage) (job.Brain, error) {
	switch {
	case (id == "") == (content == nil):
		return job.Brain{}, fault.New(ErrRequest, "server.brain", "give one of brainstate_snapshot_id and content")
	case id != "":
		h, err := s.snapshot(ctx, job.KindBrainState, id)
		if err != nil {
			return job.Brain{}, err
		}
		return job.ParseBrain(h.Content)
	default:
		v, err := value(content, "content")
		if err != nil {
			return job.Brain{}, err
		}
		return job.ParseBrain(v)
	}
}

func brainSnapshot(h jobs.Held) (api.BrainSnapshot, error) {
	b, err := job.ParseBrain(h.Content)
	if err != nil {
		return api.BrainSnapshot{}, err
	}
	out := api.BrainSnapshot{ID: h.ID, Run: string(h.Run), Warnings: append([]string{}, b.Warnings...)}
	out.Snapshot, err = h.Bytes()
	return out, err
}

func (s *Server) freeze(ctx context.Context, in *api.BrainSnapshotRequest) (out api.BrainSnapshot, err error) {
	v, err := value(in.Content, "content")
	if err != nil {
		return out, err
	}
	err = s.governing(ctx, func(r *jobs.Runner) error {
		h, err := r.Freeze(ctx, job.KindBrainState, det.Seed(in.JobSeed), v)
		if err == nil {
			out, err = brainSnapshot(h)
		}
		return err
	})
	return out, err
}

func (s *Server) tick(ctx context.Context, in *api.TickRequest) (api.TickAnswer, error) {
	b, err := s.brain(ctx, in.BrainStateID, in.Content)
	if err != nil {
		return api.TickAnswer{}, err
	}
	v, err := value(in.Tick, "tick")
	if err != nil {
		return api.TickAnswer{}, err
	}
	payload, err := job.ParseTickInput(v)
	if err != nil {
		return api.TickAnswer{}, err
	}
	next, report, err := b.Tick(payload)
	if err != nil {
		return api.TickAnswer{}, err
	}
	out := api.TickAnswer{Profile: string(canon.MACEFixed9), Warnings: append([]string{}, b.Warnings...)}
	if out.Content, err = fixed9(next.Value()); err != nil {
		return out, err
	}
	out.Report, err = fixed9(report.Value())
	return out, err
}

func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func (s *Server) route(ctx context.Context, in *api.RouteRequest) (api.RouteAnswer, error) {
	const op = "server.route"
	q := job.RouteRequest{
		JobID: in.JobID, JobSeed: det.Seed(in.JobSeed), Iteration: in.Iteration, Query: in.QueryText, Roles: sorted(in.Roles),
		Candidates: sorted(in.CandidateList), Dropped: sorted(in.Dropped), Attempts: max(1, in.AttemptsLeft), SelfRepID: in.SelfRepID, BrainID: in.BrainStateID, TraceID: in.TraceID,
	}
	lacking := func(err error) error {
		if fault.CodeOf(err) == fault.Code(job.ErrMissingSnapshot) {
			return fault.Wrap(job.ErrNoSnapshot, op, err, "a snapshot is missing")
		}
		return err
	}
	held, err := s.snapshot(ctx, job.KindSelfRep, in.SelfRepID)
	if err != nil {
		return api.RouteAnswer{}, lacking(err)
	}
	selfrep, err := job.ParseSelfRep(held.Content)
	if err != nil {
		return api.RouteAnswer{}, err
	}
	mind, err := s.brain(ctx, in.BrainStateID, nil)
	if err != nil {
		return api.RouteAnswer{}, lacking(err)
	}
	if q.RouterID = in.RouterID; q.RouterID == "" {
		q.RouterID = held.Others[job.KindRouter]
	}
	router, err := s.snapshot(ctx, job.KindRouter, q.RouterID)
	if err != nil {
		return api.RouteAnswer{}, lacking(err)
	}
	config, err := job.ParseRouterConfig(router.Content)
	if err != nil {
		return api.RouteAnswer{}, err
	}
	if in.PrivacyID == "" {
		in.PrivacyID = held.Others[job.KindPrivacy]
	}
	privacy, err := s.snapshot(ctx, job.KindPrivacy, in.PrivacyID)
	if err != nil {
		return api.RouteAnswer{}, lacking(err)
	}
	rules, err := job.ParsePrivacy(privacy.Content)
	if err != nil {
		return api.RouteAnswer{}, err
	}
	m := mind.Mind()
	// As a job takes its query, but for the hashes, which are made with the server
	// key: who could ask for them could guess what they stand for.
	handled, err := rules.Handle(canon.String(in.QueryText), job.Purpose{Seed: q.JobSeed, Hashes: map[string]string{}})
	if err != nil {
		return api.RouteAnswer{}, err
	}
	q.Query = handled.Value.Str()
	q.PII = slices.ContainsFunc(handled.Redactions, func(r job.Redaction) bool { return r.Sensitivity != job.LowSensitivity })
	decide := job.RouteInput{Config: &config, SelfRep: &selfrep, Mind: &m, Request: q}
	if _, err := job.ParseRouteRequest(q.Value()); err != nil {
		return api.RouteAnswer{}, err
	}
	decided, err := job.Decide(decide)
	if err != nil && decided.Error == "" {
		return api.RouteAnswer{}, err
	}
	out := api.RouteAnswer{Profile: string(canon.MACEFixed9)}
	if out.Input, err = fixed9(q.Value()); err != nil {
		return out, err
	}
	out.Output, err = fixed9(decided.Value())
	return out, err
}
