package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Verbs of acts that only governance ledgers take.
const (
	verbReplay = "replay" // asks for a replay
	verbEnrol  = "enrol"  // puts a roster in force
)

// signedOnly begins the description of every route that takes an act.
const signedOnly = "The server signs nothing for anybody: the body holds an act that its actor signed. "

func (s *Server) replayRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "replayMatter", Method: http.MethodPost, Path: "/replay/matter", Tags: []string{tagJobs},
		Summary: "Get what a request for a replay must sign", DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct{ Body api.ReplayWish }) (*answer[api.ReplayMatter], error) {
		return of(s.replayMatter(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "requestReplay", Method: http.MethodPost, Path: "/replay/request", Tags: []string{tagJobs},
		Summary: "Replay a job",
		Description: signedOnly + "Who may run which mode is decided by the governance of the tenant; the REPLAY_REQUEST is recorded, also of those who may not, and so is the REPLAY_RESULT. " +
			"The mode is audit unless the request says otherwise. A replay that is not equal to the record, or that lacks something, is a problem whose code is that of the document: " +
			"MISSING_SNAPSHOT, INTEGRITY_FAILURE, MISSING_PERSISTED_AGENT_OUTPUT, RESULT_MISMATCH, REPLAY_DIVERGENCE, FORCE_CONTINUE_REQUIRED or REPLAY_TIMEOUT; its errors name the request and the run of the audit.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusLocked),
		Responses: map[string]*huma.Response{"422": {Description: "The replay diverges"}},
	}, func(ctx context.Context, in *struct{ Body api.ReplayRequest }) (*answer[api.ReplayReport], error) {
		return of(s.replayJob(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "voteOnReplay", Method: http.MethodPost, Path: "/replay/{id}/vote", Tags: []string{tagJobs},
		Summary:       "Vote on a replay",
		Description:   signedOnly + "The vote is on going on behind the divergence that the replay has found, or else on the request; the governance of the tenant shows the matter.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict, http.StatusLocked),
	}, func(ctx context.Context, in *struct {
		ID     string `path:"id" minLength:"1" maxLength:"64" doc:"The request, or the beginning of its id"`
		Tenant string `query:"tenant" maxLength:"256"`
		Body   api.SignedAct
	},
	) (*answer[api.GovernedRequest], error) {
		return of(s.voteOnReplay(ctx, in.Tenant, in.ID, in.Body.Act))
	})
}

// governanceRoutes are those of the roster, of halts and of what jobs ask for.
func (s *Server) governanceRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "enrolMatter", Method: http.MethodPost, Path: "/v1/governance/enrol/matter", Tags: []string{tagJobs},
		Summary:       "Get what an enrolment must sign",
		Description:   "The roster with the person on it, or without if no role is given. Nothing is recorded.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		Tenant string `query:"tenant" maxLength:"256"`
		Body   api.Person
	},
	) (*answer[api.EnrolMatter], error) {
		return of(s.enrolMatter(ctx, in.Tenant, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "enrol", Method: http.MethodPost, Path: "/v1/governance/enrol", Tags: []string{tagJobs},
		Summary: "Give somebody a key and roles, or take them off the roster",
		Description: signedOnly + "The verb is enrol, the role Admin, and the matter that of POST /v1/governance/enrol/matter: the whole roster, so that an act which was signed before somebody else's enrolment is refused and undoes nothing. " +
			"The first admin is the operator key of the user on whose machine the ledger begins, by reprise govern roles or the first job there: nothing that is signed could say who that is, and a route for it would make an admin of whoever comes first.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		Tenant string `query:"tenant" maxLength:"256"`
		Body   api.EnrolRequest
	},
	) (*answer[api.Enrolled], error) {
		return of(s.enrol(ctx, in.Tenant, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "haltReplays", Method: http.MethodPost, Path: "/v1/governance/halt", Tags: []string{tagJobs},
		Summary: "Halt all replays of a snapshot: a security incident",
		Description: signedOnly + "The verb is halt, the role Operator, Admin or Council, and the subject the id of a snapshot, or the run of a job; to whatever digest the act is bound, it halts. " +
			"SECURITY_INCIDENT and FORCE_HALT_REPLAY are appended. What is halted goes on after a decision of an admin or of the council.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		Tenant string `query:"tenant" maxLength:"256"`
		Body   api.SignedAct
	},
	) (*answer[api.Halt], error) {
		return of(s.haltReplays(ctx, in.Tenant, in.Body.Act))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "clearReplayHalt", Method: http.MethodPost, Path: "/v1/governance/clear", Tags: []string{tagJobs},
		Summary:       "Vote to let a halted snapshot go on",
		Description:   signedOnly + "The verb is clear, deny or abstain, and the matter that of the halt. An admin decides alone, the council with more than half of it; the vote that carries it appends FORCE_HALT_CLEAR.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict, http.StatusLocked),
	}, func(ctx context.Context, in *struct {
		Tenant string `query:"tenant" maxLength:"256"`
		Body   api.SignedAct
	},
	) (*answer[api.ClearResult], error) {
		return of(s.clearHalt(ctx, in.Tenant, in.Body.Act))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "voteOnAction", Method: http.MethodPost, Path: "/actionrequest/{id}/vote", Tags: []string{tagJobs},
		Summary: "Vote on what a job asks the council for",
		Description: signedOnly + "The verb is approve, deny or abstain, and the matter that of the pending action. " +
			"The job goes on here if the server was started to run; else the vote is recorded, and the job is resumed on the machine itself.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict, http.StatusLocked, http.StatusUnprocessableEntity),
	}, func(ctx context.Context, in *struct {
		ID   string `path:"id" minLength:"1" maxLength:"256" doc:"The request_id"`
		Job  string `query:"job" maxLength:"36" doc:"The run of the job; needed where two jobs of one seed ask for the same"`
		Body api.SignedAct
	},
	) (*answer[api.VoteResult], error) {
		return of(s.voteOnAction(ctx, in.ID, in.Job, in.Body.Act))
	})
}

// wish is what is asked of the replay service.
func (s *Server) wish(ctx context.Context, in *api.ReplayWish) (jobs.ReplayRequest, error) {
	q := jobs.ReplayRequest{
		Mode: job.Mode(in.Mode), Rerun: in.Rerun, Force: in.ForceContinue, Approval: in.Approval,
		MaxTime: time.Duration(in.MaxTimeMS) * time.Millisecond, MaxIterations: in.MaxIterations, DSR: in.DSR,
	}
	if slices.ContainsFunc(in.Rerun, func(name string) bool { return name != jobs.RerunNone }) && !s.o.AllowRun {
		return q, fault.New(ErrRunsNothing, "server.replay", "this server was not started to run agents")
	}
	for name, b := range in.Mocks {
		v, err := value(b, "mocks")
		if err != nil {
			return q, err
		}
		if q.Mocks == nil {
			q.Mocks = map[string][]byte{}
		}
		if q.Mocks[name], err = canon.Encode(v, canon.Foreign); err != nil {
			return q, err
		}
	}
	j, err := s.findJob(ctx, in.Job)
	if fault.ClassOf(err) == fault.ClassIntegrity {
		// A job that cannot be read is replayed all the same: that sets the halt.
		info, err := s.find(ctx, in.Job)
		q.Run = info.Run
		return q, err
	}
	if err == nil {
		q.Run = j.Run
	}
	return q, err
}

func (s *Server) replayMatter(ctx context.Context, in *api.ReplayWish) (out api.ReplayMatter, err error) {
	q, err := s.wish(ctx, in)
	if err != nil {
		return out, err
	}
	err = s.governing(ctx, func(r *jobs.Runner) error {
		asked, err := r.Ask(ctx, q)
		if err != nil {
			return err
		}
		out = api.ReplayMatter{Verb: verbReplay, Matter: matterOf(asked.Matter)}
		out.Request, err = canon.Encode(asked.Request, canon.Foreign)
		return err
	})
	return out, err
}

func (s *Server) replayJob(ctx context.Context, in *api.ReplayRequest) (out api.ReplayReport, err error) {
	act, err := actOf(in.Act)
	if err != nil {
		return out, err
	}
	q, err := s.wish(ctx, &in.ReplayWish)
	if err != nil {
		return out, err
	}
	err = s.governing(ctx, func(r *jobs.Runner) error {
		// What was begun is ended and recorded, whether its client waits or not.
		done, err := r.ReplaySigned(context.WithoutCancel(ctx), q, act)
		if done == nil && fault.CodeOf(err) == fault.Code(job.ErrIntegrity) {
			s.countReplay(ctx, &jobs.Replayed{Mode: cmp.Or(q.Mode, job.Audit)}, err)
		}
		if done == nil || done.Request == "" {
			return err // nothing was recorded
		}
		s.countReplay(ctx, done, err)
		if err != nil {
			return traced(err, done)
		}
		out, err = replayReport(done)
		return err
	})
	return out, err
}

// traced names in an error where the replay is recorded.
func traced(err error, done *jobs.Replayed) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	e = e.With("request_id: " + done.Request)
	if done.Audit != "" {
		e = e.With("audit_run: " + string(done.Audit))
	}
	return e
}

func replayReport(done *jobs.Replayed) (api.ReplayReport, error) {
	r := done.Result
	out := api.ReplayReport{
		Mode: string(done.Mode), Authoritative: done.Authoritative(), Because: append([]string{}, r.Why...), RequestID: done.Request, Audit: string(done.Audit),
		JobID: r.JobID, FinalAnswer: r.Final, Iterations: r.Iterations, Steps: r.Steps,
	}
	if r.Code != nil {
		out.Code = r.Code.Error()
	}
	for _, x := range done.Shown {
		b, err := canon.Encode(x.Value, canon.Foreign)
		if err != nil {
			return out, err
		}
		out.Shown = append(out.Shown, api.ShownPII{ID: x.ID, Value: b})
	}
	var err error
	out.Result, err = fixed9(r.Value())
	return out, err
}

// countReplay tells operations of a replay: in the log and in the metrics the
// codes are those of the document, to the letter.
func (s *Server) countReplay(ctx context.Context, done *jobs.Replayed, err error) {
	code := codeOK
	if err != nil {
		code = fault.CodeOf(err).Error()
	}
	s.counted.replay(string(done.Mode), code)
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("code", code), slog.String("mode", string(done.Mode)), slog.String("request_id", done.Request), slog.String("audit_run", string(done.Audit)),
	}
	if err != nil {
		level = slog.LevelWarn
	}
	if done.Result != nil {
		attrs = append(attrs, slog.String("job_id", done.Result.JobID), slog.Any("missing", done.Result.Missing))
	}
	s.o.Log.LogAttrs(ctx, level, "REPLAY_RESULT", attrs...)
}

// actOn takes an act that was signed elsewhere to the governance of a tenant.
// What was begun is ended and recorded, whether its client waits or not.
func actOn[T any](ctx context.Context, s *Server, tenant string, b json.RawMessage, do func(context.Context, *jobs.Governance, canon.Value) (T, error)) (out T, err error) {
	act, err := actOf(b)
	if err != nil {
		return out, err
	}
	err = s.governing(ctx, func(r *jobs.Runner) error {
		g, err := r.ReadGovernance(ctx, tenant)
		if err != nil {
			return err
		}
		out, err = do(context.WithoutCancel(ctx), g, act)
		return err
	})
	return out, err
}

// personOf reads who is to be enrolled. A key that is not given is the one that
// they have.
func personOf(in *api.Person) (jobs.Actor, error) {
	a := jobs.Actor{ID: in.ID}
	for _, r := range in.Roles {
		a.Roles = append(a.Roles, govern.Role(r))
	}
	if in.Key == "" {
		return a, nil
	}
	raw, err := hex.DecodeString(in.Key)
	if err == nil {
		a.Key, err = sign.ParseKey(raw)
	}
	if err != nil {
		return a, fault.Wrap(govern.ErrRoster, "server.enrol", err, "the key of %q is no Ed25519 public key of 64 hexadecimal digits", in.ID)
	}
	return a, nil
}

func (s *Server) enrolMatter(ctx context.Context, tenant string, in *api.Person) (out api.EnrolMatter, err error) {
	a, err := personOf(in)
	if err != nil {
		return out, err
	}
	g, err := s.readGovernance(ctx, tenant)
	if err != nil {
		return out, err
	}
	roster, m, err := g.Enrolling(a)
	if err != nil {
		return out, err
	}
	out = api.EnrolMatter{Verb: verbEnrol, Matter: matterOf(m)}
	out.Roster, err = canon.Encode(roster.Value(), canon.Native)
	return out, err
}

func (s *Server) enrol(ctx context.Context, tenant string, in *api.EnrolRequest) (api.Enrolled, error) {
	a, err := personOf(&in.Person)
	if err != nil {
		return api.Enrolled{}, err
	}
	return actOn(ctx, s, tenant, in.Act, func(ctx context.Context, g *jobs.Governance, act canon.Value) (out api.Enrolled, err error) {
		if err = g.EnrolSigned(ctx, a, act); err != nil {
			return out, err
		}
		out.Head = refOf(g.Last())
		out.Roster, err = canon.Encode(g.Roster().Value(), canon.Native)
		return out, err
	})
}

func (s *Server) voteOnReplay(ctx context.Context, tenant, id string, b json.RawMessage) (api.GovernedRequest, error) {
	return actOn(ctx, s, tenant, b, func(ctx context.Context, g *jobs.Governance, act canon.Value) (api.GovernedRequest, error) {
		q, err := g.ApproveSigned(ctx, id, act)
		if err != nil {
			return api.GovernedRequest{}, err
		}
		return governed(g, q)
	})
}

func (s *Server) haltReplays(ctx context.Context, tenant string, b json.RawMessage) (api.Halt, error) {
	return actOn(ctx, s, tenant, b, func(ctx context.Context, g *jobs.Governance, act canon.Value) (api.Halt, error) {
		h, err := g.IncidentSigned(ctx, act)
		if err != nil {
			return api.Halt{}, err
		}
		return haltOf(g, h), nil
	})
}

func (s *Server) clearHalt(ctx context.Context, tenant string, b json.RawMessage) (api.ClearResult, error) {
	return actOn(ctx, s, tenant, b, func(ctx context.Context, g *jobs.Governance, act canon.Value) (api.ClearResult, error) {
		state, err := g.ClearSigned(ctx, act)
		return api.ClearResult{State: string(state)}, err
	})
}

func (s *Server) voteOnAction(ctx context.Context, id, name string, b json.RawMessage) (out api.VoteResult, err error) {
	act, err := actOf(b)
	if err != nil {
		return out, err
	}
	err = s.governing(ctx, func(r *jobs.Runner) error {
		run, err := r.Waiting(ctx, id)
		if name != "" {
			var j *jobs.Stored
			if j, err = s.findJob(ctx, name); err == nil {
				run = j.Run
			}
		}
		if err != nil {
			return err
		}
		res, err := r.VoteSigned(context.WithoutCancel(ctx), run, id, act, s.o.AllowRun)
		if err != nil {
			return err
		}
		out = api.VoteResult{Run: string(res.Run), JobID: res.JobID, Status: res.Status, Done: res.Done, Waiting: res.Waiting}
		return nil
	})
	return out, err
}
