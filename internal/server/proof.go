package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// ErrNoKeys means that the user of the server has no keys yet. They are made
// when the first run is recorded.
const ErrNoKeys fault.NotFound = "server.no_keys"

func (s *Server) proofRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "listHeads", Method: http.MethodGet, Path: "/v1/runs/{run}/heads", Tags: []string{tagProof},
		Summary: "List the signed heads of a run", Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *RunPath) (*answer[api.HeadList], error) {
		return of(s.heads(ctx, in.Run))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "verifyRun", Method: http.MethodPost, Path: "/v1/runs/{run}/verify", Tags: []string{tagProof},
		Summary: "Verify a run",
		Description: "Recomputes every hash, link, tree and signature. Nothing is run and nothing is written. " +
			"What is wrong with the run is in the report, and the answer is 200 all the same.",
		Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		RunPath
		Body *api.VerifyRequest
	},
	) (*answer[api.Report], error) {
		return of(s.verify(ctx, in.Run, in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "diffRuns", Method: http.MethodGet, Path: "/v1/diff", Tags: []string{tagProof},
		Summary: "Compare two runs, step by step", Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		A string `query:"a" required:"true" minLength:"1" maxLength:"36" doc:"A run" example:"last~1"`
		B string `query:"b" required:"true" minLength:"1" maxLength:"36" doc:"The run that is compared with it" example:"last"`
	},
	) (*answer[api.Report], error) {
		return of(s.diff(ctx, in.A, in.B))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getKeys", Method: http.MethodGet, Path: "/v1/keys", Tags: []string{tagProof},
		Summary: "Get the public keys", Description: "The root key to pin, and the manifests that it signed. No private key ever leaves the machine.",
		Errors: failures(http.StatusNotFound),
	}, func(context.Context, *struct{}) (*answer[api.Keys], error) {
		return of(s.keys())
	})
}

func (s *Server) heads(ctx context.Context, name string) (api.HeadList, error) {
	info, err := s.find(ctx, name)
	list := api.HeadList{Run: string(info.Run), Heads: []api.Head{}}
	if err != nil {
		return list, err
	}
	for st, err := range s.store.Statements(ctx, info.Run, ledger.HeadType) {
		if err != nil {
			return list, err
		}
		h, _, err := ledger.ParseHead(st.Envelope)
		if err != nil {
			return list, err
		}
		list.Heads = append(list.Heads, api.Head{
			Count: h.Count, Last: h.Last.String(), Root: h.Root.String(), T: h.T, Envelope: json.RawMessage(st.Envelope),
		})
	}
	return list, nil
}

func (s *Server) verify(ctx context.Context, name string, in *api.VerifyRequest) (api.Report, error) {
	info, err := s.find(ctx, name)
	if err != nil {
		return api.Report{}, err
	}
	if in == nil {
		in = &api.VerifyRequest{}
	}
	o, err := s.verifyOptions(in)
	if err != nil {
		return api.Report{}, err
	}
	r, err := archive.VerifyRun(ctx, s.store, info.Run, &o)
	if err != nil {
		return api.Report{}, err
	}
	return reportOf(r), nil
}

func (s *Server) verifyOptions(in *api.VerifyRequest) (archive.VerifyOptions, error) {
	o := archive.VerifyOptions{Partial: in.Partial, Check: trajectories.Check(trajectory.Pins{})}
	if in.Level != nil {
		level := ledger.Level(*in.Level)
		o.Level = &level
	}
	if p := in.ExpectHead; p != nil {
		last, err := canon.ParseDigest(p.Last)
		if err != nil {
			return o, fault.Wrap(ErrRequest, "server.verify", err, "expect_head.last")
		}
		o.Expect = &ledger.Position{Count: p.Count, Last: last}
	}
	if in.Trust != "" {
		// Then only those roots count: the answer must not depend on who asks.
		var err error
		o.Roots, err = keys.ParsePublic([]byte(in.Trust))
		return o, err
	}
	own, err := s.o.Keys()
	if err == nil && own != nil {
		o.Roots, o.Manifests = own.Roots(), own.Manifests()
	}
	return o, err
}

func (s *Server) diff(ctx context.Context, a, b string) (api.Report, error) {
	x, err := s.find(ctx, a)
	if err != nil {
		return api.Report{}, err
	}
	y, err := s.find(ctx, b)
	if err != nil {
		return api.Report{}, err
	}
	r, err := insight.Diff(ctx, s.store, x.Run, y.Run)
	if err == nil {
		err = regress.Explain(ctx, s.store, r)
	}
	if err != nil {
		return api.Report{}, err
	}
	return reportOf(r), nil
}

func (s *Server) keys() (api.Keys, error) {
	k, err := s.o.Keys()
	if err != nil {
		return api.Keys{}, err
	}
	if k == nil {
		return api.Keys{}, fault.New(ErrNoKeys, "server.keys", "the user has no keys yet")
	}
	out := api.Keys{Root: string(k.Export()), RootID: k.Root().ID().String(), Keys: []api.Key{}, Manifests: []json.RawMessage{}}
	for _, l := range k.List() {
		out.Keys = append(out.Keys, api.Key{ID: l.Key.ID().String(), Role: l.Role, State: string(l.State)})
	}
	for _, m := range k.Manifests() {
		out.Manifests = append(out.Manifests, json.RawMessage(m))
	}
	return out, nil
}

// reportOf returns a report as the API has it; the JSON is that of
// [replay.Report.Value].
func reportOf(r *replay.Report) api.Report {
	out := api.Report{
		Verb: string(r.Verb), Mode: r.Mode, Verdict: string(r.Verdict), Authoritative: r.Authoritative,
		ExitStatus: r.Verdict.ExitStatus(), Run: string(r.Run), Other: string(r.Other),
		Counts: make(map[string]int64, len(r.Counts)), Phases: make([]api.Phase, len(r.Phases)),
		Divergences: make([]api.Divergence, len(r.Divergences)), DivergencesTotal: r.Total, Remarks: append([]string{}, r.Remarks...),
		Detail: raw(r.Detail),
	}
	if r.Verb != replay.Verify {
		out.Sentence = r.Sentence()
	}
	if r.Verb == replay.Verify {
		level, asked := int64(r.Level), int64(r.Asked)
		out.Level, out.Asked = &level, &asked
	}
	for _, c := range r.Counts {
		out.Counts[c.Name] = c.N
	}
	for i, p := range r.Phases {
		out.Phases[i] = api.Phase{Name: p.Name, Checked: p.Checked, Failed: p.Failed}
		if f := p.First; f != nil {
			out.Phases[i].First = &api.Finding{
				Code: f.Code.Error(), N: index(f.N), Where: f.Where, Expected: f.Expected, Found: f.Found, Message: f.Msg,
			}
		}
	}
	for i, d := range r.Divergences {
		x := api.Divergence{
			Kind: string(d.Kind), What: d.What, Name: d.Name, Step: d.Step, Follows: d.Follows, Message: d.Msg, Run: string(d.Run),
			Recorded: index(d.Recorded), Now: index(d.Now), Nearest: index(d.Nearest),
			Differences: make([]api.Difference, len(d.Where)),
		}
		x.Effect = d.Effect
		if c := d.Cause; c != nil {
			x.Cause = &api.Cause{
				Text: c.Text(), Part: c.Part, Pointer: c.Pointer, About: c.About, Origin: string(c.Origin), Recorded: raw(c.Was), Now: raw(c.Now),
			}
			if c.Step > 0 {
				x.Cause.Step, x.Cause.StepName, x.Cause.StepEntry, x.Cause.StepRun = c.Step, c.Name, index(c.Entry), string(c.Run)
			}
		}
		for j, w := range d.Where {
			x.Differences[j] = api.Difference{Pointer: w.Pointer, Recorded: raw(w.A), Now: raw(w.B)}
		}
		out.Divergences[i] = x
	}
	return out
}

// index returns the number of an entry, or nothing for -1.
func index(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}
