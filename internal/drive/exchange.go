package drive

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Boundary is where calls cross: that of the session, or that under a call
// which makes calls itself, such as a job's agent.
type Boundary struct {
	s     *Session
	path  string
	under ledger.Ref // the entry of the enclosing call; meaningful if path is set
	scope string     // of contents that name none; see [ledger.Content]
}

// In returns this boundary for calls whose contents, and those of their
// outcomes, are kept in a scope of the run (see [ledger.Content]) unless they
// name one themselves: what is to be erased together crosses together.
func (b Boundary) In(scope string) Boundary {
	b.scope = scope
	return b
}

// Scope returns the scope that [Boundary.In] gave.
func (b Boundary) Scope() string { return b.scope }

// Session returns the session that is crossed into.
func (b Boundary) Session() *Session { return b.s }

// Path returns the call path that the keys of calls which cross here have.
func (b Boundary) Path() string { return b.path }

// Place returns the entry of the call that encloses this boundary; ok is false
// at the outermost.
func (b Boundary) Place() (ref ledger.Ref, ok bool) { return b.under, b.path != "" }

// Exchange is one call on its way. It belongs to one goroutine, and must be
// ended exactly once, with [Exchange.End], unless Begin gave an error.
type Exchange struct {
	s       *Session
	n       int64 // of the call entry
	id      canon.Digest
	begun   *group // of the call entry
	key     effect.Key
	call    effect.Call
	answer  effect.Answer
	scope   string // of contents that name none
	started time.Time
	record  *ledger.Opened // the recorded outcome
	stream  *Stream
	before  []*staged // of streams in whose place this one is
	duplex  *staged   // of the messages, if there are any
	trunk   bool      // of the run that this one branches from
}

// Begin takes a call. If its source makes it, the caller makes it and ends
// the exchange; if its source answers it, [Exchange.Answered] has the answer.
// A call without an answer is recorded too, and gives the source's error.
func (b Boundary) Begin(ctx context.Context, c effect.Call) (*Exchange, error) {
	return b.BeginLarge(ctx, c, nil)
}

// BeginLarge is [Boundary.Begin] for a call one of whose contents is not held
// in memory; nil: none. It comes behind those of the call, which must have a
// match key, and is not given back with a miss.
func (b Boundary) BeginLarge(ctx context.Context, c effect.Call, l *Large) (*Exchange, error) {
	s := b.s
	if err := c.Fill(); err != nil {
		return nil, err
	}
	x := &Exchange{s: s, call: c, scope: b.scope, started: s.cfg.Now()}
	x.key = effect.Key{Path: b.path, Match: c.Match}
	s.mu.Lock()
	place := x.key
	x.key.Occurrence = s.seen[place]
	s.seen[place]++
	s.counts.Calls++
	answer, refusal := s.sources(x.key.Depth(), c.Kind).Answer(x.key, &c)
	s.mu.Unlock()
	x.answer = answer
	if s.trunk && refusal == nil && answer.Mode == effect.Recorded {
		return x, x.follow(ctx)
	}

	g, err := x.begin(ctx, b, l)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, x.refuse(ctx, refusal)
	}
	switch answer.Mode {
	case effect.MakeIt:
		s.count(&s.counts.Live)
		if c.Class.Waits() {
			err = g.wait(ctx)
		}
	case effect.Recorded:
		s.count(&s.counts.Recorded)
		x.record, err = s.record.Ref(ctx, answer.Recorded.Outcome)
	case effect.Given:
		s.count(&s.counts.Given)
	}
	return x, err
}

func (s *Session) count(n *int64) {
	s.mu.Lock()
	*n++
	s.mu.Unlock()
}

// follow takes the answer from the run that this one branches from. Both the
// call and its outcome stand there, and so they do not stand here.
func (x *Exchange) follow(ctx context.Context) (err error) {
	x.trunk, x.n = true, x.answer.Recorded.Call.N
	x.s.count(&x.s.counts.Recorded)
	x.record, err = x.s.record.Ref(ctx, x.answer.Recorded.Outcome)
	return err
}

// begin appends the call entry. A call that equals its record points at it
// and stores no bytes.
func (x *Exchange) begin(ctx context.Context, b Boundary, l *Large) (*group, error) {
	s := x.s
	refs := canon.Object()
	if b.path != "" {
		refs = refs.With("under", canon.Int(b.under.N))
	}
	d := ledger.Draft{Kind: ledger.KindCall, Body: x.call.Body(x.key)}
	contents := x.call.Contents
	if r := x.answer.Recorded; r != nil {
		att, parts, err := s.record.parts(ctx, r.Call)
		if err != nil {
			return nil, err
		}
		same, err := sameContents(att, parts, contents, l)
		if err != nil {
			return nil, err
		}
		if same {
			refs = refs.With("pin", r.Call.Value())
			contents, l = nil, nil
		}
	}
	d.Refs = refs
	ref, g, err := s.appendAll(d, within(x.scope, contents), l, x.scope)
	x.n, x.id, x.begun = ref.N, ref.ID, g
	return g, err
}

// within returns contents of which those that name no scope are in this one.
func within(scope string, contents []ledger.Content) []ledger.Content {
	if scope == "" || len(contents) == 0 {
		return contents
	}
	out := slices.Clone(contents)
	for i := range out {
		if out[i].Scope == "" {
			out[i].Scope = scope
		}
	}
	return out
}

// sameContents reports whether the recorded attachments hold these contents.
// The commitments answer that, so nothing needs to be read of the record.
func sameContents(att []ledger.Attachment, parts []blob.Part, contents []ledger.Content, l *Large) (bool, error) {
	n := len(contents)
	if l != nil {
		n++
	}
	if len(att) != n || len(parts) != n {
		return false, nil
	}
	for i, c := range contents {
		if att[i].Name != c.Name || !att[i].Holds(parts[i].Salt, c.Bytes) {
			return false, nil
		}
	}
	if l == nil {
		return true, nil
	}
	return l.is(&att[n-1], &parts[n-1].Salt)
}

// maxMisses bounds what a session keeps of calls without an answer.
const maxMisses = 1000

// refuse records that a call got no answer, and returns why.
func (x *Exchange) refuse(ctx context.Context, why error) error {
	s := x.s
	s.mu.Lock()
	s.counts.Missed++
	if len(s.misses) < maxMisses {
		s.misses = append(s.misses, Miss{Key: x.key, Call: x.call, N: x.n, Err: why})
	}
	s.mu.Unlock()
	if err := x.End(ctx, effect.Outcome{Status: effect.Error, Code: fault.CodeOf(why)}); err != nil {
		return err
	}
	return why
}

// N returns the number of the call's entry.
func (x *Exchange) N() int64 { return x.n }

// Under returns the boundary for calls that this call makes.
func (x *Exchange) Under() Boundary {
	return Boundary{s: x.s, path: x.key.Under(), under: ledger.Ref{Run: x.s.run, N: x.n, ID: x.id}, scope: x.scope}
}

// Forget lets go of what the call holds of its request, which the ledger has.
// It is for callers that have the request themselves and whose answer may take
// long; the exchange stays as it is but for that.
func (x *Exchange) Forget() { x.call.Contents = nil }

// Live reports whether the caller must make the call.
func (x *Exchange) Live() bool { return x.answer.Mode == effect.MakeIt }

// Record returns the record that answers the call, or nil.
func (x *Exchange) Record() *effect.Record { return x.answer.Recorded }

// Answered returns the outcome that answers the call, without contents; ok is
// false if the caller must make it.
func (x *Exchange) Answered() (o effect.Outcome, ok bool, err error) {
	switch x.answer.Mode {
	case effect.Recorded:
		o, err = effect.ParseOutcome(x.record.Body)
		return o, true, err
	case effect.Given:
		return *x.answer.Outcome, true, nil
	default:
		return o, false, nil
	}
}

// Took returns how long the recorded call took, by the times in the headers of
// its entries. These are informational: nothing may depend on it but a pace.
func (x *Exchange) Took(ctx context.Context) (time.Duration, error) {
	if x.record == nil || x.answer.Recorded == nil {
		return 0, nil
	}
	call, err := x.s.record.Ref(ctx, x.answer.Recorded.Call)
	if err != nil {
		return 0, err
	}
	from, err := time.Parse(time.RFC3339Nano, call.T)
	if err != nil {
		return 0, nil //nolint:nilerr // a header need not have a time that can be read
	}
	to, err := time.Parse(time.RFC3339Nano, x.record.T)
	if err != nil {
		return 0, nil //nolint:nilerr // as above
	}
	return max(0, to.Sub(from)), nil
}

// Has reports whether the outcome that answers the call has a content of that
// name.
func (x *Exchange) Has(name string) bool {
	if x.answer.Mode == effect.Given {
		return slices.ContainsFunc(x.answer.Outcome.Contents, func(c ledger.Content) bool { return c.Name == name })
	}
	return x.record != nil && x.record.Attachment(name) >= 0
}

// Content returns a recorded content of that name. An absent one gives
// [ledger.ErrAbsent].
func (x *Exchange) Content(ctx context.Context, name string) ([]byte, error) {
	if x.answer.Mode == effect.Given {
		for _, c := range x.answer.Outcome.Contents {
			if c.Name == name {
				return c.Bytes, nil
			}
		}
	} else if x.record != nil {
		if i := x.record.Attachment(name); i >= 0 {
			return x.s.record.Bytes(ctx, x.record, i)
		}
	}
	return nil, fault.New(ledger.ErrAbsent, "drive.Content", "the outcome has no content %q", name)
}

// Contents returns all contents of the outcome that answers the call.
func (x *Exchange) Contents(ctx context.Context) ([]ledger.Content, error) {
	if x.answer.Mode == effect.Given {
		return x.answer.Outcome.Contents, nil
	}
	return x.s.record.Contents(ctx, x.record)
}

// End records what came back and returns when it is durable; in a replay it
// does not wait. An outcome that came from the record points at it and stores
// no bytes; o is ignored then.
func (x *Exchange) End(ctx context.Context, o effect.Outcome) error {
	_, err := x.end(ctx, o)
	return err
}

func (x *Exchange) end(ctx context.Context, o effect.Outcome) (int64, error) {
	if x.trunk {
		return x.record.N, nil
	}
	s := x.s
	refs := canon.Object(canon.M("call", canon.Int(x.n)))
	d := ledger.Draft{Kind: ledger.KindOutcome}
	var st stage
	if x.record != nil {
		d.Body = ledger.Compared(x.record.Body)
		d.Refs = refs.With("pin", x.record.Ref())
	} else {
		for _, p := range o.Refs {
			refs = refs.With(p.Name, p.Ref.Value())
		}
		d.Body, d.Refs = o.Body(), refs
		for _, c := range within(x.scope, o.Contents) {
			if err := s.attach(&d, &st, c); err != nil {
				return -1, err
			}
		}
		if x.stream != nil {
			if err := x.stream.attach(&d, &st); err != nil {
				return -1, err
			}
		}
	}
	ref, g, err := s.appendDraft(d, st.chunks)
	if err != nil {
		return -1, err
	}
	if !s.lazy {
		err = g.wait(ctx)
	}
	if x.stream != nil && err == nil {
		x.stream.staged.end()
		for _, st := range x.before {
			st.end()
		}
	}
	if err == nil {
		x.duplex.end()
	}
	return ref.N, err
}

// Stream takes an answer that is still coming.
type Stream struct {
	x      *Exchange
	name   string
	typ    string
	w      *blob.Writer
	st     stage
	timing []byte
	last   time.Time
	since  time.Duration // from what was staged last to what came last
	size   int64
	staged *staged
	kept   bool // the call outlives this process
}

// TimingName is the name of the attachment that says when the parts of an
// answer came: for each part, as unsigned varints, the nanoseconds since the
// part before (the first: since the call) and its length in bytes.
const TimingName = "timing"

// Stream begins an answer whose bytes come one part after another. Head is
// what the outcome will say beside them as far as it is known; it is staged
// with them, for the case that the process is killed. A second one takes the
// place of the first, of which nothing is recorded then.
func (x *Exchange) Stream(name, typ string, head canon.Value) (*Stream, error) {
	st, err := x.open(name, typ)
	if err != nil {
		return nil, err
	}
	st.last = x.started
	if st.staged, err = x.s.spool.begin(x.n, name, typ, x.scope, head); err != nil {
		return nil, err
	}
	if x.stream != nil {
		x.before = append(x.before, x.stream.staged)
	}
	x.stream = st
	if x.s.lazy {
		return st, nil
	}
	if st.kept, err = x.s.w.outlive(st.staged); err == nil && !st.kept {
		x.begun.hurry() // the first part waits for it
	}
	return st, err
}

// open returns a stream whose bytes go into the scope of the exchange.
func (x *Exchange) open(name, typ string) (*Stream, error) {
	salt, err := x.s.salts.next()
	if err != nil {
		return nil, err
	}
	scope, err := x.s.scopeOf(x.scope)
	if err != nil {
		return nil, err
	}
	st := &Stream{x: x, name: name, typ: typ}
	st.w = newBlobWriter(x.s, scope, salt, typ, &st.st)
	if x.scope != "" {
		st.w.Apart()
	}
	return st, nil
}

func newBlobWriter(s *Session, scope blob.Scope, salt canon.Salt, typ string, st *stage) *blob.Writer {
	return blob.NewWriter(scope, salt, isJSON(typ), st.keep(s))
}

// Write takes the next part. It is staged when Write returns: it outlives
// this process, though not yet the loss of power. So does the call: it is
// staged too, or the first part waits until it is durable.
func (st *Stream) Write(p []byte) (int, error) {
	if err := st.Begun(); err != nil {
		return 0, err
	}
	dt := st.Arrive()
	if err := st.staged.write(int64(dt), p); err != nil {
		return 0, err
	}
	return st.write(int64(dt), p)
}

func (st *Stream) write(dt int64, p []byte) (int, error) {
	st.Part(time.Duration(dt), len(p))
	st.size += int64(len(p))
	return st.w.Write(p)
}

// Arrive returns how long ago the part before came, or the call: for a part of
// which not every byte can be written yet.
func (st *Stream) Arrive() time.Duration {
	now := st.x.s.cfg.Now()
	dt := elapsed(st.last, now)
	st.last = now
	st.since += time.Duration(dt)
	return time.Duration(dt)
}

// Put is [Stream.Write] without a part: [Stream.Part] says which there are.
func (st *Stream) Put(p []byte) error {
	if err := st.Begun(); err != nil {
		return err
	}
	if err := st.staged.write(int64(st.since), p); err != nil {
		return err
	}
	st.since = 0
	st.size += int64(len(p))
	_, err := st.w.Write(p)
	return err
}

// Part says that so many bytes came in one part.
func (st *Stream) Part(after time.Duration, size int) {
	st.timing = binary.AppendUvarint(st.timing, uint64(after)) //nolint:gosec // not negative
	st.timing = binary.AppendUvarint(st.timing, uint64(size))  //nolint:gosec // not negative
}

// Begun returns when the call outlives this process: nothing of its answer may
// be given away before.
func (st *Stream) Begun() error {
	if st.kept || st.size > 0 || st.x.s.lazy {
		return nil
	}
	<-st.x.begun.done
	return st.x.begun.err
}

// Size returns how many bytes came.
func (st *Stream) Size() int64 { return st.size }

func (st *Stream) attach(d *ledger.Draft, to *stage) error {
	part, bind, err := st.w.Close()
	if err != nil {
		return err
	}
	d.Att = append(d.Att, ledger.Attachment{Name: st.name, Type: st.typ, Size: st.size, Bind: bind})
	d.Parts = append(d.Parts, part)
	to.chunks = append(to.chunks, st.st.chunks...)
	return st.x.s.attach(d, to, ledger.Content{Name: TimingName, Type: ledger.TimingType, Bytes: st.timing, Scope: st.x.scope})
}

// Part is when one part of an answer came and how long it is.
type Part struct {
	After time.Duration // since the part before; of the first: since the call
	Size  int
}

// ParseTiming reads the attachment [TimingName].
func ParseTiming(b []byte) ([]Part, error) {
	r := bytes.NewReader(b)
	var out []Part
	for r.Len() > 0 {
		dt, err := binary.ReadUvarint(r)
		n, err2 := binary.ReadUvarint(r)
		if err != nil || err2 != nil || dt > 1<<62 || n > 1<<40 {
			return nil, fault.New(effect.ErrCall, "drive.ParseTiming", "the timing of an answer cannot be read")
		}
		out = append(out, Part{After: time.Duration(dt), Size: int(n)})
	}
	return out, nil
}

// isJSON reports whether content of that type is cut as JSON.
func isJSON(typ string) bool {
	typ, _, _ = strings.Cut(typ, ";")
	typ = strings.ToLower(strings.TrimSpace(typ))
	return typ == "application/json" || strings.HasSuffix(typ, "+json")
}
