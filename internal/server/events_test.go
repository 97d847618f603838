package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// follow opens a stream and returns what gives its next event, and what hangs
// up.
func (r *rig) follow(path string, last string) (next func() (api.EntryEvent, bool), hangUp func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	r.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.http.URL+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		r.t.Errorf("a stream of type %q", ct)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() (e api.EntryEvent, ok bool) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					r.t.Fatal(err)
				}
				return e, true
			}
		}
		if err := lines.Err(); err != nil {
			r.t.Fatal(err)
		}
		return e, false
	}, cancel
}

func kinds(next func() (api.EntryEvent, bool), most int) (out []string) {
	for len(out) < most {
		e, ok := next()
		if !ok {
			return append(out, "end")
		}
		out = append(out, e.Kind)
	}
	return out
}

func TestTheStreamOfOneRunEndsWithItsSeal(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, c := range []struct{ path, last, want string }{
		{"/v1/events?run=last", "", "open call outcome call outcome seal end"},
		{"/v1/events?run=last&from=3", "", "call outcome seal end"},
		{"/v1/events?run=last", "4", "seal end"},
		{"/v1/events?run=last", "5", "end"},
		{"/v1/events?run=last&from=99", "", "end"},
	} {
		next, _ := r.follow(c.path, c.last)
		if got := strings.Join(kinds(next, 10), " "); got != c.want {
			t.Errorf("%s after %q = %s, want %s", c.path, c.last, got, c.want)
		}
	}
}

func TestNewEntriesComeAsTheyAreAppended(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	next, _ := r.follow("/v1/events", "")
	s := r.open("live")
	if e, ok := next(); !ok || e.Kind != "open" || e.Run != string(s.Run()) || e.N != 0 {
		t.Fatalf("the first event is %+v", e)
	}
	r.call(s, "x", []byte("y"))
	if got := strings.Join(kinds(next, 2), " "); got != "call outcome" {
		t.Errorf("then came %s", got)
	}
	if err := s.Seal(t.Context(), "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	if e, _ := next(); e.Kind != "seal" || e.Status != "ok" {
		t.Errorf("the last event is %+v", e)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.opts.MaxStreams = 1 })
	_, hangUp := r.follow("/v1/events", "")
	busy, b := r.ask(http.MethodGet, "/v1/events", nil, nil)
	r.wantProblem(busy, b, http.StatusServiceUnavailable, "server.too_many_streams")
	hangUp()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // the server sees with its next look that the client is gone
		resp, _ := r.ask(http.MethodGet, "/v1/events?run=last&from=6", nil, nil)
		if resp.StatusCode == http.StatusOK {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the place of a stream that ended is never free")
}
