package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrNotTrajectory means that a run is none of a governed agent. Ask for it
// under /v1/runs.
const ErrNotTrajectory fault.NotFound = "server.not_a_trajectory"

const tagTrajectories = "trajectories"

func (s *Server) trajectoryRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "getTrajectory", Method: http.MethodGet, Path: "/v1/trajectories/{run}", Tags: []string{tagTrajectories},
		Summary:     "Get where a trajectory stands",
		Description: "Folded from the record: whether it is done, what it waits for, what its agents have spent. Nothing is verified; see replay.",
		Errors:      failures(http.StatusNotFound),
	}, func(ctx context.Context, in *RunPath) (*answer[api.Trajectory], error) {
		return of(s.trajectory(ctx, in.Run))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "listPending", Method: http.MethodGet, Path: "/v1/trajectories/{run}/pending", Tags: []string{tagTrajectories},
		Summary:     "List what waits for people",
		Description: "Each with the whole proposal, and with the matter that an answer must be about. Who answers signs an act on that matter with a key of their own.",
		Errors:      failures(http.StatusNotFound),
	}, func(ctx context.Context, in *RunPath) (*answer[api.PendingList], error) {
		return of(s.pending(ctx, in.Run))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "listDelegations", Method: http.MethodGet, Path: "/v1/trajectories/{run}/delegations", Tags: []string{tagTrajectories},
		Summary: "List what was delegated", Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *RunPath) (*answer[api.DelegationList], error) {
		return of(s.delegations(ctx, in.Run))
	})
}

// findTrajectory resolves the name of a run that must be a trajectory.
func (s *Server) findTrajectory(ctx context.Context, name string) (ledger.RunInfo, error) {
	info, err := s.find(ctx, name)
	if err != nil {
		return info, err
	}
	o, err := drive.NewReader(s.store, info.Run).Open(ctx, 0)
	if trajectories.Broken(err) {
		return info, nil // it was something once; a verification says what is wrong with it
	}
	if err != nil {
		return info, err
	}
	if engine := o.Body.Get("engine").Str(); engine != trajectory.Engine {
		return info, fault.New(ErrNotTrajectory, "server.trajectory", "run %s is of the engine %q", info.Run, engine)
	}
	return info, nil
}

// stored is an error of reading what is stored: a form that would be the
// client's mistake in a request is a broken record here.
func stored(err error) error {
	if fault.ClassOf(err) != fault.ClassInvalid {
		return err
	}
	return fault.Wrap(trajectories.ErrNotDerived, "server.trajectory", err, "the record cannot be read")
}

// folded is a trajectory as its record leaves it.
type folded struct {
	ledger.RunInfo
	machine *trajectory.Machine
	atWork  bool // the record ends in the middle of something
}

// fold gives a recorded trajectory to a fresh machine. One whose record does
// not follow from its inputs has no state that could be told.
func (s *Server) fold(ctx context.Context, name string) (folded, error) {
	f := folded{machine: trajectory.NewMachine()}
	var err error
	if f.RunInfo, err = s.findTrajectory(ctx, name); err != nil {
		return f, err
	}
	// Up to where the run stood then: it may grow meanwhile.
	done, err := drive.Follow(ctx, s.store, ledger.Ref{Run: f.Run, N: f.At.Count - 1, ID: f.At.Last}, f.machine)
	if fault.CodeOf(err) == fault.Code(drive.ErrRunDiverged) {
		return f, fault.Wrap(trajectories.ErrNotDerived, "server.trajectory", err, "the record does not follow from itself")
	}
	f.atWork = done.Due > 0 || done.Open > 0
	if err != nil {
		return f, stored(err)
	}
	return f, nil
}

func (s *Server) trajectory(ctx context.Context, name string) (api.Trajectory, error) {
	f, err := s.fold(ctx, name)
	if err != nil {
		return api.Trajectory{}, err
	}
	m, c := f.machine, f.machine.Charter()
	out := api.Trajectory{
		Run: string(f.Run), TrajectoryID: m.Trajectory().String(), Task: c.Task, Sealed: f.Sealed, Entries: f.At.Count, Head: f.At.Last.String(),
		CompilerVersion: c.Compiler, PolicySetHash: c.Policies.Hash().String(), Signer: hex.EncodeToString(c.Signer.Raw()),
		Agents: []api.TrajectoryAgent{}, Pending: int64(len(m.Pending())), Halts: []api.Halt{}, Error: m.Err(),
	}
	head, commits := m.Head()
	if out.Commits = commits; !head.IsZero() {
		out.HeadCommit = head.String()
	}
	for _, a := range m.Agents() {
		x := api.TrajectoryAgent{
			Name: a.Name, Writ: a.Writ.String(), Outside: a.Outside, Phase: a.Phase, Status: a.Status, Steps: a.Steps, Spent: api.Budget(a.Spent),
		}
		if !a.Awaits.IsZero() {
			x.Awaits = a.Awaits.String()
		}
		out.Agents = append(out.Agents, x)
	}
	for _, h := range m.Halts() {
		out.Halts = append(out.Halts, api.Halt{
			Seq: h.Seq, Subject: h.Subject, Cause: h.Cause.Error(), Reason: h.Reason, Actor: h.Actor, Matter: matterOf(h.Matter(m.Trajectory().String())),
		})
	}
	step := m.Clone().Next()
	switch {
	case out.Error != "":
		out.State = "failed"
	case f.Sealed || step.Done && !f.atWork:
		out.State = "done"
	case f.atWork || len(step.Calls) > 0:
		out.State = "at_work"
	case len(out.Halts) > 0:
		out.State, out.WaitingFor = "halted", step.Wait
	default:
		out.State, out.WaitingFor = "waiting", step.Wait
	}
	if f.Sealed {
		o, err := drive.NewReader(s.store, f.Run).Open(ctx, f.At.Count-1)
		if err != nil {
			return out, err
		}
		out.Status = o.Body.Get("status").Str()
	}
	return out, nil
}

func matterOf(m govern.Matter) api.Matter {
	return api.Matter{Ledger: m.Ledger, Subject: m.Subject, Bound: m.Bound.String()}
}

func (s *Server) pending(ctx context.Context, name string) (api.PendingList, error) {
	f, err := s.fold(ctx, name)
	list := api.PendingList{Run: string(f.Run), Pending: []api.PendingApproval{}}
	if err != nil {
		return list, err
	}
	for _, p := range f.machine.Pending() {
		entry, err := p.Proposal.Entry()
		if err != nil {
			return list, err
		}
		args, err := lowered(p.Proposal.Args)
		if err != nil {
			return list, err
		}
		x := api.PendingApproval{
			Agent: p.Agent, Channel: p.Channel, Reason: p.Reason, ProposalID: p.ID.String(), Tool: p.Proposal.Tool, Args: args,
			Proposal: raw(entry), Matter: matterOf(p.Matter), Quorums: []api.Quorum{}, Votes: []api.Vote{},
		}
		for _, q := range p.Quorums {
			y := api.Quorum{Need: int64(q.Need), Roles: make([]string, len(q.Roles)), Rule: q.Rule.String()}
			for i, role := range q.Roles {
				y.Roles[i] = string(role)
			}
			x.Quorums = append(x.Quorums, y)
		}
		for _, v := range p.Votes {
			x.Votes = append(x.Votes, api.Vote{Actor: v.Actor, Role: string(v.Role), Verb: string(v.Verb), Act: v.Act.String()})
		}
		list.Pending = append(list.Pending, x)
	}
	return list, nil
}

// lowered returns a lifted value as the JSON that it was.
func lowered(v canon.Value) (json.RawMessage, error) {
	if v.IsZero() {
		return json.RawMessage("null"), nil
	}
	low, err := trajectory.Lower(v)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(low.String()), nil
}

func (s *Server) delegations(ctx context.Context, name string) (api.DelegationList, error) {
	info, err := s.findTrajectory(ctx, name)
	if err != nil {
		return api.DelegationList{}, err
	}
	t := handed{list: []api.Delegation{}, of: map[string]int{}, calls: map[ledger.Ref]int{}}
	for o, err := range drive.NewReader(s.store, info.Run).All(ctx) {
		if err == nil {
			err = t.add(o)
		}
		if err != nil {
			return api.DelegationList{}, stored(err)
		}
	}
	return api.DelegationList{Run: string(info.Run), Delegations: t.list}, nil
}

// handed is what a trajectory handed on.
type handed struct {
	list  []api.Delegation
	of    map[string]int     // by the child's trajectory
	calls map[ledger.Ref]int // by the call that hands it over, without its id
}

// maxDelegations bounds a list.
const maxDelegations = 10_000

// ErrMany means that a run holds more than one answer can. Read its entries,
// which come in pages.
const ErrMany fault.Conflict = "server.too_many"

func (t *handed) add(o *ledger.Opened) error {
	data := o.Data()
	switch o.Kind {
	case ledger.KindDelegation:
		if len(t.list) == maxDelegations {
			return fault.New(ErrMany, "server.delegations", "the run has more than %d delegations; read its entries", maxDelegations)
		}
		d := api.Delegation{
			N: o.N, Run: string(o.Run), Name: o.Body.Get("name").Str(), Task: data.Get("task").Str(), TrajectoryID: data.Get("child_trajectory_id").Str(),
			ProposalID: data.Get("proposal_id").Str(), Writ: data.Get("writ").Get("id").Str(),
		}
		t.of[d.TrajectoryID] = len(t.list)
		t.list = append(t.list, d)
	case ledger.KindCall:
		if i, ok := t.of[data.Get("child_trajectory_id").Str()]; ok {
			t.calls[ledger.Ref{Run: o.Run, N: o.N}] = i
		}
	case ledger.KindOutcome:
		n, _ := o.Body.Get("refs").Get("call").AsInt()
		i, ok := t.calls[ledger.Ref{Run: o.Run, N: n}]
		if ref, err := ledger.ParseRef(o.Body.Get("refs").Get("child")); ok && err == nil {
			t.list[i].Child = new(refOf(ref))
		}
	case ledger.KindDecision:
		if i, ok := t.of[data.Get("child_trajectory_id").Str()]; ok && o.Body.Get("name").Str() == trajectory.NameDelegated {
			t.list[i].Status = data.Get("status").Str()
		}
	default:
	}
	return nil
}
