package importer

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/capture"
)

// upstreams names the places to which the exchanges of a file went. The name
// is part of the match key, so a replay has to use the same.
type upstreams struct {
	given []capture.Upstream
	list  []capture.Upstream
	names map[string]string // by scheme and host
}

func newUpstreams(given []capture.Upstream) *upstreams {
	return &upstreams{given: given, names: map[string]string{}}
}

// name returns the name of the upstream of an address: the one that was given
// for it, that of the provider whose public address it is, or its host.
func (us *upstreams) name(u *url.URL) string {
	origin := u.Scheme + "://" + u.Host
	if n, ok := us.names[origin]; ok {
		return n
	}
	up := us.find(u)
	for base, i := up.Name, 2; us.taken(up.Name); i++ {
		up.Name = base + "-" + strconv.Itoa(i)
	}
	us.names[origin] = up.Name
	us.list = append(us.list, up)
	return up.Name
}

func (us *upstreams) taken(name string) bool {
	return slices.ContainsFunc(us.list, func(u capture.Upstream) bool { return u.Name == name })
}

func (us *upstreams) find(u *url.URL) capture.Upstream {
	for _, g := range us.given {
		if g.URL.Scheme == u.Scheme && g.URL.Host == u.Host {
			return g
		}
	}
	for _, c := range capture.Clients() {
		if d, err := url.Parse(c.Default); err == nil && d.Host != "" && d.Scheme == u.Scheme && d.Host == u.Host {
			return capture.Upstream{Name: c.Provider, Provider: c.Provider, URL: d, Vars: c.Vars[:1]}
		}
	}
	if name := provider(u.Host); name != "" {
		return capture.Upstream{Name: name, Provider: name, URL: &url.URL{Scheme: u.Scheme, Host: u.Host}}
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, u.Host)
	return capture.Upstream{Name: name[:min(len(name), maxName)], URL: &url.URL{Scheme: u.Scheme, Host: u.Host}}
}

// maxName bounds the part of an upstream's name that comes from its host.
const maxName = 56

// provider returns the name under which clients know a host that is no
// provider's one public address, as [capture.Clients] has it, or nothing.
func provider(host string) string {
	switch {
	case host == "api.mistral.ai":
		return "mistral"
	case strings.HasSuffix(host, ".openai.azure.com"):
		return "azure"
	case strings.HasPrefix(host, "bedrock-runtime.") && strings.HasSuffix(host, ".amazonaws.com"):
		return "bedrock"
	case host == "localhost:11434", host == "127.0.0.1:11434":
		return "ollama"
	default:
		return ""
	}
}
