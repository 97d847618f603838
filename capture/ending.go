package capture

import (
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// broken is how an answer broke off.
type broken struct {
	by    string // byClient or byUpstream
	reset bool   // the upstream reset its connection, and did not just close it
}

// note says it in the data of an outcome.
func (b broken) note(data canon.Value) canon.Value {
	data = data.With("broke", canon.String(b.by))
	if b.reset {
		data = data.With("reset", canon.Bool(true))
	}
	return data
}

// brokenOf returns how a recorded answer broke off.
func brokenOf(data canon.Value) broken {
	reset, _ := data.Get("reset").AsBool()
	return broken{by: data.Get("broke").Str(), reset: reset}
}

// breaker says who broke the answer off, by the error of reading it.
func (a *answering) breaker(err error) broken {
	if a.r.Context().Err() != nil {
		return broken{by: byClient}
	}
	return broken{by: byUpstream, reset: isReset(err)}
}

// isReset reports whether a connection was reset.
func isReset(err error) bool {
	const windows = syscall.Errno(10054) // WSAECONNRESET, no error of another system
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, windows)
}

// resetWait is how long bytes that a client has not taken yet may hold up the
// reset behind them, which would throw them away.
const resetWait = time.Second

// hangUp ends an answer before its end: the client sees its connection reset
// if the upstream had reset its own, else an early end. It does not return.
func hangUp(w http.ResponseWriter, how broken) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	h, ok := w.(http.Hijacker)
	if !ok || !how.reset { // HTTP/2 resets the stream
		panic(http.ErrAbortHandler)
	}
	conn, _, err := h.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	inner := conn
	for {
		c, ok := inner.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		inner = c.NetConn()
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		drain(tcp, resetWait)
		_ = tcp.SetLinger(0)
		_ = tcp.Close()
	}
	panic(http.ErrAbortHandler) // nothing of the handler may go on
}
