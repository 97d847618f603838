package server

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// maxWorld bounds the values of a world that is given out.
const maxWorld = 64 << 20

func (s *Server) trajectoryProofRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "getWorld", Method: http.MethodGet, Path: "/v1/trajectories/{run}/world", Tags: []string{tagTrajectories},
		Summary:     "Get the world",
		Description: "What the commits add up to; of a branch, on the world of its source. That the ledger is sound is for replay to say.",
		Errors:      failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		RunPath
		At Optional[int64] `query:"at" minimum:"0" maximum:"9007199254740991" doc:"The last entry that counts; absent: the last that there is"`
	},
	) (*answer[api.World], error) {
		return of(s.world(ctx, in.Run, in.At.or(-1)))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replayTrajectory", Method: http.MethodGet, Path: "/v1/trajectories/{run}/replay", Tags: []string{tagTrajectories},
		Summary: "Prove a trajectory",
		Description: "Verifies the ledger, the writs and the commits, and derives every decision again from what came in. No model and no tool is called, and nothing is written. " +
			"What is wrong is in the report, and the answer is 200 all the same. The detail lists every commit with its proposal, every rejection, every proposal that waited with its policy trace, and every call of a tool.",
		Responses: s.reported(), Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *replayInput) (*huma.StreamResponse, error) {
		return s.replay(ctx, in)
	})
}

// reported describes an answer that is a report and too large to be held.
func (s *Server) reported() map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "The report",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Report](), true, "Report")}},
	}}
}

func (s *Server) world(ctx context.Context, name string, at int64) (api.World, error) {
	info, err := s.findTrajectory(ctx, name)
	if err != nil {
		return api.World{}, err
	}
	w, err := trajectories.Fold(ctx, s.store, info.Run, at)
	if err != nil {
		return api.World{}, stored(err)
	}
	if at < 0 {
		at = info.At.Count - 1
	}
	out := api.World{Run: string(info.Run), At: at, Commits: w.Commits, Resources: []api.Resource{}}
	_, out.Absent = w.Len()
	if hash, ok := w.Hash(); ok {
		out.Hash = hash.String()
	}
	size := 0
	for _, it := range w.Items() {
		r := api.Resource{Kind: it.Kind, ID: it.ID, Version: it.Version}
		v, err := w.Value(ctx, &it)
		switch {
		case err == nil:
			r.Value = json.RawMessage(v.String())
		case fault.CodeOf(err) != fault.Code(ledger.ErrAbsent):
			return out, err
		}
		if size += len(r.Value); size > maxWorld {
			return out, fault.New(ErrMany, "server.world", "the world is over %d bytes; read the commits of the run", maxWorld)
		}
		out.Resources = append(out.Resources, r)
	}
	return out, nil
}

// replayInput says what a proof expects.
type replayInput struct {
	RunPath
	Verify      bool            `query:"verify" default:"true" doc:"Derive every decision again; else the ledger, its law and the pins are verified alone"`
	FoldWorld   bool            `query:"fold_world" doc:"Put the world into the detail"`
	Compiler    string          `query:"compiler" maxLength:"256" doc:"The compiler version that every commit must name"`
	Signer      string          `query:"signer" maxLength:"64" doc:"The public key that must have signed every commit, in hex"`
	Root        string          `query:"root" maxLength:"64" doc:"The public key that the writs must go back to, in hex"`
	PolicySet   string          `query:"policy_set" maxLength:"64" doc:"The policy set hash that every commit must declare"`
	ExpectHead  string          `query:"expect_head" maxLength:"96" doc:"ID of an entry that the run must contain, or COUNT:ID"`
	World       string          `query:"world" maxLength:"64" doc:"Hash of the world that was observed"`
	At          Optional[int64] `query:"at" minimum:"0" maximum:"9007199254740991" doc:"The last entry that is looked at"`
	Delegations bool            `query:"delegations" doc:"Verify what was delegated too"`
	Partial     bool            `query:"partial" doc:"Take contents that the store does not have as withheld, not as lost"`
	Level       Optional[int64] `query:"level" minimum:"0" maximum:"3" doc:"The level asked for; absent: 1 where a trusted root key is at hand, else 0"`
}

func (in *replayInput) pins() (trajectory.Pins, error) {
	p := trajectory.Pins{Compiler: in.Compiler}
	if in.Signer != "" {
		k, err := publicKey(in.Signer)
		if err != nil {
			return p, err
		}
		p.Signer = &k
	}
	if in.Root != "" {
		k, err := publicKey(in.Root)
		if err != nil {
			return p, err
		}
		p.Root = &k
	}
	if in.PolicySet != "" {
		d, err := digest(in.PolicySet, "policy_set")
		if err != nil {
			return p, err
		}
		p.PolicySet = &d
	}
	return p, nil
}

// digest reads a parameter that is one.
func digest(text, name string) (canon.Digest, error) {
	d, err := canon.ParseDigest(strings.ToLower(text))
	if err != nil {
		return d, fault.New(ErrRequest, "server.digest", "%s is not 64 hexadecimal digits", name)
	}
	return d, nil
}

func (s *Server) prove(ctx context.Context, run ledger.RunInfo, in *replayInput) (*trajectories.Proof, error) {
	o := trajectories.ProveOptions{Derive: in.Verify, Fold: in.FoldWorld}
	var err error
	if o.Pins, err = in.pins(); err != nil {
		return nil, err
	}
	asked := api.VerifyRequest{Partial: in.Partial}
	if in.Level.Set {
		asked.Level = &in.Level.Value
	}
	if o.VerifyOptions, err = s.verifyOptions(&asked); err != nil {
		return nil, err
	}
	if in.ExpectHead != "" {
		if o.Expect, err = s.expected(ctx, run, in.ExpectHead); err != nil {
			return nil, err
		}
	}
	if in.World != "" {
		d, err := digest(in.World, "world")
		if err != nil {
			return nil, err
		}
		o.Seen = &trajectories.Observed{Hash: &d}
	}
	if in.At.Set {
		o.Until = &in.At.Value
	}
	o.Delegations = in.Delegations
	proof, err := trajectories.Prove(ctx, s.store, run.Run, &o)
	if trajectories.Broken(err) && fault.CodeOf(err) != fault.Code(archive.ErrEnd) {
		return s.unreadable(ctx, run.Run, err), nil
	}
	return proof, err
}

// unreadable is the proof of a run whose rows the store itself finds changed:
// that is a verdict about the run, and no fault of the server.
func (s *Server) unreadable(ctx context.Context, run ledger.RunID, why error) *trajectories.Proof {
	n := int64(0)
	for _, err := range s.store.Read(ctx, run, 0) {
		if err != nil {
			break
		}
		n++
	}
	first := ledger.Finding{Code: fault.CodeOf(why), N: n, Where: "store", Msg: fault.Text(why)}
	return &trajectories.Proof{Last: n - 1, Report: &replay.Report{
		Verb: replay.Verify, Verdict: replay.Failed, Authoritative: true, Run: run,
		Counts: []replay.Count{{Name: "entries", N: n}},
		Phases: []ledger.Phase{{Name: ledger.PhaseLoad, Checked: n, Failed: 1, First: &first}},
	}}
}

// expected returns the position that a head names. An id that no entry has is
// expected in the place of the last one, where the verification misses it.
func (s *Server) expected(ctx context.Context, run ledger.RunInfo, text string) (*ledger.Position, error) {
	count, id, err := parseHead(text)
	if err != nil {
		return nil, err
	}
	at := &ledger.Position{Count: int64(count), Last: id}
	if count > 0 {
		return at, nil
	}
	at.Count = run.At.Count
	n := int64(0)
	for e, err := range s.store.Read(ctx, run.Run, 0) {
		if trajectories.Broken(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n++; e.ID == id {
			at.Count = n
			break
		}
	}
	return at, nil
}

// replay proves a trajectory. The lists of the report are read from the store
// while they are sent, so that memory does not grow with the run.
func (s *Server) replay(ctx context.Context, in *replayInput) (*huma.StreamResponse, error) {
	info, err := s.findTrajectory(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	proof, err := s.prove(ctx, info, in)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		w := &late{hc: hc, begin: func() { hc.SetHeader("Content-Type", "application/json") }}
		switch err := proof.WriteJSON(ctx, w, s.store, trajectories.Lists()...); {
		case err == nil:
		case w.begun:
			s.breakOff(ctx, err)
		default:
			_ = huma.WriteErr(s.api, hc, http.StatusInternalServerError, "", err) // the client is gone
		}
	}}, nil
}
