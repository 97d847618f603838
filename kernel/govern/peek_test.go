package govern_test

import (
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
)

func TestPeekSaysWhatAnActSaysWhoeverSignedIt(t *testing.T) {
	t.Parallel()
	a := act(1, "ann", govern.Approver, govern.Approve, refund)
	forged, err := a.Sign(key("bob"))
	if err != nil {
		t.Fatal(err)
	}
	for _, envelope := range [][]byte{signed(a), forged} {
		v, err := canon.Parse(envelope)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := govern.Peek(v); err != nil || got != a {
			t.Errorf("Peek = %+v, %v; want %+v", got, err, a)
		}
	}
	for _, text := range []string{`null`, `{}`, `"act"`, string(statement("application/json", payload(a))), string(statement(govern.ActType, `{"act":"approve"}`))} {
		v, err := canon.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = govern.Peek(v)
		wantCode(t, "Peek("+text+")", err, govern.ErrAct)
	}
}
