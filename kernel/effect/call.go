package effect

import (
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrCall means that a recorded call or outcome cannot be read. Trust the
// ledger no longer.
const ErrCall fault.Integrity = "effect.bad_call"

// Class says what a call may do to the world outside.
type Class string

// The classes, from harmless to final.
const (
	Pure         Class = "pure"         // no effect and always the same answer
	Read         Class = "read"         // no effect: model calls, GET, MCP methods other than tools/call
	External     Class = "external"     // may change something elsewhere
	Irreversible Class = "irreversible" // changes something that cannot be taken back
)

// Waits reports whether the call entry must be durable before the effect
// leaves.
func (c Class) Waits() bool { return c != Pure && c != Read }

func (c Class) known() bool { return c == Pure || c == Read || c == External || c == Irreversible }

// Call is something that an agent asks of the world.
type Call struct {
	Kind  string // what answers it: http, mcp, model, exec, clock, random, …
	Name  string // of the route, tool or function
	Class Class

	// Match is the digest under which a replay finds the call again, and
	// Norms are the normalisers, each with its version, that were applied
	// before it was taken. A zero Match is filled in by [Call.Fill].
	Match canon.Digest
	Norms []string

	// Cred holds keyed fingerprints of the credentials that were used. It is
	// no part of the comparison form.
	Cred canon.Value

	Data     canon.Value      // what the call says beside its contents
	Contents []ledger.Content // request bytes
}

// matchTag separates match keys from every other use of SHA-256.
const matchTag = "reprise/match/v1\n"

// MatchKey returns the digest of what identifies a call: parts are written
// one after another with their lengths.
func MatchKey(parts ...[]byte) canon.Digest {
	var b []byte
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(b, ':')
		b = append(b, p...)
	}
	return canon.Hash(matchTag, b)
}

// Fill gives c a match key over all that it says, if it has none.
func (c *Call) Fill() error {
	if !c.Match.IsZero() {
		return nil
	}
	var data []byte
	var err error
	if !c.Data.IsZero() {
		if data, err = canon.Encode(c.Data, canon.Native); err != nil {
			return err
		}
	}
	parts := [][]byte{[]byte(c.Kind), []byte(c.Name), data}
	for _, x := range c.Contents {
		parts = append(parts, []byte(x.Name), []byte(x.Type), x.Bytes)
	}
	c.Match = MatchKey(parts...)
	return nil
}

// Key finds a call in a journal.
type Key struct {
	Path       string // of the enclosing calls, as [Key.Under] spells it
	Match      canon.Digest
	Occurrence int64 // from 0, among calls with this match key under this path
}

// Under returns the path of calls that this call encloses.
func (k Key) Under() string {
	step := k.Match.String() + "." + strconv.FormatInt(k.Occurrence, 10)
	if k.Path == "" {
		return step
	}
	return k.Path + "/" + step
}

// Beneath reports whether the call stands under a path that [Key.Under] spells,
// at whatever depth.
func (k Key) Beneath(path string) bool {
	rest, ok := strings.CutPrefix(k.Path, path)
	return ok && (rest == "" || rest[0] == '/')
}

// Depth returns how many calls enclose this one.
func (k Key) Depth() int {
	if k.Path == "" {
		return 0
	}
	return strings.Count(k.Path, "/") + 1
}

// Body returns the body of c's call entry.
func (c *Call) Body(k Key) canon.Value {
	match := canon.Object(canon.M("key", canon.String(c.Match.String())))
	if len(c.Norms) > 0 {
		match = match.With("norms", canon.Strings(c.Norms))
	}
	v := canon.Object(
		canon.M("class", canon.String(string(c.Class))),
		canon.M("cred", c.Cred),
		canon.M("data", c.Data),
		canon.M("kind", canon.String(c.Kind)),
		canon.M("match", match),
		canon.M("name", canon.String(c.Name)),
		canon.M("occurrence", canon.Int(k.Occurrence)),
	)
	if k.Path != "" {
		v = v.With("path", canon.String(k.Path))
	}
	return v
}

// ParseCall reads the body of a call entry. Contents are not read.
func ParseCall(body canon.Value) (Call, Key, error) {
	c := Call{
		Kind: body.Get("kind").Str(), Name: body.Get("name").Str(), Class: Class(body.Get("class").Str()),
		Cred: body.Get("cred"), Data: body.Get("data"),
	}
	match, err := canon.ParseDigest(body.Get("match").Get("key").Str())
	n, ok := body.Get("occurrence").AsInt()
	if err != nil || !ok || c.Kind == "" || !c.Class.known() {
		return c, Key{}, fault.New(ErrCall, "effect.ParseCall", "a call entry without kind, class, match key or occurrence")
	}
	c.Match = match
	for _, v := range body.Get("match").Get("norms").Elems() {
		c.Norms = append(c.Norms, v.Str())
	}
	return c, Key{Path: body.Get("path").Str(), Match: match, Occurrence: n}, nil
}

// Status says how a call ended.
type Status string

// The statuses.
const (
	OK          Status = "ok"          // an answer came, whatever it says
	Error       Status = "error"       // no answer came, and why is known
	Interrupted Status = "interrupted" // the answer broke off; what came is kept
)

// Outcome is what came back.
type Outcome struct {
	Status   Status
	Code     fault.Code       // of an error
	Redacted []string         // names of the secrets that stand-ins replace in the contents
	Data     canon.Value      // what the answer says beside its contents
	Contents []ledger.Content // answer bytes

	// Refs are places in other ledgers that the answer stands for, such as the
	// run that a delegation made. They are written and never given back: no
	// engine decides by a place.
	Refs []Place
}

// Place is a named reference to an entry.
type Place struct {
	Name string
	Ref  ledger.Ref
}

// Body returns the body of o's outcome entry.
func (o *Outcome) Body() canon.Value {
	v := canon.Object(
		canon.M("data", o.Data),
		canon.M("status", canon.String(string(o.Status))),
	)
	if o.Code != nil {
		v = v.With("code", canon.Object(
			canon.M("class", canon.String(o.Code.Class().String())),
			canon.M("code", canon.String(o.Code.Error())),
		))
	}
	if len(o.Redacted) > 0 {
		v = v.With("redacted", canon.Strings(o.Redacted))
	}
	return v
}

// ParseOutcome reads the body of an outcome entry. Contents are not read. A
// cause keeps its code over the round trip.
func ParseOutcome(body canon.Value) (Outcome, error) {
	o := Outcome{Status: Status(body.Get("status").Str()), Data: body.Get("data")}
	if o.Status != OK && o.Status != Error && o.Status != Interrupted {
		return o, fault.New(ErrCall, "effect.ParseOutcome", "an outcome entry with the unknown status %q", o.Status)
	}
	if c := body.Get("code"); !c.IsZero() {
		code, err := fault.Recorded(c.Get("class").Str(), c.Get("code").Str())
		if err != nil {
			return o, err
		}
		o.Code = code
	}
	for _, v := range body.Get("redacted").Elems() {
		o.Redacted = append(o.Redacted, v.Str())
	}
	return o, nil
}
