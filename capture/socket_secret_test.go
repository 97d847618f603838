package capture_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// utter says messages, every third in frames of a few bytes.
func utter(ctx context.Context, c *websocket.Conn, list []string) error {
	for i, s := range list {
		if i%3 != 1 {
			if err := c.Write(ctx, websocket.MessageText, []byte(s)); err != nil {
				return err
			}
			continue
		}
		w, err := c.Writer(ctx, websocket.MessageText)
		if err != nil {
			return err
		}
		for rest := s; rest != ""; rest = rest[min(len(rest), 40):] {
			if _, err := w.Write([]byte(rest[:min(len(rest), 40)])); err != nil {
				return err
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}

// listen reads so many messages.
func listen(ctx context.Context, c *websocket.Conn, n int) (heard []string, err error) {
	for len(heard) < n && err == nil {
		var b []byte
		if _, b, err = c.Read(ctx); err == nil {
			heard = append(heard, string(b))
		}
	}
	return heard, err
}

// meaning joins what one field of many messages says.
func meaning(says string, list []string) string {
	var out strings.Builder
	for _, s := range list {
		v, err := canon.Parse([]byte(s))
		if err != nil {
			continue
		}
		if f, ok := v.Pointer(says); ok && v.Get("item_id").Str() != "fc_2" && !strings.Contains(v.Get("type").Str(), "output_audio.") {
			out.WriteString(f.Str())
		}
	}
	return out.String()
}

// A secret that one side of a socket spells over many messages is nowhere on
// the disk, while they come and afterwards; the other side has it as it was;
// all else is recorded as it came, in its order and its frames; and a client
// that spells it again is answered again.
func TestSecretsThatAreSpelledOverASocketAreFound(t *testing.T) {
	t.Parallel()
	const before, behind = "the password is ", ", so there"
	for _, s := range redacttest.Spellings() {
		for step := 1; step < 4; step++ {
			t.Run(fmt.Sprintf("%s by %d", s.Name, step), func(t *testing.T) {
				t.Parallel()
				text := before + redacttest.Spelled + behind
				mine, theirs := s.Spell(text, step), s.Spell("it is "+redacttest.Spelled, step)
				rig := onDisk(t)
				rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
				up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
					c, err := websocket.Accept(w, r, nil)
					if err != nil {
						return
					}
					defer func() { _ = c.CloseNow() }()
					heard, err := listen(r.Context(), c, len(mine))
					if err != nil || strings.Join(heard, "\n") != strings.Join(mine, "\n") {
						t.Errorf("the upstream heard %q, %v", heard, err)
					}
					if err := utter(r.Context(), c, theirs); err != nil {
						t.Error(err)
					}
					_, _, _ = c.Read(r.Context())
				})
				play := func(base string, says []string) ([]string, error) {
					c, _, err := websocket.Dial(t.Context(), base+"/v1/realtime", nil) //nolint:bodyclose // it is the socket
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = c.CloseNow() }()
					if err := utter(t.Context(), c, says); err != nil {
						return nil, err
					}
					heard, err := listen(t.Context(), c, len(theirs))
					if err == nil {
						err = c.Close(websocket.StatusNormalClosure, "")
					}
					return heard, err
				}
				live := rig.record(up.URL)
				heard, err := play(live.url, mine)
				if err != nil || strings.Join(heard, "\n") != strings.Join(theirs, "\n") {
					t.Errorf("the client heard %q, %v; want what was said", heard, err)
				}
				if s := holds([]byte(dumpFolder(t, rig.spool)), redacttest.Spelled); s != "" {
					t.Errorf("staged as %s", s)
				}
				run := live.end()
				if s := holds([]byte(dumpStore(t, rig, run)+dumpFolder(t, rig.spool)+dumpFolder(t, rig.folder)), redacttest.Spelled); s != "" {
					t.Errorf("stored as %s", s)
				}
				checkTranscript(t, rig, run, &s, mine, theirs, before+"{redacted:ENV}"+behind, "it is {redacted:ENV}")

				again := rig.replay(run)
				heard, err = play(again.url, mine)
				if got := meaning(s.Says, heard); err != nil || got != "it is {redacted:ENV}" {
					t.Errorf("the replay says %q, %v", got, err)
				}
				if s := holds([]byte(dumpFolder(t, rig.spool)), redacttest.Spelled); s != "" {
					t.Errorf("staged in a replay as %s", s)
				}
				again.end()
				if r, err := again.p.ReplayReport(t.Context(), rig.store); err != nil || r.Total != 0 {
					t.Errorf("the replay = %v, %v; want no divergence", r.Value(), err)
				}
				other := rig.replay(run)
				heard, _ = play(other.url, s.Spell(strings.Replace(text, "letters", "numbers", 1), step))
				other.end()
				if r, err := other.p.ReplayReport(t.Context(), rig.store); err != nil || r.Total == 0 || len(heard) > 0 {
					t.Errorf("another text: heard %q, %v, %v; want a divergence and no answer", heard, r.Value(), err)
				}
			})
		}
	}
}

// checkTranscript checks the recorded messages of a socket.
func checkTranscript(t *testing.T, rig *rig, run ledger.RunID, s *redacttest.Spelling, mine, theirs []string, meant, meantBack string) {
	t.Helper()
	var out, in []string
	var last int64
	for _, e := range rig.entries(run) {
		data := e.Body.Get("data")
		if e.Kind != ledger.KindEvent || e.Body.Get("name").Str() != capture.EventSocket {
			continue
		}
		after, _ := data.Get("after").AsInt()
		if seq, _ := data.Get("seq").AsInt(); seq != int64(len(out)+len(in)) || after < last {
			t.Errorf("message %d has the number %d and came after %d, the one before after %d", len(out)+len(in), seq, after, last)
		}
		last = after
		b := string(rig.content(run, &e, "message"))
		list, said := &out, mine
		if data.Get("dir").Str() == "in" {
			list, said = &in, theirs
		}
		i := len(*list)
		if i >= len(said) {
			t.Errorf("%q was not said", b)
			continue
		}
		if data.Get("redacted").IsZero() && b != said[i] {
			t.Errorf("message %d = %q, want %q", i, b, said[i])
		}
		if frames := data.Get("frames").Elems(); i%3 == 1 && len(said[i]) > 40 && len(frames) == 0 {
			t.Errorf("message %d has no frames", i)
		}
		*list = append(*list, b)
	}
	if got, back := meaning(s.Says, out), meaning(s.Says, in); got != meant || back != meantBack {
		t.Errorf("the record says %q and %q, want %q and %q", got, back, meant, meantBack)
	}
}

// What may be the first letters of a secret keeps the rest of a conversation
// out of the record only for so long; the rest of the secret is found
// nevertheless. What says all of something never waits.
func TestSocketMessagesWaitOnlySoLong(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return `{"text":` + redacttest.Quoted(s) + `}` }
	delta := func(s string) string {
		return `{"type":"response.output_text.delta","item_id":"a","delta":` + redacttest.Quoted(s) + `}`
	}
	update := func(s string) string { return `{"type":"session.update","text":` + redacttest.Quoted(s) + `}` }
	many := slices.Repeat([]string{`{"n":"x."}`}, 70)
	for _, test := range []struct {
		name    string
		message func(s string) string
		letters int // of the secret, in the first message
		behind  []string
		staged  bool // the first message, when those behind it were said
	}{
		{"no beginning of a secret", text, 0, nil, true},
		{"a beginning", text, 3, []string{`{"n":"x."}`}, false},
		{"a beginning and many messages", text, 3, many, true},
		{"more than a beginning and many messages", text, 4, many, false},
		{"a beginning in what says all", update, 4, nil, true},
		{"a beginning and its end", delta, 3, []string{`{"type":"response.output_text.done","item_id":"a","text":"."}`}, true},
		{"a beginning and the end of another", delta, 3, []string{`{"type":"response.output_text.done","item_id":"b","text":"."}`}, false},
		{"a beginning and the end of all", delta, 3, []string{`{"type":"response.done","response":{"status":"completed"}}`}, true},
		{"a beginning and much", text, 4, slices.Repeat([]string{`{"n":"` + strings.Repeat("x", 250_000) + `."}`}, 6), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				c, err := websocket.Accept(w, r, nil)
				if err != nil {
					return
				}
				defer func() { _ = c.CloseNow() }()
				c.SetReadLimit(-1)
				for {
					typ, b, err := c.Read(r.Context())
					if err != nil || string(b) == `"ask"` && c.Write(r.Context(), typ, []byte(`"answer"`)) != nil {
						return
					}
				}
			})
			rig := newRig(t)
			rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
			live := rig.record(up.URL)
			c, _, err := websocket.Dial(t.Context(), live.url+"/v1/realtime", nil) //nolint:bodyclose // it is the socket
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.CloseNow() }()
			// When the answer is here all that was said before has passed.
			if err := utter(t.Context(), c, slices.Concat([]string{test.message("first. " + redacttest.Spelled[:test.letters])}, test.behind, []string{`"ask"`})); err != nil {
				t.Fatal(err)
			}
			if _, err := listen(t.Context(), c, 1); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(dumpFolder(t, rig.spool), "first. "); got != test.staged {
				t.Errorf("the first message is staged: %v, want %v", got, test.staged)
			}
			if err := utter(t.Context(), c, []string{test.message(redacttest.Spelled[test.letters:])}); err != nil {
				t.Fatal(err)
			}
			_ = c.Close(websocket.StatusNormalClosure, "")
			run := live.end()
			if s := dumpStore(t, rig, run); strings.Contains(s, redacttest.Quoted(redacttest.Spelled[test.letters+1:])) && test.message("") != update("") {
				t.Error("the rest of the secret is stored")
			}
		})
	}
}
