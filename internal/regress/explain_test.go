package regress_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// settings are what two runs of one agent may differ in.
type settings struct {
	system  string // prompt of the system
	define  string // description of the tool
	file    string // what the tool read_file finds
	model   string // that answers
	path    string // where the model wants to write
	second  bool   // the agent asks another time
	temper  string
	quote   int // which of the two hints of the first answer the agent quotes
	skipped bool
}

func plain() settings {
	return settings{system: "Be brief.", define: "reads a file", file: "the harvest was good", model: "m-2026-01", path: "notes/a.md", temper: "0.1"}
}

// hints are texts in the first answer that the agent may quote.
var hints = []string{"begin with the weather", "begin with the harvest"}

// model asks for read_file, then for write_file where it is told to.
func model(t *testing.T, set *settings) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct{ Role, Content string }
		}
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &q)
		w.Header().Set("Content-Type", "application/json")
		name, args := "read_file", `{\"path\":\"harvest.txt\"}`
		if len(q.Messages) > 3 {
			name, args = "write_file", fmt.Sprintf(`{\"mode\":\"w\",\"path\":\"%s\"}`, set.path)
		}
		fmt.Fprintf(w, `{"object":"chat.completion","model":%q,"choices":[{"message":{"role":"assistant","content":"%s; %s","tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":"%s"}}]}}]}`,
			set.model, hints[0], hints[1], len(q.Messages), name, args)
	}))
	t.Cleanup(s.Close)
	return s
}

// agent asks, runs the tool, and asks again with what it gave.
func agent(set *settings) func(context.Context, *reprise.Session) error {
	return func(ctx context.Context, s *reprise.Session) error {
		ask := func(messages string) error {
			body := fmt.Sprintf(`{"model":"m","temperature":%s,"tools":[{"type":"function","function":{"name":"read_file","description":%q}}],"messages":[{"role":"system","content":%q},{"role":"user","content":"Sum up the file."}%s]}`,
				set.temper, set.define, set.system, messages)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://model.test/v1/chat/completions", strings.NewReader(body))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := s.Client().Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		}
		if !set.skipped {
			if err := ask(""); err != nil {
				return err
			}
		}
		called := `,{"role":"assistant","tool_calls":[{"id":"call_2","type":"function","function":{"name":"read_file","arguments":"{}"}}]}`
		after := fmt.Sprintf(`%s,{"role":"tool","tool_call_id":"call_2","content":%q},{"role":"user","content":"Now, %s."}`, called, set.file, hints[set.quote])
		if err := ask(after); err != nil {
			return err
		}
		if set.second {
			return ask(after + `,{"role":"user","content":"Once more."}`)
		}
		return nil
	}
}

// toServer sends everything to a test server whatever its host.
type toServer struct{ url string }

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Host = strings.TrimPrefix(s.url, "http://")
	return http.DefaultTransport.RoundTrip(out)
}

func recorder(t *testing.T) *reprise.Recorder {
	t.Helper()
	r, err := reprise.Open(t.Context(), "memory:", &reprise.Options{Unsigned: true, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func record(t *testing.T, r *reprise.Recorder, set settings) string {
	t.Helper()
	run, err := r.Record(t.Context(), reprise.RecordOptions{Transport: toServer{model(t, &set).URL}}, agent(&set))
	if err != nil {
		t.Fatal(err)
	}
	return string(run)
}

// One sentence says how far two runs are equal, what differs, and which part
// of the request that comes from: the same of a replay and of a diff.
func TestSentence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		change       func(*settings)
		replay, diff string
	}{
		{
			"nothing", func(*settings) {},
			"all 2 steps equal", "all 2 steps equal",
		},
		{
			"the system prompt", func(s *settings) { s.system = "Be very brief." },
			"step 1 POST /v1/chat/completions differs; cause: messages[0] of the request, the system prompt; the agent's own change",
			"step 1 POST /v1/chat/completions differs; cause: messages[0] of the request, the system prompt; the agent's own change",
		},
		{
			"the definition of a tool", func(s *settings) { s.define = "reads one file" },
			"step 1 POST /v1/chat/completions differs; cause: tools[0] of the request, the definition of the tool read_file; the agent's own change",
			"step 1 POST /v1/chat/completions differs; cause: tools[0] of the request, the definition of the tool read_file; the agent's own change",
		},
		{
			"a parameter, and what is read before it", func(s *settings) { s.temper, s.system = "0.2", "Be kind." },
			"step 1 POST /v1/chat/completions differs; cause: messages[0] of the request, the system prompt; the agent's own change",
			"step 1 POST /v1/chat/completions differs; cause: messages[0] of the request, the system prompt; the agent's own change",
		},
		{
			"a parameter", func(s *settings) { s.temper = "0.2" },
			"step 1 POST /v1/chat/completions differs; cause: temperature of the request, a parameter; the agent's own change",
			"step 1 POST /v1/chat/completions differs; cause: temperature of the request, a parameter; the agent's own change",
		},
		{
			"the result of a tool, and what the model then does", func(s *settings) { s.file, s.path = "the harvest was bad", "notes/b.md" },
			"step 1 equal; step 2 POST /v1/chat/completions differs; cause: messages[3] of the request, the result of the tool read_file; the tool ran in the agent itself and gave something else (step 1 asked for it)",
			"step 1 equal; step 2 tool write_file /path differs; cause: messages[3] of the request, the result of the tool read_file; the tool ran in the agent itself and gave something else (step 1 asked for it)",
		},
		{
			"another part of an answer", func(s *settings) { s.quote = 1 },
			"step 1 equal; step 2 POST /v1/chat/completions differs; cause: messages[4] of the request, the prompt; it comes from the answer of step 1, POST /v1/chat/completions",
			"step 1 equal; step 2 POST /v1/chat/completions differs; cause: messages[4] of the request, the prompt; it comes from the answer of step 1, POST /v1/chat/completions",
		},
		{
			"what the model does", func(s *settings) { s.path = "notes/b.md" },
			"all 2 steps equal",
			"step 1 equal; step 2 tool write_file /path differs; cause: the answer, the model answered the same request otherwise",
		},
		{
			"the version of the model", func(s *settings) { s.model = "m-2026-02" },
			"all 2 steps equal",
			"step 1 POST /v1/chat/completions differs; cause: the answer, another model answered: m-2026-02, not m-2026-01",
		},
		{
			"a call left out", func(s *settings) { s.skipped = true },
			"step 1 POST /v1/chat/completions is missing; cause: the agent no longer asks for it, though all answers before it are equal",
			"step 1 POST /v1/chat/completions is missing; cause: the agent no longer asks for it, though all answers before it are equal",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := recorder(t)
			was := record(t, r, plain())
			set := plain()
			tt.change(&set)
			replayed, err := r.Replay(t.Context(), was, nil, agent(&set))
			if err != nil {
				t.Fatal(err)
			}
			if got := replayed.Sentence(); got != tt.replay {
				t.Errorf("replay: %s\nwant    %s", got, tt.replay)
			}
			now := record(t, r, set)
			diff, err := r.Diff(t.Context(), was, now)
			if err != nil {
				t.Fatal(err)
			}
			if got := diff.Sentence(); got != tt.diff {
				t.Errorf("diff: %s\nwant  %s", got, tt.diff)
			}
			if d := diff.First(); d != nil && d.Cause == nil || d == nil && diff.Verdict != replay.Same {
				t.Errorf("the diff is %s and says no cause", diff.Verdict)
			}
		})
	}
}

// A call more than was recorded has no counterpart.
func TestSentenceOfACallMore(t *testing.T) {
	t.Parallel()
	r := recorder(t)
	was := record(t, r, plain())
	set := plain()
	set.second = true
	diff, err := r.Diff(t.Context(), was, record(t, r, set))
	if err != nil {
		t.Fatal(err)
	}
	want := "steps 1 to 2 equal; step 3 POST /v1/chat/completions is new; cause: the agent asks for more, though all answers before it are equal"
	if got := diff.Sentence(); got != want {
		t.Errorf("diff: %s\nwant  %s", got, want)
	}
}
