package capture_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// compressed is what a stream of events says, and how it is coded.
func compressed(t *testing.T, coding string, texts ...string) (list [][]byte, plain string) {
	t.Helper()
	var events []string
	for _, s := range texts {
		events = append(events, redacttest.Dialects()[0].Event(0, s))
	}
	list, err := redacttest.CodedParts(coding, events...)
	if err != nil {
		t.Fatal(err)
	}
	return list, strings.Join(events, "")
}

// If a recorder is killed in the middle of a compressed stream, the record has
// what had come; of one in which a secret came, what came before it.
func TestKilledRecorderLeavesCompressedBytes(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"gzip", "deflate", "zstd", "br"} {
		for _, says := range [][]string{{"some words.", "and more.", "and more."}, {"some words.", "the password is " + redacttest.Spelled + ".", "and more."}} {
			t.Run(coding+" "+says[1], func(t *testing.T) {
				t.Parallel()
				list, plain := compressed(t, coding, append(says, "the end.")...)
				next, release := make(chan struct{}), make(chan struct{})
				up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Content-Encoding", coding)
					for _, p := range list[:3] {
						_, _ = w.Write(p)
						w.(http.Flusher).Flush()
						<-next
					}
					select {
					case <-release:
					case <-r.Context().Done():
					}
				})
				var ahead atomic.Int64
				rig := newRig(t)
				rig.store = memory.New(&memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
				rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
				live := rig.record(up.URL)
				defer close(release)
				resp, err := client().Post(live.url+"/v1/chat/completions", "application/json", strings.NewReader(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				came := slices.Concat(list[:3]...)
				for _, p := range list[:3] {
					if _, err := io.ReadFull(resp.Body, make([]byte, len(p))); err != nil {
						t.Fatal(err)
					}
					next <- struct{}{}
				}
				ahead.Store(int64(time.Hour)) // the recorder is gone, and its lease
				cfg := rig.config()
				cfg.Holder = "another"
				if done, err := drive.Recover(t.Context(), cfg); err != nil || len(done) != 1 {
					t.Fatalf("Recover = %v, %v; want the run", done, err)
				}
				want := redacttest.Dialects()[0].Event(0, says[0])
				if says[1] == "and more." {
					want = plain[:strings.LastIndex(plain, "data: ")]
				}
				for _, e := range rig.entries(live.s.Run()) {
					if e.Kind != ledger.KindOutcome {
						continue
					}
					b := rig.content(live.s.Run(), &e, capture.ResponseName)
					if got := redacttest.BeginningOf(coding, b); got != want || !bytes.HasPrefix(came, b) {
						t.Errorf("%d of %d bytes are left, which say %q, want %q", len(b), len(came), got, want)
					}
					return
				}
				t.Error("there is no outcome")
			})
		}
	}
}

// A secret that comes late in a compressed stream is not in the record, which
// had begun; that is one body in its coding, and replays without the secret.
func TestSecretsLateInCompressedStreams(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"gzip", "deflate", "zstd", "br"} {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			texts := []string{"some words.", "and more.", "the password is "}
			for c := range strings.SplitSeq(redacttest.Spelled, "") {
				texts = append(texts, c)
			}
			list, plain := compressed(t, coding, append(texts, ", so there.")...)
			rig := onDisk(t)
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", coding)
				for _, p := range list {
					_, _ = w.Write(p)
					w.(http.Flusher).Flush()
				}
			})
			rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
			live := rig.record(up.URL)
			first := send(t, "POST", live.url+"/v1/chat/completions", `{}`)
			if got := redacttest.BeginningOf(coding, first.body); got != plain {
				t.Errorf("the client got %q", got)
			}
			run := live.seal()
			o := rig.outcomes(run)[0]
			if o.Status != effect.OK || len(o.Redacted) == 0 {
				t.Errorf("outcome = %s %v", o.Status, o.Redacted)
			}
			if s := holds([]byte(dumpStore(t, rig, run)+dumpFolder(t, rig.spool)+dumpFolder(t, rig.folder)), redacttest.Spelled); s != "" {
				t.Errorf("stored as %s", s)
			}
			again := send(t, "POST", rig.replay(run).url+"/v1/chat/completions", `{}`)
			body, ok := capture.PlainOf(coding, again.body)
			if got := redacttest.Dialects()[0].Fields(string(body)); !ok || !strings.HasPrefix(got, "some words.and more.the password is {redacted:ENV}, so there.") {
				t.Errorf("the replay says %q, whole: %t", got, ok)
			}
		})
	}
}

// What is no body of its coding any more, after a good beginning, is recorded
// as it came, and the record says that nobody looked into it.
func TestCompressedStreamsThatGoBad(t *testing.T) {
	t.Parallel()
	list, _ := compressed(t, "gzip", "some words.", "and more.")
	b := append(slices.Concat(list[:2]...), "and now no gzip at all"...)
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		for rest := b; len(rest) > 0; rest = rest[min(len(rest), 10):] {
			_, _ = w.Write(rest[:min(len(rest), 10)])
			w.(http.Flusher).Flush()
		}
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	first := send(t, "POST", live.url+"/v1/chat/completions", `{}`)
	run := live.seal()
	if o := rig.outcomes(run)[0]; o.Status != effect.OK || o.Data.Get("unscanned").Str() == "" {
		t.Errorf("outcome = %s %s, want that nobody looked into it", o.Status, o.Data)
	}
	again := send(t, "POST", rig.replay(run).url+"/v1/chat/completions", `{}`)
	if !bytes.Equal(first.body, b) || !bytes.Equal(again.body, b) {
		t.Errorf("%q and then %q, want %q", first.body, again.body, b)
	}
}
