package trajectories_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

// tauNow is when the airline's policy says that it is.
const tauNow = "2024-05-15T20:00:00Z"

// airline is what all conversations have in common.
type airline struct {
	registry *trajectory.Registry
	bundles  map[string]trajectory.Bundle // by file

	root, agent, desk, signer *sign.PrivateKey
}

func tauKey(t *testing.T, name string) *sign.PrivateKey {
	t.Helper()
	seed := canon.SHA256([]byte(name))
	k, err := sign.NewPrivateKey(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newAirline(t *testing.T) *airline {
	t.Helper()
	read := func(name string) canon.Value {
		b, err := os.ReadFile(filepath.Join("testdata", "airline", name))
		if err != nil {
			t.Fatal(err)
		}
		v, err := canon.Parse(bytes.TrimSpace(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	a := &airline{
		root: tauKey(t, "airline"), agent: tauKey(t, "agent"), desk: tauKey(t, "supervisor"), signer: tauKey(t, "runtime"),
		bundles: map[string]trajectory.Bundle{},
	}
	var err error
	if a.registry, err = trajectory.ParseRegistry(read("tools.json")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"policy.json", "no-changes-today.json"} {
		p, err := trajectory.ParsePolicy(read(name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a.bundles[name], err = trajectory.Seal(p, a.root); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// charterOf makes a charter under the airline's policy and those that come on
// top of it. An agent whose conversation the environment ended has as many
// steps as it took.
func (a *airline) charterOf(t *testing.T, r *tauRecording, more ...string) *trajectory.Charter {
	t.Helper()
	nonce := canon.SHA256([]byte(r.name))
	body := trajectory.WritBody{
		Issuer: "airline", IssuerKey: a.root.Public(), Subject: "agent", SubjectKey: a.agent.Public(), Tenant: "airline",
		Nonce: [16]byte(nonce[:16]), Scopes: []string{"*"},
		Budget:  trajectory.Budget{Tokens: 1_000_000, ToolCalls: 100, WallClockMS: 3_600_000, USDMillicents: 1_000_000},
		Ceiling: trajectory.Ceiling{Read: true, Write: true, External: true, Irreversible: true},
		Window:  trajectory.Window{NotBefore: 1_715_000_000, ExpiresAt: 1_716_000_000},
	}
	w, err := trajectory.IssueWrit(body, a.root)
	if err != nil {
		t.Fatal(err)
	}
	bundles := []trajectory.Bundle{a.bundles["policy.json"]}
	for _, name := range more {
		bundles = append(bundles, a.bundles[name])
	}
	policies, err := trajectory.NewPolicySet(bundles...)
	if err != nil {
		t.Fatal(err)
	}
	roster, err := govern.NewRoster(govern.Actor{ID: "supervisor", Key: a.desk.Public(), Roles: []govern.Role{govern.Approver}, Tenant: "airline"})
	if err != nil {
		t.Fatal(err)
	}
	return &trajectory.Charter{
		Task: r.users[0], Compiler: trajectory.CompilerVersion, Signer: a.signer.Public(), Roots: []sign.PublicKey{a.root.Public()},
		Writs: []*trajectory.Writ{&w}, Registry: a.registry, Policies: policies, Issuers: []sign.PublicKey{a.root.Public()}, Roster: roster,
		Channels: []trajectory.Channel{{Name: "supervisor", Quorums: []govern.Quorum{{Need: 1, Roles: []govern.Role{govern.Approver}}}}},
		MaxSteps: int64(len(r.turns)),
		Agents: []trajectory.Agent{{
			Name: "agent", Writ: w.ID, Prompt: r.prompt, Conversational: true,
			Model: canon.Object(canon.M("kind", canon.String("model"))),
		}},
	}
}

// tauRun is a conversation that is had again, from its recording.
type tauRun struct {
	t     *testing.T
	a     *airline
	r     *tauRecording
	store *memory.Store
	run   ledger.RunID
	world *ledger.World
	hash  canon.Digest // of the policies
	step  int64        // of the agent
	users int          // messages of the customer that are said
	asked int          // approvals that were given
}

// have runs the conversation to its end and seals it.
func (a *airline) have(t *testing.T, r *tauRecording, more ...string) *tauRun {
	t.Helper()
	ctx := context.Background()
	x := &tauRun{t: t, a: a, r: r, store: memory.New(nil), users: 1}
	c := a.charterOf(t, r, more...)
	content, err := c.Content()
	if err != nil {
		t.Fatal(err)
	}
	summary, err := c.Summary()
	if err != nil {
		t.Fatal(err)
	}
	x.hash = c.Policies.Hash()
	cfg := drive.Config{Store: x.store, Now: time.Now, Rand: rand.Reader, Signer: a.signer, Holder: "test"}
	s, err := drive.Open(ctx, cfg, drive.Opening{
		Engine: trajectory.Engine, Mode: "run", Title: r.name, Data: summary, Contents: []ledger.Content{content},
	})
	if err != nil {
		t.Fatal(err)
	}
	x.run = s.Run()
	for {
		st, err := drive.Run(ctx, s, trajectory.NewMachine(), x.call)
		if err != nil {
			t.Fatal(err)
		}
		if st.Done {
			world, ok := st.World.Hash()
			if !ok {
				t.Fatal("the world has absent values")
			}
			if err := s.Seal(ctx, "done", canon.Value{}, &world); err != nil {
				t.Fatal(err)
			}
			x.world = st.World
			return x
		}
		x.outside(ctx, s, st.Waiting)
	}
}

// outside gives the run what it waits for: the supervisor's yes, or what the
// customer says next.
func (x *tauRun) outside(ctx context.Context, s *drive.Session, waiting string) {
	x.t.Helper()
	kind, name, from := ledger.KindEvent, trajectory.EventMessage, "customer"
	data := canon.Object(canon.M("agent", canon.String("agent")))
	switch {
	case strings.HasPrefix(waiting, "approval of "):
		x.asked++
		kind, name, from = ledger.KindApproval, trajectory.EventApproval, "supervisor"
		data = canon.Object(canon.M("act", x.approval()))
	case waiting != "a message for agent" || x.users == len(x.r.users):
		x.t.Fatalf("the run waits for %q, which the recording does not hold", waiting)
	default:
		data = data.With("text", canon.String(x.r.users[x.users]))
		if x.users++; x.users == len(x.r.users) && x.r.ended {
			name = trajectory.EventFinish
		}
	}
	if err := s.Receive(ctx, kind, name, from, data); err != nil {
		x.t.Fatal(err)
	}
}

// approval is the supervisor's yes to the proposal that waits.
func (x *tauRun) approval() canon.Value {
	x.t.Helper()
	var matter canon.Value
	for o := range x.entries() {
		if o.Kind == ledger.KindPendingApproval {
			matter = o.Data().Get("matter")
		}
	}
	bound, err := canon.ParseDigest(matter.Get("bound").Str())
	if err != nil {
		x.t.Fatal(err)
	}
	act := govern.Act{
		Verb: govern.Approve, Actor: "supervisor", Role: govern.Approver, Reason: "as it was recorded", Nonce: [16]byte(bound[:16]),
		Matter: govern.Matter{Ledger: matter.Get("ledger").Str(), Subject: matter.Get("subject").Str(), Bound: bound},
	}
	b, err := act.Sign(x.a.desk)
	if err != nil {
		x.t.Fatal(err)
	}
	v, err := canon.Parse(b)
	if err != nil {
		x.t.Fatal(err)
	}
	return v
}

// call answers from the recording. A tool is called as it was, or not at all.
func (x *tauRun) call(_ context.Context, c *effect.Call, _ drive.Boundary) (effect.Outcome, error) {
	content := func(name string, b []byte) effect.Outcome {
		return effect.Outcome{Status: effect.OK, Contents: []ledger.Content{{Name: name, Type: "application/json", Bytes: b}}}
	}
	switch c.Kind {
	case "clock":
		return effect.Outcome{Status: effect.OK, Data: canon.String(tauNow)}, nil
	case "sign":
		sig, err := x.a.signer.Sign(c.Contents[0].Bytes)
		return effect.Outcome{Status: effect.OK, Data: canon.Object(canon.M("signature", canon.String(hex.EncodeToString(sig))))}, err
	case "model":
		x.step, _ = c.Data.Get("step").AsInt()
		turn := &x.r.turns[x.step]
		if err := told(c.Contents[0].Bytes, turn.said); err != nil {
			return effect.Outcome{}, err
		}
		return content("response", fmt.Appendf(nil, `{"choices":[{"message":%s}]}`, turn.message)), nil
	case "mcp":
		was := x.r.turns[x.step].call
		args, err := canon.Parse(c.Contents[0].Bytes)
		if err != nil || c.Name != was.tool || !args.Equal(was.args) {
			x.t.Errorf("%s: step %d calls %s %s; recorded is %s %s", x.r.name, x.step, c.Name, args, was.tool, was.args)
		}
		out := content("result", []byte(was.result))
		out.Data = canon.Object(canon.M("is_error", canon.Bool(was.failed())))
		return out, nil
	default:
		return effect.Outcome{}, fmt.Errorf("the recording holds no %s", c.Kind)
	}
}

// told checks that the model is told as many messages as it was.
func told(request []byte, want int) error {
	var r struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	if len(r.Messages) != want || len(r.Tools) != 14 {
		return fmt.Errorf("the model is told %d messages and %d tools; recorded are %d messages, and there are 14 tools", len(r.Messages), len(r.Tools), want)
	}
	return nil
}

// entries returns what the ledger of the run holds so far.
func (x *tauRun) entries() func(yield func(*ledger.Opened) bool) {
	return func(yield func(*ledger.Opened) bool) {
		for o, err := range drive.NewReader(x.store, x.run).All(context.Background()) {
			if err != nil {
				x.t.Fatal(err)
			}
			if !yield(o) {
				return
			}
		}
	}
}

// check proves the sealed run from its ledger alone: with every pin, and by
// giving it to a fresh machine.
func (x *tauRun) check() trajectory.Summary {
	x.t.Helper()
	ctx := context.Background()
	compiler, root := x.a.signer.Public(), x.a.root.Public()
	audit := trajectory.NewAudit(trajectory.Pins{Compiler: trajectory.CompilerVersion, Signer: &compiler, PolicySet: &x.hash, Root: &root})
	world, _ := x.world.Hash()
	v, err := ledger.Verify(ctx, ledger.Evidence{
		Run: x.run, Entries: x.store.Read(ctx, x.run, 0), Statements: x.store.Statements(ctx, x.run, ledger.HeadType),
		Attachment: drive.NewReader(x.store, x.run).Attachment(ctx), World: &world, Check: audit,
	})
	if err != nil {
		x.t.Fatal(err)
	}
	if f := v.First(); f != nil {
		x.t.Fatalf("entry %d, %s: %s: %s (expected %s, found %s)", f.N, f.Where, f.Code, f.Msg, f.Expected, f.Found)
	}
	if !v.Sealed || v.Withheld > 0 {
		x.t.Errorf("sealed is %t, and %d contents are withheld", v.Sealed, v.Withheld)
	}
	report, err := drive.Replay(ctx, x.store, x.run, trajectory.NewMachine(), "verify")
	if err != nil || report.Verdict != replay.Same {
		x.t.Fatalf("Replay = %+v, %v; want same", report, err)
	}
	return audit.Summary()
}
