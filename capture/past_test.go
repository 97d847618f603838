package capture_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// A past exchange becomes the entries that the proxy would have written, but
// for what nobody knows any more: when its parts came.
func TestAPastExchangeEqualsARecordedOne(t *testing.T) {
	var past capture.Past
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		past.Method, past.URL, past.Proto, past.Header = r.Method, r.URL, r.Proto, r.Header.Clone()
		past.Body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=1234567890")
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, `{"said":"the key is sk-proj-1234567890abcdefghij"}`)
	}))
	defer up.Close()
	r := newRig(t)
	live := r.record(up.URL)
	got := send(t, "POST", live.url+"/v1/chat/completions?key=a-long-enough-secret", `{"model":"m","prompt_cache_key":"x"}`, "Authorization", "Bearer 1234567890abcdef")
	if got.err != nil || got.status != http.StatusTeapot {
		t.Fatalf("live = %d, %v", got.status, got.err)
	}
	recorded := r.entries(live.seal())

	past.Status, past.ResponseHeader, past.Response = got.status, got.header, got.body
	taken := r.take(t, up.URL, &past)

	for _, i := range []int{1, 2} { // call and outcome
		a, b := recorded[i], taken[i]
		if !ledger.Compared(a.Body).Equal(ledger.Compared(b.Body)) || !a.Body.Get("cred").Equal(b.Body.Get("cred")) {
			t.Errorf("%s taken = %s\nrecorded = %s", a.Kind, b.Body, a.Body)
		}
		if a.Att[0].Name != b.Att[0].Name || a.Att[0].Type != b.Att[0].Type || a.Att[0].Size != b.Att[0].Size {
			t.Errorf("%s taken = %+v, recorded = %+v", a.Kind, b.Att[0], a.Att[0])
		}
	}
}

// take puts one past exchange into a new run and returns its entries.
func (r *rig) take(t *testing.T, upstream string, past *capture.Past) []ledger.Opened {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	s, err := drive.Open(t.Context(), r.config(), drive.Opening{Engine: capture.Engine, Mode: "import", Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := capture.New(s, capture.Options{Upstreams: []capture.Upstream{{Name: "model", URL: u}}})
	if err != nil {
		t.Fatal(err)
	}
	past.URL.Scheme, past.URL.Host = u.Scheme, u.Host
	if err := p.Take(t.Context(), "model", past); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context(), "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	return r.entries(s.Run())
}

// Evidence keeps its bytes and answers nothing.
func TestEvidenceIsKeptAndNeverServed(t *testing.T) {
	const errLost fault.NotFound = "test.lost"
	r := newRig(t)
	past := &capture.Past{
		Method: "GET", URL: &url.URL{Path: "/file"}, Status: 200, Response: []byte("half of it"),
		Evidence: errLost, Why: "the rest was cut", About: canon.Object(canon.M("format", canon.String("a test"))),
	}
	taken := r.take(t, "http://127.0.0.1:1", past)
	o, err := effect.ParseOutcome(taken[2].Body)
	if err != nil || o.Status != effect.Error || o.Code != fault.Code(errLost) || len(taken[2].Att) != 1 {
		t.Errorf("outcome = %+v with %d contents, %v, want an error %s with one", o, len(taken[2].Att), err, errLost)
	}
	again := r.replay(taken[0].Run)
	if got := send(t, "GET", again.url+"/file", ""); got.status != http.StatusBadGateway || string(got.body) == "half of it" {
		t.Errorf("replay = %d %s, want 502 and why", got.status, got.body)
	}
	report := again.report(t)
	if d := report.First(); report.Verdict != replay.Diverged || d == nil || d.Nearest != 1 || d.Step != 1 || !strings.Contains(d.Msg, "the rest was cut") {
		t.Errorf("report = %s, want the call diverged, and why", report.Value())
	}
}

func TestAPastExchangeOverTheLimitsIsRefused(t *testing.T) {
	big := make([]byte, 40<<10)
	for i := range big {
		big[i] = 'x'
	}
	at := &url.URL{Scheme: "http", Host: "h", Path: "/"}
	for _, tt := range []struct {
		name string
		past capture.Past
		ok   bool
	}{
		{"small", capture.Past{URL: at}, true},
		{"request head", capture.Past{URL: at, Header: http.Header{"A": {string(big)}}}, false},
		{"address", capture.Past{URL: &url.URL{Path: string(big)}}, false},
		{"response head", capture.Past{URL: at, ResponseHeader: http.Header{"A": {string(big)}}}, false},
		{"request", capture.Past{URL: at, Body: big}, false},
	} {
		if err := tt.past.Check(10 << 10); (err == nil) != tt.ok {
			t.Errorf("%s: Check = %v, want refused: %v", tt.name, err, !tt.ok)
		}
	}
}
