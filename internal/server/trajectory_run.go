package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func (s *Server) runTrajectoryRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "startTrajectory", Method: http.MethodPost, Path: "/v1/trajectories", Tags: []string{tagTrajectories},
		Summary: "Begin a trajectory", DefaultStatus: http.StatusAccepted,
		Description: "Only on a server that was started to run trajectories, since the tools of a task may be programs. " +
			"The trajectory goes on by itself until it is done or waits; its events tell of each step.",
		Errors: failures(http.StatusConflict),
	}, func(ctx context.Context, in *struct{ Body api.TrajectoryStart }) (*answer[api.Taken], error) {
		return of(s.start(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "resumeTrajectory", Method: http.MethodPost, Path: "/v1/trajectories/{run}/resume", Tags: []string{tagTrajectories},
		Summary: "Go on with a trajectory", DefaultStatus: http.StatusAccepted,
		Description: "One whose process was killed, or that was given something while nobody went on with it.",
		Errors:      failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *RunPath) (*answer[api.Taken], error) {
		return of(s.resume(ctx, in.Run))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "branchTrajectory", Method: http.MethodPost, Path: "/v1/trajectories/{run}/branch", Tags: []string{tagTrajectories},
		Summary: "Branch off a trajectory", DefaultStatus: http.StatusCreated,
		Description: "Begins a trajectory that shares this one up to and with an entry, and goes its own way from there. This one does not change.",
		Errors:      failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		RunPath
		Body api.BranchRequest
	},
	) (*answer[api.Taken], error) {
		return of(s.branch(ctx, in.Run, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "routedSubmit", Method: http.MethodPost, Path: "/v1/routed-submit", Tags: []string{tagTrajectories},
		Summary: "Submit one action", DefaultStatus: http.StatusAccepted,
		Description: "Begins a trajectory from the template that the server was started with, in which one agent outside proposes this one action. " +
			"It is governed like any other: executed, suspended or refused. Then the agent may go on, or be finished.",
		Errors: failures(http.StatusConflict),
	}, func(ctx context.Context, in *struct{ Body api.RoutedSubmit }) (*answer[api.Taken], error) {
		return of(s.submit(ctx, &in.Body))
	})
}

// plain returns JSON as every reader of YAML takes it: without escapes of
// surrogates, and without tabs.
func plain(b json.RawMessage, name string) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	v, err := value(b, name)
	if err != nil {
		return nil, err
	}
	return []byte(v.String()), nil
}

func (s *Server) start(ctx context.Context, in *api.TrajectoryStart) (api.Taken, error) {
	if err := s.desk.may("server.start"); err != nil {
		return api.Taken{}, err
	}
	src := trajectories.Sources{Dir: ".", Model: in.Model, KeyEnv: in.KeyEnv}
	for _, x := range []struct {
		name string
		from json.RawMessage
		to   *[]byte
	}{{"task", in.Task, &src.Task}, {"tools", in.Tools, &src.Tools}, {"script", in.Script, &src.Script}} {
		var err error
		if *x.to, err = plain(x.from, x.name); err != nil {
			return api.Taken{}, err
		}
	}
	t, err := src.Read()
	if err != nil {
		return api.Taken{}, err
	}
	h, err := s.desk.runner.Begin(ctx, t)
	if err != nil {
		return api.Taken{}, err
	}
	out := taken(h.Last(), true)
	s.desk.begun(h)
	return out, nil
}

func (s *Server) resume(ctx context.Context, name string) (api.Taken, error) {
	if err := s.desk.may("server.resume"); err != nil {
		return api.Taken{}, err
	}
	return s.given(ctx, name, func(*trajectories.Held) error { return nil })
}

func (s *Server) branch(ctx context.Context, name string, in *api.BranchRequest) (api.Taken, error) {
	if err := s.desk.may("server.branch"); err != nil {
		return api.Taken{}, err
	}
	info, err := s.findTrajectory(ctx, name)
	if err != nil {
		return api.Taken{}, err
	}
	if in.At >= info.At.Count {
		return api.Taken{}, fault.New(ErrRequest, "server.branch", "run %s ends at entry %d", info.Run, info.At.Count-1)
	}
	h, err := s.desk.runner.HoldBranch(ctx, info.Run, in.At, in.Note, "")
	if err != nil {
		return api.Taken{}, err
	}
	out := taken(h.Last(), true)
	s.desk.begun(h)
	return out, nil
}

// ErrNoTemplate means that the server was started without a template for
// single actions.
const ErrNoTemplate fault.Denied = "server.no_template"

func (s *Server) submit(ctx context.Context, in *api.RoutedSubmit) (api.Taken, error) {
	const op = "server.submit"
	if err := s.desk.may(op); err != nil {
		return api.Taken{}, err
	}
	if s.o.Template == nil {
		return api.Taken{}, fault.New(ErrNoTemplate, op, "the server was started without a template")
	}
	p := trajectories.Proposed{Tool: in.Tool, Rationale: in.Rationale}
	var err error
	if p.Args, err = arguments(in.Args); err != nil {
		return api.Taken{}, err
	}
	if in.RoutingEvidence != nil {
		if p.Routing, err = value(in.RoutingEvidence, "routing_evidence"); err != nil {
			return api.Taken{}, err
		}
	}
	t, err := s.o.Template()
	if err != nil {
		return api.Taken{}, err
	}
	h, err := s.desk.runner.Begin(ctx, t)
	if err != nil {
		return api.Taken{}, err
	}
	var i effect.Input
	if i, err = h.Intent(&p); err == nil {
		err = h.Give(ctx, i)
	}
	if err != nil {
		return api.Taken{}, s.abandon(ctx, h, err)
	}
	out := taken(h.Last(), true)
	s.desk.begun(h)
	return out, nil
}

// abandon lets go of a trajectory that was begun for an action which cannot
// even be proposed; the run says so by ending without one.
func (s *Server) abandon(ctx context.Context, h *trajectories.Held, why error) error {
	in, err := h.Finished("", canon.String("the action could not be proposed"))
	if err == nil {
		err = h.Give(ctx, in)
	}
	if err == nil {
		s.desk.begun(h)
		return why
	}
	if err := h.Close(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return why
}
