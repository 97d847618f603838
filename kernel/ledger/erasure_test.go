package ledger_test

import (
	"io"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func TestAContentThatIsGoneIsAFailureUnlessAnErasureNamesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		erased []ledger.Erased
		fails  bool
	}{
		{"no erasure", nil, true},
		{"another name", []ledger.Erased{{N: 1, Att: "another"}}, true},
		{"another entry", []ledger.Erased{{N: 2, Att: "said"}}, true},
		{"named", []ledger.Erased{{N: 1, Att: "said"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := bundletest.New("erasure")
			l.Append(ledger.KindOpen, canon.Object(canon.M("engine", canon.String("x"))), none)
			l.Append(ledger.KindEvent, canon.Object(canon.M("name", canon.String("e"))), none, bundletest.Text("said", "something private"))
			l.Append(ledger.KindEvent, canon.Object(canon.M("name", canon.String("f"))), none, bundletest.Text("kept", "something else"))
			if c.erased != nil {
				l.Append(ledger.KindErasure, canon.Object(canon.M("name", canon.String("outputs"))), ledger.ErasureRefs(c.erased))
			}
			ev := l.Evidence()
			read := ev.Attachment
			ev.Attachment = func(e *ledger.Entry, i int, w io.Writer) error {
				if h, err := ledger.ParseHeader(e.Header); err == nil && h.N == 1 {
					return fault.New(blob.ErrNotFound, "test", "the scope has no key")
				}
				return read(e, i, w)
			}
			v := verify(t, ev)
			if c.fails {
				wantFailure(t, v, blob.ErrNotFound, 1)
				return
			}
			if v.Failed() || v.Withheld != 1 {
				t.Errorf("failed %+v, withheld %d; want a sound ledger of which one content is not there", v.First(), v.Withheld)
			}
		})
	}
}
