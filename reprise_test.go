package reprise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

func openRecorder(t *testing.T, dsn string) *reprise.Recorder {
	t.Helper()
	r, err := reprise.Open(t.Context(), dsn, &reprise.Options{Keys: t.TempDir() + "/keys", Environ: []string{"MY_API_KEY=hush-hush-hush"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func mustReplay(t *testing.T, r *reprise.Recorder, run ledger.RunID, agent func(context.Context, *reprise.Session) error) *replay.Report {
	t.Helper()
	report, err := r.Replay(t.Context(), string(run), nil, agent)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// errEmpty is an error with a code of its own.
const errEmpty fault.Conflict = "test.empty"

func TestAFunctionIsCalledOnceAndReplayedFromItsRecord(t *testing.T) {
	t.Parallel()
	r := openRecorder(t, "memory:")
	var called atomic.Int64
	var seen []string
	agent := func(ctx context.Context, s *reprise.Session) error {
		seen = nil
		for _, n := range []int{2, 3, 0, -1} {
			out, err := reprise.Call(ctx, s, reprise.Func{Name: "double", Class: effect.Pure}, n, func(ctx context.Context, n int) (map[string]int, error) {
				called.Add(1)
				if n == 0 {
					return nil, fault.New(errEmpty, "test", "nothing to double")
				}
				if n < 0 {
					return nil, errors.New("plain")
				}
				// What a recorded function does is a part of its call.
				inner, err := reprise.Call(ctx, s, reprise.Func{Name: "inner"}, n, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
				return map[string]int{"is": inner}, err
			})
			seen = append(seen, fmt.Sprint(out, err, fault.ClassOf(err)))
		}
		return nil
	}
	run, err := r.Record(t.Context(), reprise.RecordOptions{Title: "functions"}, agent)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"map[is:4] <nil> none", "map[is:6] <nil> none",
		"map[] test.empty: test.empty: nothing to double conflict", "map[] reprise.function_failed: plain unavailable",
	}
	if !slices.Equal(seen, want) || called.Load() != 4 {
		t.Errorf("live the agent saw\n%q\nafter %d calls, want\n%q", seen, called.Load(), want)
	}
	report := mustReplay(t, r, run, agent)
	if report.Verdict != replay.Same || called.Load() != 4 || !slices.Equal(seen, want) {
		t.Errorf("%s, %d calls, the agent saw %q: %+v", report.Head(), called.Load(), seen, report.Divergences)
	}
	for run, err := range r.Runs(t.Context()) {
		if err != nil || run.Calls != 4 || !run.Sealed || run.Status != "ok" {
			t.Errorf("a run is %+v, %v", run, err)
		}
	}
}

func TestAChangedAgentIsFoundAtItsFirstChange(t *testing.T) {
	t.Parallel()
	r := openRecorder(t, "memory:")
	calls := 0
	agent := func(words ...string) func(context.Context, *reprise.Session) error {
		return func(ctx context.Context, s *reprise.Session) error {
			for _, w := range words {
				if _, err := reprise.Call(ctx, s, reprise.Func{Name: "say"}, w, func(_ context.Context, w string) (string, error) {
					calls++
					return w, nil
				}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	run, err := r.Record(t.Context(), reprise.RecordOptions{}, agent("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	report := mustReplay(t, r, run, agent("a", "x", "c"))
	if report.Verdict != replay.Diverged || calls != 3 {
		t.Fatalf("%s after %d calls", report.Head(), calls)
	}
	first := report.Divergences[0]
	if first.Kind != replay.Extra || first.Name != "say" || first.Nearest != 3 || first.Where[0].Pointer != "" || first.Where[0].A.Str() != "b" {
		t.Errorf("the first divergence is %+v", first)
	}
	if last := report.Divergences[len(report.Divergences)-1]; last.What != "result" {
		t.Errorf("that the agent failed is not told: %+v", last)
	}
	again, err := r.Record(t.Context(), reprise.RecordOptions{}, agent("a", "x", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := r.Diff(t.Context(), string(run), string(again)); err != nil || d.Verdict != replay.Diverged || d.Divergences[0].Step != 2 {
		t.Errorf("Diff = %+v, %v", d, err)
	}
}

func TestStreamsAddressesAndBrokenAnswersAreReplayed(t *testing.T) {
	t.Parallel()
	r := openRecorder(t, "sqlite:"+t.TempDir()+"/store/reprise.db")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				w.(http.Flusher).Flush()
			}
		case "/api/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprintf(w, "%s with %s", r.URL.Path, r.Header.Get("Authorization"))
		}
	}))
	var seen []string
	agent := func(ctx context.Context, s *reprise.Session) error {
		seen = nil
		base, err := s.BaseURL(ctx, srv.URL+"/api")
		if err != nil {
			return err
		}
		for _, x := range []struct {
			client *http.Client
			url    string
		}{
			{s.Client(), srv.URL + "/api/stream"}, {s.Client(), srv.URL + "/api/broken"}, {http.DefaultClient, base + "/plain"},
		} {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, x.url, nil)
			if err != nil {
				return err
			}
			req.Header.Set("Authorization", "Bearer hush-hush-hush")
			resp, err := x.client.Do(req)
			if err != nil {
				return err
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			seen = append(seen, fmt.Sprintf("%d %s %v", resp.StatusCode, b, err != nil))
		}
		return nil
	}
	run, err := r.Record(t.Context(), reprise.RecordOptions{Upstreams: map[string]string{"up": srv.URL}}, agent)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"200 data: 0\n\ndata: 1\n\ndata: 2\n\n false", "200 half true", "200 /api/plain with Bearer hush-hush-hush false"}
	if !slices.Equal(seen, want) {
		t.Errorf("live the agent saw %q, want %q", seen, want)
	}
	srv.Close()
	report, err := r.Replay(t.Context(), "last", &reprise.ReplayOptions{Upstreams: map[string]string{"up": srv.URL}}, agent)
	if err != nil || report.Verdict != replay.Same {
		t.Fatalf("Replay = %v %+v", err, report)
	}
	// What the record does not hold the replay cannot give: the secret.
	want[2] = strings.Replace(want[2], "hush-hush-hush", "{redacted:MY_API_KEY}", 1)
	if !slices.Equal(seen, want) {
		t.Errorf("in the replay the agent saw %q, want %q", seen, want)
	}
	var bundle bytes.Buffer
	if err := r.Export(t.Context(), string(run), &bundle); err != nil || bytes.Contains(bundle.Bytes(), []byte("hush-hush")) {
		t.Errorf("Export = %v; the secret in it: %v", err, bytes.Contains(bundle.Bytes(), []byte("hush-hush")))
	}
	other := openRecorder(t, "memory:")
	if runs, err := other.Import(t.Context(), bytes.NewReader(bundle.Bytes()), int64(bundle.Len())); err != nil || !slices.Equal(runs, []ledger.RunID{run}) {
		t.Errorf("Import = %v, %v", runs, err)
	}
	if report, err := other.Verify(t.Context(), "last", ledger.LevelChain); err != nil || report.Verdict != replay.Verified {
		t.Errorf("Verify = %+v, %v", report, err)
	}
	if report, err := other.Verify(t.Context(), "last", ledger.LevelSigned); err != nil || report.Verdict != replay.Below {
		t.Errorf("Verify by somebody else's root = %+v, %v", report, err)
	}
}

func TestAnAgentThatFailsOrPanicsLeavesItsRecord(t *testing.T) {
	t.Parallel()
	r := openRecorder(t, "memory:")
	plain := errors.New("no more")
	var kept *reprise.Session
	run, err := r.Record(t.Context(), reprise.RecordOptions{}, func(_ context.Context, s *reprise.Session) error {
		kept = s
		return plain
	})
	if !errors.Is(err, plain) {
		t.Errorf("Record = %v", err)
	}
	resp, err := kept.Client().Get("http://127.0.0.1:1/")
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, reprise.ErrEnded) {
		t.Errorf("a request after the end = %v", err)
	}
	if report := mustReplay(t, r, run, func(context.Context, *reprise.Session) error { return plain }); report.Verdict != replay.Same {
		t.Errorf("the same failure: %s", report.Head())
	}
	if report := mustReplay(t, r, run, func(context.Context, *reprise.Session) error { return nil }); report.Verdict != replay.Diverged {
		t.Errorf("a success where there was a failure: %s", report.Head())
	}
	func() {
		defer func() {
			if p := recover(); p != "ouch" {
				t.Errorf("the panic became %v", p)
			}
		}()
		_, _ = r.Record(t.Context(), reprise.RecordOptions{Title: "panics"}, func(ctx context.Context, s *reprise.Session) error {
			_, _ = reprise.Call(ctx, s, reprise.Func{Name: "f"}, 1, func(context.Context, int) (int, error) { return 2, nil })
			panic("ouch")
		})
	}()
	for run, err := range r.Runs(t.Context()) {
		if err != nil || run.Title != "panics" || run.Sealed || run.Calls != 1 {
			t.Errorf("the run of the panic is %+v, %v", run, err)
		}
		break
	}
	if report, err := r.Verify(t.Context(), "last", ledger.LevelSigned); err != nil || report.Verdict != replay.Verified {
		t.Errorf("Verify = %+v, %v", report, err)
	}
}

func TestWhatCannotBeRecordedIsRefused(t *testing.T) {
	t.Parallel()
	r := openRecorder(t, "memory:")
	_, err := r.Record(t.Context(), reprise.RecordOptions{}, func(ctx context.Context, s *reprise.Session) error {
		if _, err := reprise.Call(ctx, s, reprise.Func{Name: "f"}, make(chan int), func(context.Context, chan int) (int, error) { return 0, nil }); !errors.Is(err, reprise.ErrValue) {
			t.Errorf("a channel as an argument: %v", err)
		}
		if _, err := reprise.Call(ctx, s, reprise.Func{Name: "f"}, 1, func(context.Context, int) (func(), error) { return func() {}, nil }); !errors.Is(err, reprise.ErrValue) {
			t.Errorf("a function as a result: %v", err)
		}
		for _, address := range []string{"", "ftp://x", "http://", "%"} {
			if _, err := s.BaseURL(ctx, address); !errors.Is(err, reprise.ErrAddress) {
				t.Errorf("BaseURL(%q) = %v", address, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), reprise.RecordOptions{Upstreams: map[string]string{"a": "http://x/1", "b": "http://x/2"}}, nil); !errors.Is(err, reprise.ErrAddress) {
		t.Errorf("two names of one host: %v", err)
	}
	if _, err := r.Replay(t.Context(), "nothing", nil, nil); fault.ClassOf(err) != fault.ClassNotFound {
		t.Errorf("a replay of nothing: %v", err)
	}
	if _, err := reprise.Open(t.Context(), "oracle:x", &reprise.Options{Unsigned: true}); fault.ClassOf(err) != fault.ClassInvalid {
		t.Errorf("Open of no store: %v", err)
	}
}
