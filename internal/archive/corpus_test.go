package archive_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// outcome is what a verifier says of a bundle.
type outcome struct {
	Verdict string `json:"verdict"`
	Level   int    `json:"level"`
	Code    string `json:"code"`
	Entry   *int64 `json:"entry"`
}

// history is one bundle of the corpus, and what every verifier must say of it.
type history struct {
	name string
	raw  []byte
	how  string // what the reader asks for: one of hows
	want outcome
}

// hows are the ways in which a reader asks: arguments of the second verifier,
// with the names of keys in place of the keys.
var hows = map[string][]string{
	"trusted":   {"--trust", "root"},
	"bare":      {},
	"stranger":  {"--trust", "other root"},
	"demanding": {"--level", "1"},
	"lenient":   {"--trust", "other root", "--level", "0"},
	"expecting": {"--trust", "root", "--expect-head", "whole"},
}

func good(level int) outcome            { return outcome{Verdict: "verified", Level: level} }
func partial(level int) outcome         { return outcome{Verdict: "partial", Level: level} }
func below() outcome                    { return outcome{Verdict: "below"} }
func refused(code string) outcome       { return outcome{Verdict: "error", Code: code} }
func broken(code string) outcome        { return outcome{Verdict: "failed", Code: code} }
func bad(code string, n int64) outcome  { return outcome{Verdict: "failed", Code: code, Entry: new(n)} }
func sample() *bundletest.Ledger        { return bundletest.Sample("a") }
func whole(l *bundletest.Ledger) []byte { return bundletest.Bundle(bundle.Options{}, l) }

// forged is the sample after somebody changed it.
func forged(f func(l *bundletest.Ledger)) []byte {
	l := sample()
	f(l)
	return whole(l)
}

// rebuilt is the sample with entry n changed by somebody who can do all that
// needs no key: the chain fits again, the heads are dropped.
func rebuilt(n int, f func(canon.Value) canon.Value) []byte {
	return forged(func(l *bundletest.Ledger) {
		l.Edit(n, f)
		l.Heads = nil
		l.Rechain()
	})
}

// lying is the sample with entry n changed by the holder of the signing key.
func lying(f func(l *bundletest.Ledger)) []byte {
	return forged(func(l *bundletest.Ledger) {
		f(l)
		l.Rechain()
		l.Resign(bundletest.Key("head"))
	})
}

func lyingBody(n int, json string) []byte {
	return lying(func(l *bundletest.Ledger) { l.Body(n, []byte(json)) })
}

// records is the bundle of the sample after its records were changed and its
// digest mended.
func records(f func(list []bundletest.Record) []bundletest.Record) []byte {
	return bundletest.Join(f(bundletest.Records(whole(sample()))))
}

// nth returns the place of record n of a type.
func nth(list []bundletest.Record, typ byte, n int) int {
	for i, r := range list {
		if r.Type == typ {
			if n == 0 {
				return i
			}
			n--
		}
	}
	panic("no such record")
}

func keyed(manifests ...[]byte) []byte {
	src := sample().Source()
	src.Manifests = manifests
	var buf bytes.Buffer
	if err := bundle.Write(&buf, bundle.Source{Runs: []bundle.Run{src}}, bundle.Options{}); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func listed(name string, state sign.State) sign.Listed {
	return sign.Listed{Key: bundletest.Key(name).Public(), Role: sign.RoleHead, State: state}
}

func with(name, json string) func(canon.Value) canon.Value {
	return func(v canon.Value) canon.Value { return v.With(name, bundletest.Object("%s", json)) }
}

func withheld(f func(n int64, what int) bool) []byte {
	return bundletest.Bundle(bundle.Options{Withhold: func(_ ledger.RunID, n int64, what int) bool { return f(n, what) }}, sample())
}

// corpus returns all bundles, the same every time.
func corpus(t testing.TB) []history {
	t.Helper()
	root := bundletest.Key("root")
	first := bundletest.Manifests()[0]
	flip := func(typ byte, n, at int) []byte {
		return records(func(list []bundletest.Record) []bundletest.Record {
			list[nth(list, typ, n)].Bytes[at] ^= 1
			return list
		})
	}
	raw := whole(sample())
	base, mid, top := branches()
	nowhere := bundletest.New("a")
	nowhere.Append(ledger.KindOpen, bundletest.Object(`{"mode":"branch"}`), canon.Value{})
	digest := bytes.Clone(raw)
	digest[len(digest)-1] ^= 1
	text := bytes.Clone(raw)
	text[bytes.Index(text, []byte("hello"))] ^= 1
	later := bytes.Replace(raw, []byte(`"v":1}`), []byte(`"v":2}`), 1)
	return []history{
		{"whole", raw, "trusted", good(1)},
		{"whole, no root", raw, "bare", good(0)},
		{"whole, another root", raw, "stranger", below()},
		{"whole, another root, level 0", raw, "lenient", good(0)},
		{"whole, no root, level 1", raw, "demanding", below()},
		{"whole, with the head that is known", raw, "expecting", good(1)},
		{"two runs", bundletest.Bundle(bundle.Options{}, sample(), bundletest.Sample("b")), "trusted", good(1)},
		{"a named subject", subject(), "trusted", good(1)},
		{"long history", long(), "trusted", good(1)},
		{"not signed", forged(func(l *bundletest.Ledger) { l.Heads = nil }), "trusted", below()},
		{"not signed, no root", forged(func(l *bundletest.Ledger) { l.Heads = nil }), "bare", good(0)},
		{"no manifests", keyed(), "trusted", below()},
		{"no manifests, no root", keyed(), "bare", good(0)},
		{"cut behind a head", forged(func(l *bundletest.Ledger) { l.Cut(10) }), "trusted", good(1)},
		{"cut behind a head, the head known", forged(func(l *bundletest.Ledger) { l.Cut(10) }), "expecting", bad("ledger.expected_head", 19)},
		{"cut after a head", forged(func(l *bundletest.Ledger) { l.Cut(15) }), "trusted", good(1)},
		{"cut after a head, the head known", forged(func(l *bundletest.Ledger) { l.Cut(15) }), "expecting", bad("ledger.expected_head", 19)},
		{"seal dropped", forged(func(l *bundletest.Ledger) { l.Cut(19) }), "trusted", good(1)},
		{"seal dropped, the head known", forged(func(l *bundletest.Ledger) { l.Cut(19) }), "expecting", bad("ledger.expected_head", 19)},
		{"older head only", forged(func(l *bundletest.Ledger) { l.Heads = l.Heads[:1] }), "trusted", good(1)},
		{"rotated key", keyed(first, bundletest.Manifest(root, first, listed("head", sign.Active), listed("next", sign.Active))), "trusted", good(1)},
		{"retired key", keyed(first, bundletest.Manifest(root, first, listed("head", sign.Retired))), "trusted", good(1)},
		{"without one body", withheld(func(n int64, what int) bool { return n == 3 && what == bundle.Body }), "trusted", partial(1)},
		{"without any body", withheld(func(_ int64, what int) bool { return what == bundle.Body }), "trusted", partial(1)},
		{"without any attachment", withheld(func(_ int64, what int) bool { return what != bundle.Body }), "trusted", partial(1)},
		{"without a commit", withheld(func(n int64, what int) bool { return n == 4 && what == bundle.Body }), "trusted", partial(1)},
		{"without an outcome", withheld(func(n int64, what int) bool { return n == 2 && what == bundle.Body }), "trusted", partial(1)},
		{"without bodies, level 1 asked for", withheld(func(_ int64, what int) bool { return what == bundle.Body }), "demanding", below()},

		{"empty file", nil, "trusted", refused("bundle.not_a_bundle")},
		{"another file", []byte("PK\x03\x04 and so on, for a while"), "trusted", refused("bundle.not_a_bundle")},
		{"a later version", later, "trusted", refused("bundle.unknown_version")},
		{"magic only", raw[:16], "trusted", broken("bundle.truncated")},
		{"cut in the middle", raw[:len(raw)/2], "trusted", bad("bundle.truncated", 10)},
		{"last byte missing", raw[:len(raw)-1], "trusted", bad("bundle.truncated", 20)},
		{"a byte too many", append(bytes.Clone(raw), 0), "trusted", bad("bundle.malformed", 20)},
		{"digest wrong", digest, "trusted", broken("bundle.digest_mismatch")},
		{"content changed", text, "trusted", bad("ledger.bind_mismatch", 2)},
		{"record of unknown type", records(func(list []bundletest.Record) []bundletest.Record {
			return slices.Insert(list, nth(list, 5, 4), bundletest.Record{Type: 99})
		}), "trusted", bad("bundle.malformed", 4)},
		{"chunk that nobody uses", records(func(list []bundletest.Record) []bundletest.Record {
			return slices.Insert(list, nth(list, 5, 4), bundletest.Record{Type: 4, Bytes: []byte("spare")})
		}), "trusted", bad("bundle.malformed", 4)},
		{"chunk too early", records(func(list []bundletest.Record) []bundletest.Record {
			i := nth(list, 4, 0)
			list[i], list[i-1] = list[i-1], list[i]
			return list
		}), "trusted", bad("bundle.malformed", 1)},
		{"number in a longer form", records(func(list []bundletest.Record) []bundletest.Record {
			r := &list[nth(list, 8, 1)] // bytes in place: kind, length, bytes
			r.Bytes = slices.Concat(r.Bytes[:33], []byte{r.Bytes[33] | 0x80, 0}, r.Bytes[34:])
			return list
		}), "trusted", bad("bundle.malformed", 2)},
		{"chunks of the future", records(func(list []bundletest.Record) []bundletest.Record {
			r := &list[nth(list, 8, 0)]
			r.Bytes = append(r.Bytes[:32], 1, 0, 9)
			return list
		}), "trusted", bad("bundle.malformed", 1)},
		{"chunks named twice", records(func(list []bundletest.Record) []bundletest.Record {
			r := &list[nth(list, 8, 0)]
			r.Bytes = append(r.Bytes, 1, 0, 1)
			return list
		}), "trusted", bad("ledger.bind_mismatch", 1)},
		{"run id of the section", flip(2, 0, 35), "trusted", broken("bundle.malformed")},
		{"chunk flipped", flip(4, 0, 7), "trusted", bad("ledger.bind_mismatch", 1)},
		{"id flipped", flip(5, 7, 0), "trusted", bad("ledger.id_mismatch", 7)},
		{"header flipped", flip(5, 7, 40), "trusted", bad("ledger.bad_header", 7)},
		{"body flipped", flip(6, 7, 40), "trusted", bad("ledger.bind_mismatch", 7)},
		{"salt flipped", flip(6, 7, 0), "trusted", bad("ledger.bind_mismatch", 7)},
		{"attachment flipped", flip(8, 1, 36), "trusted", bad("ledger.bind_mismatch", 2)},
		{"attachment dropped", records(func(list []bundletest.Record) []bundletest.Record {
			i := nth(list, 8, 1)
			return slices.Delete(list, i, i+1)
		}), "trusted", bad("ledger.bad_content", 2)},
		{"attachment too many", records(func(list []bundletest.Record) []bundletest.Record {
			return slices.Insert(list, nth(list, 8, 1), bundletest.Record{Type: 9})
		}), "trusted", bad("ledger.bad_content", 2)},
		{"head flipped", flip(10, 1, 40), "trusted", bad("ledger.bad_head", 9)},
		{"signature flipped", forged(func(l *bundletest.Ledger) { resealed(l, 1, func(e *sign.Envelope) { e.Sig[9] ^= 1 }) }), "trusted", bad("ledger.head_signature", 9)},
		{"head too early", records(func(list []bundletest.Record) []bundletest.Record {
			i := nth(list, 10, 1)
			h := list[i]
			list = slices.Delete(list, i, i+1)
			return slices.Insert(list, nth(list, 5, 9), h)
		}), "trusted", bad("ledger.head_mismatch", 8)},
		{"head of another run", forged(func(l *bundletest.Ledger) {
			l.Heads[1].Envelope = bundletest.Sample("b").Heads[1].Envelope
		}), "trusted", bad("ledger.head_mismatch", 9)},
		{"head without signature", forged(func(l *bundletest.Ledger) { resealed(l, 2, func(e *sign.Envelope) { e.Sig = nil }) }), "trusted", bad("ledger.head_signature", 19)},
		{"head with a short signature", forged(func(l *bundletest.Ledger) { resealed(l, 2, func(e *sign.Envelope) { e.Sig = e.Sig[:63] }) }), "trusted", bad("ledger.head_signature", 19)},
		{"head of another type", forged(func(l *bundletest.Ledger) { resealed(l, 2, func(e *sign.Envelope) { e.Type = sign.ManifestType }) }), "trusted", bad("ledger.bad_head", 19)},
		{"head that is no envelope", forged(func(l *bundletest.Ledger) { l.Heads[2].Envelope = []byte("{}") }), "trusted", bad("sign.bad_envelope", 19)},
		{"signed by a stranger", forged(func(l *bundletest.Ledger) { l.Resign(bundletest.Key("mallory")) }), "trusted", bad("ledger.head_signature", 0)},
		{"signed by the root", forged(func(l *bundletest.Ledger) { l.Resign(root) }), "trusted", bad("ledger.head_signature", 0)},
		{"revoked key", keyed(first, bundletest.Manifest(root, first, listed("head", sign.Revoked))), "trusted", bad("ledger.head_signature", 0)},
		{"key of another role", keyed(bundletest.Manifest(root, nil, sign.Listed{Key: bundletest.Key("head").Public(), Role: "log", State: sign.Active})), "trusted", bad("ledger.head_signature", 0)},
		{"manifest flipped", flip(3, 0, 30), "trusted", broken("sign.bad_manifest")},
		{"manifest twice", keyed(first, first), "trusted", broken("sign.bad_manifest")},
		{"manifest left out", keyed(bundletest.Manifest(root, first, listed("head", sign.Active))), "trusted", broken("sign.bad_manifest")},
		{"manifest that forgets a key", keyed(first, bundletest.Manifest(root, first, listed("next", sign.Active))), "trusted", broken("sign.bad_manifest")},
		{"manifest by another root", keyed(first, bundletest.Manifest(bundletest.Key("x"), first, listed("head", sign.Active))), "trusted", broken("sign.bad_manifest")},

		{"entry dropped", forged(func(l *bundletest.Ledger) { l.Entries = slices.Delete(l.Entries, 5, 6); l.Heads = nil }), "trusted", bad("ledger.parent_mismatch", 5)},
		{"entry twice", forged(func(l *bundletest.Ledger) { l.Entries = slices.Insert(l.Entries, 5, l.Entries[4]) }), "trusted", bad("ledger.parent_mismatch", 5)},
		{"entries swapped", forged(func(l *bundletest.Ledger) { l.Entries[5], l.Entries[6] = l.Entries[6], l.Entries[5] }), "trusted", bad("ledger.parent_mismatch", 5)},
		{"entry of another run", forged(func(l *bundletest.Ledger) {
			o := bundletest.Sample("b")
			l.Take(o)
			l.Entries[5] = o.Entries[5]
		}), "trusted", bad("ledger.parent_mismatch", 5)},
		{"numbers with a gap", forged(func(l *bundletest.Ledger) {
			l.Header(5, func(h *ledger.Header) { h.N = 6 })
			l.Reid(5)
			l.Heads = nil
		}), "trusted", bad("ledger.sequence_gap", 5)},
		{"another run's header", forged(func(l *bundletest.Ledger) {
			l.Header(19, func(h *ledger.Header) { h.Run = bundletest.RunID("b") })
			l.Reid(19)
		}), "trusted", bad("ledger.wrong_run", 19)},
		{"rebuilt without heads", rebuilt(3, with("data", `{"say":"bye"}`)), "trusted", below()},
		{"rebuilt without heads, no root", rebuilt(3, with("data", `{"say":"bye"}`)), "bare", good(0)},
		{"rebuilt without heads, the head known", rebuilt(3, with("data", `{"say":"bye"}`)), "expecting", bad("ledger.expected_head", 19)},
		{"rebuilt under its heads", forged(func(l *bundletest.Ledger) {
			l.Edit(3, with("data", `{"say":"bye"}`))
			l.Rechain()
		}), "trusted", bad("ledger.head_mismatch", 9)},
		{"rebuilt by the signer, the head known", lying(func(l *bundletest.Ledger) { l.Edit(3, with("data", `{"say":"bye"}`)) }), "expecting", bad("ledger.expected_head", 19)},

		{"body not canonical", lyingBody(3, `{"name":"plan","data":{}}`), "trusted", bad("ledger.bad_content", 3)},
		{"body with a fraction", lyingBody(3, `{"data":1.5,"name":"plan"}`), "trusted", bad("ledger.bad_content", 3)},
		{"body with a name twice", lyingBody(3, `{"data":1,"data":1,"name":"plan"}`), "trusted", bad("ledger.bad_content", 3)},
		{"body with a lone surrogate", lyingBody(3, `{"data":"\ud800","name":"plan"}`), "trusted", bad("ledger.bad_content", 3)},
		{"body with a foreign member", lyingBody(3, `{"data":1,"extra":1,"name":"plan"}`), "trusted", bad("ledger.bad_content", 3)},
		{"body that is a list", lyingBody(3, `["a"]`), "trusted", bad("ledger.bad_content", 3)},
		{"refs that are a list", lyingBody(2, `{"refs":["call"],"status":"ok"}`), "trusted", bad("ledger.bad_content", 2)},
		{"att of lists", lyingBody(4, `{"att":[["a"]],"delta":[{"att":"a","id":"a","kind":"k","op":"create"}],"name":"first"}`), "trusted", bad("ledger.bad_content", 4)},
		{"unknown kind", lying(func(l *bundletest.Ledger) { l.Header(3, func(h *ledger.Header) { h.Kind = "thought" }) }), "trusted", bad("ledger.bad_content", 3)},
		{"body of another type", lying(func(l *bundletest.Ledger) { l.Header(3, func(h *ledger.Header) { h.Type = "text/plain" }) }), "trusted", bad("ledger.bad_content", 3)},
		{"open in the middle", lying(func(l *bundletest.Ledger) {
			l.Header(3, func(h *ledger.Header) { h.Kind = ledger.KindOpen })
			l.Body(3, []byte(`{}`))
		}), "trusted", bad("ledger.bad_order", 3)},
		{"outcome of no call", lyingBody(2, `{"refs":{"call":7},"status":"ok"}`), "trusted", bad("ledger.bad_content", 2)},
		{"sealed with an open call", lying(func(l *bundletest.Ledger) { l.Entries = slices.Delete(l.Entries, 14, 15); l.Heads = nil }), "bare", bad("ledger.bad_order", 18)},
		{"entry behind the seal", lying(func(l *bundletest.Ledger) {
			l.Append(ledger.KindEvent, bundletest.Object(`{"name":"late"}`), canon.Value{})
		}), "trusted", bad("ledger.bad_order", 20)},
		{"created twice", lyingBody(15, `{"delta":[{"id":"a","kind":"note","op":"create","value":1}],"name":"second"}`), "trusted", bad("ledger.bad_delta", 15)},
		{"another version replaced", lyingBody(15, `{"delta":[{"id":"a","kind":"note","op":"replace","value":1,"version":2}],"name":"second"}`), "trusted", bad("ledger.bad_delta", 15)},
		{"change with a foreign member", lyingBody(15, `{"delta":[{"id":"z","kind":"note","op":"create","value":1,"why":2}],"name":"second"}`), "trusted", bad("ledger.bad_delta", 15)},
		{"value of an attachment that is not there", lyingBody(15, `{"delta":[{"att":"x","id":"z","kind":"note","op":"create"}],"name":"second"}`), "trusted", bad("ledger.bad_delta", 15)},
		{"commit without delta", lyingBody(15, `{"name":"second"}`), "trusted", bad("ledger.bad_delta", 15)},
		{"another world", lyingBody(15, `{"delta":[],"name":"second"}`), "trusted", bad("ledger.world_mismatch", 19)},
		{"second run broken", secondBroken(), "trusted", broken("ledger.id_mismatch")},

		{"a branch on a branch", branched(nil), "trusted", good(1)},
		{"a branch without its source", bundletest.Bundle(bundle.Options{}, mid, top), "trusted", partial(1)},
		{"a branch whose source is withheld in part", bundletest.Bundle(bundle.Options{Withhold: func(run ledger.RunID, n int64, what int) bool {
			return run == base.Run && n == 1 && what == bundle.Body
		}}, top, mid, base), "trusted", partial(1)},
		{"a branch whose open is withheld", bundletest.Bundle(bundle.Options{Withhold: func(run ledger.RunID, n int64, what int) bool {
			return run == top.Run && n == 0 && what == bundle.Body
		}}, top, mid, base), "trusted", partial(1)},
		{"a branch whose source was changed", branched(func(b, _ *bundletest.Ledger) { b.Entries[1].Body[4] ^= 1 }), "trusted", broken("ledger.bind_mismatch")},
		{"a branch whose source was rebuilt by the signer", branched(func(b, _ *bundletest.Ledger) {
			b.Edit(1, with("name", `"other"`))
			b.Rechain()
			b.Resign(bundletest.Key("head"))
		}), "trusted", broken("ledger.expected_head")},
		{"a branch whose source was cut before it left", branched(func(_, m *bundletest.Ledger) { m.Cut(1) }), "trusted", broken("ledger.expected_head")},
		{"a branch whose source was cut behind it", branched(func(b, _ *bundletest.Ledger) { b.Cut(3) }), "trusted", good(1)},
		{"a branch of nothing", whole(nowhere), "bare", bad("drive.broken_lineage", 0)},
		{"a branch of itself", whole(branchOf("own", ledger.Ref{Run: bundletest.RunID("own")})), "bare", bad("drive.broken_lineage", 0)},
	}
}

// branched is a branch on a branch and the two runs that it stands on, after
// somebody changed those.
func branched(f func(base, mid *bundletest.Ledger)) []byte {
	base, mid, top := branches()
	if f != nil {
		f(base, mid)
	}
	return bundletest.Bundle(bundle.Options{}, top, mid, base)
}

func resealed(l *bundletest.Ledger, n int, f func(*sign.Envelope)) {
	e, err := sign.ParseEnvelope(l.Heads[n].Envelope)
	if err != nil {
		panic(err)
	}
	f(&e)
	l.Heads[n].Envelope = e.Encode()
}

func subject() []byte {
	l := bundletest.New("a")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), canon.Value{})
	d := ledger.Draft{Kind: ledger.KindEvent, Body: bundletest.Object(`{"name":"x"}`)}
	l.Store(&d, bundletest.Text("mine", "m"))
	l.Subject("alice \u00e4\U0001f600")
	l.Store(&d, bundletest.Text("hers", "h"))
	l.AppendDraft(d)
	l.Head(bundletest.Key("head"))
	return whole(l)
}

func long() []byte {
	l := bundletest.New("a")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), canon.Value{})
	for i := range 30 {
		l.Append(ledger.KindEvent, bundletest.Object(`{"data":{"n":%d,"\ufb33":1,"\ud83d\ude00":"\u0001\u007f"},"name":"turn"}`, i), canon.Value{}, bundletest.History("request", i+1))
		if i%7 == 0 {
			l.Head(bundletest.Key("head"))
		}
	}
	l.Head(bundletest.Key("head"))
	return whole(l)
}

func secondBroken() []byte {
	o := bundletest.Sample("b")
	o.Entries[3].ID[0] ^= 1
	return bundletest.Bundle(bundle.Options{}, sample(), o)
}
