package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

func TestRunsAreListedNewestFirstInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	all := get[api.RunPage](r, "/v1/runs")
	if len(all.Runs) != 2 || all.Next != "" || all.Runs[0].ID != string(r.runs[0]) {
		t.Fatalf("the list is %+v", all)
	}
	if got := all.Runs[0]; got.Title != "second" || got.Calls != 2 || !got.Sealed || got.Status != "ok" || got.Entries != 6 || *got.AgentExit != 0 || got.Head == "" || got.Opened == "" {
		t.Errorf("the newest run is %+v", got)
	}
	one := get[api.RunPage](r, "/v1/runs?limit=1")
	if len(one.Runs) != 1 || one.Next != string(r.runs[0]) {
		t.Fatalf("the first page is %+v", one)
	}
	two := get[api.RunPage](r, "/v1/runs?limit=1&before="+one.Next)
	if len(two.Runs) != 1 || two.Runs[0].ID != string(r.runs[1]) || two.Next != "" {
		t.Errorf("the second page is %+v", two)
	}
}

func TestARunIsFoundByItsNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for name, want := range map[string]ledger.RunID{
		"last": r.runs[0], "last~1": r.runs[1], string(r.runs[1]): r.runs[1], strings.ToUpper(string(r.runs[0])): r.runs[0],
	} {
		if got := get[api.RunDetail](r, "/v1/runs/"+name); got.ID != string(want) || string(got.SealData) != `{"exit":0}` {
			t.Errorf("%s = %+v, want %s", name, got, want)
		}
	}
	for name, want := range map[string]fault.Code{
		"last~2": insight.ErrNoRun, "x": insight.ErrNoRun, "ffff": insight.ErrNoRun, "last~-1": insight.ErrNoRun, "0": insight.ErrAmbiguous,
	} {
		resp, b := r.ask(http.MethodGet, "/v1/runs/"+name, nil, nil)
		r.wantProblem(resp, b, want.Class().HTTPStatus(), want.Error())
	}
}

func TestEntriesComeAsTheyAreStored(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	all := get[api.EntryPage](r, "/v1/runs/last/entries")
	n := 0
	for e, err := range r.store.Read(t.Context(), r.runs[0], 0) {
		if err != nil {
			t.Fatal(err)
		}
		got := all.Entries[n]
		var compact bytes.Buffer
		if err := json.Compact(&compact, got.Body); err != nil || compact.String() != string(e.Body) || got.ID != e.ID.String() || got.N != int64(n) {
			t.Errorf("entry %d is %+v, want the body %s", n, got, e.Body)
		}
		n++
	}
	if len(all.Entries) != n || all.Next != nil {
		t.Fatalf("%d entries with next %v, want %d", len(all.Entries), all.Next, n)
	}
	if a := all.Entries[2].Attachments; len(a) != 1 || a[0].Name != "response" || a[0].Type != "text/html" || a[0].Size != 19 || !a[0].Here {
		t.Errorf("the attachments of the outcome are %+v", a)
	}
	page := get[api.EntryPage](r, "/v1/runs/last/entries?from=2&limit=2")
	if len(page.Entries) != 2 || page.Entries[0].N != 2 || *page.Next != 4 {
		t.Errorf("a page is %+v", page)
	}
	if past := get[api.EntryPage](r, "/v1/runs/last/entries?from=99"); len(past.Entries) != 0 || past.Next != nil {
		t.Errorf("behind the end there is %+v", past)
	}
}

func TestAttachmentsAreDownloadsOfTheRecordedBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	s := r.open("large")
	r.call(s, "all", large)
	if err := s.Seal(context.Background(), "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		want       []byte
	}{
		{"short", "/v1/runs/last~1/entries/2/attachments/response", []byte(`{"answer":"to one"}`)},
		{"long", "/v1/runs/last/entries/2/attachments/response", large},
	} {
		resp, b := r.ask(http.MethodGet, c.path, nil, nil)
		if resp.StatusCode != http.StatusOK || !bytes.Equal(b, c.want) {
			t.Errorf("%s: %s with %d bytes, want %d", c.name, resp.Status, len(b), len(c.want))
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html", "X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment; filename=response",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Access-Control-Allow-Origin": "",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.name, name, got, want)
			}
		}
	}
	for path, want := range map[string]fault.Code{
		"/v1/runs/last/entries/2/attachments/none":      ledger.ErrNotFound,
		"/v1/runs/last/entries/99/attachments/response": ledger.ErrNotFound,
	} {
		resp, b := r.ask(http.MethodGet, path, nil, nil)
		r.wantProblem(resp, b, want.Class().HTTPStatus(), want.Error())
	}
}

// broken is a store that gives other bytes than were stored.
type broken struct {
	archive.Store
	from int64
	gets int64
}

func (b *broken) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	p, err := b.Store.Get(ctx, scope, id)
	if b.gets++; err == nil && b.gets > b.from {
		p = append([]byte("x"), p[1:]...)
	}
	return p, err
}

func TestBytesThatAreNotTheRecordedOnesAreNeverCompleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	s := r.open("large")
	r.call(s, "all", large)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	bad, err := server.New(&broken{Store: r.store, from: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.http.Config.Handler = bad
	resp, err := http.Get(r.http.URL + "/v1/runs/last/entries/2/attachments/response")
	if err != nil {
		return // broken off before its head came
	}
	defer resp.Body.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
		t.Errorf("%d changed bytes came as a whole answer", buf.Len())
	}
}

func TestHeadsAndKeysAreThoseThatVerify(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	heads := get[api.HeadList](r, "/v1/runs/last/heads")
	last := heads.Heads[len(heads.Heads)-1]
	if last.Count != 6 || last.Last != get[api.RunDetail](r, "/v1/runs/last").Head {
		t.Errorf("the last head is %+v", last)
	}
	k := get[api.Keys](r, "/v1/keys")
	roots, err := keys.ParsePublic([]byte(k.Root))
	if err != nil || roots[0].ID() != r.keys.Root().ID() || len(k.Manifests) != 1 || len(k.Keys) != 1 || k.Keys[0].State != "active" {
		t.Errorf("the keys are %+v, %v", k, err)
	}
	if strings.Contains(string(must(json.Marshal(k))), "PRIVATE") {
		t.Error("a private key left the machine")
	}
	none := newRig(t, func(r *rig) { r.opts.Keys = nil })
	resp, b := none.ask(http.MethodGet, "/v1/keys", nil, nil)
	none.wantProblem(resp, b, http.StatusNotFound, "server.no_keys")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestVerifyReportsTheLevelAndTheHeadAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	info := get[api.RunDetail](r, "/v1/runs/last")
	stranger := must(json.Marshal(string(keys.EncodePublic(bundletest.Key("stranger").Public()))))
	for _, c := range []struct {
		name, body, verdict string
		level               int64
	}{
		{"nothing asked", "", "verified", 1},
		{"level 0", `{"level":0}`, "verified", 1},
		{"level 2", `{"level":2}`, "below", 1},
		{"the head", `{"expect_head":{"count":6,"last":"` + info.Head + `"}}`, "verified", 1},
		{"another head", `{"expect_head":{"count":5,"last":"` + info.Head + `"}}`, "failed", 0},
		{"another root", `{"trust":` + string(stranger) + `}`, "below", 0},
	} {
		got := read[api.Report](r, http.MethodPost, "/v1/runs/last/verify", c.body)
		if got.Verdict != c.verdict || *got.Level != c.level || got.Verb != "verify" || len(got.Phases) != 10 {
			t.Errorf("%s: %+v, want %s at level %d", c.name, got, c.verdict, c.level)
		}
	}
	// The report is the one that the command line prints.
	want := must(archive.VerifyRun(t.Context(), r.store, r.runs[0], &archive.VerifyOptions{Roots: r.keys.Roots(), Manifests: r.keys.Manifests()}))
	_, b := r.ask(http.MethodPost, "/v1/runs/last/verify", nil, nil)
	if got := must(canon.Parse(b)); !got.Equal(must(canon.Parse([]byte(want.Value().String())))) {
		t.Errorf("the report is\n%s\nwant\n%s", got, want.Value())
	}
}

func TestDiffNamesTheFirstDifference(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	got := get[api.Report](r, "/v1/diff?a=last~1&b=last")
	if got.Verdict != "diverged" || got.Divergences[0].Step != 2 || *got.Divergences[0].Recorded != 3 {
		t.Errorf("the diff is %+v", got)
	}
	want := must(insight.Diff(t.Context(), r.store, r.runs[1], r.runs[0]))
	_, b := r.ask(http.MethodGet, "/v1/diff?a=last~1&b=last", nil, nil)
	if got := must(canon.Parse(b)); !got.Equal(must(canon.Parse([]byte(want.Value().String())))) {
		t.Errorf("the report is\n%s\nwant\n%s", got, want.Value())
	}
	if got := get[api.Report](r, "/v1/diff?a=last&b=last"); got.Verdict != "same" {
		t.Errorf("a run differs from itself: %+v", got)
	}
	resp, b := r.ask(http.MethodGet, "/v1/diff?a=last", nil, nil)
	r.wantProblem(resp, b, http.StatusBadRequest, "server.bad_request")
}

func TestABundleGoesOutAndComesIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	resp, b := r.ask(http.MethodGet, "/v1/runs/last/bundle", nil, nil)
	if resp.Header.Get("Content-Type") != api.BundleType || !bytes.Equal(b, export(t, r.store, r.runs[0])) {
		t.Fatalf("the bundle is %d bytes of %q", len(b), resp.Header.Get("Content-Type"))
	}
	other := newRig(t, nil)
	resp, got := other.ask(http.MethodPost, "/v1/bundles", bytes.NewReader(b), nil)
	var res api.ImportResult
	if err := json.Unmarshal(got, &res); err != nil || resp.StatusCode != http.StatusOK || len(res.Runs) != 1 || res.Runs[0].NewEntries != 6 {
		t.Fatalf("import = %s %s", resp.Status, got)
	}
	if _, got = other.ask(http.MethodPost, "/v1/bundles", bytes.NewReader(b), nil); !bytes.Contains(got, []byte(`"new_entries":0`)) {
		t.Errorf("the second import = %s", got)
	}
	if again := export(t, other.store, r.runs[0]); !bytes.Equal(again, b) {
		t.Error("what came in is not what went out")
	}
	if left := must(os.ReadDir(other.opts.Temp)); len(left) != 0 {
		t.Errorf("%d staged files were left behind", len(left))
	}
}

func TestABadBundleIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.opts.MaxBundle = 100 << 10 })
	good := sample(t)
	for _, c := range []struct {
		name   string
		body   []byte
		status int
		code   string
	}{
		{"not a bundle", []byte("hello"), http.StatusBadRequest, "bundle.not_a_bundle"},
		{"nothing", nil, http.StatusBadRequest, "bundle.not_a_bundle"},
		{"changed", append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), http.StatusInternalServerError, ""},
		{"cut off", good[:len(good)-40], http.StatusInternalServerError, ""},
		{"too large", make([]byte, 100<<10+1), http.StatusBadRequest, "server.too_large"},
	} {
		for _, chunked := range []bool{false, true} {
			resp, b := r.ask(http.MethodPost, "/v1/bundles", bytes.NewReader(c.body), func(q *http.Request) {
				if chunked {
					q.ContentLength = -1
				}
			})
			var p api.Problem
			if err := json.Unmarshal(b, &p); err != nil || resp.StatusCode != c.status || c.code != "" && p.Code != c.code || c.code == "" && p.Class != "integrity" {
				t.Errorf("%s (chunked %v): %s %s, want %d %s", c.name, chunked, resp.Status, b, c.status, c.code)
			}
		}
	}
	if _, err := r.store.At(t.Context(), bundletest.RunID("a")); fault.ClassOf(err) != fault.ClassNotFound {
		t.Errorf("something was written: %v", err)
	}
	closed := newRig(t, func(r *rig) { r.opts.Rand = nil })
	resp, b := closed.ask(http.MethodPost, "/v1/bundles", bytes.NewReader(good), nil)
	closed.wantProblem(resp, b, http.StatusForbidden, "server.read_only")
}

// down is a store that does not answer.
type down struct{ archive.Store }

func (down) Runs(context.Context) iter.Seq2[ledger.RunInfo, error] {
	return func(yield func(ledger.RunInfo, error) bool) {
		yield(ledger.RunInfo{}, errors.New("dial tcp 10.1.2.3: secret path"))
	}
}

func TestHealthIsOfTheProcessAndReadinessOfTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := get[api.Health](r, path); got.Status != "ok" {
			t.Errorf("%s = %+v", path, got)
		}
	}
	s, err := server.New(down{r.store}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.http.Config.Handler = s
	if got := get[api.Health](r, "/healthz"); got.Status != "ok" {
		t.Errorf("/healthz = %+v", got)
	}
	resp, b := r.ask(http.MethodGet, "/readyz", nil, nil)
	if p := r.wantProblem(resp, b, http.StatusServiceUnavailable, "ledger.store_failed"); !p.Retryable || strings.Contains(string(b), "10.1.2.3") {
		t.Errorf("the problem is %s", b)
	}
	resp, b = r.ask(http.MethodGet, "/v1/runs", nil, nil)
	r.wantProblem(resp, b, http.StatusInternalServerError, "internal")
	if strings.Contains(string(b), "secret") {
		t.Errorf("an error without a code was told: %s", b)
	}
}

func TestAProblemNeverRepeatsWhatWasSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	const secret = "sk-live-51H8xyz"
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/v1/runs/last/verify", `{"level":"` + secret + `"}`},
		{http.MethodPost, "/v1/runs/last/verify", `{"` + secret + `":1}`},
		{http.MethodPost, "/v1/runs/last/verify", `{"trust":"` + secret + `"}`},
		{http.MethodPost, "/v1/runs/last/verify", secret},
		{http.MethodPost, "/v1/runs/last/verify", `{"expect_head":{"count":1,"last":"` + secret + `"}}`},
		{http.MethodGet, "/v1/runs?limit=" + secret, ""},
		{http.MethodGet, "/v1/runs?" + secret + "=1", ""},
	} {
		resp, b := r.ask(c.method, c.path, strings.NewReader(c.body), func(q *http.Request) { q.Header.Set("Content-Type", "application/json") })
		if resp.StatusCode != http.StatusBadRequest || strings.Contains(string(b), secret) {
			t.Errorf("%s %s %s = %s %s", c.method, c.path, c.body, resp.Status, b)
		}
	}
}

func TestEnginesAddTheirRoutes(t *testing.T) {
	t.Parallel()
	const errBusy fault.Halted = "engine.halted"
	r := newRig(t, func(r *rig) {
		r.opts.Register = []func(huma.API){func(a huma.API) {
			huma.Register(a, huma.Operation{OperationID: "halt", Method: http.MethodGet, Path: "/v1/engine"}, func(context.Context, *struct{}) (*struct{}, error) {
				return nil, fault.New(errBusy, "engine", "a person said stop")
			})
			huma.Register(a, huma.Operation{OperationID: "panic", Method: http.MethodGet, Path: "/v1/panic"}, func(context.Context, *struct{}) (*struct{}, error) {
				panic("a fault of ours")
			})
		}}
	})
	resp, b := r.ask(http.MethodGet, "/v1/engine", nil, nil)
	if p := r.wantProblem(resp, b, http.StatusLocked, "engine.halted"); p.Class != "halted" || p.Detail != "a person said stop" {
		t.Errorf("the problem is %+v", p)
	}
	resp, b = r.ask(http.MethodGet, "/v1/panic", nil, nil)
	r.wantProblem(resp, b, http.StatusInternalServerError, "server.panic")
	if !bytes.Contains(r.s.OpenAPI(), []byte("/v1/engine")) {
		t.Error("the route is not in the document")
	}
}

func TestServeStopsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	s := must(server.New(memory.New(nil), &server.Options{Grace: time.Hour})) // it does not wait for the stream
	ln := must(server.Listen(t.Context(), "127.0.0.1:0", false))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	stream, err := http.Get("http://" + ln.Addr().String() + "/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Serve = %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the server does not stop while a stream is open")
	}
}
