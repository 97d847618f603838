package importer

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/effect"
)

// Messages of the Model Context Protocol: one, several one after another, or
// a transcript in sections (-- client --, -- server --) as the tests of its Go
// library have it. A request and the response with its id are one call. What a
// transcript lays out for people is not how it was sent, so it is evidence.

// said is one message with the side that it came from; side is empty where
// the file does not say it.
type said struct {
	side string
	raw  jsontext.Value
	m    object
}

func isMCP(s *source) bool {
	if s.list == nil {
		return bytes.Contains(s.b, []byte("\n-- client --\n")) && bytes.Contains(s.b, []byte("\n-- server --\n")) &&
			bytes.Contains(s.b, []byte(`"jsonrpc"`))
	}
	if len(s.list) == 0 {
		return false
	}
	m := s.first
	if m.str("jsonrpc") == "2.0" {
		return true
	}
	return len(s.list) == 1 && s.lines && (isMCPMethod(m.str("method")) || isMCPResult(m) || isRPCError(m))
}

func isMCPMethod(m string) bool {
	group, _, ok := strings.Cut(m, "/")
	switch group {
	case "notifications", "tools", "prompts", "resources", "sampling", "elicitation", "completion", "logging", "roots", "server", "tasks", "subscriptions":
		return ok
	}
	return m == "initialize" || m == "ping"
}

// isMCPResult reports whether m is a result without the message around it.
func isMCPResult(m object) bool {
	return m.has("resultType") || m.has("contents") || m.has("content", "isError") || m.has("protocolVersion", "serverInfo")
}

// isRPCError reports whether m is the error of a response.
func isRPCError(m object) bool {
	_, ok := m.num("code")
	return ok && m.str("message") != ""
}

func readMCP(s *source, o *Options) (tape, error) {
	if s.list == nil {
		all, err := transcript(s.b, o)
		if err != nil {
			return tape{}, err
		}
		t, err := talkMCP(all, "mcp/transcript", o)
		if err != nil {
			return t, err
		}
		raw := make([]jsontext.Value, len(all))
		for i := range all {
			raw[i] = all[i].raw
		}
		return t, t.label(raw)
	}
	all := make([]said, len(s.list))
	for i, v := range s.list {
		all[i] = said{raw: v, m: members(v)}
	}
	return talkMCP(all, "mcp/messages", o)
}

// transcript reads the messages of the sections client and server, each
// request followed by what answers it.
func transcript(b []byte, o *Options) ([]said, error) {
	var all []said
	section := ""
	for len(b) > 0 {
		end := len(b)
		next := ""
		for at := 0; at < len(b); {
			line, _, _ := bytes.Cut(b[at:], []byte("\n"))
			if name, ok := bytes.CutPrefix(line, []byte("-- ")); ok && bytes.HasSuffix(name, []byte(" --")) {
				end, next = at, string(bytes.TrimSuffix(name, []byte(" --")))
				break
			}
			at += len(line) + 1
		}
		if section == "client" || section == "server" {
			list, _, err := values(b[:end], o.MaxExchanges)
			if err != nil {
				return nil, err
			}
			for _, v := range list {
				all = append(all, said{section, v, members(v)})
			}
		}
		section = next
		_, b, _ = bytes.Cut(b[end:], []byte("\n"))
	}
	return all, nil
}

func talkMCP(all []said, format string, o *Options) (tape, error) {
	k := newTalk(o)
	waiting := map[string][]int{} // by the side that has to answer and the id
	for _, x := range all {
		method, id := x.m.str("method"), string(x.m["id"])
		if method != "" && (id != "" || !x.m.has("jsonrpc")) && !strings.HasPrefix(method, "notifications/") {
			i := k.add(turn{kind: capture.KindMCP, name: mcpName(x.m), class: mcpClass(method), ask: x.raw})
			if id != "" && k.err == nil {
				to := opposite(x.side) + " " + id
				waiting[to] = append(waiting[to], i)
			}
		}
	}
	for _, x := range all {
		method, id := x.m.str("method"), string(x.m["id"])
		from := x.side + " " + id
		switch {
		case method != "" && (id != "" || !x.m.has("jsonrpc")) && !strings.HasPrefix(method, "notifications/"):
		case method == "" && len(waiting[from]) > 0:
			k.turns[waiting[from][0]].reply = x.raw
			waiting[from] = waiting[from][1:]
		case method != "":
			k.say(method, "", x.raw)
		case isMCPResult(x.m) || isRPCError(x.m) || x.m.has("result") || x.m.has("error"):
			k.add(turn{kind: capture.KindMCP, name: "response", class: effect.Read, reply: x.raw})
		default:
			k.say("message", "", x.raw)
		}
	}
	return k.tape(format)
}

func opposite(side string) string {
	switch side {
	case "client":
		return "server"
	case "server":
		return "client"
	default:
		return side
	}
}

func mcpName(m object) string {
	p := m.obj("params")
	if n := p.first("name", "uri"); n != "" {
		return m.str("method") + " " + n
	}
	return m.str("method")
}

func mcpClass(method string) effect.Class {
	if method == "tools/call" {
		return effect.External
	}
	return effect.Read
}
