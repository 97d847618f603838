package capture_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// endings are the ways in which an answer that streams tells its client that
// there is no more. The last part is the event that says it.
var endings = []struct {
	name, path, typ, ask string
	parts                []string
}{
	{"chat completions", "/v1/chat/completions", "text/event-stream", "", []string{"data: {\"n\":1}\n\n", "data: [DONE]\n\n"}},
	{"chat completions in one part", "/v1/chat/completions", "text/event-stream", "", []string{"data: {\"n\":1}\n\ndata: [DONE]\n\n"}},
	{"messages", "/v1/messages", "text/event-stream; charset=utf-8", "", []string{"event: ping\ndata: {}\n\n", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}},
	{"the last event in two parts", "/v1/messages", "text/event-stream", "", []string{"event: message_stop\n", "data: {\"type\":\"message_stop\"}\n\n"}},
	{"responses", "/v1/responses", "text/event-stream", "", []string{"event: response.created\ndata: {}\n\n", "event: response.completed\ndata: {\"type\":\"response.completed\"}\n\n"}},
	{"lines of JSON", "/api/chat", "application/x-ndjson", "", []string{"{\"done\":false}\n", "{\"message\":{},\"done\":true}\n"}},
	{
		"MCP", "/mcp", "text/event-stream", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`,
		[]string{"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"},
	},
}

// A client goes on when it has read the event that says the end. What it does
// then stands behind the outcome in the ledger, so a branch from there has
// this answer.
func TestOutcomeIsDurableBeforeTheEventThatSaysTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range endings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			up := upstream(t, parts(c.typ, c.parts, ended))
			rig := newRig(t)
			rig.opts.Grace = time.Hour
			live := rig.record(up.URL)
			time.AfterFunc(20*time.Millisecond, func() { close(ended) }) // later only finds more
			got := readUntil(t, post(t, live.url+c.path, c.ask), c.parts[len(c.parts)-1])
			if n := len(rig.outcomes(live.s.Run())); n != 1 {
				t.Errorf("when the client had %q the ledger had %d outcomes, want 1", got, n)
			}
			if want := strings.Join(c.parts, ""); got != want {
				t.Errorf("the client got %q, want %q", got, want)
			}
			live.seal()
		})
	}
}

// An upstream that says the end and then stays keeps nothing from the client.
func TestUpstreamThatStaysBehindItsEndIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range endings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stay := make(chan struct{})
			up := upstream(t, parts(c.typ, c.parts, stay))
			rig := newRig(t)
			rig.opts.Grace = 10 * time.Millisecond
			live := rig.record(up.URL)
			body := post(t, live.url+c.path, c.ask)
			readUntil(t, body, c.parts[len(c.parts)-1])
			close(stay)
			if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
				t.Errorf("behind the end came %q, %v", rest, err)
			}
			live.seal()
			if o := rig.outcomes(live.s.Run()); len(o) != 1 || o[0].Status != "ok" {
				t.Errorf("outcomes = %+v, want one that is ok", o)
			}
		})
	}
}

// An answer of a tool that looks like an end within an event is none.
func TestEndIsNotTakenFromWithinAnEvent(t *testing.T) {
	t.Parallel()
	stay := make(chan struct{})
	list := []string{`data: {"text":"data: [DONE]\n\nevent: message_stop"}` + "\n\n"}
	up := upstream(t, parts("text/event-stream", list, stay))
	rig := newRig(t)
	rig.opts.Grace = time.Hour
	live := rig.record(up.URL)
	body := post(t, live.url+"/v1/chat/completions", "")
	readUntil(t, body, list[0]) // or it waits for an hour
	close(stay)
	if _, err := io.ReadAll(body); err != nil {
		t.Error(err)
	}
	live.seal()
}

// parts gives an answer in parts, and then waits for stay.
func parts(typ string, list []string, stay <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", typ)
		for _, p := range list {
			fmt.Fprint(w, p)
			w.(http.Flusher).Flush()
		}
		<-stay
	}
}

func post(t *testing.T, url, body string) *bufio.Reader {
	t.Helper()
	if body == "" {
		body = `{"model":"m"}`
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return bufio.NewReader(resp.Body)
}

// readUntil reads an answer as far as it ends in that.
func readUntil(t *testing.T, r *bufio.Reader, end string) string {
	t.Helper()
	var got strings.Builder
	for !strings.HasSuffix(got.String(), end) {
		line, err := r.ReadString('\n')
		if got.WriteString(line); err != nil {
			t.Fatalf("the answer ended with %q: %v", got.String(), err)
		}
	}
	return got.String()
}
