package trajectory_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

// rig is everything around a trajectory: a store, keys, a clock that stands
// where the test puts it, models that say what they are told to, and tools
// that are Go functions. It counts what it is asked for.
type rig struct {
	t     *testing.T
	store *memory.Store
	keys  map[string]*sign.PrivateKey // by hex of the public key
	clock time.Time

	script map[string][]string // answers of each agent's model, next first
	tools  map[string]func(args canon.Value, c *effect.Call) (effect.Outcome, error)

	mu                     sync.Mutex // calls of several agents come at once
	models, called, signed int
	asked                  []string // the last message of every request
}

func newRig(t *testing.T) *rig {
	return &rig{
		t: t, store: memory.New(nil), clock: time.Unix(1_700_000_000, 0),
		keys: map[string]*sign.PrivateKey{}, script: map[string][]string{},
		tools: map[string]func(canon.Value, *effect.Call) (effect.Outcome, error){},
	}
}

// key returns the private key of a name, and lets the rig sign with it.
func (r *rig) key(name string) *sign.PrivateKey {
	seed := canon.SHA256([]byte("rig key " + name))
	k, err := sign.NewPrivateKey(seed[:])
	if err != nil {
		r.t.Fatal(err)
	}
	r.keys[hex.EncodeToString(k.Public().Raw())] = k
	return k
}

func (r *rig) value(format string, args ...any) canon.Value {
	r.t.Helper()
	v, err := canon.Parse(fmt.Appendf(nil, format, args...))
	if err != nil {
		r.t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
	return v
}

// writ issues the writ of an agent: everything for a day, unless edit says
// otherwise.
func (r *rig) writ(agent string, edit func(*trajectory.WritBody)) *trajectory.Writ {
	r.t.Helper()
	b := trajectory.WritBody{
		Issuer: "root", IssuerKey: r.key("root").Public(), Subject: agent, SubjectKey: r.key("agent " + agent).Public(),
		Tenant: "acme", Scopes: []string{"*"}, Nonce: [16]byte{1},
		Budget:     trajectory.Budget{Tokens: 100_000, ToolCalls: 100, WallClockMS: 1_000_000, USDMillicents: 1_000_000},
		Ceiling:    trajectory.Ceiling{Read: true, Write: true, External: true, Irreversible: true},
		Window:     trajectory.Window{NotBefore: 1_600_000_000, ExpiresAt: 1_800_000_000},
		Delegation: trajectory.Bounds{MaxDepth: 3, MaySubdivide: true},
	}
	if edit != nil {
		edit(&b)
	}
	w, err := trajectory.IssueWrit(b, r.key("root"))
	if err != nil {
		r.t.Fatal(err)
	}
	return &w
}

// charter returns one with the built-in tools, an agent "agent" whose model
// follows the script, and actors ada (operator), bob (approver) and eve
// (approver).
func (r *rig) charter(edit func(*trajectory.Charter)) *trajectory.Charter {
	r.t.Helper()
	w := r.writ("agent", nil)
	roster, err := govern.NewRoster(
		govern.Actor{ID: "ada", Key: r.key("ada").Public(), Roles: []govern.Role{govern.Operator, govern.Admin}, Tenant: "acme"},
		govern.Actor{ID: "bob", Key: r.key("bob").Public(), Roles: []govern.Role{govern.Approver}, Tenant: "acme"},
		govern.Actor{ID: "eve", Key: r.key("eve").Public(), Roles: []govern.Role{govern.Approver}, Tenant: "acme"},
	)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &trajectory.Charter{
		Task: "do it", Compiler: trajectory.CompilerVersion, Signer: r.key("signer").Public(),
		Roots: []sign.PublicKey{r.key("root").Public()}, Writs: []*trajectory.Writ{w},
		Agents:   []trajectory.Agent{{Name: "agent", Writ: w.ID, Model: r.value(`{"kind":"script"}`)}},
		Registry: r.registry(), Roster: roster, MaxSteps: 20,
	}
	if edit != nil {
		edit(c)
		if c.Registry == nil {
			c.Registry = r.registry()
		}
	}
	return c
}

// registry returns the built-in tools and those declared.
func (r *rig) registry(declared ...string) *trajectory.Registry {
	r.t.Helper()
	tools := trajectory.Builtins()
	for _, d := range declared {
		t, err := trajectory.ParseTool(r.value("%s", d))
		if err != nil {
			r.t.Fatal(err)
		}
		tools = append(tools, t)
	}
	reg, err := trajectory.NewRegistry(tools...)
	if err != nil {
		r.t.Fatal(err)
	}
	return reg
}

// declare returns the declaration of a tool that takes anything and that the
// rig calls by its name.
func declare(name, effect, more string) string {
	return fmt.Sprintf(`{"name":%q,"version":"1","effect":%q,"args":{"type":"object"},
		"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},"transport":{"kind":"test"}%s}`, name, effect, more)
}

// policy returns a set of one unsigned policy with these rules.
func (r *rig) policy(rules string) trajectory.PolicySet {
	r.t.Helper()
	p, err := trajectory.ParsePolicy(r.value(`{"name":"ops","version":"1","rules":[%s]}`, rules))
	if err != nil {
		r.t.Fatal(err)
	}
	set, err := trajectory.NewPolicySet(trajectory.Bundle{Policy: p})
	if err != nil {
		r.t.Fatal(err)
	}
	return set
}

// calls is a model's answer with calls: name, arguments, name, arguments, …
func calls(list ...string) string {
	var out []string
	for i := 0; i < len(list); i += 2 {
		args, _ := json.Marshal(list[i+1])
		out = append(out, fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":%q,"arguments":%s}}`, i/2, list[i], args))
	}
	return `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[` + strings.Join(out, ",") + `]}}],"usage":{"total_tokens":10}}`
}

// says is a model's last answer.
func says(text string) string {
	return fmt.Sprintf(`{"choices":[{"message":{"role":"assistant","content":%q}}],"usage":{"total_tokens":5}}`, text)
}

func ok(data canon.Value, contents ...ledger.Content) (effect.Outcome, error) {
	return effect.Outcome{Status: effect.OK, Data: data, Contents: contents}, nil
}

func output(s string) (effect.Outcome, error) {
	return ok(canon.Object(canon.M("latency_ms", canon.Int(3))), ledger.Content{Name: "output", Type: "application/json", Bytes: []byte(s)})
}

// call answers the calls of a trajectory.
func (r *rig) call(ctx context.Context, c *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	if c.Kind == "trajectory" {
		return r.delegate(ctx, c, under)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch c.Kind {
	case "script":
		r.models++
		agent := c.Data.Get("agent").Str()
		req, err := canon.Parse(c.Contents[0].Bytes)
		if err != nil {
			return effect.Outcome{}, err
		}
		msgs := req.Get("messages")
		r.asked = append(r.asked, msgs.At(msgs.Len()-1).Get("content").Str())
		if len(r.script[agent]) == 0 {
			return effect.Outcome{}, fault.New(effect.ErrRefused, "rig", "the script of %s is over", agent)
		}
		next := r.script[agent][0]
		r.script[agent] = r.script[agent][1:]
		return ok(canon.Object(canon.M("status", canon.Int(200))), ledger.Content{Name: "response", Type: "application/json", Bytes: []byte(next)})
	case "clock":
		return ok(canon.String(r.clock.UTC().Format(time.RFC3339Nano)))
	case "sleep":
		return ok(canon.Value{})
	case "sign":
		r.signed++
		k := r.keys[c.Data.Get("key").Str()]
		if k == nil {
			return effect.Outcome{}, fault.New(sign.ErrKey, "rig", "no such key")
		}
		sig, err := k.Sign(c.Contents[0].Bytes)
		if err != nil {
			return effect.Outcome{}, err
		}
		return ok(canon.Object(canon.M("signature", canon.String(hex.EncodeToString(sig)))))
	case "key":
		return ok(canon.Object(canon.M("key", canon.String(hex.EncodeToString(r.key(c.Name).Public().Raw())))))
	}
	r.called++
	f := r.tools[c.Name]
	if f == nil {
		return effect.Outcome{}, fault.New(effect.ErrUnknownCallable, "rig", "no tool %s", c.Name)
	}
	args, err := canon.Parse(c.Contents[0].Bytes)
	if err != nil {
		return effect.Outcome{}, err
	}
	return f(args, c)
}

// delegate runs the trajectory of a delegate in the same store.
func (r *rig) delegate(ctx context.Context, c *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	parent, _ := under.Place()
	s, err := drive.Open(ctx, r.config(), drive.Opening{Engine: trajectory.Engine, Mode: "run", Contents: c.Contents, Parent: &parent})
	if err != nil {
		return effect.Outcome{}, err
	}
	st, err := drive.Run(ctx, s, trajectory.NewMachine(), r.call)
	if err != nil {
		return effect.Outcome{}, err
	}
	at := s.At()
	if st.Done {
		world, _ := st.World.Hash()
		if err := s.Seal(ctx, "done", canon.Value{}, &world); err != nil {
			return effect.Outcome{}, err
		}
	} else if err := s.Close(ctx); err != nil {
		return effect.Outcome{}, err
	}
	o, err := ok(canon.Object(canon.M("state", canon.String("done")), canon.M("status", canon.String("done")), canon.M("answer", canon.String("child done")),
		canon.M("spent", r.value(`{"tokens":7,"tool_calls":1,"usd_millicents":0,"wall_clock_ms":0}`))))
	o.Refs = []effect.Place{{Name: "child", Ref: ledger.Ref{Run: s.Run(), N: at.Count - 1, ID: at.Last}}}
	return o, err
}

func (r *rig) config() drive.Config {
	return drive.Config{Store: r.store, Now: time.Now, Rand: rand.Reader, Signer: r.key("head"), Spool: r.t.TempDir(), Holder: "rig"}
}

// started is a trajectory that runs, or waits.
type started struct {
	*rig
	run ledger.RunID
	s   *drive.Session
	st  drive.State
	m   *trajectory.Machine
}

// start opens a trajectory and runs it until it is done or waits.
func (r *rig) start(c *trajectory.Charter) *started {
	r.t.Helper()
	content, err := c.Content()
	if err != nil {
		r.t.Fatal(err)
	}
	summary, err := c.Summary()
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := drive.Open(context.Background(), r.config(), drive.Opening{
		Engine: trajectory.Engine, Mode: "run", Title: c.Task, Data: summary, Contents: []ledger.Content{content},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	x := &started{rig: r, run: s.Run(), s: s}
	x.goOn()
	return x
}

// goOn folds the ledger and goes on from where it stands.
func (x *started) goOn() {
	x.t.Helper()
	x.m = trajectory.NewMachine()
	st, err := drive.Run(context.Background(), x.s, x.m, x.call)
	if err != nil {
		x.t.Fatal(err)
	}
	x.st = st
}

// seal ends the trajectory.
func (x *started) seal() {
	x.t.Helper()
	if !x.st.Done {
		x.t.Fatalf("it waits for %q", x.st.Waiting)
	}
	world, _ := x.st.World.Hash()
	if err := x.s.Seal(context.Background(), "done", canon.Value{}, &world); err != nil {
		x.t.Fatal(err)
	}
}

// entries returns the history of the run.
func (x *started) entries() []*ledger.Opened {
	x.t.Helper()
	var out []*ledger.Opened
	for o, err := range drive.Lineage(context.Background(), x.store, x.run) {
		if err != nil {
			x.t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// all returns the entries of a kind, and of a name unless that is empty.
func (x *started) all(kind ledger.Kind, name string) []*ledger.Opened {
	return slices.DeleteFunc(x.entries(), func(o *ledger.Opened) bool {
		return o.Kind != kind || name != "" && o.Body.Get("name").Str() != name
	})
}

// matter reads what the last pending approval must be answered about.
func (x *started) matter() govern.Matter {
	x.t.Helper()
	list := x.all(ledger.KindPendingApproval, "")
	if len(list) == 0 {
		x.t.Fatal("nothing waits for approval")
	}
	v := list[len(list)-1].Data().Get("matter")
	bound, err := canon.ParseDigest(v.Get("bound").Str())
	if err != nil {
		x.t.Fatal(err)
	}
	return govern.Matter{Ledger: v.Get("ledger").Str(), Subject: v.Get("subject").Str(), Bound: bound}
}

// act sends a signed act of an actor.
func (x *started) act(kind ledger.Kind, name, actor string, role govern.Role, verb govern.Verb, m govern.Matter) {
	x.t.Helper()
	a := govern.Act{Verb: verb, Actor: actor, Role: role, Matter: m, At: 1_700_000_000_000_000_000}
	if _, err := rand.Read(a.Nonce[:]); err != nil {
		x.t.Fatal(err)
	}
	env, err := a.Sign(x.key(actor))
	if err != nil {
		x.t.Fatal(err)
	}
	v, err := canon.Parse(env)
	if err != nil {
		x.t.Fatal(err)
	}
	x.receive(kind, name, actor, canon.Object(canon.M("act", v)))
}

func (x *started) receive(kind ledger.Kind, name, from string, data canon.Value) {
	x.t.Helper()
	if err := x.s.Receive(context.Background(), kind, name, from, data); err != nil {
		x.t.Fatal(err)
	}
	x.goOn()
}

func (x *started) approve(actor string, verb govern.Verb) {
	x.t.Helper()
	x.act(ledger.KindApproval, trajectory.EventApproval, actor, govern.Approver, verb, x.matter())
}

// verify checks the ledger with this engine's eyes.
func (x *started) verify(p trajectory.Pins) (*ledger.Verification, *trajectory.Audit) {
	x.t.Helper()
	ctx := context.Background()
	a := trajectory.NewAudit(p)
	v, err := ledger.Verify(ctx, ledger.Evidence{
		Run: x.run, Entries: x.store.Read(ctx, x.run, 0), Statements: x.store.Statements(ctx, x.run, ledger.HeadType),
		Attachment: drive.NewReader(x.store, x.run).Attachment(ctx), Check: a,
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return v, a
}

// sound fails the test unless the ledger verifies and everything in it follows
// again from its inputs, twice with the same bytes, without any call.
func (x *started) sound() {
	x.t.Helper()
	v, _ := x.verify(trajectory.Pins{})
	if f := v.First(); f != nil {
		x.t.Errorf("entry %d, %s: %s: %s", f.N, f.Where, f.Code, f.Msg)
	}
	before := [3]int{x.models, x.called, x.signed}
	var texts [2]string
	for i := range texts {
		r, err := drive.Replay(context.Background(), x.store, x.run, trajectory.NewMachine(), "verify")
		if err != nil {
			x.t.Fatal(err)
		}
		if r.Verdict != replay.Same && x.st.Done {
			x.t.Errorf("replay: %s %+v", r.Verdict, r.Divergences)
		}
		texts[i] = r.Value().String()
	}
	if texts[0] != texts[1] {
		x.t.Errorf("two replays differ:\n%s\n%s", texts[0], texts[1])
	}
	if after := [3]int{x.models, x.called, x.signed}; after != before {
		x.t.Errorf("replay called something: %v, then %v", before, after)
	}
}

// world returns what is stored in the world, as kind/id=value.
func (x *started) world() []string {
	var out []string
	for _, it := range x.st.World.Items() {
		out = append(out, fmt.Sprintf("%s/%s=%s", it.Kind, it.ID, it.Value))
	}
	return out
}
