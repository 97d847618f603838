package capture_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// A recorder that was killed leaves a call without an outcome. A replay that
// comes before the run can be recovered has that call in its record, and says
// that its answer is missing: it is not new.
func TestCallThatTheRecordLeftOpenIsNotNew(t *testing.T) {
	t.Parallel()
	asked, killed, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); strings.Contains(string(b), "second") {
			close(asked)
			<-killed
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	})
	// The call of a tool is in the ledger before it leaves.
	const ask = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`
	rig := newRig(t)
	rec := rig.record(up.URL)
	first, second := fmt.Sprintf(ask, "first"), fmt.Sprintf(ask, "second")
	send(t, http.MethodPost, rec.url+"/mcp", first)
	go func() {
		defer close(left)
		send(t, http.MethodPost, rec.url+"/mcp", second)
	}()
	t.Cleanup(func() { <-left; rec.end() })
	t.Cleanup(func() { close(killed) })
	<-asked

	rep := rig.replay(rec.s.Run())
	if got := send(t, http.MethodPost, rep.url+"/mcp", first); got.status != http.StatusOK {
		t.Fatalf("the call before = %d %s", got.status, got.body)
	}
	got := send(t, http.MethodPost, rep.url+"/mcp", second)
	if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), `"effect.outcome_missing"`) {
		t.Errorf("the open call = %d %s, want effect.outcome_missing", got.status, got.body)
	}
	rep.seal()
	r, err := rep.p.ReplayReport(t.Context(), rig.store)
	if err != nil {
		t.Fatal(err)
	}
	if err := regress.Explain(t.Context(), rig.store, r); err != nil {
		t.Fatal(err)
	}
	d := r.First()
	if d == nil || r.Total != 1 || r.Verdict != replay.Diverged {
		t.Fatalf("report: %s", r.Value())
	}
	call := rig.entries(rec.s.Run())
	if open := call[len(call)-1].N; d.Kind != replay.Different || d.What != "outcome" || d.Recorded != open {
		t.Errorf("the divergence is %s of the %s at entry %d, want %s of the outcome at entry %d", d.Kind, d.What, d.Recorded, replay.Different, open)
	}
	if want := "step 1 equal; step 2 tool second differs; cause: the record ends before it was answered"; r.Sentence() != want {
		t.Errorf("Sentence() = %s, want %s", r.Sentence(), want)
	}
	if !strings.Contains(d.Msg, fmt.Sprintf("at entry %d", d.Recorded)) {
		t.Errorf("it says %q", d.Msg)
	}
	// Neither side has an answer, so there is nothing to show of them.
	if sides, err := regress.SidesOf(t.Context(), rig.store, r); sides != nil || err != nil {
		t.Errorf("SidesOf() = %+v, %v; want nothing", sides, err)
	}
}
