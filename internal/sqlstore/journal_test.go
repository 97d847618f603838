package sqlstore

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func TestJournalRowsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	r := record{first: 3, data: []byte("entries"), info: ledger.RunInfo{
		At: ledger.Position{Count: 5, Last: canon.Digest{1}}, Sealed: true, Opened: "a", Ended: "b",
	}}
	next := record{first: 5, data: []byte("more"), info: ledger.RunInfo{At: ledger.Position{Count: 6, Last: canon.Digest{2}}}}
	var tl tail
	tl.reset()
	row := appendChunk(appendRecord(nil, 7, &r), 9, canon.Digest{3}, []byte("chunk"))
	row = appendChunk(appendRecord(row, 7, &next), 9, canon.Digest{3}, []byte("not the first"))
	if err := tl.look(row); err != nil {
		t.Fatal(err)
	}
	if got := tl.runs[7]; !reflect.DeepEqual(got, []record{r, next}) {
		t.Errorf("records are %+v, want %+v", got, []record{r, next})
	}
	for n, want := range map[int64]int{0: 2, 3: 2, 4: 2, 5: 1, 6: 0} {
		if got := len(tl.after(7, n)); got != want {
			t.Errorf("after(%d) = %d records, want %d", n, got, want)
		}
	}
	if b, ok := tl.chunk(chunkName{9, canon.Digest{3}}); !ok || string(b) != "chunk" {
		t.Errorf("chunk = %q, %v", b, ok)
	}
	for cut := 1; cut < len(row); cut++ {
		var tl tail
		tl.reset()
		if err := tl.look(row[:cut]); err == nil && !bytes.HasPrefix(row, appendAll(&tl)) {
			t.Errorf("a row that is cut off at %d is read as something else", cut)
		}
	}
}

// appendAll writes what a tail with one record at most holds.
func appendAll(t *tail) (row []byte) {
	for _, r := range t.runs[7] {
		row = appendRecord(row, 7, &r)
		break
	}
	return row
}
