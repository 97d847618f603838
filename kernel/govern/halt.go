package govern

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of halts.
const (
	// ErrHalted means that something stands still: a person stopped it, or a
	// rule did. Find out why; those who may clear the halt decide whether it
	// goes on.
	ErrHalted fault.Halted = "govern.halted"
	// ErrHalt means that a value is no halt in its one form. Read it with the
	// version that wrote it.
	ErrHalt fault.Invalid = "govern.bad_halt"
)

// Halt is a reason for which something stands still.
type Halt struct {
	Seq     int64  // from 0, in the order of the ledger
	Round   int64  // how many ballots on clearing it have ended without
	Subject string // what stands still
	// Cause is what a rule found (INTEGRITY_FAILURE), or [ErrHalted] if a
	// person stopped it.
	Cause  fault.Code
	Reason string       // for people
	Actor  string       // who stopped it; empty: a rule
	Act    canon.Digest // by which act; zero: a rule
}

// Value returns the halt as bodies hold it.
func (h Halt) Value() canon.Value {
	v := canon.Object(
		canon.M("cause", canon.Object(
			canon.M("class", canon.String(h.Cause.Class().String())),
			canon.M("code", canon.String(h.Cause.Error())),
		)),
		canon.M("reason", canon.String(h.Reason)),
		canon.M("round", canon.Int(h.Round)),
		canon.M("seq", canon.Int(h.Seq)),
		canon.M("subject", canon.String(h.Subject)),
	)
	if h.Actor != "" {
		v = v.With("act", canon.String(h.Act.String())).With("actor", canon.String(h.Actor))
	}
	return v
}

// ParseHalt reads what [Halt.Value] writes and nothing else. It refuses with
// [ErrHalt].
func ParseHalt(v canon.Value) (Halt, error) {
	const op = "govern.ParseHalt"
	h := Halt{Subject: v.Get("subject").Str(), Reason: v.Get("reason").Str(), Actor: v.Get("actor").Str()}
	var err error
	if h.Cause, err = fault.Recorded(v.Get("cause").Get("class").Str(), v.Get("cause").Get("code").Str()); err != nil {
		return Halt{}, fault.Wrap(ErrHalt, op, err, "the cause")
	}
	if h.Actor != "" {
		if h.Act, err = canon.ParseDigest(v.Get("act").Str()); err != nil {
			return Halt{}, fault.Wrap(ErrHalt, op, err, "the act of %q", h.Actor)
		}
	}
	h.Seq, _ = v.Get("seq").AsInt()
	h.Round, _ = v.Get("round").AsInt()
	if h.Seq < 0 || h.Round < 0 || !h.Value().Equal(v) {
		return Halt{}, fault.New(ErrHalt, op, "not {cause, reason, round, seq, subject}, with act and actor where a person stopped it")
	}
	return h, nil
}

// Matter returns what an act must be about to clear the halt. It differs for
// every halt, and for every ballot on one: what cleared one clears no other.
func (h Halt) Matter(ledger string) Matter {
	return Matter{Ledger: ledger, Subject: h.Subject, Bound: digest("reprise/halt/v1\n", h.Value())}
}

// standing is a halt with the ballots on clearing it, one for each way.
type standing struct {
	halt    Halt
	ballots []Ballot
}

// Halts is what stands still in one ledger.
type Halts struct {
	ledger   string
	ways     [][]Quorum // of clearing a halt
	standing []standing // ascending by seq
	next     int64
	seen     Seen // acts that halted
}

// NewHalts returns the halts of a ledger in which nothing stands still yet.
// The quorums are what must come together to clear a halt. It refuses with
// [ErrQuorum].
func NewHalts(ledger string, clearing ...Quorum) (Halts, error) {
	const op = "govern.NewHalts"
	if !isName(ledger) {
		return Halts{}, fault.New(ErrQuorum, op, "%q cannot name a ledger", ledger)
	}
	quorums, err := checkQuorums(op, clearing)
	if err != nil {
		return Halts{}, err
	}
	return Halts{ledger: ledger, ways: [][]Quorum{quorums}}, nil
}

// Or returns h with another way to clear halts, beside those that it has: what
// meets the quorums of one of them is enough. It refuses with [ErrQuorum], also
// where a halt stands already.
func (h Halts) Or(clearing ...Quorum) (Halts, error) {
	const op = "govern.Halts.Or"
	quorums, err := checkQuorums(op, clearing)
	if err != nil {
		return h, err
	}
	if len(h.standing) > 0 || h.ledger == "" {
		return h, fault.New(ErrQuorum, op, "ways to clear halts are given before the first one stands")
	}
	h.ways = append(slices.Clip(h.ways), quorums)
	return h, nil
}

// Trip halts a subject because a rule found something. It cannot fail: what is
// not fit to be recorded is replaced or cut, and a subject that no act can name
// stands still for good. Where a rule has halted the subject for that cause
// already, that halt is returned and nothing changes.
func (h Halts) Trip(subject string, cause fault.Code, reason string) (Halts, Halt) {
	if cause == nil {
		cause = ErrHalted
	}
	return h.add(Halt{Subject: clean(subject, maxName), Cause: cause, Reason: clean(reason, MaxReason)})
}

// Stop halts the subject of an act with the verb [Stop]. To whatever matter it
// is bound, it halts: a stop is never refused because something has changed
// meanwhile. It refuses an act of another ledger ([ErrMatter]), with another
// verb ([ErrVerb]) or that has halted before ([ErrRepeated]).
func (h Halts) Stop(a Admitted) (Halts, Halt, error) {
	const op = "govern.Halts.Stop"
	seen, err := h.seen.Add(a)
	switch {
	case err != nil:
		return h, Halt{}, err
	case a.act.Verb != Stop:
		return h, Halt{}, fault.New(ErrVerb, op, "%q does not halt", a.act.Verb)
	case a.act.Matter.Ledger != h.ledger:
		return h, Halt{}, fault.New(ErrMatter, op, "the act is for the ledger %q, not for %q", a.act.Matter.Ledger, h.ledger)
	}
	h.seen = seen
	h, halt := h.add(Halt{Subject: a.act.Matter.Subject, Cause: ErrHalted, Reason: a.act.Reason, Actor: a.act.Actor, Act: a.digest})
	return h, halt, nil
}

// add lets a halt stand, unless one by the same rule or person does.
func (h Halts) add(halt Halt) (Halts, Halt) {
	for _, s := range h.standing {
		if s.halt.Subject == halt.Subject && s.halt.Actor == halt.Actor && s.halt.Cause == halt.Cause {
			return h, s.halt
		}
	}
	halt.Seq = h.next
	h.next++
	h.standing = append(slices.Clip(h.standing), standing{halt, h.ballots(halt)})
	return h, halt
}

func (h Halts) ballots(halt Halt) []Ballot {
	out := make([]Ballot, len(h.ways))
	for i, quorums := range h.ways {
		out[i] = Ballot{matter: halt.Matter(h.ledger), quorums: quorums}
	}
	return out
}

// Clear counts an act on clearing a halt: [Clear], [Deny] or [Abstain], about
// the matter of a halt that stands. When the quorums of a way grant it the halt
// stands no longer; when they deny it, it stands in a new round, and new ballots
// are open. The first way that is decided decides, and an act counts in each way
// in which its role has a say. The state is that of the round after the act, the
// halt the one that was voted on. It refuses what [Ballot.Cast] refuses.
func (h Halts) Clear(a Admitted) (Halts, Halt, State, error) {
	const op = "govern.Halts.Clear"
	i := slices.IndexFunc(h.standing, func(s standing) bool { return s.halt.Matter(h.ledger) == a.act.Matter })
	if i < 0 {
		return h, Halt{}, Open, fault.New(ErrMatter, op, "no halt stands that the act of %q on %q is about", a.act.Actor, a.act.Matter.Subject)
	}
	if a.act.Verb == Approve { // of the halt, or of going on? It does not say.
		return h, Halt{}, Open, fault.New(ErrVerb, op, "a halt is cleared by %q, not by %q", Clear, Approve)
	}
	if a.act.Verb == Clear {
		a.act.Verb = Approve
	}
	s := h.standing[i]
	s.ballots = slices.Clone(s.ballots)
	state, err := cast(s.ballots, a)
	if err != nil {
		return h, Halt{}, Open, err
	}
	h.standing = slices.Clone(h.standing)
	switch state {
	case Granted:
		h.standing = slices.Delete(h.standing, i, i+1)
	case Denied:
		h.standing[i] = h.again(s.halt)
	default:
		h.standing[i] = s
	}
	return h, s.halt, state, nil
}

// cast counts an act in those ballots, of which none is over, in which its role
// has a say, and returns what the first of them says that is decided. Where the
// role has no say in any, it refuses what the first one refuses.
func cast(ballots []Ballot, a Admitted) (State, error) {
	state, counted := Open, false
	var refused error
	for i := range ballots {
		b, err := ballots[i].Cast(a)
		switch {
		case err == nil:
			ballots[i], counted = b, true
			if state == Open {
				state = b.State()
			}
		case refused == nil || fault.CodeOf(refused) == fault.Code(ErrRole):
			refused = err
		}
	}
	if !counted {
		return Open, refused
	}
	return state, nil
}

// Expire ends the ballots on clearing the halt of that seq, whose time is over
// as an entry of the ledger says. The halt stands in a new round, in which the
// acts until now do not count. It refuses with [ErrMatter] if no such halt
// stands.
func (h Halts) Expire(seq int64) (Halts, error) {
	i := slices.IndexFunc(h.standing, func(s standing) bool { return s.halt.Seq == seq })
	if i < 0 {
		return h, fault.New(ErrMatter, "govern.Halts.Expire", "halt %d does not stand", seq)
	}
	h.standing = slices.Clone(h.standing)
	h.standing[i] = h.again(h.standing[i].halt)
	return h, nil
}

// again opens a new round on a halt.
func (h Halts) again(halt Halt) standing {
	halt.Round++
	return standing{halt, h.ballots(halt)}
}

// Standing returns the halts that stand, oldest first.
func (h Halts) Standing() []Halt {
	out := make([]Halt, len(h.standing))
	for i, s := range h.standing {
		out[i] = s.halt
	}
	return out
}

// Halted returns the oldest halt on one of the subjects.
func (h Halts) Halted(subjects ...string) (Halt, bool) {
	for _, s := range h.standing {
		if slices.ContainsFunc(subjects, func(subject string) bool { return clean(subject, maxName) == s.halt.Subject }) {
			return s.halt, true
		}
	}
	return Halt{}, false
}

// Check refuses with [ErrHalted] if one of the subjects stands still.
func (h Halts) Check(subjects ...string) error {
	halt, ok := h.Halted(subjects...)
	if !ok {
		return nil
	}
	by := halt.Actor
	if by == "" {
		by = "a rule"
	}
	return fault.New(ErrHalted, "govern.Halts.Check", "%q stands still: %s, by %s: %s", halt.Subject, halt.Cause.Error(), by, halt.Reason)
}

// clean returns s as text of at most limit bytes.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if control(r) {
			return utf8.RuneError
		}
		return r // of bytes that are no UTF-8, also RuneError
	}, s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}
