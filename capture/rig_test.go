package capture_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// rig is a store, and what records into it and replays from it.
type rig struct {
	t     testing.TB
	store drive.Store
	spool string
	opts  capture.Options
	now   func() time.Time

	folder string // of a store on disk
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return &rig{t: t, store: memory.New(nil), spool: t.TempDir(), now: time.Now}
}

func (r *rig) config() drive.Config {
	return drive.Config{Store: r.store, Now: r.now, Rand: rand.Reader, Spool: r.spool, Holder: "test"}
}

// taping is one session with a proxy in front of one upstream.
type taping struct {
	*rig
	s   *drive.Session
	url string
	srv *httptest.Server
	rec *capture.Journal
	p   *capture.Proxy
}

// record starts recording the traffic to an upstream.
func (r *rig) record(upstream string) *taping {
	r.t.Helper()
	return r.start(upstream, drive.Opening{Engine: capture.Engine, Mode: "record"}, nil)
}

// replay starts answering from a recorded run. There is no upstream.
func (r *rig) replay(run ledger.RunID) *taping {
	r.t.Helper()
	j, err := capture.ReadJournal(r.t.Context(), r.store, run, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	last := j.Last()
	return r.start("http://127.0.0.1:1", drive.Opening{
		Engine: capture.Engine, Mode: "replay", Sources: drive.All(j), From: run, Lazy: true, Source: &last,
	}, j)
}

func (r *rig) start(upstream string, o drive.Opening, j *capture.Journal) *taping {
	r.t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := drive.Open(r.t.Context(), r.config(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	opts := r.opts
	if opts.Upstreams == nil {
		opts.Upstreams = []capture.Upstream{{Name: "model", URL: u}}
	}
	if j != nil {
		opts.Replaying = true
		opts.Record = &capture.Recorded{Reader: drive.NewReader(r.store, o.From), Journal: j}
	}
	p, err := capture.New(s, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	h, err := p.Handler(opts.Upstreams[0].Name)
	if err != nil {
		r.t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	r.t.Cleanup(srv.Close)
	return &taping{rig: r, s: s, url: srv.URL, srv: srv, rec: j, p: p}
}

// seal ends the run and returns its id.
func (p *taping) seal() ledger.RunID {
	p.t.Helper()
	p.srv.Close()
	if err := p.s.Seal(context.Background(), "ok", canon.Value{}, nil); err != nil {
		p.t.Fatal(err)
	}
	p.verify(p.s.Run())
	return p.s.Run()
}

// verify recomputes a whole run.
func (r *rig) verify(run ledger.RunID) {
	r.t.Helper()
	if _, ok := r.t.(*testing.B); ok {
		return
	}
	ctx := context.Background()
	v, err := ledger.Verify(ctx, ledger.Evidence{
		Run: run, Entries: r.store.Read(ctx, run, 0),
		Statements: r.store.Statements(ctx, run, ledger.HeadType),
		Attachment: drive.NewReader(r.store, run).Attachment(ctx),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if f := v.First(); f != nil {
		r.t.Errorf("entry %d, %s: %s: %s", f.N, f.Where, f.Code, f.Msg)
	}
}

// end is seal for clients that may leave requests behind.
func (p *taping) end() ledger.RunID {
	p.t.Helper()
	p.srv.CloseClientConnections()
	p.srv.Close()
	p.p.Close()
	return p.seal()
}

// got is an answer as a client sees it.
type got struct {
	status   int
	header   http.Header
	body     []byte
	trailers http.Header
	err      error
}

// client sends what it is told and nothing else.
func client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func send(t testing.TB, method, url, body string, header ...string) got {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, url, in)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client().Do(req)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return got{status: resp.StatusCode, header: resp.Header, body: b, trailers: resp.Trailer, err: err}
}

// wire sends a request by hand and returns the answer chunk by chunk, as it
// stands on the wire.
func wire(t testing.TB, base, path, body string) (head string, chunks []string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\nConnection: close\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\r\n" {
			break
		}
		head += line
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return head, append(chunks, "broken off")
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			t.Fatalf("chunk size %q", line)
		}
		if n == 0 {
			return head, chunks
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return head, append(chunks, "broken off")
		}
		chunks = append(chunks, string(b[:n]))
	}
}

// entries returns the parsed entries of a run.
func (r *rig) entries(run ledger.RunID) []ledger.Opened {
	r.t.Helper()
	var out []ledger.Opened
	for e, err := range r.store.Read(context.Background(), run, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// outcomes returns the outcomes of a run in the order of their entries.
func (r *rig) outcomes(run ledger.RunID) []effect.Outcome {
	r.t.Helper()
	var out []effect.Outcome
	for _, e := range r.entries(run) {
		if e.Kind != ledger.KindOutcome {
			continue
		}
		o, err := effect.ParseOutcome(e.Body)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// verify checks the whole run.
func (r *rig) content(run ledger.RunID, o *ledger.Opened, name string) []byte {
	r.t.Helper()
	i := o.Attachment(name)
	if i < 0 {
		return nil
	}
	b, err := drive.NewReader(r.store, run).Bytes(context.Background(), o, i)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func equal(t testing.TB, what string, recorded, replayed got) {
	t.Helper()
	if replayed.err != nil {
		t.Fatalf("%s: %v", what, replayed.err)
	}
	if recorded.status != replayed.status || !bytes.Equal(recorded.body, replayed.body) {
		t.Errorf("%s = %d %q, want %d %q", what, replayed.status, replayed.body, recorded.status, recorded.body)
	}
	if !sameHeader(recorded.header, replayed.header) {
		t.Errorf("%s: headers %v, want %v", what, replayed.header, recorded.header)
	}
	if !sameHeader(recorded.trailers, replayed.trailers) {
		t.Errorf("%s: trailers %v, want %v", what, replayed.trailers, recorded.trailers)
	}
}

func sameHeader(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if strings.Join(a[name], "\n") != strings.Join(b[name], "\n") {
			return false
		}
	}
	return true
}
