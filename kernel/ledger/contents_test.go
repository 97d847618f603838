package ledger_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// What is read of an entry's contents alone is what is read of them with the
// whole entry.
func TestParseContentsIsParse(t *testing.T) {
	t.Parallel()
	text := canon.Object(canon.M("data", canon.Object(canon.M("att", canon.String(`"}]`)), canon.M("refs", canon.Object(canon.M("pin", canon.Int(1)))))))
	att := []ledger.Attachment{
		{Name: "request", Type: "application/json", Size: 3, Bind: canon.SHA256([]byte("a"))},
		{Name: "\"quoted\"", Type: "text/plain", Size: 0, Bind: canon.SHA256([]byte("b")), Scope: "elsewhere"},
	}
	parts := []blob.Part{{Scope: "run"}, {Scope: "elsewhere"}}
	pin := canon.Object(canon.M("call", canon.Int(3)), canon.M("pin", ledger.Ref{Run: "x", N: 3}.Value()))
	for _, c := range []struct {
		name  string
		draft ledger.Draft
		pins  bool
	}{
		{name: "neither", draft: ledger.Draft{Body: text}},
		{name: "attachments", draft: ledger.Draft{Body: text, Att: att, Parts: parts}},
		{name: "a pin", draft: ledger.Draft{Body: text, Refs: pin}, pins: true},
		{name: "other references", draft: ledger.Draft{Body: text, Refs: canon.Object(canon.M("call", canon.Int(3)))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.draft.Kind, c.draft.Scope, c.draft.T = ledger.KindEvent, "run", "2026-01-01T00:00:00Z"
			p, err := ledger.Prepare(c.draft)
			if err != nil {
				t.Fatal(err)
			}
			e, _ := ledger.Position{}.Next("01890000-0000-7000-8000-000000000000", p)
			whole, err := ledger.Parse(&e)
			if err != nil {
				t.Fatal(err)
			}
			got, pins, err := ledger.ParseContents(&e)
			if err != nil || pins != c.pins {
				t.Errorf("ParseContents() = pins %v, %v, want %v", pins, err, c.pins)
			}
			if diff := cmp.Diff(whole.Att, got); diff != "" {
				t.Errorf("attachments (-Parse +ParseContents):\n%s", diff)
			}
		})
	}
}

// A body that is not canonical names no contents.
func TestParseContentsRefuses(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", `{"att":[], "refs":{}}`, `{"att":[]}`, `{"att":{}}`, `{"att":[{"bind":"00"}]}`, `{"refs":{},"att":[]}`, `{"refs":["a"]}`, `{"refs":1}`} {
		if _, _, err := ledger.ParseContents(&ledger.Entry{Body: []byte(body)}); !errors.Is(err, ledger.ErrBody) {
			t.Errorf("ParseContents(%s) = %v, want %v", body, err, ledger.ErrBody)
		}
	}
}
