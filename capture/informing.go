package capture

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// informing passes on what an upstream says before its answer: answers with a
// status of 1xx, such as early hints. That the request may come is said by the
// server that reads it, and a change of protocol is no answer before another.
type informing struct {
	mu   sync.Mutex
	w    http.ResponseWriter
	red  *redact.Redactor
	said []canon.Value
	done bool // the answer is there, or there will be none
}

// maxInforming bounds the answers before the answer.
const maxInforming = 32

// listen returns a context with which a request's answers of 1xx are passed on,
// and its body is let go of when it has been written.
func (f *informing) listen(ctx context.Context, b *body) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: f.take, WroteRequest: b.wrote})
}

func (f *informing) take(code int, header textproto.MIMEHeader) error {
	if code <= http.StatusSwitchingProtocols {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return nil
	}
	if len(f.said) == maxInforming || headSize(http.Header(header)) > maxHead/maxInforming {
		return fault.New(ErrTooLarge, "capture.informing", "too much is said before the answer")
	}
	f.said = append(f.said, canon.Object(
		canon.M("headers", canon.Array(f.red.Headers(http.Header(header), hopHeader, nil)...)),
		canon.M("status", canon.Int(int64(code))),
	))
	inform(f.w, code, http.Header(header))
	return nil
}

// stop ends it; from then on the answer may be written.
func (f *informing) stop() []canon.Value {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
	return f.said
}

// inform writes an answer before the answer.
func inform(w http.ResponseWriter, code int, header http.Header) {
	out := w.Header()
	copyHeader(out, header)
	w.WriteHeader(code)
	clear(out)
}
