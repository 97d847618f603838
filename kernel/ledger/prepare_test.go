package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Prepare looks at the value that it writes, Verify at the bytes. They must
// agree on which members a body may have, and in which form.
func TestPrepareRefusesTheBodiesThatVerifyRefuses(t *testing.T) {
	t.Parallel()
	text := canon.String
	for _, c := range []struct {
		kind Kind
		body canon.Value
		ok   bool
	}{
		{KindEvent, canon.Object(canon.M("name", text("x")), canon.M("data", canon.Int(1))), true},
		{KindEvent, canon.Object(), true},
		{KindEvent, canon.Object(canon.M("delta", canon.Array())), false},
		{KindEvent, canon.Array(), false},
		{KindEvent, text("x"), false},
		{"unknown", canon.Object(), false},
		{KindEvent, canon.Object(canon.M("att", canon.Array())), false},
		{KindEvent, canon.Object(canon.M("att", text("x"))), false},
		{KindEvent, canon.Object(canon.M("refs", canon.Array())), false},
		{KindEvent, canon.Object(canon.M("refs", canon.Object())), true},
		{KindEvent, canon.Object(canon.M("scope", text("subject"))), true},
		{KindEvent, canon.Object(canon.M("scope", text(""))), false},
		{KindEvent, canon.Object(canon.M("scope", canon.Int(1))), false},
		{KindEvent, canon.Object(canon.M("scope", text(strings.Repeat("s", maxScope)))), true},
		{KindEvent, canon.Object(canon.M("scope", text(strings.Repeat("s", maxScope+1)))), false},
		{KindEvent, canon.Object(canon.M("scope", text(strings.Repeat("\n", maxScope)))), false},
		{KindCommit, canon.Object(canon.M("delta", canon.Array())), true},
		{KindCommit, canon.Object(canon.M("delta", canon.Object())), false},
		{KindSeal, canon.Object(canon.M("world", text(strings.Repeat("a", 64)))), true},
		{KindSeal, canon.Object(canon.M("world", text("short"))), false},
		{KindSeal, canon.Object(canon.M("world", canon.Null())), false},
	} {
		b, err := canon.Encode(c.body, canon.Native)
		if err != nil {
			t.Fatal(err)
		}
		_, read := new(bodyReader).read(c.kind, b)
		written := checkValue(c.kind, c.body)
		if (read == nil) != c.ok || (written == nil) != c.ok {
			t.Errorf("%s %s: read %v, written %v; want ok = %t", c.kind, b, read, written, c.ok)
		}
		if written != nil && !errors.Is(written, ErrBody) {
			t.Errorf("%s %s: %v, want %v", c.kind, b, written, ErrBody)
		}
	}
}
