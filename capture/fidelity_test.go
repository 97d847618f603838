package capture_test

import (
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// eventFrame makes a frame of a binary event stream.
// Streams of every kind come through part by part, and again.
func TestStreamsOfEveryKindKeepTheirParts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, path, typ string
		parts           []string
	}{
		{"an error in the middle of events", "/v1/messages", "text/event-stream", []string{"event: message_start\ndata: {\"type\":\"message_start\"}\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"}},
		{"an event that is cut anywhere", "/v1/messages", "text/event-stream", []string{"data: {\"delta\":\"\xc3", "\xbc\"}\n", "\n: keep-alive\n\n"}},
		{"an array of JSON", "/v1beta/models/m:streamGenerateContent", "application/json", []string{"[{\n  \"candidates\": []\n}\n", ",\r\n{\n  \"a\": 1\n}\n", "]"}},
		{"lines of JSON", "/api/chat", "application/x-ndjson", []string{"{\"done\":false}\n", "{\"done\":true}\n"}},
		{"a binary event stream", "/model/m/converse-stream", protocol.EventStreamType, []string{redacttest.EventFrame(`{"a":1}`), redacttest.EventFrame(`{"b":2}`) + redacttest.EventFrame(`{}`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			next := make(chan struct{}, 1)
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.typ)
				for _, p := range test.parts {
					_, _ = io.WriteString(w, p)
					w.(http.Flusher).Flush()
					<-next
				}
			})
			rig := newRig(t)
			live := rig.record(up.URL)
			req, _ := http.NewRequestWithContext(t.Context(), "POST", live.url+test.path, strings.NewReader(`{}`))
			resp, err := client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for _, want := range test.parts {
				got := make([]byte, len(want))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
					t.Fatalf("live part = %q, %v; want %q", got, err, want)
				}
				next <- struct{}{}
			}
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
				t.Errorf("behind the last part = %q, %v", rest, err)
			}
			run := live.seal()
			if _, chunks := wire(t, rig.replay(run).url, test.path, `{}`); !slices.Equal(chunks, test.parts) {
				t.Errorf("replay gives %q, want %q", chunks, test.parts)
			}
		})
	}
}

// A secret in a binary event stream is replaced, in base64 too, and what is
// stored is an event stream still.
func TestSecretsInBinaryEventStreams(t *testing.T) {
	t.Parallel()
	const secret = "value-from-the-environment"
	const standIn = "{redacted:ENV}"
	sent := redacttest.EventFrame(`{"a":1}`) + redacttest.EventFrame(`{"text":"it is `+secret+`"}`) + redacttest.Invoked(`{"type":"x","text":"`+secret+`"}`) + redacttest.Invoked(`{"y":1}`)
	for _, held := range []bool{true, false} {
		up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", protocol.EventStreamType)
			for i := range len(sent) {
				_, _ = io.WriteString(w, sent[i:i+1])
				if !held {
					w.(http.Flusher).Flush()
				}
			}
		})
		rig := newRig(t)
		rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: secret})
		live := rig.record(up.URL)
		if g := send(t, "POST", live.url+"/model/m/invoke-with-response-stream", `{}`); string(g.body) != sent {
			t.Errorf("the client did not get the original, %v", g.err)
		}
		run := live.seal()
		g := send(t, "POST", rig.replay(run).url+"/model/m/invoke-with-response-stream", `{}`)
		want := redacttest.EventFrame(`{"a":1}`) + redacttest.EventFrame(`{"text":"it is `+standIn+`"}`) + redacttest.Invoked(`{"type":"x","text":"`+standIn+`"}`) + redacttest.Invoked(`{"y":1}`)
		if string(g.body) != want {
			t.Errorf("replay = %q, want %q", g.body, want)
		}
		for _, e := range rig.entries(run) {
			if e.Kind == ledger.KindOutcome && e.Body.Get("redacted").String() != `["ENV"]` {
				t.Errorf("outcome = %s, want the name of the secret", e.Body)
			}
		}
	}
}

// However a stream is cut, what is stored is the same; and without a secret it
// is what came, event stream or not.
func TestEventStreamsAreTheSameHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var whole string
		for range rapid.IntRange(0, 4).Draw(t, "frames") {
			whole += redacttest.EventFrame(`{"t":"` + rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "text") + `"}`)
		}
		whole += string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "rest"))
		var got []byte
		write := redactor().Cleaner(http.Header{"Content-Type": {protocol.EventStreamType}}).Write
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got = write(got, []byte(rest[:n]), false)
			rest = rest[n:]
		}
		if got = write(got, nil, true); string(got) != whole {
			t.Fatalf("stored %q of %q", got, whole)
		}
	})
}

// A probe is recorded like any other call. In a replay one more or one fewer
// is no divergence.
func TestProbesAreAnswered(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/api/hello"} {
		t.Run(path, func(t *testing.T) { probesAreAnswered(t, path) })
	}
}

func probesAreAnswered(t *testing.T, path string) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	if g := send(t, "HEAD", live.url+path, ""); g.status != http.StatusNotFound {
		t.Errorf("live probe = %d, %v; want the upstream's 404", g.status, g.err)
	}
	send(t, "POST", live.url+"/v1/messages", `{}`)
	run := live.seal()
	for probes, want := range map[int][]int{0: nil, 1: {404}, 3: {404, 200, 200}} {
		again := rig.replay(run)
		var got []int
		for range probes {
			got = append(got, send(t, "HEAD", again.url+path, "").status)
		}
		send(t, "POST", again.url+"/v1/messages", `{}`)
		again.seal()
		report, err := again.p.ReplayReport(t.Context(), rig.store)
		if err != nil || report.Total != 0 || !slices.Equal(got, want) {
			t.Errorf("%d probes = %v, %v, %v; want %v and no divergence", probes, got, report.Divergences, err, want)
		}
	}
	again := rig.replay(run)
	if g := send(t, "HEAD", again.url+"/v1/models", ""); g.status != http.StatusBadRequest {
		t.Errorf("a HEAD of something = %d, want 400: it is no probe", g.status)
	}
}

func TestParsePace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{"none": 0, "original": 1, "0": 0, "2": 2, "0.5": 0.5, "": -1, "fast": -1, "-1": -1, "NaN": -1, "Inf": -1} {
		got, err := capture.ParsePace(in)
		if want < 0 && fault.CodeOf(err) != capture.ErrPace || want >= 0 && (err != nil || math.Abs(got-want) > 1e-9) {
			t.Errorf("ParsePace(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
}

// An answer that came at once takes as long as it took.
func TestPaceOfAShortAnswer(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(60 * time.Millisecond)
		_, _ = io.WriteString(w, `{}`)
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	send(t, "POST", live.url+"/v1/messages", `{}`)
	run := live.seal()
	for pace, least := range map[float64]time.Duration{1: 55 * time.Millisecond, 2: 25 * time.Millisecond} {
		rig.opts.Pace = pace
		again := rig.replay(run)
		start := time.Now()
		if g := send(t, "POST", again.url+"/v1/messages", `{}`); g.status != 200 || time.Since(start) < least {
			t.Errorf("at pace %v it took %s, want at least %s", pace, time.Since(start), least)
		}
	}
}

// Trailers of a request reach the upstream, and stand in the call.
func TestTrailersOfARequest(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if got := r.Trailer.Get("X-Checksum"); got != "abc" {
			t.Errorf("the upstream got the trailer %q, want abc", got)
		}
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", live.url+"/v1/messages", io.MultiReader(strings.NewReader(`{}`)))
	req.Trailer = http.Header{"X-Checksum": {"abc"}}
	resp, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	call := rig.entries(live.seal())[1]
	if got, want := call.Body.Get("data").Get("trailers"), canon.Array(canon.Array(canon.String("X-Checksum"), canon.String("abc"))); !got.Equal(want) {
		t.Errorf("trailers = %s, want %s", got, want)
	}
}
