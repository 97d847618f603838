package importer_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

// rig is a store whose heads are signed by a key that is trusted.
type rig struct {
	cfg  drive.Config
	root sign.PublicKey
	keys *sign.Keyring
}

func newRig(t testing.TB) *rig {
	t.Helper()
	root, head := key(t, 1), key(t, 2)
	m := sign.Manifest{Root: root.Public(), Keys: []sign.Listed{{Key: head.Public(), Role: sign.RoleHead, State: sign.Active}}}
	payload, err := m.Payload()
	if err != nil {
		t.Fatal(err)
	}
	env, err := sign.Seal(root, sign.ManifestType, payload)
	if err != nil {
		t.Fatal(err)
	}
	manifests := [][]byte{env.Encode()}
	keys, err := sign.NewKeyring([]sign.PublicKey{root.Public()}, manifests)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		cfg:  drive.Config{Store: memory.New(nil), Now: time.Now, Rand: rand.Reader, Signer: head, Manifests: manifests, Holder: "test"},
		root: root.Public(), keys: keys,
	}
}

func key(t testing.TB, n byte) *sign.PrivateKey {
	t.Helper()
	k, err := sign.NewPrivateKey(bytes.Repeat([]byte{n}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (r *rig) run(t testing.TB, name string, b []byte) (importer.Result, error) {
	t.Helper()
	return importer.Import(t.Context(), r.cfg, bytes.NewReader(b), name, importer.Options{})
}

// verify checks that every phase holds, that the run is sealed and that a
// trusted head covers all of it.
func (r *rig) verify(t testing.TB, run ledger.RunID) {
	t.Helper()
	ctx := t.Context()
	v, err := ledger.Verify(ctx, ledger.Evidence{
		Run: run, Entries: r.cfg.Store.Read(ctx, run, 0), Keys: r.keys,
		Statements: r.cfg.Store.Statements(ctx, run, ledger.HeadType),
		Attachment: drive.NewReader(r.cfg.Store, run).Attachment(ctx),
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := v.First(); f != nil {
		t.Errorf("Verify: entry %d, %s: %v: %s", f.N, f.Where, f.Code, f.Msg)
	}
	if !v.Sealed || v.Unsigned != 0 || v.Level != ledger.LevelSigned || v.Withheld != 0 {
		t.Errorf("Verify = sealed %v, %d unsigned, level %v, %d withheld, want all of it sealed at level 1", v.Sealed, v.Unsigned, v.Level, v.Withheld)
	}
}

// bundle checks that the run can be given away: its bundle holds all of it and
// verifies with nothing but the public root key.
func (r *rig) bundle(t testing.TB, run ledger.RunID) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.reprise")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(archive.Export(t.Context(), r.cfg.Store, run, f, nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	report, err := archive.VerifyFile(t.Context(), path, &archive.VerifyOptions{Roots: []sign.PublicKey{r.root}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != replay.Verified {
		t.Errorf("VerifyFile = %v, want %v", report.Verdict, replay.Verified)
	}
}

// recorded is what a ledger holds of one exchange.
type recorded struct {
	match    canon.Digest
	call     canon.Value // comparison forms
	outcome  effect.Outcome
	request  []byte
	response []byte
}

// entries reads the exchanges of a run.
func (r *rig) entries(t testing.TB, run ledger.RunID) []recorded {
	t.Helper()
	ctx := t.Context()
	rd := drive.NewReader(r.cfg.Store, run)
	var out []recorded
	for e, err := range r.cfg.Store.Read(ctx, run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		var bytes []byte
		if len(o.Att) > 0 {
			if bytes, err = rd.Bytes(ctx, &o, 0); err != nil {
				t.Fatal(err)
			}
		}
		switch o.Kind {
		case ledger.KindCall:
			c, _, err := effect.ParseCall(o.Body)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, recorded{match: c.Match, call: ledger.Compared(o.Body), request: bytes})
		case ledger.KindOutcome:
			last := &out[len(out)-1]
			if last.outcome, err = effect.ParseOutcome(o.Body); err != nil {
				t.Fatal(err)
			}
			last.response = bytes
		default:
		}
	}
	return out
}

// offline fails every request that would leave.
type offline struct{ t testing.TB }

func (o offline) RoundTrip(r *http.Request) (*http.Response, error) {
	o.t.Errorf("a replay called %s", r.URL)
	return nil, errors.New("the network is off")
}

// replaying is a replay of an imported run behind real listeners.
type replaying struct {
	t       testing.TB
	r       *rig
	s       *drive.Session
	journal *capture.Journal
	origins map[string]string // of the file, to that of the listener
	client  *http.Client
}

func (r *rig) replay(t testing.TB, res *importer.Result) *replaying {
	t.Helper()
	j, err := capture.ReadJournal(t.Context(), r.cfg.Store, res.Run, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := j.Last()
	s, err := drive.Open(t.Context(), r.cfg, drive.Opening{
		Engine: capture.Engine, Mode: "replay", Sources: drive.All(j), From: res.Run, Source: &last, Lazy: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := capture.New(s, capture.Options{
		Upstreams: res.Upstreams, Transport: offline{t},
		Record: &capture.Recorded{Reader: drive.NewReader(r.cfg.Store, res.Run), Journal: j},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := &replaying{t: t, r: r, s: s, journal: j, origins: map[string]string{}, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Cleanup(out.client.CloseIdleConnections)
	for _, u := range res.Upstreams {
		h, err := p.Handler(u.Name)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		out.origins[u.URL.Scheme+"://"+u.URL.Host] = srv.URL
	}
	return out
}

// sent is a request as the tests send it, with what has to come back.
type sent struct {
	method, url string
	header      http.Header
	body        []byte
	status      int
	answer      http.Header
	response    []byte
}

// notSent are headers that belong to a connection.
var notSent = []string{"Host", "Content-Length", "Connection", "Keep-Alive", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Proxy-Authorization", "Expect"}

// do sends x and returns the status, header and body that came.
func (p *replaying) do(ctx context.Context, x *sent) (int, http.Header, []byte, error) {
	u, err := url.Parse(x.url)
	if err != nil {
		return 0, nil, nil, err
	}
	to := p.origins[u.Scheme+"://"+u.Host] + u.EscapedPath()
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	req, err := http.NewRequestWithContext(ctx, x.method, to, bytes.NewReader(x.body))
	if err != nil {
		return 0, nil, nil, err
	}
	for name, values := range x.header {
		if !slices.Contains(notSent, name) {
			req.Header[name] = values
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, b, err
}

// check sends x and compares what comes with what the file holds.
func (p *replaying) check(ctx context.Context, i int, x *sent, rec *recorded) {
	status, header, body, err := p.do(ctx, x)
	if err != nil {
		p.t.Errorf("exchange %d: %v", i, err)
		return
	}
	if rec.outcome.Status == effect.Error {
		if status != http.StatusBadGateway || !strings.Contains(string(body), string(importer.ErrEvidenceOnly)) {
			p.t.Errorf("exchange %d is evidence; its request gave %d %.80q, want %s", i, status, body, importer.ErrEvidenceOnly)
		}
		return
	}
	// Where a secret was taken out its stand-in comes, and nothing else differs.
	want, redacted := x.response, len(rec.outcome.Redacted) > 0
	if redacted && bytes.Contains(rec.response, []byte("{redacted:")) {
		want = rec.response
	}
	if status != x.status || !bytes.Equal(body, want) {
		p.t.Errorf("exchange %d: %s %s = %d with %d bytes, want %d with %d", i, x.method, x.url, status, len(body), x.status, len(want))
		if status != x.status {
			p.t.Logf("%.400s", body)
		}
	}
	for name, values := range x.answer {
		if slices.Contains(notSent, name) && name != "Content-Length" {
			continue
		}
		got := header[name]
		if redacted && strings.Contains(strings.Join(got, ""), "{redacted:") {
			continue
		}
		if !slices.Equal(got, values) {
			p.t.Errorf("exchange %d: header %s = %q, want %q", i, name, got, values)
		}
	}
}

// inOrder sends all as they were recorded.
func (p *replaying) inOrder(all []sent, recs []recorded) {
	for i := range all {
		p.check(p.t.Context(), i, &all[i], &recs[i])
	}
	p.end(len(all))
}

// inParallel sends four at a time, the last first, but those with one key in
// their order.
func (p *replaying) inParallel(all []sent, recs []recorded) {
	groups := map[canon.Digest][]int{}
	var order []canon.Digest
	for i := range recs {
		if groups[recs[i].match] == nil {
			order = append(order, recs[i].match)
		}
		groups[recs[i].match] = append(groups[recs[i].match], i)
	}
	slices.Reverse(order)
	work := make(chan []int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for g := range work {
				for _, i := range g {
					p.check(p.t.Context(), i, &all[i], &recs[i])
				}
			}
		})
	}
	for _, m := range order {
		work <- groups[m]
	}
	close(work)
	wg.Wait()
	p.end(len(all))
}

// end checks that everything was answered from the record and seals.
func (p *replaying) end(n int) {
	p.t.Helper()
	if c := p.s.Counts(); c.Recorded != int64(n) || c.Missed != 0 || c.Live != 0 {
		p.t.Errorf("the replay answered %d of %d, missed %d and made %d live", c.Recorded, n, c.Missed, c.Live)
	}
	if left := p.journal.Left(); len(left) != 0 {
		p.t.Errorf("%d recorded calls were not asked for", len(left))
	}
	if err := p.s.Seal(p.t.Context(), "ok", canon.Value{}, nil); err != nil {
		p.t.Error(err)
	}
	p.r.verify(p.t, p.s.Run())
}
