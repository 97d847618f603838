package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memory"
)

// rig is a server over a store with two recorded runs and a bundled one.
type rig struct {
	t     testing.TB
	store store.Store
	keys  *keys.Keys
	opts  server.Options
	s     *server.Server
	http  *httptest.Server
	runs  []ledger.RunID // newest first
}

// large is more than the server checks before it sends any of it.
var large = func() []byte {
	b := make([]byte, 5<<20)
	_, _ = mathrand.NewChaCha8([32]byte{1}).Read(b)
	return b
}()

func newRig(t testing.TB, change func(*rig)) *rig {
	t.Helper()
	k, err := keys.Open(t.TempDir()+"/keys", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: memory.New(nil), keys: k}
	r.opts = server.Options{
		Keys: func() (*keys.Keys, error) { return k, nil }, Rand: rand.Reader, Holder: "server", Temp: t.TempDir(), Poll: 5 * time.Millisecond,
	}
	if change != nil {
		change(r)
	}
	first := r.record("first", "one", "two")
	second := r.record("second", "one", "three")
	r.runs = []ledger.RunID{second, first}
	if r.s, err = server.New(r.store, &r.opts); err != nil {
		t.Fatal(err)
	}
	r.http = httptest.NewServer(r.s)
	t.Cleanup(r.http.Close)
	return r
}

func (r *rig) open(title string) *drive.Session {
	r.t.Helper()
	signer, err := r.keys.Signer()
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := drive.Open(context.Background(), drive.Config{
		Store: r.store, Now: time.Now, Rand: rand.Reader, Signer: signer, Manifests: r.keys.Manifests(), Holder: "test",
	}, drive.Opening{Engine: "test", Mode: "record", Title: title})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// record records a run that makes one call for each question.
func (r *rig) record(title string, questions ...string) ledger.RunID {
	r.t.Helper()
	s := r.open(title)
	for _, q := range questions {
		r.call(s, q, []byte(`{"answer":"to `+q+`"}`))
	}
	if err := s.Seal(context.Background(), "ok", canon.Object(canon.M("exit", canon.Int(0))), nil); err != nil {
		r.t.Fatal(err)
	}
	return s.Run()
}

func (r *rig) call(s *drive.Session, question string, answer []byte) {
	r.t.Helper()
	x, err := s.Begin(context.Background(), effect.Call{
		Kind: "model", Name: "POST /v1/chat", Class: effect.Read,
		Contents: []ledger.Content{{Name: "request", Type: "application/json", Bytes: []byte(`{"q":"` + question + `"}`)}},
	})
	if err == nil {
		err = x.End(context.Background(), effect.Outcome{Status: effect.OK, Contents: []ledger.Content{{Name: "response", Type: "text/html", Bytes: answer}}})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// reply is the head of an answer that was read to its end.
type reply struct {
	what       string
	Status     string
	StatusCode int
	Header     http.Header
}

// ask sends a request and returns the answer with its body.
func (r *rig) ask(method, path string, body io.Reader, change func(*http.Request)) (*reply, []byte) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.http.URL+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	resp, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: the body broke off: %v", method, path, err)
	}
	return &reply{method + " " + path, resp.Status, resp.StatusCode, resp.Header}, b
}

func get[T any](r *rig, path string) T {
	r.t.Helper()
	return read[T](r, http.MethodGet, path, "")
}

func read[T any](r *rig, method, path, body string) T {
	r.t.Helper()
	resp, b := r.ask(method, path, strings.NewReader(body), func(q *http.Request) { q.Header.Set("Content-Type", "application/json") })
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s %s = %s %s", method, path, resp.Status, b)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
		r.t.Errorf("%s %s has content type %q", method, path, ct)
	}
	var v T
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		r.t.Fatalf("%s %s: %v in %s", method, path, err, b)
	}
	return v
}

// wantProblem holds an answer to be a problem of that code.
func (r *rig) wantProblem(resp *reply, body []byte, status int, code string) api.Problem {
	r.t.Helper()
	what := resp.what
	var p api.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		r.t.Fatalf("%s = %s %s, want a problem", what, resp.Status, body)
	}
	if ct := resp.Header.Get("Content-Type"); ct != api.ProblemType {
		r.t.Errorf("%s: a problem of content type %q", what, ct)
	}
	if resp.StatusCode != status || p.Status != status || p.Code != code || p.Title != http.StatusText(status) || p.Type != "about:blank" || p.Class == "" {
		r.t.Errorf("%s = %s %s, want %d %s", what, resp.Status, body, status, code)
	}
	return p
}

func sample(t testing.TB) []byte {
	t.Helper()
	return bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"))
}

func export(t testing.TB, s archive.Store, run ledger.RunID) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := archive.Export(t.Context(), s, run, &buf, nil); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
