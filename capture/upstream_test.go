package capture_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func TestPlanAndChildEnv(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		environ []string
		flags   []string
		want    []string // NAME=URL of upstreams that must be there
		env     []string // of the child
	}{
		{
			name: "public addresses",
			want: []string{"openai=https://api.openai.com/v1", "anthropic=https://api.anthropic.com", "gemini=https://generativelanguage.googleapis.com"},
			env: []string{
				"OPENAI_BASE_URL=http://openai/v1", "OPENAI_API_BASE=http://openai/v1", "OPENAI_HOST=http://openai",
				"ANTHROPIC_BASE_URL=http://anthropic", "GOOGLE_GEMINI_BASE_URL=http://gemini",
			},
		},
		{
			name:    "what the client's own variable points to",
			environ: []string{"OPENAI_BASE_URL=http://localhost:8000/api/v1/", "ANTHROPIC_BASE_URL=https://gate.example/anthropic/v1", "A=b"},
			want:    []string{"openai=http://localhost:8000/api/v1", "anthropic=https://gate.example/anthropic/v1"},
			env:     []string{"A=b", "OPENAI_BASE_URL=http://openai/api/v1", "ANTHROPIC_BASE_URL=http://anthropic/anthropic/v1"},
		},
		{
			name:    "a flag overrides",
			environ: []string{"OPENAI_BASE_URL=http://localhost:8000/v1"},
			flags:   []string{"openai=http://127.0.0.1:9/v2", "my-tool=https://tool.example/base"},
			want:    []string{"openai=http://127.0.0.1:9/v2", "my-tool=https://tool.example/base"},
			env:     []string{"OPENAI_BASE_URL=http://openai/v2", "MY_TOOL_BASE_URL=http://my-tool/base"},
		},
		{
			name:    "two variables that point elsewhere",
			environ: []string{"OPENAI_BASE_URL=http://one:1/v1", "OPENAI_API_BASE=http://two:2/v1"},
			want:    []string{"openai=http://one:1/v1", "openai.openai_api_base=http://two:2/v1"},
			env:     []string{"OPENAI_BASE_URL=http://openai/v1", "OPENAI_API_BASE=http://openai.openai_api_base/v1"},
		},
		{
			name:    "only if it is set",
			environ: []string{"AZURE_OPENAI_ENDPOINT=https://me.openai.azure.com"},
			want:    []string{"azure=https://me.openai.azure.com"},
			env:     []string{"AZURE_OPENAI_ENDPOINT=http://azure"},
		},
		{
			name:    "a host without a scheme, where the client takes one",
			environ: []string{"OLLAMA_HOST=10.0.0.7", "CO_API_URL=https://cohere.example/v1"},
			want:    []string{"ollama=http://10.0.0.7:11434", "cohere=https://cohere.example/v1"},
			env:     []string{"OLLAMA_HOST=http://ollama", "CO_API_URL=http://cohere/v1"},
		},
		{
			name:    "its port",
			environ: []string{"OLLAMA_HOST=[::1]:8080", "OLLAMA_BASE_URL=http://[::1]:8080/v1"},
			want:    []string{"ollama=http://[::1]:8080"},
			env:     []string{"OLLAMA_HOST=http://ollama", "OLLAMA_BASE_URL=http://ollama/v1"},
		},
		{
			name:  "a flag tells every client of the provider",
			flags: []string{"ollama=http://127.0.0.1:11434", "cohere=https://api.cohere.com"},
			env:   []string{"OLLAMA_HOST=http://ollama", "OLLAMA_BASE_URL=http://ollama", "CO_API_URL=http://cohere", "COHERE_BASE_URL=http://cohere"},
		},
		{
			name:    "a query stays with the client",
			environ: []string{"OPENAI_BASE_URL=https://gw.example/v1?api-version=7"},
			want:    []string{"openai=https://gw.example/v1"},
			env:     []string{"OPENAI_BASE_URL=http://openai/v1?api-version=7"},
		},
		{
			name:    "a proxy of the environment leaves the loopback alone",
			environ: []string{"HTTPS_PROXY=http://p", "HTTP_PROXY=http://p", "NO_PROXY=corp"},
			env:     []string{"NO_PROXY=corp,127.0.0.1,localhost", "HTTP_PROXY=http://p"},
		},
	} {
		ups, err := capture.Plan(c.environ, c.flags)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		addr := map[string]string{}
		var got []string
		for i := range ups {
			addr[ups[i].Name] = ups[i].Name
			got = append(got, ups[i].Name+"="+ups[i].Address())
		}
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: upstreams %v lack %s", c.name, got, w)
			}
		}
		env := capture.ChildEnv(c.environ, ups, addr)
		for _, w := range c.env {
			if !slices.Contains(env, w) {
				t.Errorf("%s: environment %v lacks %s", c.name, env, w)
			}
		}
		seen := map[string]bool{}
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			if seen[name] {
				t.Errorf("%s: %s stands twice", c.name, name)
			}
			seen[name] = true
		}
	}
	for _, flags := range [][]string{{"openai"}, {"=http://x"}, {"a b=http://x"}, {"x=ftp://y"}, {"x=http://"}, {"x=http://y/?q=1"}} {
		if _, err := capture.Plan(nil, flags); fault.CodeOf(err) != capture.ErrUpstream {
			t.Errorf("Plan(%q) = %v, want %v", flags, err, capture.ErrUpstream)
		}
	}
}
