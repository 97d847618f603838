package ledger_test

import (
	"bytes"
	"testing"

	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// nosy is an engine's check: it wants every commit to say why, and reads what
// the open attaches.
type nosy struct {
	charter []byte
	ended   bool
}

const errNosy fault.Integrity = "ledger_test.no_reason"

func (c *nosy) Entry(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	switch h.Kind {
	case ledger.KindOpen:
		var b bytes.Buffer
		if err := f.Content(e, "charter", &b); err != nil {
			return err
		}
		c.charter = b.Bytes()
	case ledger.KindCommit:
		f.Checked(ledger.PhasePins, 1)
		if !bytes.Contains(e.Body, []byte(`"why"`)) {
			f.Fail(ledger.PhasePins, ledger.Finding{Code: errNosy, N: h.N, Where: "data", Msg: "no reason"})
		}
	default:
	}
	return nil
}

func (c *nosy) End(f *ledger.Findings) {
	c.ended = true
	f.Remark("charter of %d bytes", len(c.charter))
}

func commitBody(why bool, c ledger.Change) canon.Value {
	data := canon.Object()
	if why {
		data = canon.Object(canon.M("why", canon.String("because")))
	}
	return canon.Object(canon.M("data", data), canon.M("delta", canon.Array(c.Encode())))
}

func TestAnEngineChecksEntriesInTheSamePass(t *testing.T) {
	t.Parallel()
	open := canon.Object(canon.M("engine", canon.String("nosy")))
	create := ledger.Change{Op: ledger.OpCreate, Kind: "kv", ID: "a", Value: canon.Int(1)}
	l := bundletest.New("nosy")
	l.Append(ledger.KindOpen, open, none, bundletest.Text("charter", "law"))
	l.Append(ledger.KindCommit, commitBody(true, create), none)
	l.Append(ledger.KindCommit, commitBody(false, ledger.Change{Op: ledger.OpReplace, Kind: "kv", ID: "a", Version: 1, Value: canon.Int(2)}), none)
	c := &nosy{}
	ev := l.Evidence()
	ev.Check = c
	v := verify(t, ev)
	wantFailure(t, v, errNosy, 2)
	if string(c.charter) != "law" || !c.ended {
		t.Errorf("the check read %q, ended %v; want the open's content and an end", c.charter, c.ended)
	}
}

// spec: T-38
func TestABranchIsFoldedOnTheWorldOfItsSource(t *testing.T) {
	t.Parallel()
	var base ledger.World
	if err := base.Apply(ledger.Change{Op: ledger.OpCreate, Kind: "kv", ID: "greeting", Value: canon.String("hello")}, nil); err != nil {
		t.Fatal(err)
	}
	l := bundletest.New("branch")
	l.Append(ledger.KindOpen, canon.Object(canon.M("mode", canon.String("branch"))), none)
	l.Append(ledger.KindCommit, commitBody(true, ledger.Change{Op: ledger.OpReplace, Kind: "kv", ID: "greeting", Version: 1, Value: canon.String("bonjour")}), none)
	wantFailure(t, verify(t, l.Evidence()), ledger.ErrDelta, 1)
	ev := l.Evidence()
	ev.Base = &base
	v := verify(t, ev)
	it, ok := v.World.Find("kv", "greeting")
	if v.Failed() || !ok || string(it.Value) != `"bonjour"` || it.Version != 2 {
		t.Errorf("world = %+v, failed %+v; want bonjour in version 2", it, v.First())
	}
	if was, _ := base.Find("kv", "greeting"); string(was.Value) != `"hello"` {
		t.Errorf("the world of the source became %s", was.Value)
	}
}
