package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// maxAtWork is how many trajectories may be at work at the same time.
const maxAtWork = 64

// signed is a route that takes a signed act.
type signed struct {
	path, id, summary, about string
	kind                     ledger.Kind
	name                     string
}

var signedRoutes = []signed{
	{"approvals", "answerProposal", "Answer a proposal that waits", "The verb is approve, deny or abstain, and the matter that of the pending proposal.", ledger.KindApproval, trajectory.EventApproval},
	{"halt", "haltTrajectory", "Halt a trajectory", "The verb is halt, and the subject the trajectory. One that is at work stops before its next step.", ledger.KindEvent, govern.EventHalted},
	{"clear", "clearTrajectory", "Clear a halt", "The verb is clear, and the matter that of the halt.", ledger.KindEvent, govern.EventCleared},
	{"revoke", "revokeWrit", "Take a writ back", "The verb is revoke, and the subject the writ.", ledger.KindEvent, trajectory.EventRevoked},
	{"restore", "restoreWrit", "Give a writ again", "The verb is restore, and the subject the writ.", ledger.KindEvent, trajectory.EventRestored},
	{"compensate", "compensateCommits", "Take commits back", "The verb is compensate, the subject the oldest commit to take back, and the matter is bound to the newest.", ledger.KindEvent, trajectory.EventCompensate},
}

func (s *Server) actRoutes() {
	for _, x := range signedRoutes {
		huma.Register(s.api, huma.Operation{
			OperationID: x.id, Method: http.MethodPost, Path: "/v1/trajectories/{run}/" + x.path, Tags: []string{tagTrajectories},
			Summary: x.summary, DefaultStatus: http.StatusAccepted,
			Description: "Takes an act that an actor of the trajectory's roster signed; the server signs nothing for anybody. " + x.about +
				" An act that would not count is refused and not recorded.",
			Errors: failures(http.StatusNotFound, http.StatusConflict),
		}, func(ctx context.Context, in *struct {
			RunPath
			Body api.SignedAct
		},
		) (*answer[api.Taken], error) {
			return of(s.act(ctx, in.Run, &x, in.Body.Act))
		})
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "proposeIntent", Method: http.MethodPost, Path: "/v1/trajectories/{run}/intents", Tags: []string{tagTrajectories},
		Summary: "Propose, as an agent outside", DefaultStatus: http.StatusAccepted,
		Description: "An agent without a model takes its intents from here. What becomes of one is decided by its writ, the policies and the world, and stands in the events of the run.",
		Errors:      failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		RunPath
		Body api.IntentRequest
	},
	) (*answer[api.Taken], error) {
		return of(s.propose(ctx, in.Run, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "tellAgent", Method: http.MethodPost, Path: "/v1/trajectories/{run}/messages", Tags: []string{tagTrajectories},
		Summary: "Tell a conversational agent more", DefaultStatus: http.StatusAccepted, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		RunPath
		Body api.MessageRequest
	},
	) (*answer[api.Taken], error) {
		return of(s.given(ctx, in.Run, func(h *trajectories.Held) error {
			said, err := h.Said(in.Body.Agent, in.Body.From, in.Body.Text)
			if err != nil {
				return err
			}
			return h.Give(ctx, said)
		}))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "finishAgent", Method: http.MethodPost, Path: "/v1/trajectories/{run}/finish", Tags: []string{tagTrajectories},
		Summary: "Say that an agent outside is done", DefaultStatus: http.StatusAccepted, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		RunPath
		Body api.FinishRequest
	},
	) (*answer[api.Taken], error) {
		return of(s.finish(ctx, in.Run, &in.Body))
	})
}

// given does something to a trajectory, and says where it stood then.
func (s *Server) given(ctx context.Context, name string, do func(h *trajectories.Held) error) (api.Taken, error) {
	info, err := s.findTrajectory(ctx, name)
	if err != nil {
		return api.Taken{}, err
	}
	last, works, err := s.desk.held(ctx, info.Run, do)
	if err != nil {
		return api.Taken{}, err
	}
	return taken(last, works), nil
}

func taken(last ledger.Ref, works bool) api.Taken {
	return api.Taken{Run: string(last.Run), Last: refOf(last), Working: works}
}

func (s *Server) act(ctx context.Context, run string, x *signed, act json.RawMessage) (api.Taken, error) {
	v, err := value(act, "act")
	if err != nil {
		return api.Taken{}, err
	}
	in, err := trajectories.Given(x.kind, x.name, v)
	if err != nil {
		return api.Taken{}, err
	}
	return s.given(ctx, run, func(h *trajectories.Held) error { return h.Give(ctx, in) })
}

func (s *Server) propose(ctx context.Context, run string, body *api.IntentRequest) (api.Taken, error) {
	p := trajectories.Proposed{Agent: body.Agent, Kind: trajectory.IntentKind(body.Kind), Tool: body.Tool, Rationale: body.Rationale}
	var err error
	if p.Args, err = arguments(body.Args); err != nil {
		return api.Taken{}, err
	}
	if body.RoutingEvidence != nil {
		if p.Routing, err = value(body.RoutingEvidence, "routing_evidence"); err != nil {
			return api.Taken{}, err
		}
	}
	if body.ParentCommit != "" {
		d, err := digest(body.ParentCommit, "parent_commit")
		if err != nil {
			return api.Taken{}, err
		}
		p.Parent = &d
	}
	if body.Nonce != "" {
		p.Nonce = &[16]byte{}
		if n, err := hex.Decode(p.Nonce[:], []byte(body.Nonce)); err != nil || n != len(p.Nonce) {
			return api.Taken{}, fault.New(ErrRequest, "server.propose", "nonce is not 32 hexadecimal digits")
		}
	}
	return s.given(ctx, run, func(h *trajectories.Held) error {
		in, err := h.Intent(&p)
		if err != nil {
			return err
		}
		return h.Give(ctx, in)
	})
}

func (s *Server) finish(ctx context.Context, run string, body *api.FinishRequest) (api.Taken, error) {
	said := canon.Null()
	if body.Answer != nil {
		var err error
		if said, err = value(body.Answer, "answer"); err != nil {
			return api.Taken{}, err
		}
	}
	return s.given(ctx, run, func(h *trajectories.Held) error {
		in, err := h.Finished(body.Agent, said)
		if err != nil {
			return err
		}
		return h.Give(ctx, in)
	})
}

// arguments are those of a tool; none are an empty object.
func arguments(b json.RawMessage) (canon.Value, error) {
	if b == nil {
		return canon.Object(), nil
	}
	return value(b, "args")
}

// value reads a member that is any JSON.
func value(b json.RawMessage, name string) (canon.Value, error) {
	v, err := canon.Parse(b)
	if err != nil {
		return v, fault.New(ErrRequest, "server.value", "%s is not JSON in which every name stands once", name)
	}
	return v, nil
}
