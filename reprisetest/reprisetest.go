package reprisetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// RecordVar is the environment variable that makes tests record: set it to 1.
const RecordVar = "REPRISE_RECORD"

// Options are what may be chosen of a recording. A nil *Options chooses the
// defaults.
type Options struct {
	// Upstreams names upstreams by their base URLs, as
	// {"openai": "https://api.openai.com/v1"}, for [Recording.BaseURL] and so
	// that an address may change between two runs. Those that the recording
	// names are known without.
	Upstreams map[string]string
	// Transport makes the requests that are recorded; nil: one that adds
	// nothing and reads no environment.
	Transport http.RoundTripper
	// Unsigned records without the user's keys.
	Unsigned bool
	// Partial lets a test pass that does not ask for everything that is
	// recorded.
	Partial bool
}

// Recording is what a test calls instead of the world. It is safe for
// concurrent use until the test ends.
type Recording struct {
	t       testing.TB
	file    string
	o       Options
	live    bool
	rec     *reprise.Recorder
	run     ledger.RunID
	session *reprise.Session

	closed  bool
	release chan struct{} // closed when the test is done with it
	ended   chan struct{} // closed when the session has ended
	report  *replay.Report
	err     error
}

// Replay returns a recording that answers from a bundle, as export writes it,
// or that records into it if [RecordVar] is 1. It fails the test at its end if
// what was asked is not what is recorded.
//
// The end is the cleanup of the test, or [Recording.Close]: nothing of it runs
// on after that.
func Replay(t testing.TB, file string, o *Options) *Recording {
	t.Helper()
	r := &Recording{t: t, file: file, live: os.Getenv(RecordVar) == "1", release: make(chan struct{}), ended: make(chan struct{})}
	if o != nil {
		r.o = *o
	}
	var err error
	if r.rec, err = reprise.Open(r.ctx(), "memory:", &reprise.Options{Unsigned: r.o.Unsigned || !r.live}); err != nil {
		t.Fatalf("reprisetest: %v", err)
	}
	if !r.live {
		r.load()
	}
	ready := make(chan struct{})
	go r.hold(ready)
	select {
	case <-ready:
	case <-r.ended:
		_ = r.rec.Close()
		t.Fatalf("reprisetest: %s: %v", file, r.err)
	}
	t.Cleanup(r.Close)
	return r
}

// ctx is that of the test without its end, which comes before the cleanup in
// which the recording is written.
func (r *Recording) ctx() context.Context { return context.WithoutCancel(r.t.Context()) }

// load takes the bundle into the store.
func (r *Recording) load() {
	r.t.Helper()
	b, err := os.ReadFile(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no recording yet; make it with %s=1 go test", RecordVar)
	}
	var runs []ledger.RunID
	if err == nil {
		runs, err = r.rec.Import(r.ctx(), bytes.NewReader(b), int64(len(b)))
	}
	if err != nil {
		_ = r.rec.Close()
		r.t.Fatalf("reprisetest: %s: %v", r.file, err)
	}
	r.run = runs[0]
}

// hold keeps a session open until the test is done with it.
func (r *Recording) hold(ready chan struct{}) {
	defer close(r.ended)
	agent := func(_ context.Context, s *reprise.Session) error {
		r.session = s
		close(ready)
		<-r.release
		return nil
	}
	if r.live {
		r.run, r.err = r.rec.Record(r.ctx(), reprise.RecordOptions{Title: r.t.Name(), Upstreams: r.o.Upstreams, Transport: r.o.Transport}, agent)
		return
	}
	r.report, r.err = r.rec.Replay(r.ctx(), string(r.run), &reprise.ReplayOptions{Upstreams: r.o.Upstreams, AnyCredential: true}, agent)
}

// Client returns an HTTP client whose requests are answered from the
// recording.
func (r *Recording) Client() *http.Client { return r.session.Client() }

// Transport returns a round tripper for clients that are made elsewhere.
func (r *Recording) Transport() http.RoundTripper { return r.session.Transport() }

// BaseURL returns an address on the loopback that stands for an upstream, for
// clients that take no transport and for child processes. Upstream is a base
// URL, or a name in [Options] or in the recording.
func (r *Recording) BaseURL(upstream string) string {
	r.t.Helper()
	u, err := r.session.BaseURL(r.ctx(), upstream)
	if err != nil {
		r.t.Fatalf("reprisetest: %s: %v", upstream, err)
	}
	return u
}

// Recording reports whether the calls are made and recorded.
func (r *Recording) Recording() bool { return r.live }

// Close ends the recording before the test does, and compares or writes it.
// Requests after it fail. It may be called more than once, from the goroutine
// of the test.
func (r *Recording) Close() {
	r.t.Helper()
	if r.closed {
		return
	}
	r.closed = true
	close(r.release)
	<-r.ended
	r.end()
	if err := r.rec.Close(); err != nil {
		r.t.Errorf("reprisetest: %v", err)
	}
}

func (r *Recording) end() {
	r.t.Helper()
	switch {
	case r.err != nil:
		r.t.Errorf("reprisetest: %s: %v", r.file, r.err)
	case r.live:
		r.write()
	default:
		r.compare()
	}
}

// compare fails the test with the first divergence.
func (r *Recording) compare() {
	r.t.Helper()
	if r.o.Partial && onlyMissing(r.report) {
		return
	}
	if r.report.Verdict == replay.Same {
		return
	}
	var msg strings.Builder
	fmt.Fprintf(&msg, "reprisetest: %s: %s", r.file, r.report.Sentence())
	const most = 5
	if d := r.report.First(); d != nil {
		for i, w := range d.Where {
			if i == most {
				fmt.Fprintf(&msg, "\n    and %d more places", len(d.Where)-i)
				break
			}
			fmt.Fprintf(&msg, "\n    %s\n      recorded %s\n      now      %s", w.Pointer, w.A, w.B)
		}
	}
	r.t.Errorf("%s\n    if this is meant, record it anew: %s=1 go test -run '^%s$'", &msg, RecordVar, r.t.Name())
}

// onlyMissing reports whether nothing differs but that recorded calls did not
// come.
func onlyMissing(r *replay.Report) bool {
	for i := range r.Divergences {
		if r.Divergences[i].Kind != replay.Missing {
			return false
		}
	}
	return r.Total == int64(len(r.Divergences))
}

// write puts the recording into its file, whole or not at all. That of a test
// that failed is not kept.
func (r *Recording) write() {
	r.t.Helper()
	if r.t.Failed() || r.t.Skipped() {
		r.t.Logf("reprisetest: %s is not written, because the test did not pass", r.file)
		return
	}
	var b bytes.Buffer
	err := r.rec.Export(r.ctx(), string(r.run), &b)
	if err == nil {
		err = put(r.file, b.Bytes())
	}
	if err != nil {
		r.t.Errorf("reprisetest: %s: %v", r.file, err)
		return
	}
	r.t.Logf("reprisetest: recorded %s, %d bytes", r.file, b.Len())
}

// put writes a file whole or not at all.
func put(file string, b []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a folder of a repository
		return err
	}
	f, err := os.CreateTemp(dir, ".reprise-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Close()) //nolint:gosec // a file of a repository, without secrets
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
