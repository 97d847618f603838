package protocol

import (
	"net/http"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Request is what a request to a model says.
type Request struct {
	Protocol string // in which it asks; empty: none that is known
	Model    string
	Stream   bool
	Messages []Message
	Offered  []string // names of the tools that the model may ask for
}

// Message is one message of a request.
type Message struct {
	Role    string // in the provider's word
	Text    string
	Calls   []ToolCall   // that the model asked for earlier
	Results []ToolResult // what came of them
}

// ToolResult is what came of a tool call.
type ToolResult struct {
	ID     string // of the call; some protocols have none
	Name   string // of the tool, where the protocol says it or the call is there
	Text   string
	Failed bool
}

// ReadRequest reads a request to a model by its path and query. One that is
// not recognised says nothing.
func ReadRequest(target string, body []byte) Request {
	path, query, _ := strings.Cut(target, "?")
	route, _ := Find(http.MethodPost, path)
	v, err := canon.Parse(body)
	if err != nil || v.Kind() != canon.KindObject {
		return Request{Protocol: route.Protocol, Model: modelIn(target)}
	}
	name := route.Protocol
	if name == Cohere && v.Has("messages") && strings.HasSuffix(path, "/v1/chat") {
		name = OpenAI // some servers have it there
	}
	return ask(name, target, query, v)
}

// ReadSocket reads a message of a client over a WebSocket to a model.
func ReadSocket(target string, message []byte) Request {
	v, err := canon.Parse(message)
	if err != nil || v.Kind() != canon.KindObject {
		return Request{}
	}
	switch {
	case v.Get("type").Str() == "response.create", strings.HasPrefix(v.Get("type").Str(), "session."):
		return ask(Responses, target, "", v)
	case v.Has("setup"):
		return ask(Gemini, target, "", v)
	default:
		return Request{}
	}
}

func ask(name, target, query string, v canon.Value) Request {
	q := Request{Protocol: name, Model: v.Get("model").Str()}
	for _, at := range []string{"response", "session"} {
		if q.Model == "" {
			q.Model = v.Get(at).Get("model").Str()
		}
	}
	if m := modelIn(target); m != "" {
		q.Model = m
	}
	q.Stream, _ = v.Get("stream").AsBool()
	path, _, _ := strings.Cut(target, "?")
	if strings.Contains(path, ":stream") || strings.HasSuffix(path, "-stream") || strings.Contains(query, "alt=sse") {
		q.Stream = true
	}
	for i := range protocols {
		if protocols[i].name == name {
			protocols[i].ask(&q, v)
		}
	}
	q.nameResults()
	return q
}

// nameResults gives results the names of their calls.
func (q *Request) nameResults() {
	names := map[string]string{}
	for i := range q.Messages {
		m := &q.Messages[i]
		for _, c := range m.Calls {
			if c.ID != "" {
				names[c.ID] = c.Name
			}
		}
		for j := range m.Results {
			if r := &m.Results[j]; r.Name == "" {
				r.Name = names[r.ID]
			}
		}
	}
}

func (q *Request) add(m Message) { q.Messages = append(q.Messages, m) }

func (q *Request) offer(name string) {
	if name != "" {
		q.Offered = append(q.Offered, name)
	}
}

// inputs takes an input that is a text or a list of texts.
func (q *Request) inputs(v canon.Value) {
	if s, ok := v.AsString(); ok {
		q.add(Message{Role: "user", Text: s})
	}
	for _, e := range v.Elems() {
		if s, ok := e.AsString(); ok {
			q.add(Message{Role: "user", Text: s})
		}
	}
}

// textOf returns the text of a content: a text, or parts of which some are
// texts.
func textOf(content canon.Value) string {
	if s, ok := content.AsString(); ok {
		return s
	}
	var out strings.Builder
	for _, p := range content.Elems() {
		out.WriteString(p.Str())
		out.WriteString(p.Get("text").Str())
	}
	return out.String()
}
