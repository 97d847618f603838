package protocol

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Answer is what an answer of a model says of itself.
type Answer struct {
	Protocol string // in which it speaks; empty: none that is known
	Model    string
	// Usage is absent if the answer does not say it.
	Usage *budget.Usage
	// Unpriced says why the listed prices do not hold for this answer, such as
	// a service tier; empty: they do.
	Unpriced string
	// Stated is the cost that the answer itself states, in dollars.
	Stated *budget.Pico
	// Calls are the tools that the answer asks for, in order.
	Calls []ToolCall
	// Text is what the answer says, put together from its parts.
	Text string
	// Stop is why the model ended, in the provider's words.
	Stop string
	// Error is what went wrong, in one word of the provider, such as
	// overloaded_error: an answer may begin well and say later that it failed.
	Error string
}

// ToolCall is a tool that a model asks for.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // as the model wrote them, most often JSON
}

// Tools returns the names of the tools that the answer asks for.
func (a *Answer) Tools() []string {
	var out []string
	for i := range a.Calls {
		out = append(out, a.Calls[i].Name)
	}
	return out
}

// Origin is what is known of an answer beside its bytes. All of it may be
// empty.
type Origin struct {
	URL    string                   // path and query of the request
	Type   string                   // media type of the answer
	Header func(name string) string // of the answer, by lower-case name
}

// Read reads the answer of a model. What it does not recognise it leaves out.
func Read(o Origin, body []byte) Answer {
	r := Reader{}
	switch {
	case isEventStream(o.Type, body):
		for e := range EventStream(body) {
			r.event(&e)
		}
	case isEvents(o.Type, body):
		for data := range Events(body) {
			r.Message(data)
		}
	default:
		if v, err := canon.Parse(body); err == nil {
			r.messages(v)
			break
		}
		for line := range bytes.Lines(body) { // lines of JSON, which a stream or a batch is
			r.Message(line)
		}
	}
	if o.Header != nil {
		r.headers(o.Header)
	}
	a := r.Answer()
	if a.Model == "" && a.Protocol != "" {
		a.Model = modelIn(o.URL)
	}
	return a
}

// Tells reports whether Read puts something together that the bytes do not
// show by themselves: the media type is that of a stream.
func Tells(contentType string) bool {
	return isType(contentType, EventStreamType) || isType(contentType, "text/event-stream") || isType(contentType, "application/x-ndjson")
}

func isType(contentType, want string) bool {
	typ, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(typ), want)
}

// isEvents reports whether a body is a stream of server-sent events. Where the
// media type is not known, as in recordings without headers, it looks.
func isEvents(contentType string, body []byte) bool {
	if isType(contentType, "text/event-stream") {
		return true
	}
	if contentType != "" && !isType(contentType, "application/octet-stream") {
		return false
	}
	return bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")) || bytes.HasPrefix(body, []byte(":"))
}

// isEventStream does the same for binary streams.
func isEventStream(contentType string, body []byte) bool {
	if isType(contentType, EventStreamType) {
		return true
	}
	if contentType != "" && !isType(contentType, "application/octet-stream") {
		return false
	}
	_, n, err := NextEvent(body)
	return err == nil && n > 0
}

// Reader collects what one answer says, message by message: the events of a
// stream or the messages of a socket. The zero value is ready.
type Reader struct {
	answer Answer
	text   strings.Builder
	usage  usage          // of the answer that is coming
	before []budget.Usage // of those that are complete, of which a socket has many
	bad    bool           // counts contradict themselves
	open   map[string]int // calls whose arguments are still coming, by the provider's key
	args   [][]byte       // of the calls, put together
}

// usage is as providers nest it; it is taken apart when the answer is
// complete, because Anthropic sends the input with the first message and the
// output with the last.
type usage struct {
	seen                                       bool
	inclusive                                  bool // input holds the cached tokens
	thinking                                   bool // output holds the reasoning
	input, output, read, write, reasoning, hot int64
}

// Answer returns what was read so far.
func (r *Reader) Answer() Answer {
	r.finish()
	a := r.answer
	a.Text = r.text.String()
	for i := range a.Calls {
		a.Calls[i].Arguments = string(r.args[i])
	}
	if len(r.before) == 0 || r.bad {
		return a
	}
	sum := r.before[0]
	for _, u := range r.before[1:] {
		var err error
		if sum, err = sum.Add(u); err != nil {
			return a
		}
	}
	a.Usage = &sum
	return a
}

// finish takes the usage of an answer that is complete.
func (r *Reader) finish() {
	u := r.usage
	r.usage = usage{}
	if !u.seen {
		return
	}
	out := budget.Usage{Input: u.input, Output: u.output, CacheRead: u.read, CacheWrite: u.write, Reasoning: u.reasoning}
	if u.inclusive {
		out.Input -= u.read + u.write
	}
	if u.thinking {
		out.Output -= u.reasoning
	}
	if out.Input < 0 || out.Output < 0 {
		r.bad = true
		return
	}
	r.before = append(r.before, out)
	if u.hot > 0 {
		r.answer.Unpriced = "tokens were cached for longer than the listed price covers"
	}
}

// Message takes one JSON message in any of the known forms; anything else is
// passed over.
func (r *Reader) Message(b []byte) {
	if v, err := canon.Parse(b); err == nil {
		r.messages(v)
	}
}

func (r *Reader) messages(v canon.Value) {
	if v.Kind() == canon.KindArray { // Gemini streams a JSON array where it is not asked for events
		for _, e := range v.Elems() {
			r.message(e)
		}
		return
	}
	r.message(v)
}

// message takes one message in the protocol that it is in.
func (r *Reader) message(v canon.Value) {
	if v.Kind() != canon.KindObject {
		return
	}
	if one, ok := batched(v); ok {
		r.message(one)
		r.finish()
		r.answer.Unpriced = "answers of a batch have prices of their own"
		return
	}
	r.failed(v)
	for i := range protocols {
		if p := &protocols[i]; p.speaks(v) {
			r.answer.Protocol = p.name
			r.model(v)
			r.tier(v)
			p.answer(r, v)
			return
		}
	}
}

// failed takes an error that a message states.
func (r *Reader) failed(v canon.Value) {
	for _, e := range []canon.Value{v.Get("error"), v.Get("response").Get("error")} {
		code, _ := e.Get("code").Token()
		switch {
		case e.Kind() == canon.KindObject:
			r.answer.Error = cmp.Or(e.Get("type").Str(), e.Get("status").Str(), e.Get("code").Str(), code, "error")
		case e.Str() != "":
			r.answer.Error = "error" // what follows is a sentence
		}
	}
}

// batched returns the answer in a line of the results of a batch.
func batched(v canon.Value) (canon.Value, bool) {
	if !v.Has("custom_id") {
		return v, false
	}
	if m := v.Get("result").Get("message"); !m.IsZero() { // Anthropic
		return m, true
	}
	b := v.Get("response").Get("body") // OpenAI
	return b, b.Kind() == canon.KindObject
}

func (r *Reader) model(v canon.Value) {
	for _, at := range []canon.Value{v, v.Get("response"), v.Get("message"), v.Get("session")} {
		for _, name := range []string{"model", "modelVersion"} {
			if m := at.Get(name).Str(); m != "" {
				r.answer.Model = m
			}
		}
	}
}

func (r *Reader) tier(v canon.Value) {
	for _, at := range []canon.Value{v, v.Get("response"), v.Get("message").Get("usage"), v.Get("usage")} {
		switch t := at.Get("service_tier").Str(); t {
		case "", "auto", "default", "standard", "on_demand":
		default:
			r.answer.Unpriced = "service tier " + t
		}
	}
}

// call takes a tool call. Those of one key are parts of one call; an empty key
// stands for a whole one.
func (r *Reader) call(key, id, name, arguments string) {
	i, ok := r.open[key]
	if key == "" || !ok {
		if name == "" {
			return
		}
		i = len(r.answer.Calls)
		r.answer.Calls = append(r.answer.Calls, ToolCall{ID: id, Name: name})
		r.args = append(r.args, nil)
		if key != "" {
			if r.open == nil {
				r.open = map[string]int{}
			}
			r.open[key] = i
		}
	}
	r.args[i] = append(r.args[i], arguments...)
}

// close ends the calls whose arguments were coming: the next answer of a
// socket uses the keys again.
func (r *Reader) close() { clear(r.open) }

func (r *Reader) stop(reason string) {
	if reason != "" {
		r.answer.Stop = reason
	}
}

// state takes a cost in dollars that the answer states.
func (r *Reader) state(v canon.Value) {
	token, ok := v.Token()
	if !ok {
		return
	}
	dollars, ok := new(big.Rat).SetString(token)
	if !ok || dollars.Sign() < 0 {
		return
	}
	if cost, err := budget.ParsePico(strings.TrimRight(strings.TrimRight(dollars.FloatString(decimals), "0"), ".")); err == nil {
		r.answer.Stated = &cost
	}
}

// decimals is how many a cost is kept to.
const decimals = 12

// asText returns a value as the model wrote it: text as it is, the rest as
// JSON.
func asText(v canon.Value) string {
	if s, ok := v.AsString(); ok {
		return s
	}
	if v.IsZero() || v.IsNull() {
		return ""
	}
	return v.String()
}

// count returns the number behind names, or 0.
func count(v canon.Value, names ...string) int64 {
	n, _ := number(v, names...)
	return n
}

// number returns the whole number behind names. Some providers write 5.0.
func number(v canon.Value, names ...string) (int64, bool) {
	for _, n := range names {
		v = v.Get(n)
	}
	if n, ok := v.AsInt(); ok {
		return n, true
	}
	token, ok := v.Token()
	if !ok {
		return 0, false
	}
	whole, ok := strings.CutSuffix(token, ".0")
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, ok && err == nil
}
