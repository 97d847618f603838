package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
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
			name:    "an address with a version, beside one without",
			environ: []string{"GEMINI_API_BASE=https://gw.example/g/v1beta/"},
			want:    []string{"gemini=https://gw.example/g"},
			env:     []string{"GEMINI_API_BASE=http://gemini/g/v1beta", "GOOGLE_GEMINI_BASE_URL=http://gemini/g"},
		},
		{
			name:  "a flag tells a client that wants a version",
			flags: []string{"gemini=http://127.0.0.1:9"},
			env:   []string{"GEMINI_API_BASE=http://gemini/v1beta", "GOOGLE_GEMINI_BASE_URL=http://gemini"},
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

// litellmMain asks as LiteLLM does: what it puts behind each variable is read
// from its source. Behind OLLAMA_API_BASE come /api/show, to see what the model
// can do, and /api/chat or /api/generate, unless the value ends so already.
// Behind GEMINI_API_BASE come /models/MODEL:generateContent, with ?alt=sse
// where it streams, so that the value holds the version; before, it put
// :generateContent behind a value that held the model as well.
func litellmMain() int {
	ollama, gemini := os.Getenv("OLLAMA_API_BASE"), os.Getenv("GEMINI_API_BASE")
	chat := ollama + "/api/chat"
	if strings.HasSuffix(ollama, "/api/chat") {
		chat = ollama
	}
	model := gemini + "/models/gemini-2.5-flash"
	if strings.Contains(gemini, "/models/") {
		model = gemini
	}
	const contents = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	for _, ask := range []struct{ url, body string }{
		{ollama + "/api/show", `{"name":"llama3.2"}`},
		{chat, `{"model":"llama3.2","messages":[{"role":"user","content":"hi"}],"options":{},"stream":true}`},
		{ollama + "/api/generate", `{"model":"llama3.2","prompt":"hi","options":{},"stream":false}`},
		{model + ":generateContent", contents},
		{model + ":streamGenerateContent?alt=sse", contents},
	} {
		resp, err := http.Post(ask.url, "application/json", strings.NewReader(ask.body))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.Status, string(b), err)
	}
	return 0
}

// LiteLLM is told by two variables of its own where Ollama and Gemini are. What
// it asks there arrives under the path that it would have had, and comes again
// from the record.
func TestLiteLLMsAddressesOfOllamaAndGemini(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		env   func(up string) []string
		flags func(up string) []string
		want  []string // paths at the provider
	}{
		{
			name: "with a version where it wants one",
			env: func(up string) []string {
				return []string{"OLLAMA_API_BASE=" + up, "GEMINI_API_BASE=" + up + "/v1beta"}
			},
			want: []string{"/api/show", "/api/chat", "/api/generate", "/v1beta/models/gemini-2.5-flash:generateContent", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"},
		},
		{
			name: "behind a gateway, with the model",
			env: func(up string) []string {
				return []string{"OLLAMA_API_BASE=" + up + "/local", "GEMINI_API_BASE=" + up + "/google/v1beta/models/gemini-2.5-pro"}
			},
			want: []string{"/local/api/show", "/local/api/chat", "/local/api/generate", "/google/v1beta/models/gemini-2.5-pro:generateContent", "/google/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"},
		},
		{
			name:  "given to the recorder alone",
			flags: func(up string) []string { return []string{"ollama=" + up, "gemini=" + up} },
			want:  []string{"/api/show", "/api/chat", "/api/generate", "/v1beta/models/gemini-2.5-flash:generateContent", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var came []string
			up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				came = append(came, r.URL.RequestURI())
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"number":%d}`, len(came))
			})
			rig := newRig(t)
			var out bytes.Buffer
			o := capture.RunOptions{
				Command: []string{self}, Env: []string{"CAPTURE_TEST_ROLE=litellm", "PATH=" + os.Getenv("PATH")},
				Stdout: &out, Stderr: &out, Config: rig.config(),
			}
			if tt.env != nil {
				o.Env = append(o.Env, tt.env(up.URL)...)
			}
			if tt.flags != nil {
				o.Upstreams = tt.flags(up.URL)
			}
			res := rig.mustRecord(o)
			if !slices.Equal(came, tt.want) {
				t.Fatalf("the provider was asked for %q, want %q", came, tt.want)
			}
			models := 0
			for _, e := range rig.entries(res.Run) {
				if e.Kind == ledger.KindCall && e.Body.Get("kind").Str() == capture.KindModel {
					models++
				}
			}
			if models != 4 {
				t.Errorf("%d requests are taken for those to a model, want all but /api/show", models)
			}
			said := out.String()
			out.Reset()
			up.Close()
			again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run})
			if out.String() != said || again.Report.Verdict != replay.Same || again.Counts.Recorded != 5 {
				t.Errorf("replay says %s, want %s\n%s", out.String(), said, again.Report.Value())
			}
		})
	}
}
