package bundletest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Object parses JSON that a test writes.
func Object(format string, args ...any) canon.Value {
	v, err := canon.Parse(fmt.Appendf(nil, format, args...))
	must(err)
	return v
}

// Text returns a content.
func Text(name, s string) ledger.Content {
	return ledger.Content{Name: name, Type: "text/plain", Bytes: []byte(s)}
}

// History returns a JSON content of turns that repeat, as agents send them.
func History(name string, turns int) ledger.Content {
	b := []byte(`{"messages":[`)
	for i := range turns {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"role":"user","content":"turn %d %s"}`, i, bytes.Repeat([]byte{'a' + byte(i%26)}, 1000))
	}
	return ledger.Content{Name: name, Type: ledger.BodyType, Bytes: append(b, `]}`...)}
}

var none canon.Value

// Sample returns a ledger of 20 entries with every kind, attachments in place
// and in chunks, a world, three heads and a seal.
func Sample(name string) *Ledger {
	l := New(name)
	signer := Key("head")
	l.Append(ledger.KindOpen, Object(`{"data":{"task":"greet"},"engine":"test","mode":"run","rules":1}`), none)
	l.Head(signer)
	call := l.Append(ledger.KindCall, Object(`{"class":"read","kind":"model","match":"m1","name":"chat","occurrence":0}`), none, History("request", 1))
	l.Append(ledger.KindOutcome, Object(`{"status":"ok"}`), Object(`{"call":%d}`, call.N), Text("response", "hello"))
	l.Append(ledger.KindDecision, Object(`{"data":{"say":"hello"},"name":"plan"}`), none)
	l.Append(ledger.KindCommit, Object(`{"delta":[{"id":"a","kind":"note","op":"create","value":{"x":1}},{"att":"blob","id":"b","kind":"file","op":"create"}],"name":"first"}`), none, Text("blob", "world value"))
	l.Append(ledger.KindEvent, Object(`{"data":{"text":"hi"},"from":"user","name":"message"}`), none)
	l.Append(ledger.KindRejection, Object(`{"data":{"why":"no"},"name":"refuse"}`), none)
	l.Append(ledger.KindPendingApproval, Object(`{"data":{"proposal":"p1"},"name":"ask"}`), none, Text("proposal", "delete all"), Text("trace", "rule 7"))
	l.Append(ledger.KindApproval, Object(`{"data":{"by":"u1","proposal":"p1"},"from":"console","name":"grant"}`), none)
	l.Append(ledger.KindDelegation, Object(`{"data":{"child":"c1"},"name":"delegate"}`), none)
	l.Head(signer)
	l.Append(ledger.KindBranch, Object(`{"data":{"reason":"try"},"name":"branch"}`), none)
	l.Append(ledger.KindSkillBound, Object(`{"data":{"skill":"add","version":"1"},"name":"bind"}`), none)
	l.Append(ledger.KindSnapshot, Object(`{"data":{"of":"memory"},"name":"before"}`), none, Text("state", strings.Repeat("memory ", 80)))
	again := l.Append(ledger.KindCall, Object(`{"class":"external","kind":"tool","match":"m2","name":"write","occurrence":0}`), none, History("request", 2))
	l.Append(ledger.KindOutcome, Object(`{"code":"tool.failed","status":"error"}`), Object(`{"call":%d}`, again.N), Text("response", ""))
	l.Append(ledger.KindCommit, Object(`{"delta":[{"id":"a","kind":"note","op":"replace","value":{"x":2},"version":1},{"id":"b","kind":"file","op":"retract","version":1}],"name":"second"}`), none)
	l.Append(ledger.KindErasure, Object(`{"data":{"list":[]},"name":"erase"}`), none)
	l.Append(ledger.KindEvent, Object(`{"data":{"pi":"3.14"},"name":"note"}`), none)
	l.Append(ledger.KindResult, Object(`{"data":{"text":"done"},"name":"result"}`), none, Text("result", "done"))
	var w ledger.World
	must(w.Apply(ledger.Change{Op: ledger.OpCreate, Kind: "note", ID: "a", Value: Object(`{"x":1}`)}, nil))
	must(w.Apply(ledger.Change{Op: ledger.OpReplace, Kind: "note", ID: "a", Version: 1, Value: Object(`{"x":2}`)}, nil))
	world, _ := w.Hash()
	l.Append(ledger.KindSeal, Object(`{"status":"done","world":"%s"}`, world), none)
	l.Head(signer)
	return l
}

// Bundle returns the bundle of ledgers.
func Bundle(o bundle.Options, ledgers ...*Ledger) []byte {
	var src bundle.Source
	for _, l := range ledgers {
		src.Runs = append(src.Runs, l.Source())
	}
	var buf bytes.Buffer
	must(bundle.Write(&buf, src, o))
	return buf.Bytes()
}
