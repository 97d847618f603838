package capture

import (
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrIntercept means that a pattern for hosts cannot be used. It is a host
// name, in which * stands for any part of it; * alone is every host.
const ErrIntercept fault.Invalid = "capture.bad_intercept"

// providerHosts are hosts that models are asked at, beside the public
// addresses of [Clients]. In a pattern * stands for any number of characters.
var providerHosts = []string{
	"*.openai.azure.com", "*.cognitiveservices.azure.com", "*.services.ai.azure.com", "models.inference.ai.azure.com", "models.github.ai",
	"bedrock-runtime*.amazonaws.com", "bedrock-runtime*.api.aws",
	"aiplatform.googleapis.com", "*-aiplatform.googleapis.com", "cloudcode-pa.googleapis.com",
	"chatgpt.com", "eu.api.openai.com", "us.api.openai.com",
	"api.githubcopilot.com", "*.githubcopilot.com", "copilot-proxy.githubusercontent.com",
	"*.cursor.sh", "openrouter.ai", "gateway.ai.cloudflare.com", "ai-gateway.vercel.sh",
	"api.cohere.com", "api.cohere.ai", "codestral.mistral.ai", "api.groq.com", "api.together.xyz", "api.fireworks.ai", "api.deepseek.com",
	"api.x.ai", "api.perplexity.ai", "api.cerebras.ai", "api.sambanova.ai", "api.ai21.com", "api.moonshot.ai", "api.moonshot.cn", "api.z.ai",
	"dashscope*.aliyuncs.com", "integrate.api.nvidia.com", "router.huggingface.co", "api-inference.huggingface.co", "ollama.com", "api.voyageai.com", "api.jina.ai",
}

// intercepts says which hosts a forward proxy reads and records. All others
// are tunnelled.
type intercepts struct {
	ups      []Upstream
	patterns []string // beyond the providers
	only     bool     // no other hosts than those of ups
}

// newIntercepts checks patterns.
func newIntercepts(ups []Upstream, patterns []string) (*intercepts, error) {
	if err := checkPatterns(patterns); err != nil {
		return nil, err
	}
	return &intercepts{ups: ups, patterns: patterns}, nil
}

func checkPatterns(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, "host"); err != nil || p == "" || strings.ContainsAny(p, "/:@ ") || p != strings.ToLower(p) {
			return fault.New(ErrIntercept, "capture.Intercept", "%q is no pattern for host names", p)
		}
	}
	return nil
}

// find returns the upstream that a request for this host goes to, or nil if
// it is none of ours. An upstream that the run knows keeps its name, so that
// a call is the same however it came.
func (i *intercepts) find(scheme, host, port string) *Upstream {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for n := range i.ups {
		u := &i.ups[n]
		if u.URL.Scheme == scheme && strings.EqualFold(u.URL.Hostname(), host) && portOf(u.URL) == port {
			return u
		}
	}
	known := false
	for _, c := range Clients() {
		d, err := url.Parse(c.Default)
		if err != nil || d.Host == "" || d.Hostname() != host {
			continue
		}
		known = true
		if scheme != d.Scheme || port != portOf(d) {
			continue
		}
		// Where the provider really is was said otherwise.
		for n := range i.ups {
			if i.ups[n].Name == c.Provider {
				return &i.ups[n]
			}
		}
	}
	if i.only || !known && !matches(providerHosts, host) && !matches(i.patterns, host) {
		return nil
	}
	u := &Upstream{Name: host, URL: &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}}
	if port == defaultPorts[scheme] {
		u.URL.Host = bracketed(host)
	}
	if scheme != schemeTLS || port != defaultPorts[schemeTLS] {
		u.Name = host + ":" + port
	}
	return u
}

const schemeTLS = "https"

var defaultPorts = map[string]string{"http": "80", schemeTLS: "443"}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return defaultPorts[u.Scheme]
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func matches(patterns []string, host string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, host); ok && err == nil {
			return true
		}
	}
	return false
}
