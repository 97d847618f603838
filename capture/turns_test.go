package capture_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// crossed records two questions at once of which the first one asked is
// answered last, and a third one that was asked when both had ended.
func crossed(t *testing.T, rig *rig, parts []string) ledger.RunID {
	t.Helper()
	asked, ended := make(chan struct{}), make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), "first") {
			close(asked)
			<-ended
		}
		for _, p := range parts {
			fmt.Fprint(w, p)
			if len(parts) > 1 {
				w.(http.Flusher).Flush()
			}
		}
	})
	live := rig.record(up.URL)
	var first sync.WaitGroup
	first.Go(func() { question(t, live, "first") })
	<-asked
	question(t, live, "second")
	close(ended)
	first.Wait()
	question(t, live, "third")
	run := live.seal()
	up.Close()
	return run
}

func question(t *testing.T, p *taping, text string) {
	t.Helper()
	if g := send(t, "POST", p.url+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`); g.status != 200 || g.err != nil {
		t.Errorf("%s: %d %s %v", text, g.status, g.body, g.err)
	}
}

// What ended last then does not end before what ended first, however much
// earlier it is asked: it waits until that has come.
func TestAnswersEndInTheRecordedOrder(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{"whole": {"an answer"}, "stream": {"data: 1\n\n", "data: 2\n\n"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			again := rig.replay(crossed(t, rig, parts))
			if !again.p.Patience(time.Hour) {
				t.Fatal("no order is kept")
			}
			first := make(chan struct{})
			go func() {
				defer close(first)
				question(t, again, "first")
			}()
			select {
			case <-first:
				t.Error("the first question was answered before the second was asked")
			case <-time.After(100 * time.Millisecond): // longer only finds more
			}
			question(t, again, "second")
			<-first
			question(t, again, "third")
			if left := again.rec.Left(); len(left) != 0 {
				t.Errorf("%d records answered nothing", len(left))
			}
		})
	}
}

// A client that does something else than it did is not kept waiting: whether it
// leaves something out, asks one after the other, or asks what is not recorded.
func TestOrderIsNotWaitedForInVain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		patience time.Duration
		gaveUp   bool // and says so
		ask      func(t *testing.T, p *taping)
	}{
		{"one after the other", time.Millisecond, true, func(t *testing.T, p *taping) {
			t.Helper()
			for _, q := range []string{"first", "second", "third"} {
				question(t, p, q)
			}
		}},
		{"as many wait as ever did", time.Hour, true, func(t *testing.T, p *taping) {
			t.Helper()
			var all sync.WaitGroup
			all.Go(func() { question(t, p, "first") })
			all.Go(func() { question(t, p, "third") })
			all.Wait()
		}},
		{"a question that is not recorded", time.Hour, false, func(t *testing.T, p *taping) {
			t.Helper()
			var first sync.WaitGroup
			first.Go(func() { question(t, p, "first") })
			if g := send(t, "POST", p.url+"/v1/chat/completions", `{"model":"m","messages":[]}`); g.status != 400 {
				t.Errorf("status %d, want 400", g.status)
			}
			first.Wait()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			again := rig.replay(crossed(t, rig, []string{"an answer"}))
			if !again.p.Patience(c.patience) {
				t.Fatal("no order is kept")
			}
			c.ask(t, again)
			report, err := again.p.ReplayReport(t.Context(), rig.store)
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(strings.Join(report.Remarks, "\n"), "in the recorded order"); told != c.gaveUp {
				t.Errorf("the remarks are %q; want the order that was given up among them: %v", report.Remarks, c.gaveUp)
			}
		})
	}
}

// Where nothing was under way at once, or too much, there is no order to keep.
func TestOrderOfFewCallsOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		atOnce int
		kept   bool
	}{{1, false}, {2, true}, {8, true}, {9, false}} {
		t.Run(fmt.Sprint(c.atOnce), func(t *testing.T) {
			t.Parallel()
			var came sync.WaitGroup
			came.Add(c.atOnce)
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				came.Done()
				came.Wait()
				fmt.Fprint(w, "{}")
			})
			rig := newRig(t)
			live := rig.record(up.URL)
			var all sync.WaitGroup
			for i := range c.atOnce {
				all.Go(func() { question(t, live, fmt.Sprint(i)) })
			}
			all.Wait()
			if got := rig.replay(live.seal()).p.Patience(capture.DefaultGrace); got != c.kept {
				t.Errorf("kept = %v, want %v", got, c.kept)
			}
		})
	}
}

// beside records a question and another one beside it that is asked before the
// first is answered, and answered later. The client may go without waiting for
// that.
func beside(t *testing.T, rig *rig, goes bool) ledger.RunID {
	t.Helper()
	asked, answered := make(chan struct{}), make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); strings.Contains(string(b), "title") {
			close(asked)
			select {
			case <-answered:
			case <-r.Context().Done():
				return
			}
		} else {
			<-asked
		}
		fmt.Fprint(w, "an answer")
	})
	live := rig.record(up.URL)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var title sync.WaitGroup
	title.Go(func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, live.url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"title"}]}`))
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := client().Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if (err != nil) != goes {
			t.Errorf("the title: %v", err)
		}
	})
	question(t, live, "main")
	if goes {
		leave()
	} else {
		close(answered)
	}
	title.Wait()
	return live.end()
}

// A program that asks for something beside its question may end when the
// question is answered, before it has come to ask for the rest. In the record it
// had, so in a replay the answer ends when it has.
func TestAnswerDoesNotEndBeforeWhatWasAskedBesideIt(t *testing.T) {
	t.Parallel()
	for name, goes := range map[string]bool{"answered later": false, "never answered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			again := rig.replay(beside(t, rig, goes))
			if !again.p.Patience(time.Hour) {
				t.Fatal("no order is kept")
			}
			main := make(chan struct{})
			go func() {
				defer close(main)
				question(t, again, "main")
			}()
			select {
			case <-main:
				t.Fatal("the question was answered before the title was asked for")
			case <-time.After(100 * time.Millisecond): // longer only finds more
			}
			ctx, leave := context.WithCancel(t.Context())
			var title sync.WaitGroup
			title.Go(func() {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, again.url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"title"}]}`))
				if err != nil {
					t.Error(err)
					return
				}
				if resp, err := client().Do(r); err == nil {
					_ = resp.Body.Close()
				}
			})
			<-main
			leave()
			title.Wait()
			again.end()
			r, err := again.p.ReplayReport(t.Context(), rig.store)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != replay.Same || !again.p.Kept() {
				t.Errorf("kept = %v, report %s", again.p.Kept(), r.Value())
			}
		})
	}
}
