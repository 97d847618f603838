package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func (w *World) http(ctx context.Context, c *effect.Call) (effect.Outcome, error) {
	r, err := http.NewRequestWithContext(ctx, c.Data.Get("method").Str(), c.Data.Get("url").Str(), bytes.NewReader(content(c, "request")))
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrArguments, "live.http", err, "method or url")
	}
	for i, h := range c.Data.Get("headers").Elems() {
		name, value := h.At(0).Str(), h.At(1).Str()
		if name == "" || h.Len() != 2 {
			return effect.Outcome{}, fault.New(ErrArguments, "live.http", "headers/%d is not [name, value]", i)
		}
		r.Header.Add(name, value)
	}
	return w.roundTrip(r)
}

// model asks a model with an OpenAI-compatible chat API. The key comes from
// the environment variable that the call names, so that no key is recorded.
func (w *World) model(ctx context.Context, c *effect.Call) (effect.Outcome, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Data.Get("url").Str(), bytes.NewReader(content(c, "request")))
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrArguments, "live.model", err, "url")
	}
	r.Header.Set("Content-Type", "application/json")
	if name := c.Data.Get("key_env").Str(); name != "" {
		key := w.Environ(name)
		if key == "" {
			return effect.Outcome{}, fault.New(ErrArguments, "live.model", "the environment has no %s", name)
		}
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return w.roundTrip(r)
}

func (w *World) roundTrip(r *http.Request) (effect.Outcome, error) {
	const op = "live.http"
	if host := r.URL.Host; host == "" || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return effect.Outcome{}, fault.New(ErrArguments, op, "%q is not an http address", r.URL.Redacted())
	}
	resp, err := w.Client.Do(r)
	if err != nil {
		code := fault.Code(ErrUnreachable)
		if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
			code = ErrNotSent
		}
		return effect.Outcome{}, fault.Wrap(code, op, err, "%s %s", r.Method, r.URL.Host)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, w.Most+1))
	if int64(len(body)) > w.Most {
		return effect.Outcome{}, fault.New(ErrTooLarge, op, "the answer of %s has more than %d bytes", r.URL.Host, w.Most)
	}
	o := said(canon.Object(
		canon.M("status", canon.Int(int64(resp.StatusCode))),
		canon.M("headers", headers(resp.Header)),
	))
	if err != nil {
		o.Status = effect.Interrupted
	}
	o.Contents = []ledger.Content{{Name: "response", Type: resp.Header.Get("Content-Type"), Bytes: body}}
	return o, nil
}

// headers returns headers as data holds them, sorted by name.
func headers(h http.Header) canon.Value {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []canon.Value
	for _, name := range names {
		for _, v := range h[name] {
			out = append(out, canon.Array(canon.String(name), canon.String(strings.ToValidUTF8(v, "\uFFFD"))))
		}
	}
	return canon.Array(out...)
}

// mcp calls one tool of an MCP server: a program that is started for the
// call, or an address.
func (w *World) mcp(ctx context.Context, c *effect.Call) (effect.Outcome, error) {
	const op = "live.mcp"
	session, err := w.connect(ctx, c.Data)
	if err != nil {
		return effect.Outcome{}, err
	}
	defer session.Close()
	args := json.RawMessage(content(c, "arguments"))
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.Data.Get("tool").Str(), Arguments: args})
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrUnreachable, op, err, "calling %s", c.Data.Get("tool").Str())
	}
	b, err := json.Marshal(result)
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrArguments, op, err, "the result of %s", c.Data.Get("tool").Str())
	}
	if int64(len(b)) > w.Most {
		return effect.Outcome{}, fault.New(ErrTooLarge, op, "the result has %d bytes; the limit is %d", len(b), w.Most)
	}
	o := said(canon.Object(canon.M("is_error", canon.Bool(result.IsError))))
	o.Contents = []ledger.Content{{Name: "result", Type: "application/json", Bytes: b}}
	return o, nil
}

// ErrNotSent means that a call never left: nothing was reached or started. It
// had no effect, and can be made again.
const ErrNotSent fault.Invalid = "live.not_sent"

// connect begins a session with an MCP server. Nothing was asked of it yet
// where that fails.
func (w *World) connect(ctx context.Context, data canon.Value) (*mcp.ClientSession, error) {
	transport, err := w.transport(data)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "reprise", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, fault.Wrap(ErrNotSent, "live.mcp", err, "connecting to the MCP server")
	}
	return session, nil
}

func (w *World) transport(data canon.Value) (mcp.Transport, error) {
	if url := data.Get("url").Str(); url != "" {
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: w.Client}, nil
	}
	argv, err := words(data.Get("argv"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // the transport ends the server when the session closes
	cmd.Dir, cmd.Env = data.Get("dir").Str(), environ(data)
	return &mcp.CommandTransport{Command: cmd}, nil
}

// Offer is a tool that an MCP server offers.
type Offer struct {
	Name        string
	Description string
	Schema      canon.Value // of its arguments, as it declares them
}

// maxOffers bounds what one server may offer.
const maxOffers = 1000

// Tools asks an MCP server for its tools. The data is that of a call of kind
// mcp.
func (w *World) Tools(ctx context.Context, data canon.Value) ([]Offer, error) {
	const op = "live.Tools"
	full := w.defaults()
	ctx, cancel := context.WithTimeout(ctx, full.Timeout)
	defer cancel()
	session, err := full.connect(ctx, data)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	var out []Offer
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fault.Wrap(ErrUnreachable, op, err, "listing the tools of the MCP server")
		}
		if len(out) == maxOffers {
			return nil, fault.New(ErrTooLarge, op, "the MCP server offers more than %d tools", maxOffers)
		}
		b, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, fault.Wrap(ErrArguments, op, err, "the arguments of %s", t.Name)
		}
		schema, err := canon.Parse(b)
		if err != nil {
			return nil, fault.Wrap(ErrArguments, op, err, "the arguments of %s", t.Name)
		}
		out = append(out, Offer{Name: t.Name, Description: t.Description, Schema: schema})
	}
	return out, nil
}
