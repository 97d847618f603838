package job_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

const (
	alpha = "agent:alpha_v1"
	beta  = "agent:beta_v1"
)

// opsKey is the key of the rig, which operations hold.
var opsKey = job.Key{ID: "ops-2026", Secret: []byte("a secret of thirty-two bytes, yes")}

// rig is everything around a job: a store, keys, people, and agents that say
// what they are told to. It counts what it is asked for.
type rig struct {
	t     *testing.T
	store drive.Store
	now   func() time.Time

	mu     sync.Mutex
	script map[string][]func(*effect.Call) (string, error) // of each agent, next first; the last one stays
	asked  []*effect.Call
	macs   int
	locked bool // the server key is not at hand

	metrics func() canon.Value // what outcomes say beside the output; nil: nothing
}

func newRig(t *testing.T) *rig {
	return &rig{t: t, store: memory.New(nil), now: time.Now, script: map[string][]func(*effect.Call) (string, error){}}
}

// says makes an agent answer with these outputs, one after another.
func (r *rig) says(node string, outputs ...string) {
	for _, o := range outputs {
		r.script[node] = append(r.script[node], func(*effect.Call) (string, error) { return o, nil })
	}
}

// fails makes the next call of an agent fail with a code.
func (r *rig) fails(node string, code fault.Code) {
	r.script[node] = append(r.script[node], func(*effect.Call) (string, error) { return "", fault.New(code, "rig", "as told") })
}

// text is an output that says something, surely.
func text(s string) string {
	b, _ := json.Marshal(s)
	return fmt.Sprintf(`{"text":%s,"confidence":0.9,"tokens_used":10}`, b)
}

func personKey(t *testing.T, name string) *sign.PrivateKey {
	t.Helper()
	seed := canon.SHA256([]byte("rig key " + name))
	k, err := sign.NewPrivateKey(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// plan is a job and the contents of its snapshots, before they are sealed.
type plan struct {
	spec    job.Spec
	selfrep func(*job.Trust, map[string]*job.Node)
	router  job.RouterConfig
	brain   job.Brain
	privacy job.PrivacyRules
	pii     []job.Category
	rules   job.Governance
}

func (r *rig) roster() govern.Roster {
	r.t.Helper()
	var actors []govern.Actor
	add := func(id string, roles ...govern.Role) {
		actors = append(actors, govern.Actor{ID: id, Key: personKey(r.t, id).Public(), Roles: roles, Tenant: "acme"})
	}
	add("ada", govern.Admin, govern.Operator)
	for _, id := range []string{"cat", "cleo", "cyd"} {
		add(id, govern.Council)
	}
	add("oscar", govern.Operator)
	roster, err := govern.NewRoster(actors...)
	if err != nil {
		r.t.Fatal(err)
	}
	return roster
}

// plan returns a job of two agents and a generic one that everything goes well
// for, unless edit says otherwise. The first candidate is alpha.
func (r *rig) plan(edit func(*plan)) *plan {
	r.t.Helper()
	brain := job.Brain{
		Constants: job.StandardBrainConstants(),
		State: job.NewBrainState("s0", det.Epoch, job.Attention{Gain: job.One / 2, Explore: job.One / 5},
			job.Budget{Tokens: 10_000, MaxDepth: 4}),
	}
	router := job.StandardRouter()
	router.Intents = []job.Intent{{Action: "save", Terms: []string{"remember"}}}
	p := &plan{
		spec: job.Spec{
			Seed: "s0", Query: "what is a kestrel?", User: "uma", Roles: []string{"user"},
			Goal: job.GoalSpec{User: job.One, Heuristic: job.One},
			Agents: []job.Agent{
				{Node: alpha, Transport: value(r.t, `{"kind":"script"}`)},
				{Node: beta, Transport: value(r.t, `{"kind":"script","class":"read","temperature":0.7}`)},
				{Node: generic, Transport: value(r.t, `{"kind":"script"}`)},
			},
			Persist: job.PersistAlways, Roster: r.roster(), Tenant: "acme",
		},
		router: router, brain: brain,
		rules: job.Governance{
			Council: []string{"cat", "cleo", "cyd"}, Quorum: 2, VoteWindow: 600, RequestTimeout: 3600, ApprovalWait: 60, ReviewWindow: 60,
			RetentionDays: 365, AuditWindowDays: 90, AgentTimeoutMS: 30_000, MaxIterations: 8, MaxReplayMS: 60_000,
		},
	}
	if edit != nil {
		edit(p)
	}
	p.brain.State.Seed = p.spec.Seed
	p.brain.State.Context.ID = "cwm:" + string(p.spec.Seed)
	return p
}

func value(t *testing.T, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// set seals the snapshots of a plan.
func (r *rig) set(p *plan) job.Set {
	r.t.Helper()
	node := func(id string, apt job.Nano) *job.Node {
		return &job.Node{
			ID: id, Type: "agent", DisplayName: id, Version: "1", Status: job.Healthy, APT: apt, Events: 5,
			Policy: job.Policy{Allowed: []string{"answer", "save"}}, RegisteredBy: "ada", RegisteredAt: det.Epoch, Updated: det.Epoch,
		}
	}
	nodes := map[string]*job.Node{
		alpha: node(alpha, job.One/10*9), beta: node(beta, job.One/10*8), generic: node(generic, job.One/10*7),
	}
	trust := job.StandardTrust()
	if p.selfrep != nil {
		p.selfrep(&trust, nodes)
	}
	var list []job.Node
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		list = append(list, *nodes[id])
	}
	selfrep, err := job.NewSelfRep(trust, list, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	privacy, err := job.NewPrivacy(p.privacy, p.pii...)
	if err != nil {
		r.t.Fatal(err)
	}
	var all []job.Snapshot
	for _, c := range []struct {
		kind    job.Kind
		content canon.Value
	}{
		{job.KindSelfRep, selfrep.Value()},
		{job.KindBrainState, p.brain.Value()},
		{job.KindRouter, p.router.Value()},
		{job.KindPrivacy, privacy.Value()},
		{job.KindGovernance, p.rules.Value()},
	} {
		s, err := job.Make(c.kind, p.spec.Seed, c.content)
		if err == nil {
			s, err = s.Seal(opsKey)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, s)
	}
	set, err := job.NewSet(all...)
	if err != nil {
		r.t.Fatal(err)
	}
	return set
}

// call answers the calls of a job.
func (r *rig) call(ctx context.Context, c *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	if c.Kind == job.KindMAC {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.macs++; r.locked {
			return effect.Outcome{}, fault.New(job.ErrServerKey, "rig", "not now")
		}
		return job.AnswerMAC(c, opsKey)
	}
	x, err := under.Begin(ctx, effect.Call{Kind: "model", Name: "chat", Class: effect.Read, Data: canon.Object(canon.M("of", canon.String(c.Name)))})
	if err != nil {
		return effect.Outcome{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	told := effect.Outcome{Status: effect.OK}
	if r.metrics != nil {
		told.Data = r.metrics()
	}
	if err := x.End(ctx, told); err != nil {
		return effect.Outcome{}, err
	}
	r.asked = append(r.asked, c)
	turns := r.script[c.Name]
	if len(turns) == 0 {
		return effect.Outcome{}, fault.New(effect.ErrRefused, "rig", "nobody told %s what to say", c.Name)
	}
	if len(turns) > 1 {
		r.script[c.Name] = turns[1:]
	}
	out, err := turns[0](c)
	if err != nil {
		return effect.Outcome{}, err
	}
	var data canon.Value
	if r.metrics != nil {
		data = r.metrics()
	}
	return effect.Outcome{Status: effect.OK, Data: data, Contents: []ledger.Content{
		{Name: job.OutputContent, Type: "application/json", Bytes: []byte(out), Scope: job.OutputScope},
	}}, nil
}

func (r *rig) config() drive.Config {
	return drive.Config{Store: r.store, Now: r.now, Rand: rand.Reader, Signer: personKey(r.t, "head"), Spool: r.t.TempDir(), Holder: "rig"}
}

// started is a job that runs, or waits.
type started struct {
	*rig
	run  ledger.RunID
	s    *drive.Session
	st   drive.State
	m    *job.Machine
	plan *plan
	set  job.Set
}

func (r *rig) opening(p *plan, set job.Set) drive.Opening {
	r.t.Helper()
	contents, err := p.spec.Contents(set)
	if err != nil {
		r.t.Fatal(err)
	}
	return drive.Opening{Engine: job.Engine, Mode: "run", Title: "rig", Data: p.spec.Summary(set), Contents: contents}
}

// start opens a job and runs it until it is done or waits.
func (r *rig) start(p *plan) *started {
	r.t.Helper()
	set := r.set(p)
	s, err := drive.Open(context.Background(), r.config(), r.opening(p, set))
	if err != nil {
		r.t.Fatal(err)
	}
	x := &started{rig: r, run: s.Run(), s: s, plan: p, set: set}
	x.goOn()
	return x
}

// goOn folds the ledger and goes on from where it stands.
func (x *started) goOn() {
	x.t.Helper()
	x.m = job.NewMachine()
	st, err := drive.Run(context.Background(), x.s, x.m, x.call)
	if err != nil {
		x.t.Fatal(err)
	}
	x.st = st
}

// log returns the reflective log of a job that is over.
func (x *started) log() *job.Log {
	x.t.Helper()
	l, ok := x.m.Log()
	if !ok {
		x.t.Fatalf("the job is not over: it waits for %q", x.st.Waiting)
	}
	return l
}

// archive collects what the job has left behind.
func (x *started) archive() *job.Archive {
	x.t.Helper()
	ctx := context.Background()
	read := drive.NewReader(x.store, x.run)
	a := job.NewArchive(opsKey)
	for o, err := range read.All(ctx) {
		if err != nil {
			x.t.Fatal(err)
		}
		contents, err := read.Contents(ctx, o)
		if err != nil {
			x.t.Fatal(err)
		}
		a.Add(o.Kind, o.Body.Get("name").Str(), contents)
	}
	return a
}

func (x *started) reader() *drive.Reader { return drive.NewReader(x.store, x.run) }

// given returns what the n-th agent that was asked was given.
func (r *rig) given(n int) []byte {
	r.t.Helper()
	if n >= len(r.asked) {
		r.t.Fatalf("%d agents were asked", len(r.asked))
	}
	for _, c := range r.asked[n].Contents {
		if c.Name == job.InputContent {
			return c.Bytes
		}
	}
	return nil
}

// opened is the open of a job as its engine takes it.
func opened(contents []ledger.Content) effect.Input {
	return effect.Input{Kind: ledger.KindOpen, Contents: contents}
}

// event returns the types of the events, in order.
func (x *started) events() []string {
	var out []string
	for _, e := range x.log().Events {
		out = append(out, e.Type)
	}
	return out
}

// act signs an act of a person about a matter.
func act(t *testing.T, person string, role govern.Role, verb govern.Verb, m govern.Matter) []byte {
	t.Helper()
	a := govern.Act{Verb: verb, Actor: person, Role: role, Matter: m, At: det.Epoch}
	copy(a.Nonce[:], person+string(verb)+"nonce and more")
	env, err := a.Sign(personKey(t, person))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// vote sends a council member's act on the request that waits.
func (x *started) vote(person string, verb govern.Verb, after int64) {
	x.t.Helper()
	q, ok := x.m.Pending()
	if !ok {
		x.t.Fatal("nothing waits for approval")
	}
	role := govern.Council
	if person == "ada" {
		role = govern.Admin
	}
	v := value(x.t, string(act(x.t, person, role, verb, q.Matter())))
	x.receive(ledger.KindApproval, job.InputVote, person, canon.Object(canon.M("act", v), canon.M("after", canon.Int(after))))
}

func (x *started) receive(kind ledger.Kind, name, from string, data canon.Value) {
	x.t.Helper()
	if err := x.s.Receive(context.Background(), kind, name, from, data); err != nil {
		x.t.Fatal(err)
	}
	x.goOn()
}

// sound fails the test unless the ledger verifies, everything in it follows
// again from its inputs, and the job replays in every mode as it ran.
func (x *started) sound() {
	x.t.Helper()
	ctx := context.Background()
	v, err := ledger.Verify(ctx, ledger.Evidence{
		Run: x.run, Entries: x.store.Read(ctx, x.run, 0), Statements: x.store.Statements(ctx, x.run, ledger.HeadType),
		Attachment: drive.NewReader(x.store, x.run).Attachment(ctx), Scopes: true,
	})
	if err != nil {
		x.t.Fatal(err)
	}
	if f := v.First(); f != nil {
		x.t.Errorf("entry %d, %s: %s: %s", f.N, f.Where, f.Code, f.Msg)
	}
	report, err := drive.Replay(ctx, x.store, x.run, job.NewMachine(), "verify")
	if err != nil {
		x.t.Fatal(err)
	}
	if report.Verdict != replay.Same {
		x.t.Errorf("replay of the machine: %s %+v", report.Verdict, report.Divergences)
	}
	if !x.log().Replayable {
		return
	}
	for _, mode := range []job.Mode{job.Audit, job.Reexecute, job.Production} {
		got, err := job.Replay(x.archive(), job.ReplayOptions{Mode: mode}, nil)
		if err != nil || got.Final != x.log().Final || len(got.Divergences) != 0 {
			x.t.Errorf("Replay(%s) = %q, %v, divergences %v; want %q", mode, got.Final, err, got.Divergences, x.log().Final)
		}
	}
}

// wantLiteral fails the test unless err has the code, and its text is the code of
// the document to the letter.
func wantLiteral(t *testing.T, err error, code fault.Code, literal string) {
	t.Helper()
	if !errors.Is(err, code) || fault.CodeOf(err) != code || code.Error() != literal {
		t.Errorf("error = %v (%v), want %s", err, fault.CodeOf(err), literal)
	}
}

// dying is a store that a process loses after so many entries, as by a kill.
type dying struct {
	drive.Store
	after int64
	alive atomic.Bool
}

func (d *dying) Append(ctx context.Context, b *ledger.Batch) error {
	if !d.alive.Load() && b.At.Count+int64(len(b.Entries)) > d.after {
		return fault.New(ledger.ErrFenced, "dying.Append", "the process was killed")
	}
	return d.Store.Append(ctx, b)
}
