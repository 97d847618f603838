package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Names of the events of an imported run.
const (
	EventMessage = "import.message" // something that was said and is no answer of a model or tool
	EventFile    = "import.file"    // the file itself, secrets taken out
)

// FileName is the name of the content of [EventFile].
const FileName = "file"

// Kinds of the calls that recordings of messages have beside those of
// [capture].
const (
	kindTool  = "tool"
	kindAgent = "agent"
	kindSpan  = "span"
)

// turn is one step of a recording that holds messages instead of exchanges
// over HTTP.
type turn struct {
	kind  string // of the call; empty: an event
	name  string
	class effect.Class
	ask   []byte // nil: the file has none
	reply []byte // nil: the file has none
	at    string // when, in the file's own words
	took  string
	why   []Reason // beside what ask and reply show

	// What the file says of a model's answer beside its bytes.
	model string
	usage *budget.Usage
	tools []string
	more  [][]byte // parts of the reply behind the first, see [talk.extend]

	under []turn // steps that belong to this one
}

// reasons returns why t is evidence only. It always is: messages are not the
// bytes that carried them.
func (t *turn) reasons() []Reason {
	out := append([]Reason{MessagesOnly}, t.why...)
	if t.ask == nil {
		out = append(out, RequestAbsent)
	}
	if t.reply == nil {
		out = append(out, ResponseAbsent)
	}
	return out
}

// talk puts the turns of a file together.
type talk struct {
	turns []turn
	tools map[string]int // by the id of the call: its turn, until it is answered
	left  int            // how many more turns the limit leaves
	err   error
}

func newTalk(o *Options) *talk { return &talk{tools: map[string]int{}, left: o.MaxExchanges} }

// add appends a turn and returns its place.
func (k *talk) add(t turn) int {
	if k.left--; k.left < 0 {
		k.err = fault.New(ErrTooLarge, "importer.talk", "more steps than the limit of exchanges")
		return 0
	}
	k.turns = append(k.turns, t)
	return len(k.turns) - 1
}

// say adds something that is no answer.
func (k *talk) say(name, at string, what []byte) {
	k.add(turn{name: name, at: at, reply: what})
}

// answer adds an answer of a model whose request the file does not have.
func (k *talk) answer(name, at string, reply []byte) *turn {
	i := k.add(turn{kind: capture.KindModel, name: name, class: effect.Read, at: at, reply: reply})
	if k.err != nil {
		return &turn{}
	}
	return &k.turns[i]
}

// extend adds another part to the answer at that turn: its reply will be an
// array of the parts, each as it stands in the file.
func (k *talk) extend(turn int, part []byte) {
	if k.err == nil {
		k.turns[turn].more = append(k.turns[turn].more, part)
	}
}

// tool adds the use of a tool, whose result comes later under the same id.
func (k *talk) tool(id, name, at string, ask []byte) {
	i := k.add(turn{kind: kindTool, name: name, class: effect.External, at: at, ask: ask})
	if id != "" && k.err == nil {
		k.tools[id] = i
	}
}

// result answers the use of a tool. Without one it is something said.
func (k *talk) result(id, at string, reply []byte) {
	i, ok := k.tools[id]
	if !ok {
		k.say("tool", at, reply)
		return
	}
	delete(k.tools, id)
	if reply == nil {
		reply = []byte{}
	}
	k.turns[i].reply = reply
}

func (k *talk) tape(format string) (tape, error) {
	for i := range k.turns {
		if t := &k.turns[i]; t.more != nil {
			parts := bytes.Join(append([][]byte{t.reply}, t.more...), []byte(","))
			t.reply, t.more = slices.Concat([]byte("["), parts, []byte("]")), nil
		}
	}
	return tape{format: format, turns: k.turns}, k.err
}

// count adds what t and the steps under it come to.
func (t *turn) count(calls, events *int, evidence map[string]int) {
	if t.kind == "" {
		*events++
		return
	}
	*calls++
	for _, w := range t.reasons() {
		evidence[string(w)]++
	}
	for i := range t.under {
		t.under[i].count(calls, events, evidence)
	}
}

// teller records turns in a session.
type teller struct {
	s   *drive.Session
	red *redact.Redactor
}

// file records the file itself: what the readers pass over stays provable.
func (w *teller) file(ctx context.Context, b []byte) error {
	stored, names := w.red.Bytes(b)
	data := canon.Object(canon.M("redacted", list(names)))
	_, err := w.s.Note(ctx, -1, EventFile, data, ledger.Content{Name: FileName, Type: mediaType(b), Bytes: stored})
	return err
}

func (w *teller) turn(ctx context.Context, under drive.Boundary, exchange int64, t *turn) error {
	if t.kind == "" {
		stored, names := w.red.Bytes(t.reply)
		data := canon.Object(canon.M("about", w.text(t.name)))
		if t.at != "" {
			data = data.With("at", w.text(t.at))
		}
		if len(names) > 0 {
			data = data.With("redacted", list(names))
		}
		_, err := w.s.Note(ctx, exchange, EventMessage, data, ledger.Content{Name: "message", Type: mediaType(t.reply), Bytes: stored})
		return err
	}
	c := effect.Call{Kind: t.kind, Name: text(w.red.Text(t.name)), Class: t.class, Data: canon.Object()}
	if len(t.ask) > 0 {
		stored, _ := w.red.Bytes(t.ask)
		c.Contents = []ledger.Content{{Name: capture.RequestName, Type: mediaType(t.ask), Bytes: stored}}
	}
	x, err := under.Begin(ctx, c)
	if err != nil {
		return err
	}
	for i := range t.under {
		if err := w.turn(ctx, x.Under(), x.N(), &t.under[i]); err != nil {
			return err
		}
	}
	why := t.reasons()
	o := effect.Outcome{Status: effect.Error, Code: ErrEvidenceOnly, Data: canon.Object(
		canon.M("import", w.about(t, why)),
		canon.M("message", canon.String("the imported file does not hold the bytes as they were sent: "+joined(why))),
	)}
	if len(t.reply) > 0 {
		var stored []byte
		stored, o.Redacted = w.red.Bytes(t.reply)
		o.Contents = []ledger.Content{{Name: capture.ResponseName, Type: mediaType(t.reply), Bytes: stored}}
	}
	return x.End(ctx, o)
}

// maxTools bounds how many names of tools an outcome repeats.
const maxTools = 64

// about returns what the outcome says of the import.
func (w *teller) about(t *turn, why []Reason) canon.Value {
	v := canon.Object(canon.M("evidence", list(why)))
	for _, m := range []struct{ name, text string }{{"at", t.at}, {"took", t.took}, {"model", t.model}} {
		if m.text != "" {
			v = v.With(m.name, w.text(m.text))
		}
	}
	if t.usage != nil {
		v = v.With("usage", insight.UsageValue(t.usage))
	}
	if len(t.tools) > 0 {
		names := make([]canon.Value, 0, maxTools)
		for _, n := range t.tools[:min(len(t.tools), maxTools)] {
			names = append(names, w.text(n))
		}
		v = v.With("tools", canon.Array(names...))
	}
	return v
}

// text makes words of a file fit for a body. It cuts last: half a secret would
// not be found.
func (w *teller) text(s string) canon.Value { return canon.String(text(w.red.Text(s))) }

// mediaType says what b is as far as its form shows.
func mediaType(b []byte) string {
	switch {
	case isEventStream(b):
		return "text/event-stream"
	case len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b):
		return "application/json"
	case len(b) > 0 && b[0] == '{' && bytes.IndexByte(b, '\n') > 0 && json.Valid(b[:bytes.IndexByte(b, '\n')]):
		return "application/x-ndjson"
	case isText(b):
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}

// usageOf returns token counts where the file has any. Input and output are
// as services count them: with what was read from a cache, and with what was
// thought.
func usageOf(input, output, cacheRead, cacheWrite, reasoning int64) *budget.Usage {
	if input <= 0 && output <= 0 {
		return nil
	}
	u := budget.Usage{Input: input - cacheRead, Output: output - reasoning, CacheRead: cacheRead, CacheWrite: cacheWrite, Reasoning: reasoning}
	if u.Input < 0 || u.Output < 0 || cacheRead < 0 || cacheWrite < 0 || reasoning < 0 {
		return nil
	}
	return &u
}
