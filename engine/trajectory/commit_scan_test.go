package trajectory

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// anyCommit is a commit in its plain form or another, whose texts hold what
// JSON escapes and what sorts differently in other encodings.
func anyCommit(t *rapid.T) Commit {
	alphabet := []rune("ab\"\\{}[],:\x01\n\u2028é\uffee")
	if rapid.IntRange(0, 4).Draw(t, "beyond the basic plane") == 0 {
		alphabet = append(alphabet, '\U0001F600')
	}
	text := rapid.StringOf(rapid.RuneFrom(alphabet))
	compiler := CompilerVersion
	if rapid.IntRange(0, 4).Draw(t, "another compiler") == 0 {
		compiler += text.Draw(t, "compiler")
	}
	digest := rapid.Custom(func(t *rapid.T) (d canon.Digest) {
		copy(d[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		d[0] |= 1 // never zero
		return d
	})
	value := rapid.Custom(func(t *rapid.T) canon.Value {
		return canon.Object(
			canon.M(text.Draw(t, "name")+"1", canon.String(text.Draw(t, "text"))),
			canon.M(text.Draw(t, "name")+"2", canon.Array(canon.Int(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "int")), canon.Null(), canon.Bool(true), canon.Array())),
		)
	})
	c := Commit{
		Trajectory: digest.Draw(t, "trajectory"), Proposal: digest.Draw(t, "proposal"), Intent: digest.Draw(t, "intent"), Writ: digest.Draw(t, "writ"),
		Seq: rapid.Int64Range(0, 1<<53-1).Draw(t, "seq"), Compiler: compiler, PolicySet: digest.Draw(t, "policies"),
		Delta:        []ledger.Change{{Op: ledger.OpCreate, Kind: "k", ID: "i" + text.Draw(t, "id"), Value: value.Draw(t, "value")}},
		Observations: canon.Array(value.Draw(t, "seen")),
		Trace:        Trace{Rules: []string{AuthorityRule, text.Draw(t, "rule")}, Decision: Ruling{Kind: Permit}},
		Cost:         Budget{Tokens: rapid.Uint64().Draw(t, "tokens"), ToolCalls: rapid.Uint64Max(9).Draw(t, "calls")},
	}
	if rapid.Bool().Draw(t, "small") {
		c.Cost.Tokens %= 1 << 53
	}
	if rapid.Bool().Draw(t, "follows") {
		c.Parent = digest.Draw(t, "parent")
	}
	if rapid.Bool().Draw(t, "signed") {
		c.Signature = rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "signature")
	}
	if rapid.IntRange(0, 9).Draw(t, "compensates") == 0 {
		c.Compensates = digest.Draw(t, "of")
	}
	return c
}

// entryOf returns the canonical bytes of the entry's body.
func entryOf(t testing.TB, c *Commit) []byte {
	t.Helper()
	d, err := c.Entry("tool")
	if err != nil {
		t.Fatal(err)
	}
	b, err := canon.Encode(d.Body, canon.Native)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sameReading fails the test if the scanner takes b and reads anything else
// from it than the tree does.
func sameReading(t *rapid.T, r *commitReader, b []byte) (scanned bool) {
	got, id, ok := r.scan(b)
	if !ok {
		return false
	}
	v, err := canon.Parse(b)
	if err != nil {
		t.Fatalf("the scanner takes what is no JSON: %v: %s", err, b)
	}
	want, wantID, err := ParseCommit(v)
	if err != nil {
		t.Fatalf("the scanner takes what ParseCommit refuses: %v: %s", err, b)
	}
	msg, err := want.Message()
	if err != nil || !bytes.Equal(r.msg, msg) {
		t.Fatalf("the signature is over\n%s, %v, want\n%s", r.msg, err, msg)
	}
	if id != wantID || got.Trajectory != want.Trajectory || got.Parent != want.Parent || got.Seq != want.Seq || got.Writ != want.Writ ||
		got.Proposal != want.Proposal || got.Intent != want.Intent || got.Compiler != want.Compiler || got.PolicySet != want.PolicySet ||
		!bytes.Equal(got.Signature, want.Signature) || (got.Signature == nil) != (want.Signature == nil) || want.Attached.Len() > 0 {
		t.Fatalf("the scanner reads %+v, %s, want %+v, %s", got, id, want, wantID)
	}
	return true
}

func TestScannedCommitIsTheParsedOne(t *testing.T) {
	t.Parallel()
	scanned := 0
	var r commitReader // keeps what it has seen, as a verification does
	rapid.Check(t, func(t *rapid.T) {
		c := anyCommit(t)
		d, err := c.Entry("tool")
		if err != nil {
			t.Fatal(err)
		}
		b, err := canon.Encode(d.Body, canon.Native)
		if err != nil {
			t.Fatal(err)
		}
		if sameReading(t, &r, b) {
			scanned++
		}
		if _, _, msg, err := r.read(b); err != nil {
			t.Fatalf("read = %v", err)
		} else if want, _ := c.Message(); !bytes.Equal(msg, want) {
			t.Fatalf("the signature is over\n%s, want\n%s", msg, want)
		}
		// Any byte may be another one: what is taken then is what the tree takes.
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[at] = rapid.SampledFrom([]byte("\"\\{}[],:0a9Fn \x00")).Draw(t, "byte")
		if canon.Check(b, canon.Native) == nil {
			sameReading(t, &r, b)
		} else {
			r.scan(b) // never panics
		}
		r.scan(b[:at])
	})
	if scanned < 10 {
		t.Errorf("%d commits were scanned; that shows nothing", scanned)
	}
}

func TestPlainCommitIsScanned(t *testing.T) {
	t.Parallel()
	d := canon.SHA256(nil)
	c := Commit{
		Trajectory: d, Proposal: d, Intent: d, Writ: d, Compiler: CompilerVersion, PolicySet: d,
		Delta:        []ledger.Change{{Op: ledger.OpCreate, Kind: "k", ID: "i", Value: canon.String("\\\"[")}},
		Observations: canon.Array(), Trace: Trace{Rules: []string{AuthorityRule}, Decision: Ruling{Kind: Permit}}, Signature: make([]byte, 64),
	}
	b := entryOf(t, &c)
	var r commitReader
	if _, _, ok := r.scan(b); !ok {
		t.Errorf("a plain commit is not scanned: %s", b)
	}
	for _, other := range []struct{ what, from, to string }{
		{"another id", `"id":"`, `"id":"0`},
		{"a capital digit", d.String(), strings.ToUpper(d.String())},
		{"a member more", `,"seq":`, `,"sea":1,"seq":`},
		{"no decision", `"kind":"permit"`, `"kind":"nothing"`},
		{"a seq beyond 2^53-1", `"seq":0`, `"seq":9007199254740992`},
		{"beyond the basic plane", `"tool"`, `"😀"`},
	} {
		if _, _, ok := r.scan(bytes.Replace(b, []byte(other.from), []byte(other.to), 1)); ok {
			t.Errorf("%s: it is scanned", other.what)
		}
	}
}

func TestBasicPlaneSeesEveryByte(t *testing.T) {
	t.Parallel()
	for size := range 20 {
		for at := range size {
			for c := range 256 {
				b := bytes.Repeat([]byte{0xef}, size)
				b[at] = byte(c)
				if got := basicPlane(b); got != (c < 0xf0) {
					t.Fatalf("basicPlane(%x) = %t", b, got)
				}
			}
		}
	}
}

func BenchmarkReadCommit(b *testing.B) {
	d := canon.SHA256(nil)
	c := Commit{
		Trajectory: d, Parent: d, Proposal: d, Intent: d, Writ: d, Compiler: CompilerVersion, PolicySet: d,
		Delta:        []ledger.Change{{Op: ledger.OpCreate, Kind: "k", ID: "i", Value: canon.String("value")}},
		Observations: canon.Array(), Trace: Trace{Rules: []string{AuthorityRule}, Decision: Ruling{Kind: Permit}}, Signature: make([]byte, 64),
	}
	body := entryOf(b, &c)
	var r commitReader
	for b.Loop() {
		if _, _, _, err := r.read(body); err != nil {
			b.Fatal(err)
		}
	}
}
