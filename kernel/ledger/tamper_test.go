package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// attack is something that is done to one entry of a ledger of 20.
type attack struct {
	name string
	do   func(l *bundletest.Ledger, n int)
	from int // the first entry to which it can be done
	to   int // the last
	at   int // where it shows, from the entry on
}

// The rows of the tamper matrix that are about entries. Every kind of entry
// is in the sample, so each row is tried on every kind.
var attacks = []attack{
	{"alter", func(l *bundletest.Ledger, n int) {
		l.Edit(n, func(v canon.Value) canon.Value { return v.With("data", canon.String("altered")) })
	}, 0, 19, 0},
	{"drop", func(l *bundletest.Ledger, n int) { l.Entries = slices.Delete(l.Entries, n, n+1) }, 0, 18, 0},
	{"duplicate", func(l *bundletest.Ledger, n int) { l.Entries = slices.Insert(l.Entries, n+1, l.Entries[n]) }, 0, 19, 1},
	{"swap", func(l *bundletest.Ledger, n int) { l.Entries[n], l.Entries[n+1] = l.Entries[n+1], l.Entries[n] }, 0, 18, 0},
	{"insert", func(l *bundletest.Ledger, n int) {
		m := bundletest.New("a")
		m.Append(ledger.KindEvent, bundletest.Object(`{"name":"inserted"}`), none)
		m.Header(0, func(h *ledger.Header) { h.N, h.Prev = int64(n+1), l.Entries[n].ID })
		m.Reid(0)
		l.Entries = slices.Insert(l.Entries, n+1, m.Entries[0])
	}, 0, 19, 1},
	{"splice", func(l *bundletest.Ledger, n int) {
		o := bundletest.Sample("b")
		l.Take(o)
		l.Entries[n] = o.Entries[n]
	}, 0, 19, 0},
}

func wantFound(t *testing.T, l *bundletest.Ledger, from, to int64) {
	t.Helper()
	v := verify(t, l.Evidence())
	f := v.First()
	if f == nil || v.Level != ledger.LevelChain {
		t.Errorf("accepted at level %s", v.Level)
	} else if f.N < from || f.N > to {
		t.Errorf("%s: found in entry %d, want %d to %d", f.Code, f.N, from, to)
	}
}

func TestAnAttackOnTheStoreIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for n := a.from; n <= a.to; n++ {
				l := bundletest.Sample("a")
				a.do(l, n)
				at := int64(n + a.at)
				if a.name == "alter" {
					wantFound(t, l, at, at) // the id
					l.Reid(n)               // mended: now the next entry, or the head, says so
					wantFound(t, l, at, at+1)
					continue
				}
				// An entry that is put behind the seal or behind the open is out
				// of order there; all else breaks the chain.
				wantFound(t, l, at, at+1)
			}
		})
	}
}

// Who holds the store can make the whole chain fit again. The signed heads
// say otherwise; without them the ledger is one that nobody vouches for.
func TestAnAttackThatRebuildsTheChainReachesNoLevel(t *testing.T) {
	t.Parallel()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for n := a.from; n <= a.to; n++ {
				whole := bundletest.Sample("a")
				l := bundletest.Sample("a")
				a.do(l, n)
				l.Rechain()

				if v := verify(t, l.Evidence()); !v.Failed() || v.Level != ledger.LevelChain {
					t.Errorf("entry %d, under its heads: accepted at level %s", n, v.Level)
				}

				bare := l.Clone()
				bare.Heads = nil
				ev := bare.Evidence()
				if v := verify(t, ev); v.Level != ledger.LevelChain || v.Unsigned != v.At.Count {
					t.Errorf("entry %d, without heads: level %s, %d unsigned", n, v.Level, v.Unsigned)
				}
				ev = bare.Evidence()
				ev.Expect = &whole.At
				// What is put behind the last entry takes nothing from the
				// ledger that is known; that it stands behind the seal is wrong.
				if v := verify(t, ev); n+a.at == 20 && v.Failed() {
					continue
				} else if v.Phases[7].First == nil || v.Phases[7].First.Code != fault.Code(ledger.ErrExpectedHead) {
					t.Errorf("entry %d, without heads: the expected head is not missed", n)
				}

				stranger := l.Clone()
				stranger.Resign(bundletest.Key("mallory"))
				if v := verify(t, stranger.Evidence()); !v.Failed() || v.Level != ledger.LevelChain {
					t.Errorf("entry %d, signed by a stranger: accepted at level %s", n, v.Level)
				}

				// Heads before the attack stand: they vouch for what they cover
				// and for nothing behind it.
				older := l.Clone()
				older.Heads = slices.DeleteFunc(older.Heads, func(h ledger.Statement) bool { return h.Count > int64(n) })
				v := verify(t, older.Evidence())
				if covered := v.At.Count - v.Unsigned; v.Level > ledger.LevelChain && covered > int64(n) {
					t.Errorf("entry %d: a head vouches for %d entries", n, covered)
				}
			}
		})
	}
}

func TestWhatIsCutOffIsSaidAndFoundByTheExpectedHead(t *testing.T) {
	t.Parallel()
	whole := bundletest.Sample("a")
	for n := 1; n < 20; n++ {
		l := bundletest.Sample("a")
		l.Cut(n)
		v := verify(t, l.Evidence())
		wantUnsigned := int64(n - 1)
		if n >= 10 {
			wantUnsigned = int64(n - 10)
		}
		if v.Failed() || v.Level != ledger.LevelSigned || v.Sealed || v.Unsigned != wantUnsigned {
			t.Errorf("cut at %d: %+v, level %s, %d unsigned", n, v.First(), v.Level, v.Unsigned)
		}
		if !slices.ContainsFunc(v.Remarks, func(s string) bool { return s[:9] == "unsealed:" }) {
			t.Errorf("cut at %d: the remarks are %q", n, v.Remarks)
		}
		if r := fmt.Sprintf("%d unsigned: no trusted head covers the last entries", wantUnsigned); wantUnsigned > 0 && !slices.Contains(v.Remarks, r) {
			t.Errorf("cut at %d: the remarks are %q", n, v.Remarks)
		}
		ev := l.Evidence()
		ev.Expect = &whole.At
		wantFailure(t, verify(t, ev), ledger.ErrExpectedHead, 19)

		// A head that is still there tells of the cut by itself.
		l = bundletest.Sample("a")
		l.Entries = l.Entries[:n]
		wantFailure(t, verify(t, l.Evidence()), ledger.ErrHeadMismatch, l.Heads[slices.IndexFunc(l.Heads, func(h ledger.Statement) bool { return h.Count > int64(n) })].Count-1)
	}
}

func TestAnAttackOnAHeadIsFound(t *testing.T) {
	t.Parallel()
	edit := func(f func(e *sign.Envelope)) func(l *bundletest.Ledger, i int) {
		return func(l *bundletest.Ledger, i int) {
			e, err := sign.ParseEnvelope(l.Heads[i].Envelope)
			if err != nil {
				t.Fatal(err)
			}
			f(&e)
			l.Heads[i].Envelope = e.Encode()
		}
	}
	head := func(l *bundletest.Ledger, i int, by *sign.PrivateKey, f func(h *ledger.Head)) {
		h, _, err := ledger.ParseHead(l.Heads[i].Envelope)
		if err != nil {
			t.Fatal(err)
		}
		f(&h)
		if l.Heads[i].Envelope, err = h.Sign(by); err != nil {
			t.Fatal(err)
		}
	}
	signer := bundletest.Key("head")
	for _, c := range []struct {
		name string
		do   func(l *bundletest.Ledger, i int)
		code fault.Code
	}{
		{"alter count", func(l *bundletest.Ledger, i int) { head(l, i, signer, func(h *ledger.Head) { h.Count++ }) }, ledger.ErrHeadMismatch},
		{"alter last", func(l *bundletest.Ledger, i int) { head(l, i, signer, func(h *ledger.Head) { h.Last[0] ^= 1 }) }, ledger.ErrHeadMismatch},
		{"alter root", func(l *bundletest.Ledger, i int) { head(l, i, signer, func(h *ledger.Head) { h.Root[0] ^= 1 }) }, ledger.ErrHeadMismatch},
		{"alter run", func(l *bundletest.Ledger, i int) {
			head(l, i, signer, func(h *ledger.Head) { h.Run = bundletest.RunID("b") })
		}, ledger.ErrHeadMismatch},
		{"alter the time only, unsigned", edit(func(e *sign.Envelope) {
			e.Payload = []byte(string(e.Payload[:len(e.Payload)-10]) + string(e.Payload[len(e.Payload)-10:]))
			e.Payload[len(e.Payload)-12] ^= 1
		}), nil},
		{"splice from another run", func(l *bundletest.Ledger, i int) { l.Heads[i].Envelope = bundletest.Sample("b").Heads[i].Envelope }, ledger.ErrHeadMismatch},
		{"replay an older head", func(l *bundletest.Ledger, i int) { l.Heads[i].Envelope = l.Heads[0].Envelope }, ledger.ErrHeadMismatch},
		{"re-sign with another key", func(l *bundletest.Ledger, i int) {
			head(l, i, bundletest.Key("mallory"), func(*ledger.Head) {})
		}, ledger.ErrHeadSignature},
		{"re-sign with the root key", func(l *bundletest.Ledger, i int) { head(l, i, bundletest.Key("root"), func(*ledger.Head) {}) }, ledger.ErrHeadSignature},
		{"re-sign, key id forged", func(l *bundletest.Ledger, i int) {
			head(l, i, bundletest.Key("mallory"), func(*ledger.Head) {})
			edit(func(e *sign.Envelope) { e.KeyID = signer.Public().ID() })(l, i)
		}, ledger.ErrHeadSignature},
		{"strip signature", edit(func(e *sign.Envelope) { e.Sig = nil }), ledger.ErrHeadSignature},
		{"truncate signature", edit(func(e *sign.Envelope) { e.Sig = e.Sig[:32] }), ledger.ErrHeadSignature},
		{"downgrade: a MAC for a signature", edit(func(e *sign.Envelope) {
			mac, err := sign.MAC(signer.Public().Raw(), e.Payload)
			if err != nil {
				t.Fatal(err)
			}
			e.Sig = mac[:]
		}), ledger.ErrHeadSignature},
		{"downgrade: another type", edit(func(e *sign.Envelope) { e.Type = "application/vnd.reprise.head.v0+json" }), ledger.ErrHead},
		{"a manifest for a head", func(l *bundletest.Ledger, i int) { l.Heads[i].Envelope = bundletest.Manifests()[0] }, ledger.ErrHead},
		{"truncate", func(l *bundletest.Ledger, i int) {
			l.Heads[i].Envelope = l.Heads[i].Envelope[:len(l.Heads[i].Envelope)-1]
		}, sign.ErrEnvelope},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for i := range 3 {
				if i == 0 && c.name == "replay an older head" {
					continue
				}
				l := bundletest.Sample("a")
				c.do(l, i)
				v := verify(t, l.Evidence())
				f := v.First()
				if f == nil || v.Level != ledger.LevelChain || f.N != l.Heads[i].Count-1 || c.code != nil && f.Code != c.code {
					t.Errorf("head %d: %+v at level %s, want %v at entry %d", i, f, v.Level, c.code, l.Heads[i].Count-1)
				}
			}
		})
	}
}

func TestDroppedAndDoubledHeadsProveNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	for i := range 3 {
		l := bundletest.Sample("a")
		l.Heads = slices.Delete(l.Heads, i, i+1)
		want := int64(0)
		if i == 2 {
			want = 10
		}
		if v := verify(t, l.Evidence()); v.Failed() || v.Unsigned != want {
			t.Errorf("without head %d: %+v, %d unsigned", i, v.First(), v.Unsigned)
		}
		l = bundletest.Sample("a")
		l.Heads = slices.Insert(l.Heads, i, l.Heads[i])
		if v := verify(t, l.Evidence()); v.Failed() || v.Heads != 4 {
			t.Errorf("head %d twice: %+v, %d heads", i, v.First(), v.Heads)
		}
		if i < 2 {
			l = bundletest.Sample("a")
			l.Heads[i], l.Heads[i+1] = l.Heads[i+1], l.Heads[i]
			if v := verify(t, l.Evidence()); !v.Failed() {
				t.Errorf("heads %d and %d swapped: accepted", i, i+1)
			}
		}
	}
}
