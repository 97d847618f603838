package capture

import (
	"bytes"
	"net/http"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
)

// The kinds of calls that the proxies make.
const (
	KindModel = match.KindModel // a request to a language model
	KindMCP   = match.KindMCP   // a message of the Model Context Protocol
	KindHTTP  = "http"          // any other request
)

// route is what a request is taken for.
type route struct {
	kind  string
	name  string
	class effect.Class
	rpc   *rpc // of an MCP message

	upgrade string // the protocol that was asked for instead of HTTP
}

// IsModel reports whether a request of that method and path asks a model.
func IsModel(method, path string) bool {
	_, ok := protocol.Find(method, path)
	return ok
}

func routeOf(r *http.Request, body []byte) route {
	method, path := r.Method, r.URL.Path
	to := route{kind: KindHTTP, name: method + " " + path, class: effect.External}
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions {
		to.class = effect.Read
	}
	asks, isModel := protocol.Find(method, path)
	switch {
	case isModel:
		to.kind = KindModel
		if !asks.Changes {
			to.class = effect.Read
		}
	case method == http.MethodPost && bytes.Contains(body, []byte(`"jsonrpc"`)):
		if m, ok := parseRPC(body); ok {
			to.kind, to.name, to.class, to.rpc = KindMCP, m.title(), m.class(), m
		}
	case r.Header.Get("Mcp-Session-Id") != "" || r.Header.Get("Mcp-Protocol-Version") != "":
		to.kind, to.class = KindMCP, effect.Read
	}
	return to
}

// rpc is what an MCP message says of itself.
type rpc struct {
	method string
	tool   string      // of tools/call
	id     canon.Value // absent in a notification
	batch  int         // messages in a batch; 0 if it is none
	calls  int         // of them tools/call
	wants  string      // the questions of a batch
	gives  string      // the answers of a batch
}

// parseRPC reads a JSON-RPC message or batch. What is none is not MCP.
func parseRPC(b []byte) (*rpc, bool) {
	v, err := canon.Parse(b)
	if err != nil {
		return nil, false
	}
	if v.Kind() == canon.KindArray && v.Len() > 0 {
		m := &rpc{batch: v.Len(), method: "batch"}
		var wants, gives []string
		for _, e := range v.Elems() {
			one, ok := messageOf(e)
			if !ok {
				return nil, false
			}
			m.calls += one.calls
			if id := one.asks(); id != "" {
				wants = append(wants, id)
			}
			if id := one.answers(); id != "" {
				gives = append(gives, id)
			}
		}
		m.wants, m.gives = batchKey(wants), batchKey(gives)
		return m, true
	}
	return messageOf(v)
}

func messageOf(v canon.Value) (*rpc, bool) {
	if v.Get("jsonrpc").Str() != "2.0" {
		return nil, false
	}
	m := &rpc{method: v.Get("method").Str(), id: v.Get("id")}
	if m.method == methodToolsCall {
		m.tool, m.calls = v.Get("params").Get("name").Str(), 1
	}
	return m, m.method != "" || !m.id.IsZero()
}

const methodToolsCall = "tools/call"

func (m *rpc) title() string {
	switch {
	case m.method == "":
		return "answer"
	case m.tool != "":
		return m.method + " " + m.tool
	default:
		return m.method
	}
}

// class returns external for everything that calls a tool, whatever the
// server says of the tool.
func (m *rpc) class() effect.Class {
	if m.calls > 0 {
		return effect.External
	}
	return effect.Read
}
