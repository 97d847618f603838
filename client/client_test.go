package client_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/client"
	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/store/memory"
)

func newClient(t *testing.T, h http.Handler) *client.Client {
	t.Helper()
	if h == nil {
		s, err := server.New(memory.New(nil), &server.Options{Rand: rand.Reader, Holder: "server", Temp: t.TempDir(), Poll: 5 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		h = s
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestABundleTravelsThroughEveryCall(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newClient(t, nil)
	l := bundletest.Sample("a")
	raw := bundletest.Bundle(bundle.Options{}, l)
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	res, err := c.Import(ctx, bytes.NewReader(raw), false)
	if err != nil || len(res.Runs) != 1 || res.Runs[0].NewEntries != 20 {
		t.Fatalf("Import = %+v, %v", res, err)
	}
	n := 0
	for r, err := range c.Runs(ctx) {
		if err != nil || r.ID != string(l.Run) || r.Status != "done" {
			t.Errorf("a run is %+v, %v", r, err)
		}
		n++
	}
	if r, err := c.Run(ctx, "last"); err != nil || r.Entries != 20 || n != 1 {
		t.Errorf("Run = %+v, %v", r, err)
	}
	n = 3
	for e, err := range c.Entries(ctx, "last", 3) {
		if err != nil || e.N != int64(n) || e.ID != l.Entries[n].ID.String() {
			t.Fatalf("entry %d is %+v, %v", n, e, err)
		}
		n++
	}
	if n != 20 {
		t.Errorf("%d entries came", n)
	}
	body, err := c.Attachment(ctx, "last", 2, "response")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if b, err := io.ReadAll(body); err != nil || string(b) != "hello" {
		t.Errorf("the attachment is %q, %v", b, err)
	}
	if h, err := c.Heads(ctx, "last"); err != nil || len(h.Heads) != 3 {
		t.Errorf("Heads = %+v, %v", h, err)
	}
	level := int64(1)
	if r, err := c.Verify(ctx, "last", api.VerifyRequest{}); err != nil || r.Verdict != "verified" {
		t.Errorf("Verify = %+v, %v", r, err)
	}
	if r, err := c.Verify(ctx, "last", api.VerifyRequest{Level: &level}); err != nil || r.Verdict != "below" {
		t.Errorf("Verify at level 1 without a root = %+v, %v", r, err)
	}
	var out bytes.Buffer
	if err := c.Export(ctx, "last", &out, true); err != nil || !bytes.Equal(out.Bytes(), raw) {
		t.Errorf("Export gives %d bytes, %v, want %d", out.Len(), err, len(raw))
	}
	var last api.EntryEvent
	for e, err := range c.Watch(ctx, "last", 18) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.Kind != "seal" || last.N != 19 {
		t.Errorf("the last event is %+v", last)
	}
}

func TestErrorsHaveTheCodeOfTheServer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newClient(t, nil)
	for name, x := range map[string]struct {
		err  error
		want fault.Code
	}{
		"no run":       {second(c.Run(ctx, "last")), fault.NotFound("insight.no_such_run")},
		"no keys":      {second(c.Keys(ctx)), fault.NotFound("server.no_keys")},
		"not a bundle": {second(c.Import(ctx, strings.NewReader("x"), false)), fault.Invalid("bundle.not_a_bundle")},
		"a slash":      {second(c.Run(ctx, "a/b")), fault.NotFound("insight.no_such_run")},
		"dots":         {second(c.Run(ctx, "..")), client.ErrAddress},
		"nothing":      {second(c.Run(ctx, "")), client.ErrAddress},
		"a bad body":   {second(c.Verify(ctx, "last", api.VerifyRequest{ExpectHead: &api.Position{Count: 0}})), server.ErrRequest},
	} {
		if !errors.Is(x.err, x.want) {
			t.Errorf("%s: %v, want %v", name, x.err, x.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestWhatAnswersMayBeAnything(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		answer func(http.ResponseWriter)
		want   fault.Code
	}{
		"a page":        {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, client.ErrAnswer},
		"an error page": {func(w http.ResponseWriter) { http.Error(w, "no", http.StatusBadGateway) }, client.ErrAnswer},
		"another problem": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, `{"title":"no"}`)
		}, client.ErrAnswer},
		"a class of tomorrow": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, `{"code":"x.y","class":"tired"}`)
		}, client.ErrAnswer},
		"half an answer": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"id":"`)
		}, client.ErrBroken},
		"nothing": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, client.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { x.answer(w) }))
			if _, err := c.Run(context.Background(), "last"); !errors.Is(err, x.want) {
				t.Errorf("Run = %v, want %v", err, x.want)
			}
		})
	}
	for _, address := range []string{"", "127.0.0.1:7070", "ftp://x", "http://", "http://x?y", "%"} {
		if _, err := client.New(address, nil); !errors.Is(err, client.ErrAddress) {
			t.Errorf("New(%q) = %v", address, err)
		}
	}
}
