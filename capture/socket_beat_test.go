package capture_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Pings and pongs are recorded with the time at which they came, from both
// sides, with their bytes; the upstream's pings come again in a replay, where
// they stood, and the client's are answered. So does the status with which the
// upstream answers a goodbye.
func TestPingsAndGoodbyesComeAgain(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		heard := make(chan []byte)
		go func() {
			defer close(heard)
			for {
				_, b, err := c.Read(r.Context())
				if err != nil {
					return
				}
				heard <- b
			}
		}()
		for b := range heard {
			if err := c.Ping(r.Context()); err != nil {
				t.Errorf("the upstream's ping: %v", err)
			}
			_ = c.Write(r.Context(), websocket.MessageText, append([]byte("again "), b...))
		}
	})
	// play says two things, sends a ping of its own between, and leaves.
	play := func(base string) (heard []string, pings int64) {
		var n atomic.Int64
		c, _, err := websocket.Dial(t.Context(), base+"/v1/realtime", &websocket.DialOptions{ //nolint:bodyclose // it is the socket
			OnPingReceived: func(context.Context, []byte) bool { n.Add(1); return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.CloseNow() }()
		answers := make(chan string)
		go func() {
			defer close(answers)
			for {
				_, b, err := c.Read(context.WithoutCancel(t.Context()))
				if err != nil {
					var end websocket.CloseError
					if !errors.As(err, &end) || end.Code != websocket.StatusNormalClosure {
						t.Errorf("the socket ends with %v", err)
					}
					return
				}
				answers <- string(b)
			}
		}()
		for _, s := range []string{"one", "two"} {
			if err := c.Write(t.Context(), websocket.MessageText, []byte(s)); err != nil {
				t.Fatal(err)
			}
			heard = append(heard, <-answers)
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("the client's ping: %v", err)
			}
		}
		_ = c.Close(websocket.StatusNormalClosure, "done")
		return heard, n.Load()
	}
	rig := newRig(t)
	live := rig.record(up.URL)
	first, pings := play(live.url)
	run := live.end()
	beats := map[string]int{}
	var last int64
	for _, e := range rig.entries(run) {
		data := e.Body.Get("data")
		switch {
		case e.Kind == ledger.KindEvent && e.Body.Get("name").Str() == capture.EventControl:
			after, ok := data.Get("after").AsInt()
			if !ok || after < last {
				t.Errorf("entry %d came after %d, which is before the one in front of it", e.N, after)
			}
			last = after
			beats[data.Get("dir").Str()+" "+data.Get("op").Str()]++
		case e.Kind == ledger.KindOutcome:
			if code, _ := data.Get("close").Get("answer").Get("code").AsInt(); code != 1000 || data.Get("close").Get("by").Str() != "client" {
				t.Errorf("the close is %s, want the client's and its answer", data.Get("close"))
			}
		}
	}
	for _, want := range []string{"in ping", "out pong", "out ping", "in pong"} {
		if beats[want] != 2 {
			t.Errorf("%d times %s is recorded, want 2: %v", beats[want], want, beats)
		}
	}
	again := rig.replay(run)
	second, same := play(again.url)
	if len(second) != len(first) || second[1] != first[1] || pings != 2 || same != pings {
		t.Errorf("heard %v and %d pings, then %v and %d pings; want the same", first, pings, second, same)
	}
	again.end()
	if r, err := again.p.ReplayReport(t.Context(), rig.store); err != nil || r.Total != 0 {
		t.Errorf("the replay = %v, %v; want no divergence", r, err)
	}
}
