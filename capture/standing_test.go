package capture_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// stand starts a standing proxy; stop ends it and waits until all is sealed.
func (r *rig) stand(o capture.StandingOptions) (s *capture.Standing, base string, stop func()) {
	r.t.Helper()
	o.Config = r.config()
	s, err := capture.NewStanding(o)
	if err != nil {
		r.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				r.t.Errorf("Serve: %v", err)
			}
		})
	}
	r.t.Cleanup(stop)
	return s, "http://" + ln.Addr().String(), stop
}

// sealed returns the runs of the store that are sealed, by title, oldest first.
func (r *rig) sealed() map[string][]ledger.RunID {
	r.t.Helper()
	out := map[string][]ledger.RunID{}
	for info, err := range r.store.Runs(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if !info.Sealed {
			continue
		}
		title := r.entries(info.Run)[0].Body.Get("title").Str()
		out[title] = append(out[title], info.Run)
		r.verify(info.Run)
	}
	return out
}

// Each agent is a run: by the header, by the path, or by its credential. The
// header goes no further, and the path that the upstream sees is its own.
func TestStandingProxyKeepsAgentsApart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.EscapedPath()+"|"+r.Header.Get(capture.RunHeader))
		mu.Unlock()
		fmt.Fprint(w, "{}")
	})
	rig := newRig(t)
	s, base, stop := rig.stand(capture.StandingOptions{Upstreams: []string{"openai=" + up.URL + "/v1"}})
	const path, body = "/v1/chat/completions", `{"model":"m","messages":[]}`
	for _, r := range []struct{ path, name, value string }{
		{"/openai" + path, capture.RunHeader, "day"},
		{"/openai" + path, capture.RunHeader, "day"},
		{"/run/night/openai" + path, "", ""},
		{"/run/night/openai/v1/a%2Fb", "", ""},
		{"/openai" + path, "Authorization", "Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"},
		{"/openai" + path, "Authorization", "Bearer sk-proj-zyxwvutsrqponmlkjihgfedcba9876543210"},
		{"/openai" + path, "", ""},
	} {
		header := []string{r.name, r.value}
		if r.name == "" {
			header = nil
		}
		if got := send(t, "POST", base+r.path, body, header...); got.status != 200 {
			t.Fatalf("%s %s: %d %s", r.path, r.value, got.status, got.body)
		}
	}
	if runs := s.Runs(); len(runs) != 5 || runs[0].Name != "day" || runs[0].Calls != 2 || runs[1].By != "path" {
		t.Errorf("open runs = %+v", runs)
	}
	if got := send(t, "GET", base+capture.StandingPath, ""); !bytes.Contains(got.body, []byte(`"name":"night"`)) || !bytes.Contains(got.body, []byte(`"path":"/openai/v1"`)) {
		t.Errorf("list = %s", got.body)
	}
	for _, a := range asked {
		if a != path+"|" && a != "/v1/a%2Fb|" {
			t.Errorf("the upstream was asked %s", a)
		}
	}
	stop()
	sealed := rig.sealed()
	if len(sealed) != 5 || len(sealed["day"]) != 1 {
		t.Errorf("sealed = %v", sealed)
	}
	for _, e := range rig.entries(sealed["day"][0]) {
		if strings.Contains(e.Body.String(), "Reprise-Run") {
			t.Errorf("entry %d holds the header: %s", e.N, e.Body)
		}
	}
	// What it recorded replays like any other run, without the proxy.
	o, _ := rig.surrounded([]string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1"}, "sh", "-c", `for n in 1 2; do curl -sS $OPENAI_BASE_URL/chat/completions -H 'content-type: application/json' -d '`+body+`'; done`)
	again := rig.mustReplay(o, capture.ReplayOptions{Run: sealed["day"][0]})
	if again.Report.Verdict != replay.Same {
		t.Errorf("replay = %s", again.Report.Value())
	}
}

// A run ends when it was idle, and when it has as many calls as one may have.
func TestStandingProxyEndsRuns(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	for _, test := range []struct {
		name     string
		idle     time.Duration
		maxCalls int64
		calls    int
		ended    []int64 // by itself, with so many calls
		runs     int
	}{
		{"that have enough calls", time.Hour, 3, 7, []int64{3, 3}, 3},
		{"that are idle", 50 * time.Millisecond, 0, 1, []int64{1}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			ended := make(chan capture.StandingRun, 16)
			_, base, stop := rig.stand(capture.StandingOptions{
				Upstreams: []string{"openai=" + up.URL}, Idle: test.idle, MaxCalls: test.maxCalls,
				Said: func(r capture.StandingRun) {
					if r.Ended {
						ended <- r
					}
				},
			})
			call := func() { send(t, "POST", base+"/openai/x", `{}`, capture.RunHeader, "long") }
			for range test.calls {
				call()
			}
			for _, want := range test.ended {
				if r := <-ended; r.Calls != want || r.Err != nil {
					t.Errorf("ended with %d calls, %v, want %d", r.Calls, r.Err, want)
				}
			}
			call()
			stop()
			if got := rig.sealed()["long"]; len(got) != test.runs {
				t.Errorf("%d runs, want %d", len(got), test.runs)
			}
		})
	}
}

// A stop lets the answers end that are under way, and what does not end in the
// grace is recorded as broken off. Everything is sealed.
func TestStandingProxyStops(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		grace time.Duration
		ends  bool // once the proxy is stopping
		want  effect.Status
	}{
		{"ends", time.Hour, true, effect.OK},
		{"never", 50 * time.Millisecond, false, effect.Interrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			begun, release := make(chan struct{}), make(chan struct{})
			up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, "data: 1\n\n")
				_ = http.NewResponseController(w).Flush()
				close(begun)
				select {
				case <-release:
					fmt.Fprint(w, "data: 2\n\n")
				case <-r.Context().Done():
				}
			})
			rig := newRig(t)
			_, base, stop := rig.stand(capture.StandingOptions{Upstreams: []string{"openai=" + up.URL}, Grace: test.grace})
			answer := make(chan got, 1)
			go func() { answer <- send(t, "GET", base+"/openai/x", "", capture.RunHeader, test.name) }()
			<-begun
			stopped := make(chan struct{})
			go func() { defer close(stopped); stop() }()
			for send(t, "GET", base+"/", "").err == nil { // as long as it takes new requests, it does not stop yet
				time.Sleep(time.Millisecond)
			}
			if test.ends {
				close(release)
			}
			<-stopped
			if a := <-answer; (a.err == nil) != test.ends || test.ends && string(a.body) != "data: 1\n\ndata: 2\n\n" {
				t.Errorf("the answer = %q, %v; want it whole: %v", a.body, a.err, test.ends)
			}
			sealed := rig.sealed()
			if len(sealed[test.name]) != 1 {
				t.Fatalf("sealed = %v", sealed)
			}
			if o := rig.outcomes(sealed[test.name][0])[0]; o.Status != test.want {
				t.Errorf("the outcome = %s, want %s", o.Status, test.want)
			}
		})
	}
}

func TestStandingProxyRefuses(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the upstream was asked") })
	rig := newRig(t)
	_, base, _ := rig.stand(capture.StandingOptions{Upstreams: []string{"openai=" + up.URL}})
	for _, c := range []struct {
		path, header, value string
		status              int
	}{
		{"/nowhere/x", "", "", 404},
		{"/", "", "", 404},
		{"/openai/x", capture.RunHeader, "a b", 400},
		{"/run//openai/x", "", "", 400},
		{"/openai/x", "Origin", "https://evil.example", 403},
		{"/openai/x", "Host", "evil.example", 403},
	} {
		req, err := http.NewRequest(http.MethodPost, base+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if c.header == "Host" {
			req.Host = c.value
		} else if c.header != "" {
			req.Header.Set(c.header, c.value)
		}
		resp, err := client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s with %s %q = %d, want %d", c.path, c.header, c.value, resp.StatusCode, c.status)
		}
	}
}

// Many agents at a time, each with its own run.
func TestStandingProxyWithManyAgents(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	rig := newRig(t)
	_, base, stop := rig.stand(capture.StandingOptions{Upstreams: []string{"openai=" + up.URL}})
	var wg sync.WaitGroup
	const agents, calls = 20, 10
	for a := range agents {
		wg.Go(func() {
			for range calls {
				if got := send(t, "POST", fmt.Sprintf("%s/run/agent-%d/openai/x", base, a), `{}`); got.status != 200 {
					t.Errorf("agent %d: %d %s %v", a, got.status, got.body, got.err)
				}
			}
		})
	}
	wg.Wait()
	stop()
	sealed := rig.sealed()
	if len(sealed) != agents {
		t.Errorf("%d runs, want %d", len(sealed), agents)
	}
	for name, runs := range sealed {
		if n := len(rig.outcomes(runs[0])); len(runs) != 1 || n != calls {
			t.Errorf("%s: %d runs, %d calls", name, len(runs), n)
		}
	}
}

// A client may speak HTTP/2 to an address without TLS, and does not ask before.
func TestClientThatSpeaksHTTP2WithoutTLS(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range []string{"data: 1\n\n", "data: 2\n\n"} {
			fmt.Fprint(w, part)
			w.(http.Flusher).Flush()
		}
	})
	rig := newRig(t)
	_, base, stop := rig.stand(capture.StandingOptions{Upstreams: []string{"openai=" + up.URL + "/v1"}})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	resp, err := client.Post(base+"/run/two/openai/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.ProtoMajor != 2 || string(body) != "data: 1\n\ndata: 2\n\n" {
		t.Errorf("the answer is %s %q, %v", resp.Proto, body, err)
	}
	client.CloseIdleConnections()
	stop()
	runs := rig.sealed()["two"]
	if len(runs) != 1 {
		t.Fatalf("runs = %v, want one", runs)
	}
	if proto := rig.entries(runs[0])[1].Body.Get("data").Get("proto").Str(); proto != "HTTP/2.0" {
		t.Errorf("the call says proto %q, want HTTP/2.0", proto)
	}
}
