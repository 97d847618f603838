package trajectory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// chat is a machine with one conversational agent, "clerk", without tools.
type chat struct {
	t testing.TB
	m *trajectory.Machine
}

func clerk(t testing.TB, steps int64) trajectory.Charter {
	t.Helper()
	w := issue(t, rootBody(t), signer(t, "A"))
	registry, err := trajectory.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	return trajectory.Charter{
		Task: "hello", Compiler: trajectory.CompilerVersion, Signer: signer(t, "A").Public(), Roots: []sign.PublicKey{signer(t, "A").Public()},
		Writs: []*trajectory.Writ{w}, Registry: registry, MaxSteps: steps,
		Agents: []trajectory.Agent{{Name: "clerk", Writ: w.ID, Model: canon.Object(canon.M("kind", canon.String("model"))), Conversational: true}},
	}
}

func newChat(t testing.TB, steps int64) *chat {
	t.Helper()
	c := clerk(t, steps)
	return openChat(t, &c)
}

func openChat(t testing.TB, c *trajectory.Charter) *chat {
	t.Helper()
	content, err := c.Content()
	if err != nil {
		t.Fatal(err)
	}
	x := &chat{t: t, m: trajectory.NewMachine()}
	x.apply(effect.Input{Kind: ledger.KindOpen, Contents: []ledger.Content{content}})
	return x
}

// apply returns the decisions as "kind name code-or-status answer".
func (x *chat) apply(in effect.Input) string {
	x.t.Helper()
	ds, err := x.m.Apply(in)
	if err != nil {
		x.t.Fatal(err)
	}
	var out []string
	for _, d := range ds {
		data := d.Body.Get("data")
		out = append(out, strings.Join(strings.Fields(fmt.Sprint(
			d.Kind, " ", d.Body.Get("name").Str(), " ", data.Get("code").Str(), data.Get("status").Str(), " ", data.Get("answer").Str(),
		)), " "))
	}
	return strings.Join(out, "; ")
}

// answers lets the model answer, and returns the decisions.
func (x *chat) answers(text string) string {
	x.t.Helper()
	calls := x.m.Next().Calls
	if len(calls) != 1 || calls[0].Name != "propose" {
		x.t.Fatalf("Next = %v, want the model to be asked", calls)
	}
	return x.apply(effect.Input{Kind: ledger.KindOutcome, Call: &calls[0], Outcome: answered(text)})
}

// answered is what a model's server gives back.
func answered(text string) *effect.Outcome {
	b, err := canon.Encode(canon.Object(canon.M("choices", canon.Array(canon.Object(canon.M("message", canon.Object(
		canon.M("role", canon.String("assistant")), canon.M("content", canon.String(text)),
	)))))), canon.Foreign)
	if err != nil {
		panic(err)
	}
	return &effect.Outcome{Status: effect.OK, Contents: []ledger.Content{{Name: "response", Bytes: b}}}
}

func (x *chat) event(name string, data ...canon.Member) string {
	x.t.Helper()
	return x.apply(effect.Input{Kind: ledger.KindEvent, Name: name, From: "customer", Data: canon.Object(data...)})
}

func (x *chat) says(text string) string {
	x.t.Helper()
	return x.event(trajectory.EventMessage, canon.M("agent", canon.String("clerk")), canon.M("text", canon.String(text)))
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestConversationGoesOnUntilItIsFinished(t *testing.T) {
	t.Parallel()
	x := newChat(t, 10)
	expect(t, "the first answer", x.answers("good day"), "decision answer good day")
	expect(t, "then it waits", x.m.Next().Wait, "a message for clerk")
	expect(t, "a message", x.says("and now?"), "")

	request := string(x.m.Next().Calls[0].Contents[0].Bytes)
	for _, said := range []string{`{"content":"hello","role":"user"}`, `{"content":"good day","role":"assistant"}`, `{"content":"and now?","role":"user"}`} {
		at := strings.Index(request, said)
		if at < 0 {
			t.Fatalf("the model is not told %s, or not in that order: %s", said, request)
		}
		request = request[at:]
	}
	expect(t, "a message while the model is asked", x.says("hurry"), "decision approval_refused "+trajectory.ErrMessage.Error())
	expect(t, "the second answer", x.answers("farewell"), "decision answer farewell")
	expect(t, "the end", x.event(trajectory.EventFinish, canon.M("agent", canon.String("clerk"))), "result clerk done farewell")
	if !x.m.Next().Done {
		t.Error("the conversation is over and the machine is not done")
	}
	expect(t, "a message after the end", x.says("still there?"), "decision approval_refused "+trajectory.ErrMessage.Error())
}

func TestMessageBeyondTheLastStepFinishes(t *testing.T) {
	t.Parallel()
	x := newChat(t, 1)
	x.answers("good day")
	expect(t, "a message", x.says("and now?"), "result clerk max_steps not done after 1 steps")
}

func TestMessageWithoutTextOrAgentIsRefused(t *testing.T) {
	t.Parallel()
	x := newChat(t, 10)
	x.answers("good day")
	for _, data := range [][]canon.Member{
		{canon.M("agent", canon.String("clerk"))},
		{canon.M("agent", canon.String("clerk")), canon.M("text", canon.Int(7))},
		{canon.M("agent", canon.String("clerk")), canon.M("text", canon.String(""))},
		{canon.M("agent", canon.String("clerk")), canon.M("text", canon.String(strings.Repeat("x", 10_001)))},
		{canon.M("agent", canon.String("somebody")), canon.M("text", canon.String("hello"))},
	} {
		expect(t, "a message that fits nobody", x.event(trajectory.EventMessage, data...), "decision approval_refused "+trajectory.ErrMessage.Error())
	}
	expect(t, "it still waits", x.m.Next().Wait, "a message for clerk")
}

func TestConversationNeedsAModel(t *testing.T) {
	t.Parallel()
	c := clerk(t, 10)
	v, err := c.Value()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := trajectory.ParseCharter(v); err != nil || !back.Agents[0].Conversational {
		t.Errorf("ParseCharter = %v; the agent is no longer conversational", err)
	}
	c.Agents[0].Model = canon.Value{}
	if err := c.Check(); fault.CodeOf(err) != fault.Code(trajectory.ErrCharter) {
		t.Errorf("Check = %v, want %s", err, trajectory.ErrCharter)
	}
}

func TestLongAnswerFitsItsEntry(t *testing.T) {
	t.Parallel()
	for _, conversational := range []bool{false, true} {
		c := clerk(t, 10)
		c.Agents[0].Conversational = conversational
		x := openChat(t, &c)
		call := x.m.Next().Calls[0]
		ds, err := x.m.Apply(effect.Input{Kind: ledger.KindOutcome, Call: &call, Outcome: answered(strings.Repeat("\x01", 100_000))})
		if err != nil || len(ds) != 1 {
			t.Fatalf("Apply = %v, %v, want one decision", ds, err)
		}
		if b, err := canon.Encode(ds[0].Body, canon.Native); err != nil || len(b) > ledger.MaxBody {
			t.Errorf("the body of the answer has %d bytes, %v; an entry takes %d", len(b), err, ledger.MaxBody)
		}
	}
}
