package reprise

import (
	"context"
	"encoding/json"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Codes of [Call].
const (
	// ErrValue means that an argument or a result is no JSON value. Give
	// [Call] types that encoding/json can write and read back.
	ErrValue fault.Invalid = "reprise.no_json_value"
	// ErrFunc means that a function gave an error that has no code of its
	// own. The message is the function's.
	ErrFunc fault.Unavailable = "reprise.function_failed"
)

// KindFunc is the kind of calls that [Call] makes.
const KindFunc = "func"

// Func names a Go function for the record.
type Func struct {
	Name string
	// Class says what the function may do to the world; empty: external. The
	// entry of an external call is durable before the function is called.
	Class effect.Class
}

// Call calls f with in and records both with its result; in a replay it gives
// the recorded result and does not call f. In and the result are recorded as
// encoding/json writes them.
//
// What f does is a part of this one call: requests through the session's
// transport and further calls with the context that f gets are made and not
// recorded by themselves. An error of f is recorded with its code and message,
// which is what a replay gives back.
func Call[In, Out any](ctx context.Context, s *Session, fn Func, in In, f func(context.Context, In) (Out, error)) (out Out, _ error) {
	if within(ctx, s) {
		return f(ctx, in)
	}
	args, err := json.Marshal(in)
	if err != nil {
		return out, fault.Wrap(ErrValue, "reprise.Call", err, "the argument of %s", fn.Name)
	}
	result, err := s.call(ctx, fn, args, func(ctx context.Context) ([]byte, error) {
		v, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(v)
		return b, fault.Wrap(ErrValue, "reprise.Call", err, "the result of %s", fn.Name)
	})
	if err != nil {
		return out, err
	}
	// The result is read back live too, so that the agent sees now what it
	// will see in a replay.
	return out, fault.Wrap(ErrValue, "reprise.Call", json.Unmarshal(result, &out), "the result of %s", fn.Name)
}

// inside marks the context of a function that is being recorded.
type inside struct{ s *Session }

func within(ctx context.Context, s *Session) bool { return ctx.Value(inside{s}) != nil }

const jsonType = "application/json"

func (s *Session) call(ctx context.Context, fn Func, args []byte, f func(context.Context) ([]byte, error)) ([]byte, error) {
	c := effect.Call{Kind: KindFunc, Name: fn.Name, Class: fn.Class}
	if c.Class == "" {
		c.Class = effect.External
	}
	stored, redacted := s.red.Bytes(args)
	c.Contents = []ledger.Content{{Name: capture.RequestName, Type: jsonType, Bytes: stored}}
	if len(redacted) > 0 {
		names := make([]canon.Value, len(redacted))
		for i, n := range redacted {
			names[i] = canon.String(n)
		}
		c.Data = canon.Object(canon.M("redacted", canon.Array(names...)))
	}
	x, err := s.s.Begin(ctx, c)
	if err != nil {
		return nil, err
	}
	o, answered, err := x.Answered()
	if err != nil {
		return nil, err
	}
	if answered {
		var result []byte
		if o.Status == effect.OK {
			if result, err = x.Content(ctx, capture.ResponseName); err != nil {
				return nil, err
			}
		}
		if err := x.End(ctx, effect.Outcome{}); err != nil {
			return nil, err
		}
		return result, failureOf(fn, &o)
	}
	result, failed := f(context.WithValue(ctx, inside{s}, true))
	if o, err = s.outcome(result, failed); err != nil {
		return nil, err
	}
	if err := x.End(context.WithoutCancel(ctx), o); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failureOf(fn, &o)
	}
	return result, nil
}

func (s *Session) outcome(result []byte, failed error) (effect.Outcome, error) {
	if failed == nil {
		stored, redacted := s.red.Bytes(result)
		return effect.Outcome{
			Status: effect.OK, Redacted: redacted,
			Contents: []ledger.Content{{Name: capture.ResponseName, Type: jsonType, Bytes: stored}},
		}, nil
	}
	code := fault.CodeOf(failed)
	if code == fault.Code(fault.ErrUnknown) {
		code = ErrFunc
	}
	return effect.Outcome{Status: effect.Error, Code: code, Data: canon.Object(canon.M("message", canon.String(s.clip(failed.Error()))))}, nil
}

// failureOf returns the error of a function as its outcome has it; live and
// in a replay it is the same.
func failureOf(fn Func, o *effect.Outcome) error {
	if o.Status == effect.OK {
		return nil
	}
	if o.Status == effect.Interrupted {
		return fault.New(effect.ErrNoOutcome, "reprise.Call", "the recording ended while %s was running", fn.Name)
	}
	code := o.Code
	if code == nil {
		code = ErrFunc
	}
	return fault.New(code, "reprise.Call", "%s", o.Data.Get("message").Str())
}
