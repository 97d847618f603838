package transport

import (
	"net/url"
	"strings"

	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrTransport means that something is called in a way that nothing here can.
const ErrTransport fault.Invalid = "trajectories.unknown_transport"

// Request is something that is to be called through a transport.
type Request struct {
	Kind      string
	Name      string
	Class     effect.Class
	Transport canon.Value
	Arguments []byte // JSON
	// Key is under what who is called knows a call that is made again; empty:
	// there is none.
	Key string
	// Environ gives the values of environment variables.
	Environ func(name string) string
}

// Call returns the call that package live makes.
func (r *Request) Call() (effect.Call, error) {
	const op = "transport.Call"
	made := effect.Call{Kind: r.Kind, Name: r.Name, Class: r.Class}
	if r.Transport.Kind() != canon.KindObject {
		return made, fault.New(ErrTransport, op, "%s has no transport", r.Name)
	}
	switch r.Kind {
	case "exec":
		made.Data = r.fill()
		made.Contents = []ledger.Content{{Name: "stdin", Type: "application/json", Bytes: r.Arguments}}
	case "mcp":
		made.Data = r.fill()
		made.Contents = []ledger.Content{{Name: "arguments", Type: "application/json", Bytes: r.Arguments}}
	case "file":
		made.Data = r.Transport
		made.Contents = []ledger.Content{{Name: "arguments", Type: "application/json", Bytes: r.Arguments}}
	case "http":
		return made, r.http(&made)
	default:
		return made, fault.New(ErrTransport, op, "%s is called by %q; there are exec, http, mcp and file", r.Name, r.Kind)
	}
	return made, nil
}

// fill gives a process its environment: the values that are declared, those
// that come from the user's environment by name, and the key of the call.
func (r *Request) fill() canon.Value {
	t := ResolveEnv(r.Transport, r.Environ)
	env := t.Get("env")
	for _, m := range env.Members() {
		if m.Value.Str() == "{idempotency_key}" {
			env = env.With(m.Name, canon.String(r.Key))
		}
	}
	if env.IsZero() {
		return t
	}
	return t.With("env", env)
}

// ResolveEnv replaces env_from by names and values.
func ResolveEnv(t canon.Value, environ func(string) string) canon.Value {
	from := t.Get("env_from")
	if from.IsZero() || environ == nil {
		return t.Without("env_from")
	}
	env := t.Get("env")
	if env.IsZero() {
		env = canon.Object()
	}
	for _, n := range from.Elems() {
		if v := environ(n.Str()); v != "" {
			env = env.With(n.Str(), canon.String(v))
		}
	}
	return t.Without("env_from").With("env", env)
}

// http makes the request that a transport and the arguments are.
func (r *Request) http(made *effect.Call) error {
	t := r.Transport
	args, err := canon.Parse(r.Arguments)
	if err != nil {
		return fault.Wrap(ErrTransport, "transport.http", err, "the arguments of %s", r.Name)
	}
	address, used := t.Get("url").Str(), []string{}
	for _, m := range args.Members() {
		if slot := "{" + m.Name + "}"; strings.Contains(address, slot) {
			address = strings.ReplaceAll(address, slot, url.PathEscape(plainText(m.Value)))
			used = append(used, m.Name)
		}
	}
	method := t.Get("method").Str()
	headers := []canon.Value{}
	for _, m := range t.Get("headers").Members() {
		headers = append(headers, canon.Array(canon.String(m.Name), canon.String(plainText(m.Value))))
	}
	if name := t.Get("key_env").Str(); name != "" {
		key := ""
		if r.Environ != nil {
			key = r.Environ(name)
		}
		if key == "" {
			return fault.New(live.ErrArguments, "transport.http", "the environment has no %s", name)
		}
		headers = append(headers, canon.Array(canon.String("Authorization"), canon.String("Bearer "+key)))
	}
	switch method {
	case "GET", "HEAD", "DELETE":
		q := url.Values{}
		for _, m := range args.Without(used...).Members() {
			q.Set(m.Name, plainText(m.Value))
		}
		if len(q) > 0 && strings.Contains(address, "?") {
			address += "&" + q.Encode()
		} else if len(q) > 0 {
			address += "?" + q.Encode()
		}
	default:
		headers = append(headers, canon.Array(canon.String("Content-Type"), canon.String("application/json")))
		made.Contents = []ledger.Content{{Name: "request", Type: "application/json", Bytes: r.Arguments}}
	}
	if r.Class.Waits() && r.Key != "" {
		headers = append(headers, canon.Array(canon.String("Idempotency-Key"), canon.String(r.Key)))
	}
	made.Data = canon.Object(canon.M("method", canon.String(method)), canon.M("url", canon.String(address)), canon.M("headers", canon.Array(headers...)))
	return nil
}

// plainText spells a value where only text can stand.
func plainText(v canon.Value) string {
	if s, ok := v.AsString(); ok {
		return s
	}
	return v.String()
}

// Simplify takes from an outcome what no engine decides by: the headers of an
// HTTP answer. The answer of an MCP tool gets the form that other tools answer
// in, where nothing is lost by that: its structured content, or its one text.
func Simplify(kind string, o *effect.Outcome) {
	switch kind {
	case "http", "model":
		if o.Data.Has("headers") {
			o.Data = o.Data.Without("headers")
		}
	case "mcp":
		simplifyMCP(o)
	}
}

func simplifyMCP(o *effect.Outcome) {
	if bad, _ := o.Data.Get("is_error").AsBool(); bad || len(o.Contents) != 1 {
		return
	}
	v, err := canon.Parse(o.Contents[0].Bytes)
	if err != nil {
		return
	}
	c := &o.Contents[0]
	content := v.Get("content")
	if s := v.Get("structuredContent"); !s.IsZero() {
		if b, err := canon.Encode(s, canon.Foreign); err == nil {
			c.Name, c.Type, c.Bytes = "output", "application/json", b
		}
		return
	}
	if content.Len() == 1 && content.At(0).Get("type").Str() == "text" {
		c.Name, c.Type, c.Bytes = "output", "text/plain; charset=utf-8", []byte(content.At(0).Get("text").Str())
	}
}
