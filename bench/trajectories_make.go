package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// workload is a ledger as the source document defines it (A.7). Since a branch
// and a delegate are runs of their own, it is one long run with its branches
// and delegates: a branch has an open, its branch entry, a commit and a seal, a
// delegate an open, a commit and a seal. An approval is a pending one with its
// answer. A delegation is three entries of the long run: delegation, call and
// outcome. What the definition leaves open are intents.
type workload struct {
	name                                                                 string
	entries, commits, approvals, rejections, branches, delegations, rest int
}

func workloads() []workload {
	list := []workload{
		{name: "small", entries: 100, commits: 60, approvals: 5, rejections: 5, branches: 1, delegations: 1},
		{name: "medium", entries: 10_000, commits: 7_000, approvals: 500, rejections: 500, branches: 100, delegations: 200},
		{name: "large", entries: 1_000_000, commits: 700_000, approvals: 25_000, rejections: 25_000, branches: 5_000, delegations: 10_000},
	}
	for i := range list {
		w := &list[i]
		const openAndSeal = 2
		trunk := w.entries - 4*w.branches - 3*w.delegations
		w.rest = trunk - openAndSeal - w.trunkCommits() - 2*w.approvals - w.rejections - 3*w.delegations
	}
	return list
}

func (w *workload) trunkCommits() int { return w.commits - w.branches - w.delegations }

// Of a workload.
const (
	benchScope = "bench"
	benchTime  = "2026-01-02T03:04:05.000006Z"
	accounts   = 256 // alive in the world
)

// maker writes a workload. All that it draws comes from one seed.
type maker struct {
	w      workload
	rand   *rand.ChaCha8
	runs   uint64
	signer *sign.PrivateKey // of the commits, the writs and the policy
	writ   trajectory.Writ
	law    trajectory.Charter
	files  [2]*fileWriter // the long run; its delegates and branches
	calls  []int64        // of the long run, that hand work to a delegate
}

// line is a run that grows.
type line struct {
	m       *maker
	out     *fileWriter
	run     ledger.RunID
	at      ledger.Position
	world   map[string]int64 // version of each account
	id      canon.Digest     // of the trajectory
	writ    canon.Digest
	head    canon.Digest
	commits int64
}

// make writes the two files of a workload, and returns the calls of the long
// run that hand work to delegates, in their order.
func (w workload) make(trunk, rest string) (calls []int64, err error) {
	key, err := sign.NewPrivateKey([]byte("the key of all commits of a test"))
	if err != nil {
		return nil, err
	}
	m := &maker{w: w, rand: rand.NewChaCha8([32]byte{1}), signer: key}
	if err := m.charter(); err != nil {
		return nil, err
	}
	for i, path := range []string{trunk, rest} {
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		m.files[i] = &fileWriter{w: bufio.NewWriterSize(f, 1<<20)}
	}
	if err := m.trunk(); err != nil {
		return nil, err
	}
	return m.calls, errors.Join(m.files[0].w.Flush(), m.files[1].w.Flush())
}

func (m *maker) charter() error {
	pub := m.signer.Public()
	var err error
	m.writ, err = trajectory.IssueWrit(trajectory.WritBody{
		Issuer: "root", IssuerKey: pub, Subject: "clerk", SubjectKey: pub, Scopes: []string{"*"},
		Budget:     trajectory.Budget{Tokens: 1 << 40, ToolCalls: 1 << 40, WallClockMS: 1 << 40, USDMillicents: 1 << 40},
		Ceiling:    trajectory.Ceiling{Read: true, Write: true, External: true, Irreversible: true},
		Window:     trajectory.Window{NotBefore: 0, ExpiresAt: 1 << 40},
		Delegation: trajectory.Bounds{MaxDepth: 1, MaySubdivide: true},
	}, m.signer)
	if err != nil {
		return err
	}
	registry, err := trajectory.NewRegistry(trajectory.Builtins()...)
	if err != nil {
		return err
	}
	v, err := canon.Parse([]byte(`{"name":"bank","version":"1","rules":[{"name":"large","when":{"field":"intent.args.value","op":"gt","value":1000000},
		"decision":{"kind":"require_approval","channel":"desk","reason":"a large amount"}}]}`))
	if err != nil {
		return err
	}
	policy, err := trajectory.ParsePolicy(v)
	if err != nil {
		return err
	}
	bundle, err := trajectory.Seal(policy, m.signer)
	if err != nil {
		return err
	}
	policies, err := trajectory.NewPolicySet(bundle)
	if err != nil {
		return err
	}
	m.law = trajectory.Charter{
		Task: "keep the accounts", Compiler: trajectory.CompilerVersion, Signer: pub, Roots: []sign.PublicKey{pub},
		Writs: []*trajectory.Writ{&m.writ}, Agents: []trajectory.Agent{{Name: "clerk", Writ: m.writ.ID}},
		Registry: registry, Policies: policies, Issuers: []sign.PublicKey{pub}, MaxSteps: trajectory.MaxSteps,
	}
	return m.law.Check()
}

func (m *maker) runID() ledger.RunID {
	m.runs++
	return ledger.RunID(fmt.Sprintf("019a0000-0000-7000-8000-%012x", m.runs))
}

// digest draws an id of something that stands in no entry.
func (m *maker) digest() (d canon.Digest) {
	_, _ = m.rand.Read(d[:]) // never fails
	return d
}

func (m *maker) nonce() (n [16]byte) {
	_, _ = m.rand.Read(n[:])
	return n
}

func (m *maker) begin(out *fileWriter, law *trajectory.Charter, mode string, refs canon.Value) (*line, error) {
	content, err := law.Content()
	if err != nil {
		return nil, err
	}
	id, err := law.Trajectory()
	if err != nil {
		return nil, err
	}
	summary, err := law.Summary()
	if err != nil {
		return nil, err
	}
	l := &line{m: m, out: out, run: m.runID(), world: map[string]int64{}, id: id, writ: law.Agents[0].Writ}
	body := canon.Object(
		canon.M("engine", canon.String(trajectory.Engine)), canon.M("mode", canon.String(mode)),
		canon.M("title", canon.String("bench")), canon.M("data", summary),
	)
	if err := out.beginRun(l.run); err != nil {
		return nil, err
	}
	return l, l.add(ledger.KindOpen, body, refs, content)
}

// add appends an entry.
func (l *line) add(kind ledger.Kind, body, refs canon.Value, contents ...ledger.Content) error {
	d := ledger.Draft{Run: l.run, Kind: kind, Body: body, Refs: refs, Scope: benchScope, T: benchTime, Salt: canon.Salt(l.m.digest())}
	e := placed{}
	for _, c := range contents {
		salt := canon.Salt(l.m.digest())
		d.Att = append(d.Att, ledger.Attachment{Name: c.Name, Type: c.Type, Size: int64(len(c.Bytes)), Bind: canon.Bind(&salt, c.Bytes)})
		d.Parts = append(d.Parts, blob.Part{Scope: benchScope, Salt: salt, Size: int64(len(c.Bytes)), Recipe: []byte{0}})
		e.contents = append(e.contents, c.Bytes)
	}
	p, err := ledger.Prepare(d)
	if err != nil {
		return err
	}
	e.Entry, l.at = l.at.Next(l.run, p)
	return l.out.entry(&e)
}

func (l *line) named(kind ledger.Kind, name string, data canon.Value) error {
	return l.add(kind, canon.Object(canon.M("name", canon.String(name)), canon.M("data", data)), canon.Value{})
}

func (l *line) end() error {
	if err := l.add(ledger.KindSeal, canon.Object(canon.M("status", canon.String("done"))), canon.Value{}); err != nil {
		return err
	}
	return l.out.endRun()
}

// commit changes one account, and is signed.
func (l *line) commit() error {
	n := l.m.rand.Uint64()
	account := fmt.Sprintf("account-%03d", n%accounts)
	version := l.world[account]
	l.world[account]++
	op := ledger.OpReplace
	if version == 0 {
		op = ledger.OpCreate
	}
	value := canon.Object(
		canon.M("balance", canon.Int(int64(n>>40))), canon.M("currency", canon.String("EUR")),
		canon.M("holder", canon.String("a person whose name is of a usual length")),
	)
	c := trajectory.Commit{
		Parent: l.head, Trajectory: l.id, Proposal: l.m.digest(), Intent: l.m.digest(), Writ: l.writ, Seq: l.commits,
		Delta: []ledger.Change{{Op: op, Kind: "account", ID: account, Version: version, Value: value}},
		Observations: canon.Array(canon.Object(
			canon.M("latency_ms", canon.Int(int64(n%1000))), canon.M("output", canon.Object(canon.M("booked", value))),
			canon.M("tool", canon.String("transfer")),
		)),
		Trace:    trajectory.Trace{Rules: []string{trajectory.AuthorityRule, "bank@1"}, Decision: trajectory.Ruling{Kind: trajectory.Permit}},
		Compiler: trajectory.CompilerVersion, PolicySet: l.m.law.Policies.Hash(),
		Cost: trajectory.Budget{Tokens: n % 5000, ToolCalls: 1, WallClockMS: n % 1000},
	}
	msg, err := c.Message()
	if err != nil {
		return err
	}
	if c.Signature, err = l.m.signer.Sign(msg); err != nil {
		return err
	}
	d, err := c.Entry("transfer")
	if err != nil {
		return err
	}
	if l.head, err = canon.ParseDigest(d.Body.Get("data").Get("id").Str()); err != nil {
		return err
	}
	l.commits++
	return l.add(d.Kind, d.Body, canon.Value{})
}

func (l *line) intent() error {
	i := trajectory.Intent{
		Author: "clerk", Kind: trajectory.IntentAct, Target: "transfer", Nonce: l.m.nonce(),
		Args: canon.Object(canon.M("account", canon.String("account-001")), canon.M("value", canon.Int(2_000_000))), Rationale: "the customer asks for it",
	}
	body, err := i.Entry()
	if err != nil {
		return err
	}
	return l.named(ledger.KindDecision, trajectory.NameIntent, body)
}

// approval is a proposal that waits, and its answer.
func (l *line) approval() error {
	p := trajectory.Proposal{
		IntentID: l.m.digest(), WritID: l.writ, Tool: "transfer",
		Args: canon.Object(canon.M("account", canon.String("account-001")), canon.M("value", canon.Int(2_000_000))),
		Trace: trajectory.Trace{
			Rules:    []string{trajectory.AuthorityRule, "bank@1", "bank@1/large"},
			Decision: trajectory.Ruling{Kind: trajectory.RequireApproval, Channel: "desk", Reason: "a large amount"},
		},
		Status: trajectory.Status{Kind: trajectory.Suspended, Channel: "desk", Reason: "a large amount"},
	}
	proposal, err := p.Entry()
	if err != nil {
		return err
	}
	if err := l.named(ledger.KindPendingApproval, "clerk", canon.Object(
		canon.M("channel", canon.String("desk")), canon.M("proposal", proposal), canon.M("reason", canon.String("a large amount")),
	)); err != nil {
		return err
	}
	return l.add(ledger.KindApproval, canon.Object(
		canon.M("name", canon.String(trajectory.EventApproval)), canon.M("from", canon.String("desk")),
		canon.M("data", canon.Object(canon.M("proposal_id", proposal.Get("id")))),
	), canon.Value{})
}

func (l *line) rejection() error {
	r := trajectory.Rejection{Kind: trajectory.BudgetExhausted, Detail: "the tool calls of the writ are spent"}
	return l.named(ledger.KindRejection, "clerk", canon.Object(
		canon.M("intent_id", canon.String(l.m.digest().String())), canon.M("reason", r.Value()),
	))
}

// delegation hands work to a run of its own, under a writ and a charter of its
// own, and names its last entry.
func (l *line) delegation(i int) error {
	m := l.m
	proposal := m.digest()
	body := m.writ.Body
	body.Subject, body.Nonce, body.Delegation = fmt.Sprintf("clerk/%d", i), [16]byte(proposal[:16]), trajectory.Bounds{}
	writ, err := trajectory.Delegate(&m.writ, body, m.signer)
	if err != nil {
		return err
	}
	law := m.law
	law.Task, law.Parent = "keep one account", &trajectory.Descent{Trajectory: l.id, Proposal: proposal}
	law.Writs = []*trajectory.Writ{&m.writ, &writ}
	law.Agents = []trajectory.Agent{{Name: body.Subject, Writ: writ.ID}}
	content, err := law.Content()
	if err != nil {
		return err
	}
	id, err := law.Trajectory()
	if err != nil {
		return err
	}
	lifted, err := trajectory.Lift(writ.Value())
	if err != nil {
		return err
	}
	if err := l.named(ledger.KindDelegation, body.Subject, canon.Object(
		canon.M("child_trajectory_id", canon.String(id.String())), canon.M("final_answer", canon.Null()),
		canon.M("proposal_id", canon.String(proposal.String())), canon.M("task", canon.String(law.Task)), canon.M("writ", lifted),
	)); err != nil {
		return err
	}
	call := effect.Call{
		Kind: "trajectory", Name: body.Subject, Class: effect.External, Match: proposal,
		Data: canon.Object(canon.M("child_trajectory_id", canon.String(id.String()))),
	}
	n := l.at.Count
	m.calls = append(m.calls, n)
	if err := l.add(ledger.KindCall, call.Body(effect.Key{Match: proposal}), canon.Value{}, content); err != nil {
		return err
	}
	parent := ledger.Ref{Run: l.run, N: n, ID: l.at.Last}
	child, err := m.begin(m.files[1], &law, "run", canon.Object(canon.M("parent", parent.Value())))
	if err != nil {
		return err
	}
	if err := errors.Join(child.commit(), child.end()); err != nil {
		return err
	}
	last := ledger.Ref{Run: child.run, N: child.at.Count - 1, ID: child.at.Last}
	answer := effect.Outcome{Status: effect.OK, Data: canon.Object(canon.M("state", canon.String(trajectory.DelegateDone)))}
	return l.add(ledger.KindOutcome, answer.Body(), canon.Object(canon.M("call", canon.Int(n)), canon.M("child", last.Value())))
}

// branch leaves l at its last entry but the seal.
func (m *maker) branch(l *line, at ledger.Ref) error {
	b, err := m.begin(m.files[1], &m.law, "branch", canon.Object(canon.M("source", at.Value())))
	if err != nil {
		return err
	}
	if err := b.named(ledger.KindBranch, "branch", canon.Object(
		canon.M("note", canon.String("what if")), canon.M("source_commit_id", canon.String(l.head.String())),
		canon.M("source_commits", canon.Int(l.commits)), canon.M("source_trajectory_id", canon.String(l.id.String())),
	)); err != nil {
		return err
	}
	b.id, b.head, b.commits = trajectory.BranchTrajectory(l.id, l.head), l.head, l.commits
	for k, v := range l.world {
		b.world[k] = v
	}
	return errors.Join(b.commit(), b.end())
}

// trunk writes the long run with its kinds of entries evenly mixed, and the
// runs that hang on it.
func (m *maker) trunk() error {
	l, err := m.begin(m.files[0], &m.law, "run", canon.Value{})
	if err != nil {
		return err
	}
	kinds := []struct {
		n    int
		make func(i int) error
	}{
		{m.w.trunkCommits(), func(int) error { return l.commit() }},
		{m.w.approvals, func(int) error { return l.approval() }},
		{m.w.rejections, func(int) error { return l.rejection() }},
		{m.w.delegations, l.delegation},
		{m.w.rest, func(int) error { return l.intent() }},
	}
	total := 0
	for _, k := range kinds {
		total += k.n
	}
	done := make([]int, len(kinds))
	for i := range total {
		for k := range kinds {
			// as many as are due after i of all
			for ; done[k]*total < kinds[k].n*(i+1); done[k]++ {
				if err := kinds[k].make(done[k]); err != nil {
					return err
				}
			}
		}
	}
	at := ledger.Ref{Run: l.run, N: l.at.Count - 1, ID: l.at.Last}
	if err := l.end(); err != nil {
		return err
	}
	for range m.w.branches {
		if err := m.branch(l, at); err != nil {
			return err
		}
	}
	return nil
}
