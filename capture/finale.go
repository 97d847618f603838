package capture

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

// finale gives an answer that streams to the client, all but its end: from the
// event on that tells a client that there is no more, it is held back until
// the outcome is durable. Most clients go on when they have read that event,
// not when the connection says so, and what they do next must stand behind the
// outcome in the ledger: a branch from there would make this call again.
//
// An upstream that says it is done and then stays is not waited for.
type finale struct {
	w     http.ResponseWriter
	ends  func(p []byte) int // where in p the last event begins, or -1
	heard *overhearing

	mu    sync.Mutex
	begun bool // the last event was seen
	held  []byte
	open  bool // no more is held
	gone  bool // the client is
	wait  time.Duration
	timer *time.Timer
}

// maxFinale bounds what is held back.
const maxFinale = 1 << 20

func newFinale(a *answering, heard *overhearing) *finale {
	return &finale{w: a.w, ends: lastEvent(a.resp.Header.Get("Content-Type")), heard: heard, wait: a.h.p.o.Grace}
}

// write gives p to the client, or holds it back.
func (f *finale) write(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun && !f.open {
		if i := f.last(p); i >= 0 {
			f.send(p[:i])
			p = p[i:]
			f.begun = true
			f.timer = time.AfterFunc(f.wait, f.release)
		}
	}
	if !f.begun || f.open {
		f.send(p)
		return
	}
	if f.held = append(f.held, p...); len(f.held) > maxFinale {
		f.free()
	}
}

// last returns where in p the last event begins, or -1.
func (f *finale) last(p []byte) int {
	if f.heard.answered {
		return 0
	}
	return f.ends(p)
}

// release gives out what is held back.
func (f *finale) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free()
}

func (f *finale) free() {
	f.open = true
	f.send(f.held)
	f.held = nil
}

// send writes to the client. Lock held.
func (f *finale) send(p []byte) {
	if f.gone || len(p) == 0 {
		return
	}
	_, err := f.w.Write(p)
	f.gone = err != nil
	if fl, ok := f.w.(http.Flusher); ok {
		fl.Flush()
	}
}

// close lets nothing of what is held back out any more but to who closes it.
// It returns that, and whether the client is gone.
func (f *finale) close() (held []byte, gone bool) {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = true
	held, f.held = f.held, nil
	return held, f.gone
}

// lastEvent returns what finds the beginning of the event that ends a stream
// of that type: -1 where it is not in the part.
func lastEvent(contentType string) func(p []byte) int {
	switch typ, _, _ := strings.Cut(strings.ToLower(contentType), ";"); strings.TrimSpace(typ) {
	case "text/event-stream":
		return func(p []byte) int { return lineWith(p, lastLines) }
	case "application/x-ndjson", "application/ndjson", "application/jsonl":
		return func(p []byte) int {
			i := bytes.LastIndexByte(bytes.TrimSuffix(p, []byte("\n")), '\n') + 1
			if bytes.Contains(p[i:], []byte(`"done":true`)) || bytes.Contains(p[i:], []byte(`"done": true`)) {
				return i
			}
			return -1
		}
	default:
		return func([]byte) int { return -1 }
	}
}

// lastLines begin the last event of a stream of server-sent events, as the
// APIs of models have it.
var lastLines = [][]byte{
	[]byte("data: [DONE]"), []byte("data:[DONE]"),
	[]byte("event: message_stop"),
	[]byte("event: response.completed"), []byte("event: response.incomplete"), []byte("event: response.failed"),
	[]byte("event: message-end"),
}

// lineWith returns where the first line begins that begins with one of list.
func lineWith(p []byte, list [][]byte) int {
	for at := 0; at < len(p); {
		if c := p[at]; c == 'd' || c == 'e' {
			for _, l := range list {
				if bytes.HasPrefix(p[at:], l) {
					return at
				}
			}
		}
		i := bytes.IndexByte(p[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return -1
}
