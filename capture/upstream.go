package capture

import (
	"net/url"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrUpstream means that the address of an upstream cannot be used. Give it
// as NAME=URL with http or https.
const ErrUpstream fault.Invalid = "capture.bad_upstream"

// Variable is an environment variable by which clients are told where their
// provider is.
type Variable struct {
	Name string
	// Suffix is the path that clients put behind the value themselves. It
	// stands in the provider's address and not in the variable.
	Suffix string
	// Tail is the path that the value has behind the provider's address, such as
	// a version, because clients put none there.
	Tail string
	// Only says that the variable is redirected if it is set, and not set if
	// it is not, because setting it would change what a client does.
	Only bool
	// Port says that the value may be a host without a scheme, as HOST or
	// HOST:PORT, and which port is meant where it names none.
	Port string
}

// address returns the address that the variable's value stands for.
func (v *Variable) address(raw string) (*url.URL, error) {
	if v.Port != "" && !strings.Contains(raw, "://") {
		raw = "http://" + raw
		if u, err := url.Parse(raw); err == nil && u.Host != "" && u.Port() == "" {
			u.Host = strings.TrimSuffix(u.Host, ":") + ":" + v.Port
			raw = u.String()
		}
	}
	return parseUpstream(raw)
}

// Client is one provider, as real clients are pointed at it.
type Client struct {
	Provider string
	Vars     []Variable // the first that is set names the upstream
	Default  string     // its public address with the path that the first variable holds; may be empty
}

// Clients returns the providers whose clients honour environment variables.
func Clients() []Client {
	return []Client{
		{"openai", []Variable{
			{Name: "OPENAI_BASE_URL"},
			{Name: "OPENAI_API_BASE"},                 // LiteLLM, LlamaIndex, aider
			{Name: "OPENAI_HOST", Suffix: "/v1"},      // goose
			{Name: "OPENAI_API_BASE_URL", Only: true}, // some wrappers
		}, "https://api.openai.com/v1"},
		{"anthropic", []Variable{
			{Name: "ANTHROPIC_BASE_URL"},
			{Name: "ANTHROPIC_API_BASE"}, // LiteLLM
			{Name: "ANTHROPIC_HOST"},     // goose
		}, "https://api.anthropic.com"},
		{"gemini", []Variable{
			{Name: "GOOGLE_GEMINI_BASE_URL"},
			{Name: "GOOGLE_HOST"},                                  // goose
			{Name: "GEMINI_API_BASE", Tail: "/v1beta", Only: true}, // LiteLLM
		}, "https://generativelanguage.googleapis.com"},
		{"mistral", []Variable{{Name: "MISTRAL_BASE_URL", Only: true}, {Name: "MISTRAL_API_BASE", Only: true}}, "https://api.mistral.ai/v1"},
		{"vertex", []Variable{{Name: "GOOGLE_VERTEX_BASE_URL", Only: true}}, ""},
		{"anthropic-vertex", []Variable{{Name: "ANTHROPIC_VERTEX_BASE_URL", Only: true}}, ""},
		{"anthropic-bedrock", []Variable{{Name: "ANTHROPIC_BEDROCK_BASE_URL", Only: true}}, ""},
		{"anthropic-foundry", []Variable{{Name: "ANTHROPIC_FOUNDRY_BASE_URL", Only: true}}, ""},
		{"bedrock", []Variable{{Name: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", Only: true}, {Name: "AWS_BEDROCK_BASE_URL", Only: true}}, ""},
		{"azure", []Variable{{Name: "AZURE_OPENAI_ENDPOINT", Only: true}}, ""},
		{"ollama", []Variable{{Name: "OLLAMA_HOST", Only: true, Port: "11434"}, {Name: "OLLAMA_BASE_URL", Only: true}, {Name: "OLLAMA_API_BASE", Only: true}}, ""},
		{"cohere", []Variable{{Name: "CO_API_URL", Only: true}, {Name: "COHERE_BASE_URL", Only: true}}, ""},
	}
}

// Upstream is one place to which requests go. Each has a listener of its own,
// so that paths stay as the client made them.
type Upstream struct {
	Name     string
	Provider string   // one of [Clients], or empty
	URL      *url.URL // without fragment; its path is what clients begin theirs with
	Vars     []Variable
}

// upstreamsValue returns upstreams as the open of a run lists them.
func upstreamsValue(ups []Upstream) canon.Value {
	return canon.ArrayOf(ups, func(u Upstream) canon.Value {
		return canon.Object(canon.M("name", canon.String(u.Name)), canon.M("url", canon.String(u.Address())))
	})
}

// Address returns what stands in ledgers and reports: the URL without user,
// password and query.
func (u *Upstream) Address() string {
	c := url.URL{Scheme: u.URL.Scheme, Host: u.URL.Host, Path: u.URL.Path, RawPath: u.URL.RawPath}
	return c.String()
}

// Plan returns the upstreams of a child with this environment: what a
// provider's variables already point to, else its public address. A flag is
// NAME=URL and overrides both; one that is no provider is an upstream of its
// own, which the child finds in NAME_BASE_URL.
func Plan(environ, flags []string) ([]Upstream, error) {
	overrides, order, err := parseFlags(flags)
	if err != nil {
		return nil, err
	}
	var out []Upstream
	for _, c := range Clients() {
		u, more, err := c.plan(environ, overrides[c.Provider])
		if err != nil {
			return nil, err
		}
		delete(overrides, c.Provider)
		if u.URL != nil && len(u.Vars) > 0 { // else no client would find it
			out = append(out, u)
		}
		out = append(out, more...)
	}
	for _, name := range order {
		if u := overrides[name]; u != nil {
			out = append(out, Upstream{Name: name, URL: u, Vars: []Variable{{Name: variableOf(name)}}})
		}
	}
	return out, nil
}

// variableOf returns the variable in which a child finds an upstream that is
// none of the known providers.
func variableOf(name string) string { return variableSafe(name) + "_BASE_URL" }

// variableSafe returns a name in the letters of variables.
func variableSafe(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

func parseFlags(flags []string) (byName map[string]*url.URL, order []string, err error) {
	byName = map[string]*url.URL{}
	for _, f := range flags {
		name, raw, ok := strings.Cut(f, "=")
		if !ok || !validName(name) {
			return nil, nil, fault.New(ErrUpstream, "capture.Plan", "%q is not NAME=URL; NAME has letters, digits, dots, - and _", f)
		}
		u, err := parseUpstream(raw)
		if err != nil {
			return nil, nil, fault.New(ErrUpstream, "capture.Plan", "the address of the upstream %s is not an http or https URL with a host", name)
		}
		if strings.Contains(raw, "?") {
			return nil, nil, fault.New(ErrUpstream, "capture.Plan", "the address of the upstream %s has a query, which clients have to send themselves; leave it out", name)
		}
		if byName[name] != nil {
			return nil, nil, fault.New(ErrUpstream, "capture.Plan", "the upstream %s is given twice; a name stands for one address", name)
		}
		order = append(order, name)
		byName[name] = u
	}
	return byName, order, nil
}

// maxName bounds the name of an upstream.
const maxName = 64

func validName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !redact.IsWord(c) && c != '.' {
			return false
		}
	}
	return true
}

func parseUpstream(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(ErrUpstream, "capture.Plan", "the address of an upstream is not an http or https URL with a host")
	}
	u.Fragment, u.RawQuery = "", ""
	return u, nil
}

// plan returns the provider's upstream, and one more for every variable that
// points elsewhere.
func (c *Client) plan(environ []string, override *url.URL) (Upstream, []Upstream, error) {
	main := Upstream{Name: c.Provider, Provider: c.Provider, URL: override}
	var more []Upstream
	for _, v := range c.Vars {
		raw := lookup(environ, v.Name)
		if raw == "" {
			if !v.Only || override != nil {
				main.Vars = append(main.Vars, v)
			}
			continue
		}
		u, err := v.address(raw)
		if err != nil {
			return main, nil, fault.New(ErrUpstream, "capture.Plan", "%s does not hold an http or https URL", v.Name)
		}
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), v.Tail) + v.Suffix
		switch {
		case override != nil:
			main.Vars = append(main.Vars, v)
		case main.URL == nil:
			main.URL = u
			main.Vars = append(main.Vars, v)
		case main.URL.Scheme == u.Scheme && main.URL.Host == u.Host:
			main.Vars = append(main.Vars, v)
		default:
			more = append(more, Upstream{Name: c.Provider + "." + strings.ToLower(v.Name), Provider: c.Provider, URL: u, Vars: []Variable{v}})
		}
	}
	if main.URL == nil && c.Default != "" {
		u, err := parseUpstream(c.Default)
		if err != nil {
			return main, nil, err
		}
		main.URL = u
	}
	return main, more, nil
}

func lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// ChildEnv returns environ with the variables of all upstreams pointing to
// their listeners, whose addresses are given by name, and extra set. A proxy
// of the environment is told to leave the loopback alone.
func ChildEnv(environ []string, upstreams []Upstream, addr map[string]string, extra ...string) []string {
	set := map[string]string{}
	for i := range upstreams {
		u := &upstreams[i]
		path := strings.TrimSuffix(u.URL.EscapedPath(), "/")
		for _, v := range u.Vars {
			p, query := strings.TrimSuffix(path, v.Tail)+v.Tail, ""
			if old := lookup(environ, v.Name); old != "" {
				// The path and the query stay as the client had them.
				if o, err := v.address(old); err == nil && o.Host == u.URL.Host {
					p = strings.TrimSuffix(o.EscapedPath(), "/")
					if _, q, ok := strings.Cut(old, "?"); ok {
						query = "?" + q
					}
				}
			}
			set[v.Name] = "http://" + addr[u.Name] + strings.TrimSuffix(p, v.Suffix) + query
		}
	}
	for _, kv := range extra {
		name, value, _ := strings.Cut(kv, "=")
		set[name] = value
	}
	if lookup(environ, "HTTP_PROXY")+lookup(environ, "http_proxy")+lookup(environ, "ALL_PROXY")+lookup(environ, "all_proxy") != "" {
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			list := lookup(environ, name)
			if list != "" {
				list += ","
			}
			set[name] = list + "127.0.0.1,localhost"
		}
	}
	out := make([]string, 0, len(environ)+len(set))
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := set[name]; !ours {
			out = append(out, kv)
		}
	}
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, name+"="+set[name])
	}
	return out
}
