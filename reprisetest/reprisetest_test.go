package reprisetest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/reprisetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inner is a test within a test: it collects what fails, and runs its cleanup
// when it is told to.
type inner struct {
	testing.TB
	failed  bool
	said    strings.Builder
	cleanup []func()
}

func (*inner) Helper()            {}
func (*inner) Name() string       { return "TestInner" }
func (i *inner) Failed() bool     { return i.failed }
func (*inner) Skipped() bool      { return false }
func (i *inner) Cleanup(f func()) { i.cleanup = append(i.cleanup, f) }
func (i *inner) Logf(format string, args ...any) {
	fmt.Fprintf(&i.said, format+"\n", args...)
}

func (i *inner) Errorf(format string, args ...any) {
	i.failed = true
	i.Logf(format, args...)
}

func (i *inner) Fatalf(format string, args ...any) {
	i.Errorf(format, args...)
	runtime.Goexit()
}

// run runs a test to the end of its cleanup.
func run(t *testing.T, f func(testing.TB)) *inner {
	t.Helper()
	i := &inner{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range slices.Backward(i.cleanup) {
				f()
			}
		}()
		f(i)
	}()
	<-done
	return i
}

// model counts its questions.
func model(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"answer":%d,"bytes":%d}`, asked.Add(1), len(b))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", asked
}

// ask asks through the client, or through the address of a recording.
func ask(t testing.TB, c *http.Client, base, prompt string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":%q}]}`, prompt)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatalf("%v", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-test-0123456789abcdef")
	resp, err := c.Do(r)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return resp.StatusCode, string(b)
}

// The same test records, and is answered from the recording with the model
// gone, through a client and through an address; what it asks otherwise fails
// it with the step and the cause.
func TestReplayRecordsAnswersAndFails(t *testing.T) {
	url, asked := model(t)
	t.Setenv("REPRISE_CONFIG", t.TempDir())
	file := filepath.Join(t.TempDir(), "new", "run.reprise")
	questions := func(upstream string, prompts ...string) func(testing.TB) {
		return func(tb testing.TB) {
			rec := reprisetest.Replay(tb, file, &reprisetest.Options{Upstreams: map[string]string{"model": upstream}})
			ask(tb, rec.Client(), upstream, prompts[0])
			direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			for _, p := range prompts[1:] {
				ask(tb, direct, rec.BaseURL("model"), p)
			}
		}
	}
	if got := run(t, questions(url, "who?", "why?")); !got.failed || !strings.Contains(got.said.String(), "there is no recording yet") {
		t.Fatalf("without a recording: %s", &got.said)
	}
	t.Setenv(reprisetest.RecordVar, "1")
	if got := run(t, questions(url, "who?", "why?")); got.failed || asked.Load() != 2 {
		t.Fatalf("recording: %s, %d questions", &got.said, asked.Load())
	}
	b, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(b), "0123456789abcdef") {
		t.Fatalf("the recording = %v, or it holds the secret", err)
	}
	t.Setenv(reprisetest.RecordVar, "")
	const gone = "http://model.invalid/v1"
	for _, tt := range []struct {
		name    string
		prompts []string
		want    string
	}{
		{"the same", []string{"who?", "why?"}, ""},
		{"another prompt", []string{"who?", "how?"}, "step 1 equal; step 2 POST /v1/chat/completions differs; cause: messages[1] of the request, the prompt; the agent's own change"},
		{"one less", []string{"who?"}, "step 1 equal; step 2 POST /v1/chat/completions is missing; cause: the agent no longer asks for it, though all answers before it are equal"},
		{"one more", []string{"who?", "why?", "when?"}, "steps 1 to 2 equal; step 3 POST /v1/chat/completions differs; cause: messages[1] of the request, the prompt; the agent's own change"},
	} {
		got := run(t, questions(gone, tt.prompts...))
		if got.failed != (tt.want != "") || !strings.Contains(got.said.String(), tt.want) {
			t.Errorf("%s: failed %v: %s\nwant %s", tt.name, got.failed, &got.said, tt.want)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

// A test that fails while it records leaves the file as it was.
func TestAFailedTestIsNotRecorded(t *testing.T) {
	url, _ := model(t)
	t.Setenv("REPRISE_CONFIG", t.TempDir())
	t.Setenv(reprisetest.RecordVar, "1")
	file := filepath.Join(t.TempDir(), "run.reprise")
	run(t, func(tb testing.TB) {
		rec := reprisetest.Replay(tb, file, &reprisetest.Options{Unsigned: true})
		ask(tb, rec.Client(), url, "who?")
		tb.Errorf("the answer is wrong")
	})
	if _, err := os.Stat(file); err == nil {
		t.Error("a recording of the failed test was written")
	}
}

// What is no recording fails the test, and nothing of it runs on.
func TestABrokenRecordingFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.reprise")
	if err := os.WriteFile(file, []byte("no bundle"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, func(tb testing.TB) { reprisetest.Replay(tb, file, nil) }); !got.failed {
		t.Error("a broken recording passed")
	}
}

// A part of a recording is enough where the test says so.
func TestPartial(t *testing.T) {
	url, _ := model(t)
	t.Setenv("REPRISE_CONFIG", t.TempDir())
	t.Setenv(reprisetest.RecordVar, "1")
	file := filepath.Join(t.TempDir(), "run.reprise")
	run(t, func(tb testing.TB) {
		rec := reprisetest.Replay(tb, file, nil)
		ask(tb, rec.Client(), url, "who?")
		ask(tb, rec.Client(), url, "why?")
	})
	t.Setenv(reprisetest.RecordVar, "")
	for _, partial := range []bool{true, false} {
		got := run(t, func(tb testing.TB) {
			rec := reprisetest.Replay(tb, file, &reprisetest.Options{Partial: partial})
			if status, answer := ask(tb, rec.Client(), url, "who?"); status != 200 || answer != `{"answer":1,"bytes":99}` {
				tb.Errorf("answer = %d %s", status, answer)
			}
			rec.Close()
		})
		if got.failed == partial {
			t.Errorf("partial %v: %s", partial, &got.said)
		}
	}
}
