package insight_test

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

func (r *recorder) ask(url, body string) *drive.Exchange {
	r.t.Helper()
	c := effect.Call{
		Kind: "model", Name: "POST " + url, Class: effect.Read,
		Data: canon.Object(canon.M("method", canon.String("POST")), canon.M("url", canon.String(url))),
	}
	if body != "" {
		c.Contents = []ledger.Content{{Name: "request", Type: "application/json", Bytes: []byte(body)}}
	}
	x, err := r.Begin(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// The answers over a socket are what its call used.
func TestASocketUsesWhatItsAnswersSay(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	x := r.ask("/v1/responses", "")
	say := func(dir, text string) {
		data := canon.Object(canon.M("dir", canon.String(dir)), canon.M("op", canon.String("text")))
		if err := x.Message(protocol.SocketMessage, data, ledger.Content{Name: "message", Type: "application/json", Bytes: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		say("out", `{"type":"response.create","model":"gpt-4o-mini","input":"Hi"}`)
		say("in", `{"type":"response.output_text.delta","delta":"A"}`)
		say("in", `{"type":"response.completed","response":{"usage":{"input_tokens":1000,"output_tokens":100}}}`)
	}
	r.end(x, effect.Outcome{Status: effect.OK, Data: canon.Object(canon.M("status", canon.Int(101)))})
	list, sums := calls(t, store, r.seal())
	c := list[0]
	if c.Model != "gpt-4o-mini" || c.Text != "AA" || c.Usage == nil || *c.Usage != (budget.Usage{Input: 2000, Output: 200}) {
		t.Errorf("the call is %s, want the sum of both answers", c.Value())
	}
	if c.Cost == nil || c.Cost.String() != "0.00042" || c.Priced != "2026-11-21" || sums.Priced != 1 {
		t.Errorf("it cost %v by %q", c.Cost, c.Priced)
	}
}

// A cost that an answer states holds where no list does; and what has neither
// is not free.
func TestACostIsByTheListOrStatedOrUnknown(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	body := func(model, cost string) string {
		return `{"model":"` + model + `","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":0` + cost + `}}`
	}
	for _, b := range []string{body("gpt-4o-mini", `,"cost":9`), body("openai/gpt-4o-mini", `,"cost":0.25`), body("openai/gpt-4o-mini", "")} {
		r.end(r.ask("/api/v1/chat/completions", `{"model":"x"}`), answer(200, b))
	}
	list, sums := calls(t, store, r.seal())
	for i, want := range []string{"0.00015 by 2026-11-21", "0.25 by stated by the answer", "unknown"} {
		got := "unknown"
		if list[i].Cost != nil {
			got = list[i].Cost.String() + " by " + list[i].Priced
		}
		if got != want {
			t.Errorf("call %d costs %s, want %s", i, got, want)
		}
	}
	if sums.Priced != 2 || sums.Counted != 3 {
		t.Errorf("totals = %+v", sums)
	}
}

// A model that the answer does not name is the one that was asked.
func TestTheModelIsTheOneThatWasAsked(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	r.end(r.ask("/v2/chat", `{"model":"command-r","messages":[]}`), answer(200, `{"message":{"content":[{"type":"text","text":"Hi"}]},"usage":{"billed_units":{"input_tokens":1,"output_tokens":1}}}`))
	r.end(r.ask("/model/meta.llama3-8b-instruct-v1%3A0/invoke", `{"prompt":"Hi"}`), answer(200, `{"generation":"Hi","prompt_token_count":1,"generation_token_count":1}`))
	r.end(r.ask("/openai/deployments/mine/chat/completions", `{"messages":[]}`), answer(200, `{"choices":[]}`))
	list, _ := calls(t, store, r.seal())
	for i, want := range []string{"command-r", "meta.llama3-8b-instruct-v1:0", ""} {
		if list[i].Model != want {
			t.Errorf("call %d asks %q, want %q", i, list[i].Model, want)
		}
	}
}

// The details of a call say what it asks, and the tool results that it gives.
func TestDetailsSayWhatACallAsks(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	x := r.ask("/v1/messages", `{"model":"claude","stream":true,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"R"}]}],"tools":[{"name":"f"}]}`)
	r.end(x, effect.Outcome{
		Status: effect.OK, Data: canon.Object(canon.M("status", canon.Int(200))),
		Contents: []ledger.Content{{Name: "response", Type: "text/event-stream", Bytes: []byte("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"g\"}}\n\n")}},
	})
	run := r.seal()
	read := drive.NewReader(store, run)
	d, err := insight.Load(t.Context(), read, x.N())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"protocol":"anthropic","model":"claude","stream":true,"messages":2,"tool_results":[{"call":"t","tool":"f","failed":false}],"tools":["f"]}`
	if got := d.Value().Get("contents").At(0).Get("asks").String(); got != want {
		t.Errorf("asks = %s, want %s", got, want)
	}
	if d, err = insight.Load(t.Context(), read, x.N()+1); err != nil {
		t.Fatal(err)
	}
	if got := d.Value().Get("contents").At(0).Get("tool_calls").String(); got != `["g"]` {
		t.Errorf("tool_calls = %s", got)
	}
}

// Two runs whose sockets say other things are not the same.
func TestDiffComparesTheMessagesOfSockets(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	run := func(messages ...string) ledger.RunID {
		r := record(t, store)
		x := r.ask("/v1/realtime", "")
		for i, m := range messages {
			data := canon.Object(canon.M("after", canon.Int(int64(len(m)+i))), canon.M("dir", canon.String(m[:2])), canon.M("op", canon.String("text")), canon.M("seq", canon.Int(int64(i))))
			if err := x.Message(protocol.SocketMessage, data, ledger.Content{Name: "message", Type: "text/plain", Bytes: []byte(m)}); err != nil {
				t.Fatal(err)
			}
		}
		r.end(x, effect.Outcome{Status: effect.OK, Data: canon.Object(canon.M("status", canon.Int(101)))})
		return r.seal()
	}
	a := run("ou hi", "in hello", "ou and?", "in bye")
	for _, test := range []struct {
		name  string
		b     ledger.RunID
		kinds string
	}{
		{"the same", run("ou hi", "in hello", "ou and?", "in bye"), ""},
		{"another order of the directions", run("ou hi", "ou and?", "in hello", "in bye"), ""},
		{"another message", run("ou hi", "in hello", "ou what?", "in bye"), "different"},
		{"one fewer", run("ou hi", "in hello", "ou and?"), "missing"},
	} {
		report, err := insight.Diff(t.Context(), store, a, test.b)
		if err != nil {
			t.Fatal(err)
		}
		var kinds string
		for _, d := range report.Divergences {
			kinds += string(d.Kind)
		}
		if kinds != test.kinds {
			t.Errorf("%s: %q, want %q: %s", test.name, kinds, test.kinds, report.Value())
		}
	}
}
