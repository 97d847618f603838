// Package trajectoriestest makes trajectories for tests: a charter with a root
// writ, a model that says what a script says, tools that are functions, and
// people who sign. Everything is as a real run has it; only what stands behind
// the boundary is scripted, and the clock and the keys are fixed.
package trajectoriestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

// Epoch is when the first second of every rig begins.
var Epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// Tool is a tool that a test offers beside the built-in ones.
type Tool struct {
	Declaration string // JSON; its transport is {"kind":"test"}
	// Do answers a call; nil says {"ok":true}.
	Do func(args canon.Value) (canon.Value, error)
}

// Rig is a charter and what stands behind the boundary of its runs. The zero
// fields of Charter are filled by [New].
type Rig struct {
	Store   drive.Store
	Charter trajectory.Charter
	// Script is what the model of an agent answers, one chat message after
	// another; when it is over the model says that it is done. A delegate
	// reads the script of its own name.
	Script map[string][]string
	Tools  map[string]func(args canon.Value) (canon.Value, error)
	// Touched counts the calls of models and tools.
	Touched map[string]int

	t    testing.TB
	mu   sync.Mutex
	keys map[canon.Digest]*sign.PrivateKey // by id
	said map[string]int
	tick int64
}

// Key returns the key of a name: the same in every test.
func Key(t testing.TB, name string) *sign.PrivateKey {
	t.Helper()
	seed := canon.SHA256([]byte("a key for tests: " + name))
	k, err := sign.NewPrivateKey(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// New returns a rig with one agent "worker" under a root writ that allows
// everything. Ann and Bob approve, Olga operates, Adam administers.
func New(t testing.TB, tools ...Tool) *Rig {
	t.Helper()
	r := &Rig{
		Store: memory.New(nil), Script: map[string][]string{}, Tools: map[string]func(canon.Value) (canon.Value, error){},
		Touched: map[string]int{}, t: t, keys: map[canon.Digest]*sign.PrivateKey{}, said: map[string]int{},
	}
	declared := trajectory.Builtins()
	for _, x := range tools {
		tool, err := trajectory.ParseTool(r.json(x.Declaration))
		r.must(err)
		declared = append(declared, tool)
		if r.Tools[tool.Name] = x.Do; x.Do == nil {
			r.Tools[tool.Name] = func(canon.Value) (canon.Value, error) { return r.json(`{"ok":true}`), nil }
		}
	}
	registry, err := trajectory.NewRegistry(declared...)
	r.must(err)
	roster, err := govern.NewRoster(
		govern.Actor{ID: "ann", Key: r.key("ann").Public(), Roles: []govern.Role{govern.Approver}},
		govern.Actor{ID: "bob", Key: r.key("bob").Public(), Roles: []govern.Role{govern.Approver}},
		govern.Actor{ID: "olga", Key: r.key("olga").Public(), Roles: []govern.Role{govern.Operator}},
		govern.Actor{ID: "adam", Key: r.key("adam").Public(), Roles: []govern.Role{govern.Admin}},
	)
	r.must(err)
	policies, err := trajectory.NewPolicySet()
	r.must(err)
	writ := r.Writ("worker")
	r.Charter = trajectory.Charter{
		Task: "Do what is to be done.", Compiler: trajectory.CompilerVersion, Signer: r.key("runtime").Public(),
		Roots: []sign.PublicKey{r.key("root").Public()}, Writs: []*trajectory.Writ{writ},
		Agents:   []trajectory.Agent{{Name: "worker", Writ: writ.ID, Prompt: "You propose.", Model: r.json(`{"kind":"model","name":"scripted"}`)}},
		Registry: registry, Policies: policies, Roster: roster, MaxSteps: 100,
	}
	return r
}

// Writ returns a root writ for an agent, with every tool and every effect.
func (r *Rig) Writ(agent string) *trajectory.Writ {
	r.t.Helper()
	body := trajectory.WritBody{
		Issuer: "root", IssuerKey: r.key("root").Public(), Subject: agent, SubjectKey: r.key(agent).Public(),
		Scopes:     []string{"*"},
		Budget:     trajectory.Budget{Tokens: 1_000_000, ToolCalls: 10_000, WallClockMS: 10_000_000, USDMillicents: 1_000_000},
		Ceiling:    trajectory.Ceiling{Read: true, Write: true, External: true, Irreversible: true},
		Window:     trajectory.Window{NotBefore: 0, ExpiresAt: 1<<63 - 1},
		Delegation: trajectory.Bounds{MaxDepth: 3, MaySubdivide: true},
	}
	copy(body.Nonce[:], agent)
	w, err := trajectory.IssueWrit(body, r.key("root"))
	r.must(err)
	return &w
}

// Policy puts a policy, signed by the key "policies", into the charter.
func (r *Rig) Policy(text string) {
	r.t.Helper()
	p, err := trajectory.ParsePolicy(r.json(text))
	r.must(err)
	b, err := trajectory.Seal(p, r.key("policies"))
	r.must(err)
	r.Charter.Policies, err = trajectory.NewPolicySet(append(r.Charter.Policies.Bundles(), b)...)
	r.must(err)
	r.Charter.Issuers = []sign.PublicKey{r.key("policies").Public()}
}

// Say adds messages of an agent's model that propose nothing; the first one
// ends the agent.
func (r *Rig) Say(agent, text string) {
	b, err := json.Marshal(map[string]string{"role": "assistant", "content": text})
	r.must(err)
	r.Script[agent] = append(r.Script[agent], string(b))
}

// Propose adds a message of an agent's model that asks for tools: name and
// arguments, one after the other.
func (r *Rig) Propose(agent string, calls ...string) {
	list := []map[string]any{}
	for i := 0; i+1 < len(calls); i += 2 {
		list = append(list, map[string]any{
			"id": fmt.Sprintf("call_%d_%d", len(r.Script[agent]), i/2), "type": "function",
			"function": map[string]string{"name": calls[i], "arguments": calls[i+1]},
		})
	}
	b, err := json.Marshal(map[string]any{"role": "assistant", "content": "because it is needed", "tool_calls": list})
	r.must(err)
	r.Script[agent] = append(r.Script[agent], string(b))
}

// Run runs a new trajectory until it is done or waits, and seals it if it is
// done.
func (r *Rig) Run() (ledger.RunID, drive.State) {
	r.t.Helper()
	content, err := r.Charter.Content()
	r.must(err)
	data, err := r.Charter.Summary()
	r.must(err)
	s, err := drive.Open(context.Background(), r.Config("shell"), drive.Opening{
		Engine: trajectory.Engine, Mode: "run", Title: r.Charter.Task, Data: data, Contents: []ledger.Content{content},
	})
	r.must(err)
	return s.Run(), r.drive(s)
}

// Resume gives a run an input from outside, and goes on with it. An empty name
// gives none.
func (r *Rig) Resume(run ledger.RunID, kind ledger.Kind, name, from string, data canon.Value) drive.State {
	r.t.Helper()
	ctx := context.Background()
	s, err := drive.Resume(ctx, r.Config("shell, later"), run, drive.Opening{})
	r.must(err)
	if name != "" {
		r.must(s.Receive(ctx, kind, name, from, data))
	}
	return r.drive(s)
}

// Branch begins a branch behind entry n of a run and goes on with it.
func (r *Rig) Branch(run ledger.RunID, n int64, note string) (ledger.RunID, drive.State) {
	r.t.Helper()
	ctx := context.Background()
	audit := trajectory.NewAudit(trajectory.Pins{})
	var ref ledger.Ref
	read := drive.NewReader(r.Store, run)
	_, err := ledger.Verify(ctx, ledger.Evidence{
		Run: run, Check: audit, Part: true, Attachment: read.Attachment(ctx),
		Entries: func(yield func(*ledger.Entry, error) bool) {
			for e, err := range r.Store.Read(ctx, run, 0) {
				if err == nil {
					o, err := ledger.Parse(e)
					r.must(err)
					ref = ledger.Ref{Run: run, N: o.N, ID: o.ID}
				}
				if !yield(e, err) || ref.N == n {
					return
				}
			}
		},
	})
	r.must(err)
	content, err := r.Charter.Content()
	r.must(err)
	s, err := drive.Open(ctx, r.Config("shell"), drive.Opening{
		Engine: trajectory.Engine, Mode: drive.ModeBranch, Title: note, Contents: []ledger.Content{content}, Source: &ref,
	})
	r.must(err)
	sum := audit.Summary()
	at := canon.Null()
	if !sum.Head.IsZero() {
		at = canon.String(sum.Head.String())
	}
	r.must(s.Receive(ctx, ledger.KindBranch, "branch", "shell", canon.Object(
		canon.M("note", canon.String(note)),
		canon.M("source_commit_id", at),
		canon.M("source_commits", canon.Int(sum.Commits)),
		canon.M("source_trajectory_id", canon.String(sum.Trajectory.String())),
	)))
	return s.Run(), r.drive(s)
}

// Act returns a signed act as an input holds it.
func (r *Rig) Act(actor string, role govern.Role, verb govern.Verb, m govern.Matter, reason string) canon.Value {
	r.t.Helper()
	a := govern.Act{Verb: verb, Actor: actor, Role: role, Matter: m, Reason: reason, At: 1}
	r.mu.Lock()
	r.tick++
	copy(a.Nonce[:], fmt.Sprintf("nonce %d", r.tick))
	r.mu.Unlock()
	b, err := a.Sign(r.key(actor))
	r.must(err)
	return canon.Object(canon.M("act", r.json(string(b))))
}

// Pending returns what an answer to the last pending approval of a run must be
// about.
func (r *Rig) Pending(run ledger.RunID) govern.Matter {
	r.t.Helper()
	var m govern.Matter
	for o, err := range drive.Lineage(context.Background(), r.Store, run) {
		r.must(err)
		if v := o.Data().Get("matter"); o.Kind == ledger.KindPendingApproval {
			bound, err := canon.ParseDigest(v.Get("bound").Str())
			r.must(err)
			m = govern.Matter{Ledger: v.Get("ledger").Str(), Subject: v.Get("subject").Str(), Bound: bound}
		}
	}
	return m
}

// Answer answers the last pending approval of a run as an approver, and goes
// on with it.
func (r *Rig) Answer(run ledger.RunID, actor string, verb govern.Verb, reason string) drive.State {
	r.t.Helper()
	return r.Resume(run, ledger.KindApproval, trajectory.EventApproval, actor, r.Act(actor, govern.Approver, verb, r.Pending(run), reason))
}

// Config is the configuration of the rig's sessions. Heads are signed by the
// key "runtime".
func (r *Rig) Config(holder string) drive.Config {
	return drive.Config{Store: r.Store, Now: r.now, Rand: rand.Reader, Signer: r.key("runtime"), Spool: r.t.TempDir(), Holder: holder}
}

func (r *Rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick++
	return Epoch.Add(time.Duration(r.tick) * time.Second)
}

func (r *Rig) drive(s *drive.Session) drive.State {
	r.t.Helper()
	ctx := context.Background()
	st, err := drive.Run(ctx, s, trajectory.NewMachine(), r.Call)
	r.must(err)
	if !st.Done {
		r.must(s.Close(ctx))
		return st
	}
	world, ok := st.World.Hash()
	if !ok {
		r.t.Fatal("the world has absent values")
	}
	r.must(s.Seal(ctx, "done", canon.Value{}, &world))
	return st
}

// Call makes the calls of a trajectory.
func (r *Rig) Call(ctx context.Context, c *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	switch c.Kind {
	case "clock":
		return data(canon.String(r.now().Format(time.RFC3339Nano))), nil
	case "sleep":
		return data(canon.Value{}), nil
	case "sign":
		return r.sign(c)
	case "key":
		return data(canon.Object(canon.M("key", canon.String(hex.EncodeToString(r.key(c.Name).Public().Raw()))))), nil
	case "model":
		return r.think(c)
	case "test":
		return r.tool(c)
	case "trajectory":
		return r.delegate(ctx, c, under)
	}
	return effect.Outcome{}, fmt.Errorf("nothing makes calls of kind %s", c.Kind)
}

func data(v canon.Value) effect.Outcome { return effect.Outcome{Status: effect.OK, Data: v} }

func (r *Rig) sign(c *effect.Call) (effect.Outcome, error) {
	raw, err := hex.DecodeString(c.Data.Get("key").Str())
	if err != nil {
		return effect.Outcome{}, err
	}
	pub, err := sign.ParseKey(raw)
	if err != nil {
		return effect.Outcome{}, err
	}
	r.mu.Lock()
	k := r.keys[pub.ID()]
	r.mu.Unlock()
	if k == nil {
		return effect.Outcome{}, fmt.Errorf("no key %s", pub.ID())
	}
	sig, err := k.Sign(c.Contents[0].Bytes)
	return data(canon.Object(canon.M("signature", canon.String(hex.EncodeToString(sig))))), err
}

func (r *Rig) think(c *effect.Call) (effect.Outcome, error) {
	agent := c.Data.Get("agent").Str()
	r.mu.Lock()
	r.Touched["model"]++
	i := r.said[agent]
	r.said[agent]++
	r.mu.Unlock()
	msg := `{"role":"assistant","content":"done"}`
	if i < len(r.Script[agent]) {
		msg = r.Script[agent][i]
	}
	body := fmt.Sprintf(`{"choices":[{"index":0,"message":%s}],"usage":{"total_tokens":10}}`, msg)
	return effect.Outcome{Status: effect.OK, Contents: []ledger.Content{{Name: "response", Type: "application/json", Bytes: []byte(body)}}}, nil
}

func (r *Rig) tool(c *effect.Call) (effect.Outcome, error) {
	r.mu.Lock()
	r.Touched[c.Name]++
	r.mu.Unlock()
	args, err := canon.Parse(c.Contents[0].Bytes)
	if err != nil {
		return effect.Outcome{}, err
	}
	out, err := r.Tools[c.Name](args)
	if err != nil {
		return effect.Outcome{}, err
	}
	b, err := canon.Encode(out, canon.Foreign)
	o := data(canon.Object(canon.M("latency_ms", canon.Int(7))))
	o.Contents = []ledger.Content{{Name: "output", Type: "application/json", Bytes: b}}
	return o, err
}

// delegate runs the trajectory of a delegate, as a run of its own, until it is
// done or waits.
func (r *Rig) delegate(ctx context.Context, c *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	parent, _ := under.Place()
	s, err := drive.Open(ctx, r.Config("shell of "+c.Name), drive.Opening{
		Engine: trajectory.Engine, Mode: "run", Title: c.Name, Contents: c.Contents, Parent: &parent,
	})
	if err != nil {
		return effect.Outcome{}, err
	}
	r.drive(s)
	var last ledger.Ref
	answer, spent := canon.Null(), canon.Null()
	for o, err := range drive.Lineage(ctx, r.Store, s.Run()) {
		if err != nil {
			return effect.Outcome{}, err
		}
		if last = (ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}); o.Kind == ledger.KindResult {
			answer, spent = o.Data().Get("answer"), o.Data().Get("spent")
		}
	}
	state := trajectory.DelegateDone
	if answer.IsNull() {
		state = trajectory.DelegateWaiting
	}
	out := data(canon.Object(
		canon.M("answer", answer), canon.M("spent", spent), canon.M("state", canon.String(state)), canon.M("status", canon.String(state)),
	))
	out.Refs = []effect.Place{{Name: "child", Ref: last}}
	return out, nil
}

func (r *Rig) key(name string) *sign.PrivateKey {
	k := Key(r.t, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[k.Public().ID()] = k
	return k
}

func (r *Rig) json(text string) canon.Value {
	r.t.Helper()
	v, err := canon.Parse(bytes.TrimSpace([]byte(text)))
	r.must(err)
	return v
}

func (r *Rig) must(err error) {
	if err != nil {
		r.t.Helper()
		r.t.Fatalf("%v (%s)", err, fault.CodeOf(err))
	}
}
