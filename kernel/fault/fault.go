// Package fault is the one error type of Reprise.
//
// An error has a stable code. A code is a string constant whose type is its
// class, so that the code and the class cannot be separated, and no registry
// is needed:
//
//	const ErrChainBroken fault.Integrity = "ledger.chain_broken"
//
//	return fault.New(ErrChainBroken, "ledger.Verify", "entry 7 names another parent")
//
//	errors.Is(err, ledger.ErrChainBroken) // true, at any depth
//
// The class alone decides the HTTP status, the exit status and whether a
// retry can help. A code is declared in the package that returns it, with a
// comment that says what it means and what the caller should do. Where a
// source document fixes a literal (MISSING_SNAPSHOT, HashMismatchError), that
// literal is the code.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Code is a stable error code. The nine string types of this package
// ([Invalid], [NotFound], …) are its only implementations.
type Code interface {
	error
	Class() Class
}

// The code types, one for each class.
type (
	// Invalid means bad input: mend it and try again.
	Invalid string
	// NotFound means that the thing named does not exist.
	NotFound string
	// Conflict means that somebody else was first: read again, then retry.
	Conflict string
	// Denied means not allowed for this actor.
	Denied string
	// Halted means stopped by a person or a rule; only a person lets it go on.
	Halted string
	// Diverged means that a replay or a check came out differently.
	Diverged string
	// Integrity means that stored or received evidence is broken: trust it no longer.
	Integrity string
	// Unavailable means that a part that is needed does not answer: retry later.
	Unavailable string
	// Internal means a broken invariant of our own.
	Internal string
)

func (c Invalid) Error() string     { return string(c) }
func (c NotFound) Error() string    { return string(c) }
func (c Conflict) Error() string    { return string(c) }
func (c Denied) Error() string      { return string(c) }
func (c Halted) Error() string      { return string(c) }
func (c Diverged) Error() string    { return string(c) }
func (c Integrity) Error() string   { return string(c) }
func (c Unavailable) Error() string { return string(c) }
func (c Internal) Error() string    { return string(c) }

// Class returns [ClassInvalid].
func (Invalid) Class() Class { return ClassInvalid }

// Class returns [ClassNotFound].
func (NotFound) Class() Class { return ClassNotFound }

// Class returns [ClassConflict].
func (Conflict) Class() Class { return ClassConflict }

// Class returns [ClassDenied].
func (Denied) Class() Class { return ClassDenied }

// Class returns [ClassHalted].
func (Halted) Class() Class { return ClassHalted }

// Class returns [ClassDiverged].
func (Diverged) Class() Class { return ClassDiverged }

// Class returns [ClassIntegrity].
func (Integrity) Class() Class { return ClassIntegrity }

// Class returns [ClassUnavailable].
func (Unavailable) Class() Class { return ClassUnavailable }

// Class returns [ClassInternal].
func (Internal) Class() Class { return ClassInternal }

// ErrUnknown is the code of an error that carries none. It is a fault of
// ours: report it.
const ErrUnknown Internal = "internal"

// Error is an error with a code. Values are not changed after they are made.
type Error struct {
	Code   Code
	Op     string   // the operation, as package.Function
	Msg    string   // what was wrong, where, and what to do; lower case
	Detail []string // further lines, each a fact; may be empty
	Err    error    // the cause; may be nil
}

// New returns an error with a code and no cause.
func New(code Code, op, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Msg: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with a code and a cause. A nil cause gives nil.
func Wrap(code Code, op string, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Op: op, Msg: fmt.Sprintf(format, args...), Err: err}
}

// With returns a copy of e with further detail lines.
func (e *Error) With(detail ...string) *Error {
	c := *e
	c.Detail = append(append([]string(nil), e.Detail...), detail...)
	return &c
}

// Error returns "code: message: cause". The operation is left to logs.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code.Error())
	if e.Msg != "" {
		b.WriteString(": ")
		b.WriteString(e.Msg)
	}
	if e.Err != nil {
		b.WriteString(": ")
		// A cause of the same code says it once.
		b.WriteString(strings.TrimPrefix(e.Err.Error(), e.Code.Error()+": "))
	}
	return b.String()
}

// Text returns what an error says without the code that it begins with, for a
// place where the code stands already.
func Text(err error) string {
	code := CodeOf(err)
	if code == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), code.Error()+": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the code of e, so that errors.Is finds a code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// CodeOf returns the outermost code in err's chain, or [ErrUnknown].
// It returns nil for a nil error.
func CodeOf(err error) Code {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if c, ok := errors.AsType[Code](err); ok {
		return c
	}
	return ErrUnknown
}

// ClassOf returns the class of [CodeOf], or [ClassNone] for a nil error.
func ClassOf(err error) Class {
	if err == nil {
		return ClassNone
	}
	return CodeOf(err).Class()
}

// Recorded gives back a code that was stored as its two strings, so that a
// cause keeps its identity over a round trip. An unknown class is refused.
func Recorded(class, code string) (Code, error) {
	for _, c := range Classes() {
		if c.String() == class {
			return c.code(code), nil
		}
	}
	return nil, New(ErrUnknownClass, "fault.Recorded", "class %q is not one of the nine; the record was written by a newer version", class)
}

// ErrUnknownClass means that a record names an error class that this version
// does not know. Read it with a newer version.
const ErrUnknownClass Invalid = "fault.unknown_class"
