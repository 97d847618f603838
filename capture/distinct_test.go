package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// prompt is request n of many that are nearly the same.
func prompt(n int) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"Sort the tickets of the day."},{"role":"user","content":"ticket %05d: my parcel has not come"}]}`, n)
}

// echoing is a model whose answer holds the whole request, so that an answer
// tells what it belongs to.
func echoing(t *testing.T) *httptest.Server {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"asked":%s}`, b)
	}))
	t.Cleanup(up.Close)
	return up
}

// askAll asks for every prompt from many clients at once, in an order of its
// own for each client, and counts the answers that are not the prompt's own.
func askAll(t *testing.T, url string, prompts []string) (wrong int64) {
	t.Helper()
	const clients = 16
	c := client()
	defer c.CloseIdleConnections()
	var bad atomic.Int64
	var all sync.WaitGroup
	for k := range clients {
		all.Go(func() {
			for i := k; i < len(prompts); i += clients {
				p := prompts[len(prompts)-1-i]
				resp, err := c.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(p))
				if err != nil {
					bad.Add(1)
					continue
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(b, []byte(`{"asked":`+p+`}`)) {
					bad.Add(1)
				}
			}
		})
	}
	all.Wait()
	return bad.Load()
}

func (p *taping) report(t *testing.T) *replay.Report {
	t.Helper()
	p.end()
	r, err := p.p.ReplayReport(t.Context(), p.store)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) recordAll(t *testing.T, prompts []string) ledger.RunID {
	t.Helper()
	live := r.record(echoing(t).URL)
	if wrong := askAll(t, live.url, prompts); wrong != 0 {
		t.Fatalf("%d of %d prompts were recorded wrongly", wrong, len(prompts))
	}
	return live.seal()
}

// Of many prompts that differ in a few digits, one is changed by a character.
// It alone gets no answer, and the report names it and the place in it.
func TestOneChangedCharacterIsExactlyOneMiss(t *testing.T) {
	t.Parallel()
	const many, changed = 1000, 617
	prompts := make([]string, many)
	for i := range prompts {
		prompts[i] = prompt(i)
	}
	r := newRig(t)
	run := r.recordAll(t, prompts)
	for _, tt := range []struct{ name, from, to string }{
		{"a letter", "parcel", "parcal"},
		{"a space", "has not", "has  not"},
		{"a digit that makes it no other prompt", "00617", "90617"},
		{"a capital", "my parcel", "My parcel"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := append([]string(nil), prompts...)
			now[changed] = strings.Replace(now[changed], tt.from, tt.to, 1)
			again := r.replay(run)
			if wrong := askAll(t, again.url, now); wrong != 1 {
				t.Errorf("%d answers are missing or another's, want 1", wrong)
			}
			if c := again.s.Counts(); c.Missed != 1 || c.Recorded != many-1 || c.Live != 0 {
				t.Errorf("counts = %+v, want 1 missed, %d recorded and none live", c, many-1)
			}
			report := again.report(t)
			if len(report.Divergences) != 2 {
				t.Fatalf("divergences = %d, want the prompt that came and the one that did not", len(report.Divergences))
			}
			d := report.Divergences[0]
			if d.Kind != replay.Extra || len(d.Where) != 1 || d.Where[0].Pointer != "/messages/1/content" || d.Nearest != report.Divergences[1].Recorded {
				t.Errorf("first divergence = %+v, want an extra call that differs from the missing one at /messages/1/content", d)
			}
		})
	}
}

// Where all prompts changed, each is compared with the recorded one that it
// came from, not with the first, and places in arrays are counted: 10 comes
// after 9.
func TestNearestIsTheOneThatHasMostInCommon(t *testing.T) {
	t.Parallel()
	const most = 11
	turns := func(changed int) string {
		list := slices.Repeat([]string{"x"}, most)
		if changed >= 0 {
			list[changed] = "another"
		}
		return `{"model":"m","messages":["` + strings.Join(list, `","`) + `"]}`
	}
	for _, tt := range []struct {
		name     string
		recorded []string
		now      string
		nearest  int64
	}{
		{"the text of one place", []string{prompt(1), prompt(2), prompt(3)}, strings.Replace(prompt(2), "parcel", "parcal", 1), 3},
		{"the later place", []string{turns(9), turns(10)}, turns(-1), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			live := r.record(echoing(t).URL)
			for _, p := range tt.recorded {
				askAll(t, live.url, []string{p})
			}
			again := r.replay(live.seal())
			askAll(t, again.url, []string{tt.now})
			if d := again.report(t).Divergences[0]; d.Nearest != tt.nearest {
				t.Errorf("nearest is entry %d (%v), want %d", d.Nearest, d.Where, tt.nearest)
			}
		})
	}
}

// Many prompts are recorded at the same time, in no order, and each gets its
// own answer back.
func TestManyPromptsAtOnceGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	many := 10_000
	if testing.Short() {
		many = 1000
	}
	prompts := make([]string, many)
	for i := range prompts {
		prompts[i] = prompt(i)
	}
	r := newRig(t)
	run := r.recordAll(t, prompts)
	again := r.replay(run)
	if wrong := askAll(t, again.url, prompts); wrong != 0 {
		t.Errorf("%d of %d answers are missing or another's", wrong, many)
	}
	if report := again.report(t); report.Verdict != replay.Same || report.Total != 0 {
		t.Errorf("the replay is %s with %d divergences, want same", report.Verdict, report.Total)
	}
}
