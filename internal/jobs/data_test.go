package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// tape is what was recorded of a model: an answer, and to which question.
type tape struct {
	status   int
	typ      string
	body     []byte
	question string
	said     string
}

// tapes reads the recorded chat completions below the folder of real data, which
// lies outside the repository: those that gave a text, those that are errors,
// and those that are streams, which is no answer to who has asked for none.
func tapes(t *testing.T) (answers, errors, streams []tape) {
	t.Helper()
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no folder with real recordings")
	}
	type message struct {
		Role    string
		Content any
	}
	var cassette struct {
		Interactions []struct {
			Request struct {
				Method, URI string
				ParsedBody  struct{ Messages []message } `yaml:"parsed_body"`
			}
			Response struct {
				Headers    map[string][]string
				Status     struct{ Code int }
				ParsedBody map[string]any `yaml:"parsed_body"`
				Body       struct{ String string }
			}
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "llm_pydantic_ai"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte("/chat/completions")) {
			return err
		}
		cassette.Interactions = nil
		if yaml.Unmarshal(b, &cassette) != nil {
			return nil // of another form
		}
		for _, x := range cassette.Interactions {
			if !strings.HasSuffix(x.Request.URI, "/chat/completions") {
				continue
			}
			r := tape{status: x.Response.Status.Code, body: []byte(x.Response.Body.String)}
			if typ := x.Response.Headers["content-type"]; len(typ) > 0 {
				r.typ = typ[0]
			}
			if x.Response.ParsedBody != nil {
				if r.body, err = json.Marshal(x.Response.ParsedBody); err != nil {
					return err
				}
			}
			for _, m := range x.Request.ParsedBody.Messages {
				if text, ok := m.Content.(string); ok && m.Role == "user" {
					r.question = text
				}
			}
			var chat struct {
				Choices []struct{ Message struct{ Content *string } }
			}
			_ = json.Unmarshal(r.body, &chat) // a stream is none
			switch said := len(chat.Choices) > 0 && chat.Choices[0].Message.Content != nil; {
			case r.status != http.StatusOK:
				errors = append(errors, r)
			case strings.HasPrefix(r.typ, "text/event-stream"):
				streams = append(streams, r)
			case said && r.question != "" && strings.TrimSpace(*chat.Choices[0].Message.Content) != "":
				r.said = strings.TrimSpace(*chat.Choices[0].Message.Content)
				answers = append(answers, r)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return answers, errors, streams
}

const mostTapes = 40

// A job whose agents are real model calls: one meets a recorded error, one a
// recorded stream that it did not ask for, and the third a recorded answer. It
// goes with its bundle to an empty store, where it replays in production bit for
// bit, and nobody is asked.
func TestRealModelCallsReplayBitForBitOnAnotherStore(t *testing.T) {
	t.Parallel()
	answers, errors, streams := tapes(t)
	if len(answers) < mostTapes || len(errors) == 0 || len(streams) == 0 {
		t.Fatalf("%d recorded answers, %d errors and %d streams", len(answers), len(errors), len(streams))
	}
	var asked atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, kind, _ := strings.Cut(r.URL.Path, "/")
		kind, rest, _ := strings.Cut(kind, "/")
		digits, _, _ := strings.Cut(rest, "/")
		n, err := strconv.Atoi(digits)
		list := map[string][]tape{"answer": answers, "error": errors, "stream": streams}[kind]
		if b, _ := io.ReadAll(r.Body); err != nil || len(list) == 0 || !bytes.Contains(b, []byte("query_text")) {
			http.Error(w, "what is this?", http.StatusTeapot)
			return
		}
		x := list[n%len(list)]
		w.Header().Set("Content-Type", x.typ)
		w.WriteHeader(x.status)
		_, _ = w.Write(x.body)
	}))
	defer up.Close()
	r := newRig(t)
	var runs []*jobs.Result
	for i := range mostTapes {
		at := i * len(answers) / mostTapes
		res := r.start(tapeJob(t, up.URL, i, at, answers[at].question))
		if !res.Done || res.Err() != nil {
			t.Fatalf("job %d = %+v, %v", i, res, res.Err())
		}
		if res.Log.Final != answers[at].said || len(res.Log.Iterations) != 3 || !res.Log.Replayable {
			t.Errorf("job %d: %q after %d iterations, replayable %t; want %q after 3", i, res.Log.Final, len(res.Log.Iterations), res.Log.Replayable, answers[at].said)
		}
		runs = append(runs, res)
	}
	up.Close()
	before := asked.Load()
	if before < 3*mostTapes {
		t.Errorf("the models were asked %d times, want at least %d", before, 3*mostTapes)
	}
	for i, res := range runs {
		if i%8 != 0 {
			if out, err := r.replay(on(res.Run, production)); err != nil || !out.Authoritative() || out.Result.Final != res.Log.Final {
				t.Errorf("job %d: Replay = %+v, %v", i, out.Result, err)
			}
			continue
		}
		to := r.moved(res.Run)
		out, err := to.replay(on(res.Run, production))
		if err != nil || !out.Authoritative() || out.Result.Final != res.Log.Final {
			t.Errorf("job %d: Replay on another store = %+v, %v", i, out.Result, err)
		}
		_, here, err := jobs.ReadLog(context.Background(), r.store, res.Run)
		if err != nil {
			t.Fatal(err)
		}
		if _, there, err := jobs.ReadLog(context.Background(), to.store, res.Run); err != nil || !bytes.Equal(here, there) {
			t.Errorf("job %d: the log is not the same on another store: %v", i, err)
		}
		report, err := drive.Replay(context.Background(), to.store, res.Run, job.NewMachine(), "verify")
		if err != nil || report.Verdict != replay.Same {
			t.Errorf("job %d: drive.Replay = %+v, %v", i, report, err)
		}
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("the replays asked a model %d times", n)
	}
	t.Logf("%d jobs over %d recorded answers, %d errors, %d streams; %d model calls", mostTapes, len(answers), len(errors), len(streams), before)
}

// tapeJob is a job that asks three models.
func tapeJob(t *testing.T, up string, i, at int, question string) string {
	t.Helper()
	q, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
seed: tape-%d
persist: always
input:
  query: %s
agents:
  - {node: "agent:alpha_v1", model: "%[3]s/error/%[1]d/v1", confidence: 0.9}
  - {node: "agent:beta_v1", model: "%[3]s/stream/%[1]d/v1", confidence: 0.9}
  - {node: "agent:gamma_v1", model: "%[3]s/answer/%[4]d/v1", confidence: 0.9}
snapshots:
  selfrep:
    nodes:
      - {node_id: "agent:alpha_v1", apt: 0.9, metrics: {apt_events: 5}}
      - {node_id: "agent:beta_v1", apt: 0.8, metrics: {apt_events: 5}}
      - {node_id: "agent:gamma_v1", apt: 0.7, metrics: {apt_events: 5}}
`, i, q, up, at)
}
