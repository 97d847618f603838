package ledger_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func header() ledger.Header {
	return ledger.Header{
		Run: bundletest.RunID("a"), N: 7, Prev: canon.SHA256([]byte("prev")), Kind: ledger.KindEvent,
		Type: ledger.BodyType, Size: 123, Bind: canon.SHA256([]byte("bind")), T: "2026-01-02T03:04:05Z",
	}
}

func TestAHeaderIsCanonicalJSON(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 7, 1<<53 - 1} {
		h := header()
		if h.N = n; n == 0 {
			h.Prev = canon.Digest{}
		}
		b := h.Append(nil)
		if err := canon.Check(b, canon.Native); err != nil {
			t.Errorf("%s: %v", b, err)
		}
		if got, err := ledger.ParseHeader(b); err != nil || got != h {
			t.Errorf("ParseHeader(%s) = %+v, %v, want %+v", b, got, err, h)
		}
	}
}

func TestAHeaderHasOneSpelling(t *testing.T) {
	t.Parallel()
	h := header()
	good := string(h.Append(nil))
	if len(good) > ledger.MaxHeader {
		t.Fatal("the header of the test is too long")
	}
	bind := h.Bind.String()
	for _, c := range []struct{ name, text string }{
		{"nothing", ""},
		{"white space", good + " "},
		{"a member more", strings.Replace(good, `"v":1}`, `"v":1,"w":1}`, 1)},
		{"a member less", strings.Replace(good, `"size":123,`, ``, 1)},
		{"another version", strings.Replace(good, `"v":1}`, `"v":2}`, 1)},
		{"a capital digit", strings.Replace(good, bind, strings.ToUpper(bind), 1)},
		{"a short digest", strings.Replace(good, bind, bind[1:], 1)},
		{"a leading zero", strings.Replace(good, `"n":7`, `"n":07`, 1)},
		{"a sign", strings.Replace(good, `"n":7`, `"n":-7`, 1)},
		{"a fraction", strings.Replace(good, `"n":7`, `"n":7.0`, 1)},
		{"an unsafe integer", strings.Replace(good, `"n":7`, `"n":9007199254740992`, 1)},
		{"a parent of the first", strings.Replace(good, `"n":7`, `"n":0`, 1)},
		{"no parent", strings.Replace(good, `"`+h.Prev.String()+`"`, `null`, 1)},
		{"an escape", strings.Replace(good, `"event"`, `"\u0065vent"`, 1)},
		{"an empty string", strings.Replace(good, `"event"`, `""`, 1)},
		{"a control character", strings.Replace(good, `"event"`, "\"ev\tent\"", 1)},
		{"a letter beyond ASCII", strings.Replace(good, `"event"`, `"évent"`, 1)},
		{"a run that is no UUID", strings.Replace(good, string(h.Run), "run-1", 1)},
		{"a run of another version", strings.Replace(good, string(h.Run), string(h.Run[:14])+"4"+string(h.Run[15:]), 1)},
		{"a run in capitals", strings.Replace(good, string(h.Run), strings.ToUpper(string(h.Run)), 1)},
		{"too long", strings.Replace(good, `"2026`, `"`+strings.Repeat("2", ledger.MaxHeader), 1)},
	} {
		if c.text == good {
			t.Errorf("%s: the case changes nothing", c.name)
		}
		if _, err := ledger.ParseHeader([]byte(c.text)); !errors.Is(err, ledger.ErrHeader) {
			t.Errorf("%s: ParseHeader(%s) = %v, want %v", c.name, c.text, err, ledger.ErrHeader)
		}
	}
}

func drawHeader(t *rapid.T) ledger.Header {
	plain := rapid.StringMatching(`[ !#-\[\]-~]{1,60}`)
	h := header()
	h.N = rapid.Int64Range(0, 1<<53-1).Draw(t, "n")
	if h.N == 0 {
		h.Prev = canon.Digest{}
	}
	h.Size = rapid.Int64Range(0, 1<<53-1).Draw(t, "size")
	h.Kind = ledger.Kind(plain.Draw(t, "kind"))
	h.Type, h.T = plain.Draw(t, "type"), plain.Draw(t, "t")
	return h
}

func TestAnyHeaderComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := drawHeader(t)
		b := h.Append(nil)
		if got, err := ledger.ParseHeader(b); err != nil || got != h {
			t.Fatalf("ParseHeader(%s) = %+v, %v", b, got, err)
		}
		if err := canon.Check(b, canon.Native); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	})
}

func FuzzWhatParsesAsAHeaderIsItsOwnEncoding(f *testing.F) {
	h := header()
	f.Add(h.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := ledger.ParseHeader(b); err == nil && !bytes.Equal(h.Append(nil), b) {
			t.Errorf("%q became %q", b, h.Append(nil))
		}
	})
}

func FuzzWhatParsesAsAHeadIsItsOwnEncoding(f *testing.F) {
	f.Add(bundletest.Sample("a").Heads[0].Envelope)
	f.Add([]byte(`{"payload":"eyJjb3VudCI6MTAwMDAwMDAwMDAwMDAwMDAwMH0=","payloadType":"` + ledger.HeadType + `","signatures":[{"keyid":"` + canon.Digest{}.String() + `","sig":""}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, env, err := ledger.ParseHead(b)
		if err == nil && (!bytes.Equal(h.Payload(), env.Payload) || !bytes.Equal(env.Encode(), b)) {
			t.Errorf("%q became %q", b, env.Encode())
		}
	})
}
