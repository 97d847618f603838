package ledger

import (
	"context"
	"io"
	"iter"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Codes of verification. All mean: trust the ledger no longer from this entry
// on, and find out who changed it.
const (
	ErrIDMismatch     fault.Integrity = "ledger.id_mismatch"     // the id is not that of the header (T-21)
	ErrBindMismatch   fault.Integrity = "ledger.bind_mismatch"   // the body or an attachment is not the one that was recorded (T-21)
	ErrParentMismatch fault.Integrity = "ledger.parent_mismatch" // an entry names another parent (T-22)
	ErrWrongRun       fault.Integrity = "ledger.wrong_run"       // an entry belongs to another ledger
	ErrSequence       fault.Integrity = "ledger.sequence_gap"    // the numbers are not contiguous (T-23)
	ErrOrder          fault.Integrity = "ledger.bad_order"       // an entry stands where its kind may not
	ErrBadContent     fault.Integrity = "ledger.bad_content"     // a body is not canonical or not of its kind
	ErrHeadMismatch   fault.Integrity = "ledger.head_mismatch"   // a signed head says other than the entries
	ErrHeadSignature  fault.Integrity = "ledger.head_signature"  // a head's signature does not hold
	ErrExpectedHead   fault.Integrity = "ledger.expected_head"   // the ledger does not contain the head that was expected
	ErrWorldMismatch  fault.Integrity = "ledger.world_mismatch"  // the folded world is not the one that was recorded or observed
	ErrEmpty          fault.Integrity = "ledger.empty"           // there is no entry at all
)

// The phases of a verification, in their order (T-47..53). The names are
// those of the source document.
const (
	PhaseLoad       = "load ledger entries"
	PhaseHashes     = "verify content hashes"
	PhaseParents    = "verify parent chain"
	PhaseSequence   = "verify sequence continuity"
	PhaseSignatures = "verify signatures and heads"
	PhaseLog        = "verify log inclusion"
	PhaseFold       = "fold committed deltas"
	PhasePins       = "check pins"
	PhaseWorld      = "compare projected world"
	PhaseReport     = "emit replay report"
)

// Phases returns the names of the phases in their order.
func Phases() []string {
	return []string{
		PhaseLoad, PhaseHashes, PhaseParents, PhaseSequence, PhaseSignatures,
		PhaseLog, PhaseFold, PhasePins, PhaseWorld, PhaseReport,
	}
}

const (
	iLoad = iota
	iHashes
	iParents
	iSequence
	iSignatures
	iLog
	iFold
	iPins
	iWorld
	iReport
	phaseCount
)

// Level is how much the evidence proves.
type Level int

// The levels.
const (
	LevelChain     Level = iota // no accidental damage, no clumsy edit
	LevelSigned                 // nobody without a trusted key altered, reordered or cut before the last head
	LevelLogged                 // the operator did not change what a log has fixed
	LevelWitnessed              // one history for everybody
)

// String returns the number and name of the level.
func (l Level) String() string {
	switch l {
	case LevelChain:
		return "0 chain"
	case LevelSigned:
		return "1 signed"
	case LevelLogged:
		return "2 logged"
	default:
		return "3 witnessed"
	}
}

// NotProven says what evidence of the level does not prove.
func (l Level) NotProven() string {
	switch l {
	case LevelChain:
		return "whoever holds the store could have rebuilt the whole ledger"
	case LevelSigned:
		return "the holder of the signing key could have rebuilt the ledger or cut it after its last head"
	case LevelLogged:
		return "another history could have been shown to somebody else"
	default:
		return "that an event was honestly captured at all"
	}
}

// Evidence is what [Verify] looks at.
type Evidence struct {
	Run        RunID
	Entries    iter.Seq2[*Entry, error]
	Statements iter.Seq2[Statement, error] // heads, by count; may be nil

	// Attachment writes the bytes of attachment i of e to w. It returns
	// [ErrAbsent] if they are withheld. If it is nil, attachments are not
	// looked at and count as withheld.
	Attachment func(e *Entry, i int, w io.Writer) error

	Keys     *sign.Keyring // may be nil: then no signature earns a level
	Withheld bool          // absent contents are withheld, not lost
	Scopes   bool          // entries and parts say in which scope they are kept: check that
	Expect   *Position     // a position that the ledger must contain
	World    *canon.Digest // an observed world hash (T-16)
	Base     *World        // of a branch: the world where it left its source (T-38); it is not changed
	NoBase   bool          // of a branch: that world is not known, so nothing is folded on it
	Part     bool          // the entries are a beginning on purpose: that no seal is among them says nothing
	Check    Check         // what an engine checks besides; may be nil
	Damage   *Finding      // what is wrong with the file that carries the evidence; it fails the verification
}

// Check looks at the entries of a ledger beside [Verify], in the same pass: an
// engine knows what its entries mean, and checks them.
type Check interface {
	// Entry takes an entry whose body is there and is the one that was
	// recorded. The bytes are not to be kept. The error is for what cannot be
	// read at all.
	Entry(e *Entry, h *Header, f *Findings) error
	// End is called behind the last entry.
	End(f *Findings)
}

// Findings takes what a [Check] finds.
type Findings struct{ v *verifier }

// Checked counts n checks of a phase.
func (f *Findings) Checked(phase string, n int64) {
	f.v.res.Phases[max(slices.Index(Phases(), phase), 0)].Checked += n
}

// Fail fails a phase.
func (f *Findings) Fail(phase string, x Finding) {
	f.v.fail(max(slices.Index(Phases(), phase), 0), x)
}

// Remark adds a remark to the report.
func (f *Findings) Remark(format string, args ...any) { f.v.remark(format, args...) }

// Content writes the bytes of the attachment of that name of e to w. It gives
// [ErrAbsent] if they are not there.
func (f *Findings) Content(e *Entry, name string, w io.Writer) error {
	i, err := attachmentOf(e, name)
	if err != nil || i < 0 || i >= len(e.Parts) || e.Parts[i].Recipe == nil || f.v.ev.Attachment == nil {
		return fault.New(ErrAbsent, "ledger.Findings", "the content %s is absent", name)
	}
	return f.v.ev.Attachment(e, i, w)
}

// Phase is what one phase found.
type Phase struct {
	Name    string
	Checked int64
	Failed  int64
	First   *Finding
}

// Finding is the first failure of a phase.
type Finding struct {
	Code     fault.Code
	N        int64  // the entry, or -1
	Where    string // what of it: header, body, an attachment, a head
	Expected string
	Found    string
	Msg      string
}

// Verification is the result of [Verify].
type Verification struct {
	Run      RunID
	At       Position
	Tree     Tree
	Phases   []Phase
	Level    Level
	Sealed   bool
	Unsigned int64 // entries after the last head that earned the level
	Heads    int64 // heads whose signature holds
	HeadN    int64 // count of the last such head
	HeadKey  canon.Digest
	Withheld int64 // bodies and attachments that were not there to be checked
	World    World
	Lost     bool // a commit could not be folded, so World is only what was known before it
	Remarks  []string
}

// Failed reports whether a check failed.
func (v *Verification) Failed() bool { return v.First() != nil }

// First returns the first failure, as [First] does.
func (v *Verification) First() *Finding { return First(v.Phases) }

// First returns the failure to look at first, or nil: that of the earliest
// entry, and of those at one entry that of the earliest phase. One that names
// no entry goes behind all that do.
func First(phases []Phase) *Finding {
	var first *Finding
	for i := range phases {
		f := phases[i].First
		if f != nil && (first == nil || uint64(f.N) < uint64(first.N)) { // -1 is the largest
			first = f
		}
	}
	return first
}

// Fail adds a failure that somebody found who looked at more than the entries
// and heads, such as the manifests of the keys. What failed has level 0.
func (v *Verification) Fail(phase string, f Finding) {
	i := slices.Index(Phases(), phase)
	p := &v.Phases[max(i, 0)]
	p.Failed++
	if p.First == nil {
		p.First = &f
	}
	v.Level = LevelChain
}

// Verify recomputes everything that the entries and heads claim, in one pass.
// Its memory grows with the live world and the open calls, not with the
// entries. A broken ledger is a result; the error is for what cannot be read
// or was cancelled.
func Verify(ctx context.Context, ev Evidence) (*Verification, error) {
	v := &verifier{ev: ev, res: &Verification{Run: ev.Run, Phases: make([]Phase, phaseCount)}, calls: map[int64]bool{}}
	for i, name := range Phases() {
		v.res.Phases[i].Name = name
	}
	if ev.Base != nil {
		v.res.World = ev.Base.Clone()
	}
	v.lost = ev.NoBase
	next, stop := noHeads, func() {}
	if ev.Statements != nil {
		next, stop = iter.Pull2(ev.Statements)
	}
	defer stop()
	v.nextHead = next
	if err := v.advanceHead(); err != nil {
		return nil, err
	}
	for e, err := range ev.Entries {
		if err != nil {
			return nil, err
		}
		if v.res.At.Count&1023 == 0 && ctx.Err() != nil {
			return nil, fault.Wrap(ErrStore, "ledger.Verify", context.Cause(ctx), "stopped at entry %d", v.res.At.Count)
		}
		if err := v.entry(e); err != nil {
			return nil, err
		}
	}
	return v.res, v.finish()
}

func noHeads() (Statement, error, bool) { return Statement{}, nil, false }

// verifier is one pass.
type verifier struct {
	ev       Evidence
	res      *Verification
	nextHead func() (Statement, error, bool)
	head     *Head
	envelope sign.Envelope
	calls    map[int64]bool      // open calls
	unread   int64               // outcomes whose call is not known, because their body is not there
	gone     map[content]Finding // contents that are not there, until an erasure says why
	erased   int64
	lost     bool // a commit could not be folded, so the world is not known
	members  bodyReader
	binder   *canon.Binder
	count    counter
	retired  bool
	earned   int64 // count of the last head by a trusted key
	expected bool
	recorded *canon.Digest // world hash of the seal
}

func (v *verifier) fail(phase int, f Finding) {
	p := &v.res.Phases[phase]
	p.Failed++
	if p.First == nil {
		p.First = &f
	}
}

func (v *verifier) failErr(phase int, n int64, where string, code fault.Code, err error) {
	v.fail(phase, Finding{Code: code, N: n, Where: where, Msg: fault.Text(err)})
}

func (v *verifier) entry(e *Entry) error {
	at := &v.res.At
	n := at.Count
	v.res.Phases[iLoad].Checked++
	id := ID(e.Header)
	v.res.Phases[iHashes].Checked++
	if id != e.ID {
		v.fail(iHashes, Finding{Code: ErrIDMismatch, N: n, Where: "header", Expected: e.ID.String(), Found: id.String(), Msg: "the id is not that of the header"})
	}
	h, err := parseHeader(e.Header, v.ev.Run, false)
	if err != nil {
		v.failErr(iLoad, n, "header", ErrHeader, err)
		v.step(id)
		return v.heads()
	}
	v.chain(&h, n)
	m, ok, err := v.body(e, &h, n)
	if err != nil {
		return err
	}
	if err := v.order(e, &h, n, m, ok); err != nil {
		return err
	}
	if ok && v.ev.Check != nil {
		if err := v.ev.Check.Entry(e, &h, &Findings{v}); err != nil {
			return err
		}
	}
	v.step(id)
	if v.ev.Expect != nil && at.Count == v.ev.Expect.Count {
		v.expected = at.Last == v.ev.Expect.Last
	}
	return v.heads()
}

func (v *verifier) step(id canon.Digest) {
	v.res.Tree.Append(id)
	v.res.At = Position{Count: v.res.At.Count + 1, Last: id}
}

func (v *verifier) chain(h *Header, n int64) {
	v.res.Phases[iParents].Checked++
	if n > 0 && h.N > 0 && h.Prev != v.res.At.Last {
		v.fail(iParents, Finding{Code: ErrParentMismatch, N: n, Where: "header", Expected: v.res.At.Last.String(), Found: h.Prev.String(), Msg: "the entry names another parent"})
	}
	if h.Run != v.ev.Run {
		v.fail(iParents, Finding{Code: ErrWrongRun, N: n, Where: "header", Expected: string(v.ev.Run), Found: string(h.Run), Msg: "the entry belongs to another ledger"})
	}
	v.res.Phases[iSequence].Checked++
	if h.N != n {
		v.fail(iSequence, Finding{Code: ErrSequence, N: n, Where: "header", Expected: string(appendInt(nil, n)), Found: string(appendInt(nil, h.N)), Msg: "the numbers are not contiguous"})
	}
}

// body checks the contents of an entry; ok is false if they are absent or
// broken and nothing may be read from them.
func (v *verifier) body(e *Entry, h *Header, n int64) (m body, ok bool, err error) {
	if e.Body == nil {
		v.absent(n, "body")
		return m, false, nil
	}
	if int64(len(e.Body)) != h.Size {
		v.fail(iHashes, Finding{Code: ErrBindMismatch, N: n, Where: "body", Expected: string(appendInt(nil, h.Size)) + " bytes", Found: string(appendInt(nil, int64(len(e.Body)))) + " bytes", Msg: "the body has another size"})
	}
	if got := canon.Bind(&e.Salt, e.Body); got != h.Bind {
		v.fail(iHashes, Finding{Code: ErrBindMismatch, N: n, Where: "body", Expected: h.Bind.String(), Found: got.String(), Msg: "the body is not the one that was recorded"})
		return m, false, nil
	}
	if h.Type != BodyType {
		v.fail(iHashes, Finding{Code: ErrBadContent, N: n, Where: "body", Expected: BodyType, Found: h.Type, Msg: "a body of another type"})
		return m, false, nil
	}
	if m, err = v.members.read(h.Kind, e.Body); err != nil {
		v.failErr(iHashes, n, "body", ErrBadContent, err)
		return m, false, nil
	}
	ok, err = v.attachments(e, n, m)
	return m, ok, err
}

// attachments checks the contents that a body names; ok is false if att is not
// of its form.
func (v *verifier) attachments(e *Entry, n int64, m body) (ok bool, err error) {
	bad := func(where, msg string) {
		v.fail(iHashes, Finding{Code: ErrBadContent, N: n, Where: where, Msg: msg})
	}
	home := v.ev.Run
	if v.ev.Scopes && !sameScope(e.Scope, m.scope, string(home)) {
		bad("scope", "the body belongs to another scope than the one it is kept in")
	}
	i := 0
	for rest := m.att; ; i++ {
		raw, next, more := element(rest)
		if !more {
			break
		}
		rest = next
		a, ok := parseRawAtt(raw)
		switch {
		case !ok || i >= MaxAttachments:
			bad(attachmentAt(i), "att is not a list of at most 64 {bind, name, scope, size, type}")
			return false, nil
		case i >= len(e.Parts):
			continue
		}
		if v.ev.Scopes {
			scope := a.scope
			if scope == nil {
				scope = m.scope
			}
			if !sameScope(e.Parts[i].Scope, scope, string(home)) {
				bad(attachmentAt(i), "the attachment belongs to another scope than the one it is kept in")
			}
		}
		if err := v.attachment(e, n, i, &a); err != nil {
			return false, err
		}
	}
	if len(e.Parts) != i {
		bad("attachments", "the body names other contents than are stored")
	}
	return true, nil
}

func attachmentAt(i int) string { return "attachment " + string(appendInt(nil, int64(i))) }

// sameScope reports whether a scope is the one that a raw member names, or
// that of the run where it names none.
func sameScope(scope string, raw []byte, home string) bool {
	if raw == nil {
		return scope == home
	}
	if len(raw) == len(scope)+2 && string(raw[1:len(raw)-1]) == scope {
		return true
	}
	return string(canon.AppendString(nil, scope)) == string(raw)
}

func (v *verifier) attachment(e *Entry, n int64, i int, a *rawAtt) error {
	p := &e.Parts[i]
	if p.Recipe == nil || v.ev.Attachment == nil {
		v.miss(n, a, Finding{Code: ErrAbsent, N: n, Where: attachmentAt(i), Msg: absentMsg})
		return nil
	}
	v.res.Phases[iHashes].Checked++
	if p.Size != a.size {
		v.fail(iHashes, Finding{Code: ErrBindMismatch, N: n, Where: attachmentAt(i), Expected: string(appendInt(nil, a.size)) + " bytes", Found: string(appendInt(nil, p.Size)) + " bytes", Msg: "the attachment has another size"})
		return nil
	}
	if v.binder == nil {
		v.binder = canon.NewBinder(&p.Salt)
	} else {
		v.binder.Reset(&p.Salt)
	}
	v.count = counter{w: v.binder}
	if err := v.ev.Attachment(e, i, &v.count); err != nil {
		if v.ev.Withheld && fault.CodeOf(err) == fault.Code(ErrAbsent) {
			v.res.Withheld++
			return nil
		}
		if fault.ClassOf(err) != fault.ClassIntegrity && fault.ClassOf(err) != fault.ClassNotFound {
			return err
		}
		v.miss(n, a, Finding{Code: fault.CodeOf(err), N: n, Where: attachmentAt(i), Msg: fault.Text(err)})
		return nil
	}
	got := v.binder.Sum()
	var hex [64]byte
	if v.count.n != a.size || string(canon.AppendHex(hex[:0], got)) != string(a.bind) {
		v.fail(iHashes, Finding{Code: ErrBindMismatch, N: n, Where: attachmentAt(i), Expected: string(a.bind), Found: got.String(), Msg: "the attachment is not the one that was recorded"})
	}
	return nil
}

// counter counts the bytes that pass.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}

func (v *verifier) absent(n int64, where string) {
	if v.ev.Withheld {
		v.res.Withheld++
		return
	}
	v.fail(iHashes, Finding{Code: ErrAbsent, N: n, Where: where, Msg: absentMsg})
}

const absentMsg = "the content is absent, and no erasure record says why"

// order checks that the entry may stand where it stands, and folds it.
func (v *verifier) order(e *Entry, h *Header, n int64, m body, ok bool) error {
	bad := func(msg string) {
		v.fail(iSequence, Finding{Code: ErrOrder, N: n, Where: "kind " + string(h.Kind), Msg: msg})
	}
	switch {
	case v.res.Sealed:
		bad("an entry follows the seal")
	case (n == 0) != (h.Kind == KindOpen):
		bad("a ledger has one open, and it is the first entry")
	}
	switch h.Kind {
	case KindCall:
		v.calls[n] = true
	case KindOutcome:
		if !ok {
			v.unread++
			return nil
		}
		call, named := safeInt(field(m.refs, "call"))
		if !named || !v.calls[call] {
			bad("the outcome names no open call")
		}
		delete(v.calls, call)
	case KindSeal:
		v.res.Sealed = true
		if int64(len(v.calls)) > v.unread && ok {
			bad("the ledger is sealed with open calls")
		}
		v.seal(m.world)
	case KindErasure:
		if ok {
			v.erasure(m)
		}
	case KindCommit:
		return v.commit(e, n, m, ok)
	default:
		if !h.Kind.Known() {
			v.fail(iHashes, Finding{Code: ErrBadContent, N: n, Where: "header", Found: string(h.Kind), Msg: "unknown kind"})
		}
	}
	return nil
}

func (v *verifier) seal(world []byte) {
	if len(world) != 66 {
		return
	}
	if d, err := canon.ParseDigest(string(world[1:65])); err == nil {
		v.recorded = &d
	}
}
