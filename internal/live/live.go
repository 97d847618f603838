// Package live makes calls: it is what stands behind the boundary when a
// source says that a call is to be made. One table serves all engines.
//
// A call names what it wants in its data; what goes out and what comes back
// in bytes are contents. Every kind has limits on size and time, and an error
// with a code: a call that could not be made is an outcome like any other,
// and the engine decides what it means.
//
//	kind    data                                   contents
//	clock   –                                      outcome data: RFC 3339 in UTC with nanoseconds
//	random  {"bytes": n}                           outcome data: hex
//	sleep   {"ms": n}                              –
//	exec    {"argv": [...], "dir", "env": {...}}   stdin → stdout, stderr; outcome data: {"exit": n}
//	http    {"method", "url", "headers": [[n, v]]} request → response; outcome data: {"status", "headers"}
//	model   {"url", "key_env"}                     request (chat JSON) → response; as http
//	mcp     {"url"} or {"argv", "dir", "env"}, "tool"  arguments → result
//	file    {"op", "root"}                         arguments → output
package live

import (
	"context"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of calls.
const (
	// ErrKind means that nothing makes calls of this kind. Register it, or
	// mend the engine.
	ErrKind fault.Invalid = "live.unknown_kind"
	// ErrArguments means that the data of a call is not what its kind takes.
	// Mend the engine.
	ErrArguments fault.Invalid = "live.bad_arguments"
	// ErrTooLarge means that an answer is over the limit. Ask for less.
	ErrTooLarge fault.Invalid = "live.answer_too_large"
	// ErrTimeout means that no answer came in time. It may have had its
	// effect all the same.
	ErrTimeout fault.Unavailable = "live.timeout"
	// ErrUnreachable means that what is called cannot be reached or started.
	ErrUnreachable fault.Unavailable = "live.unreachable"
)

// Func makes the calls of one kind. The data and contents of the call are
// not to be changed.
type Func func(ctx context.Context, c *effect.Call) (effect.Outcome, error)

// World is what calls reach. The zero World reaches nothing but programs and
// the network by their own means; see the fields for what is needed where.
type World struct {
	Now     func() time.Time // for clock; nil: the system's
	Rand    io.Reader        // for random; nil: the system's
	Client  *http.Client     // for http and model; nil: one without proxies and redirects
	Environ func(name string) string
	Timeout time.Duration // of one call; 0: five minutes
	Most    int64         // bytes of one answer; 0: 64 MiB
	More    map[string]Func
}

// Caller returns what makes the calls of a run.
func (w *World) Caller() drive.Caller {
	full := w.defaults()
	kinds := full.kinds()
	return func(ctx context.Context, c *effect.Call, _ drive.Boundary) (effect.Outcome, error) {
		f, ok := kinds[c.Kind]
		if !ok {
			return effect.Outcome{}, fault.New(ErrKind, "live.Caller", "nothing makes calls of kind %q", c.Kind)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, full.Timeout, fault.New(ErrTimeout, "live.Caller", "%s %s gave no answer in %s", c.Kind, c.Name, full.Timeout))
		defer cancel()
		o, err := f(ctx, c)
		if err != nil && ctx.Err() != nil && fault.ClassOf(context.Cause(ctx)) == fault.ClassUnavailable {
			return o, context.Cause(ctx)
		}
		return o, err
	}
}

func (w *World) kinds() map[string]Func {
	kinds := map[string]Func{
		"clock": w.clock, "random": w.random, "sleep": w.sleep,
		"exec": w.exec, "http": w.http, "model": w.model, "mcp": w.mcp, "file": w.file,
	}
	maps.Copy(kinds, w.More)
	return kinds
}
