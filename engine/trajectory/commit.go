package trajectory

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrCommit means that a commit is not what its id, its signature or its place
// in the trajectory say. Trust nothing from it on.
const ErrCommit fault.Integrity = "trajectory.bad_commit"

// Calls of kind sign ask for a signature: {"key": hex of the public key} and
// the message as content.
const (
	callSign    = "sign"
	signCommit  = "commit"
	signWrit    = "writ"
	messageName = "message"
)

// maxInline is how large an observation may be that stands in the body of a
// commit. A larger one is an attachment, and the body holds its digest.
const maxInline = 16 << 10

// CompensationRule is the one rule in the trace of a commit that takes another
// one back.
const CompensationRule = "compensation"

// Commit is the body of a commit in the fields of the source document. Parent
// and Seq are of the chain of commits; the entry's own place is hashed in its
// header.
type Commit struct {
	Parent       canon.Digest // the commit before; zero for the first
	Trajectory   canon.Digest
	Proposal     canon.Digest
	Intent       canon.Digest
	Writ         canon.Digest
	Seq          int64 // from 0, over commits
	Delta        []ledger.Change
	Observations canon.Value
	Trace        Trace
	Compiler     string
	PolicySet    canon.Digest
	Cost         Budget
	Compensates  canon.Digest // zero: none
	Routing      canon.Value  // or absent
	Attached     canon.Value  // {name: BLAKE3} of the attachments, or absent
	Signature    []byte       // nil: not signed yet
}

// Value returns the body of c, which its id is of. Numbers are lifted.
func (c *Commit) Value() canon.Value {
	parent, signature := canon.Array(), canon.Null()
	if !c.Parent.IsZero() {
		parent = canon.Array(canon.String(c.Parent.String()))
	}
	if c.Signature != nil {
		signature = canon.String(hex.EncodeToString(c.Signature))
	}
	v := canon.Object(
		canon.M("attached", c.Attached),
		canon.M("budget_cost", c.Cost.liftedValue()),
		canon.M("compiler_version", canon.String(c.Compiler)),
		canon.M("delta", canon.ArrayOf(c.Delta, ledger.Change.Encode)),
		canon.M("intent_id", canon.String(c.Intent.String())),
		canon.M("observations", c.Observations),
		canon.M("parent", parent),
		canon.M("policy_set_hash", canon.String(c.PolicySet.String())),
		canon.M("policy_trace", c.Trace.Value()),
		canon.M("proposal_id", canon.String(c.Proposal.String())),
		canon.M("routing_evidence", c.Routing),
		canon.M("seq", canon.Int(c.Seq)),
		canon.M("signature", signature),
		canon.M("trajectory_id", canon.String(c.Trajectory.String())),
		canon.M("writ_id", canon.String(c.Writ.String())),
	)
	if !c.Compensates.IsZero() {
		v = v.With("compensates", canon.String(c.Compensates.String()))
	}
	return v
}

// Message returns what a signature is over: the canonical bytes of the body
// without it.
func (c *Commit) Message() ([]byte, error) {
	unsigned := *c
	unsigned.Signature = nil
	return canon.Encode(unsigned.Value(), canon.Thymos)
}

// ID returns the id of c: over the body with its signature.
func (c *Commit) ID() (canon.Digest, error) { return ContentID(c.Value()) }

// CheckSignature refuses a commit that k did not sign (T-14).
func (c *Commit) CheckSignature(k sign.PublicKey) error {
	msg, err := c.Message()
	if err != nil {
		return fault.Wrap(ErrSignature, "trajectory.Commit.CheckSignature", err, "commit %d", c.Seq)
	}
	return c.checkSignature(k, msg)
}

// checkSignature is CheckSignature where the message is known.
func (c *Commit) checkSignature(k sign.PublicKey, msg []byte) error {
	const op = "trajectory.Commit.CheckSignature"
	if c.Signature == nil {
		return fault.New(ErrSignature, op, "commit %d is unsigned", c.Seq)
	}
	if !k.Verify(msg, c.Signature) {
		return fault.New(ErrSignature, op, "commit %d is not signed by %s", c.Seq, hex.EncodeToString(k.Raw()))
	}
	return nil
}

// ErrSignature means that a commit is unsigned, or not signed by the key it
// must be signed by. Somebody else made it, or it was changed.
const ErrSignature fault.Integrity = "trajectory.bad_signature"

// Entry returns c as an entry of the ledger. The delta stands once, as the
// member that the kernel folds, and not in the data.
func (c *Commit) Entry(name string, contents ...ledger.Content) (ledger.Decision, error) {
	id, err := c.ID()
	if err != nil {
		return ledger.Decision{}, fault.Wrap(ErrCommit, "trajectory.Commit.Entry", err, "commit %d", c.Seq)
	}
	body := c.Value()
	return ledger.Decision{Kind: ledger.KindCommit, Body: canon.Object(
		canon.M("data", canon.Object(canon.M("body", body.Without("delta")), canon.M("id", canon.String(id.String())))),
		canon.M("delta", body.Get("delta")),
		canon.M("name", canon.String(name)),
	), Contents: contents}, nil
}

// ParseCommit reads the body of a commit entry: what [Commit.Entry] writes,
// with no member more or less. It refuses an id that is not that of the body.
// The signature is not checked.
func ParseCommit(body canon.Value) (Commit, canon.Digest, error) {
	const op = "trajectory.ParseCommit"
	outer := newRecord(body.Get("data"), ErrCommit, op, "a commit", "body", "id")
	id := outer.Digest("id")
	r := outer.sub("body", "attached?", "budget_cost", "compensates?", "compiler_version", "intent_id", "observations",
		"parent", "policy_set_hash", "policy_trace", "proposal_id", "routing_evidence?", "seq", "signature", "trajectory_id", "writ_id")
	c := Commit{
		Trajectory: r.Digest("trajectory_id"), Proposal: r.Digest("proposal_id"), Intent: r.Digest("intent_id"),
		Writ: r.Digest("writ_id"), Seq: int64(r.uint("seq", 53)), Compiler: r.Name("compiler_version"),
		PolicySet: r.Digest("policy_set_hash"), Observations: r.Value.Get("observations"),
		Routing: r.Value.Get("routing_evidence"), Attached: r.Value.Get("attached"),
	}
	if p := r.List("parent", 1); len(p) == 1 {
		d, err := canon.ParseDigest(p[0].Str())
		r.Take("parent", err)
		c.Parent = d
	}
	if r.Value.Has("compensates") {
		c.Compensates = r.Digest("compensates")
	}
	if !r.Value.Get("signature").IsNull() {
		c.Signature = r.hex("signature", 64)
	}
	var err error
	c.Trace, err = ParseTrace(r.Value.Get("policy_trace"))
	r.Take("policy_trace", err)
	cost, err := Lower(r.Value.Get("budget_cost"))
	r.Take("budget_cost", err)
	c.Cost, err = ParseBudget(cost)
	r.Take("budget_cost", err)
	c.Delta, err = ledger.ParseDelta(body.Get("delta"))
	r.Take("delta", err)
	if outer.Err != nil || r.Err != nil {
		return c, id, fault.Wrap(ErrCommit, op, firstOf(outer.Err, r.Err), "the commit")
	}
	if got, err := c.ID(); err != nil || got != id {
		return c, id, fault.New(ErrCommit, op, "the commit says that it is %s, and its body is %s", id, got)
	}
	return c, id, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// unsigned is a commit that waits for its signature.
type unsigned struct {
	commit   Commit
	contents []ledger.Content
	agent    int // whose it is, or -1 for a compensation
	attempts int64
	record   committed
}

// call asks for the signature. A signer that gave none is asked again, with
// the attempt in the call so that the record tells them apart.
func (u *unsigned) call(k sign.PublicKey) effect.Call {
	c := effect.Call{Kind: callSign, Name: signCommit, Class: effect.Read, Data: canon.Object(
		canon.M("attempt", canon.Int(u.attempts)),
		canon.M("key", keyValue(k)),
	)}
	if msg, err := u.commit.Message(); err == nil { // it was encoded when it was made
		c.Contents = []ledger.Content{{Name: messageName, Type: jsonType, Bytes: msg}}
	}
	return c
}

// observe takes the answer of an agent's tool, lifted, and lets it be committed
// when its turn comes.
func (m *Machine) observe(a *agent, output canon.Value, latency uint64) ([]ledger.Decision, error) {
	a.act.output, _ = Redact(output)
	a.act.latency = latency
	a.phase = signing
	for i, b := range m.agents {
		if b == a {
			m.queue = append(m.queue, i)
		}
	}
	return m.commitNext()
}

// commitNext makes the next commit, if none is being signed. The delta is
// computed here, on the world that the commits before left.
func (m *Machine) commitNext() ([]ledger.Decision, error) {
	var out []ledger.Decision
	for m.pending == nil && len(m.queue) > 0 {
		i := m.queue[0]
		m.queue = m.queue[1:]
		a := m.agents[i]
		u, err := m.prepare(a)
		if err != nil {
			ds, failed := m.toolFailed(a, fault.CodeOf(err).Error(), fault.Text(err))
			out = append(out, ds...)
			if failed != nil {
				return nil, failed
			}
			continue
		}
		u.agent = i
		m.pending = u
	}
	return out, nil
}

// prepare makes the commit of an agent's action. An answer that does not give
// the delta that the tool declares commits nothing.
func (m *Machine) prepare(a *agent) (*unsigned, error) {
	act := a.act
	delta, err := act.tool.Delta(act.proposal.Args, act.output, m)
	if err != nil {
		return nil, err
	}
	cost := Budget{Tokens: a.tokens, ToolCalls: 1, WallClockMS: act.latency, USDMillicents: act.tool.Estimate.USDMillicents}
	a.tokens = 0
	m.spend(a, Budget{WallClockMS: cost.WallClockMS, USDMillicents: cost.USDMillicents})
	u := &unsigned{commit: m.next(), record: committed{
		proposal: act.id, intent: act.intentID, writ: a.writ.ID, tool: act.tool.Name, effect: act.tool.Effect,
	}}
	c := &u.commit
	c.Proposal, c.Intent, c.Writ, c.Delta = act.id, act.intentID, a.writ.ID, slices.Clone(delta)
	c.Trace, c.Cost, c.Routing = act.proposal.Trace, cost, act.proposal.Routing
	u.record.delta, u.record.before = delta, before(delta, m)
	u.record.inverse = act.tool.Undo != nil && act.tool.Undo.Inverse
	if u.record.undo, err = act.undoCall(m.charter.Registry); err != nil {
		return nil, err
	}
	return u, u.seen(act.tool.Name, act.output, act.latency)
}

// next returns the frame of the commit that follows the last one.
func (m *Machine) next() Commit {
	return Commit{
		Parent: m.head, Trajectory: m.id, Seq: m.commits, Compiler: m.charter.Compiler, PolicySet: m.hash,
		Observations: canon.Array(),
	}
}

// seen writes the observation into the commit, or beside it if it is large.
func (u *unsigned) seen(tool string, output canon.Value, latency uint64) error {
	b, err := canon.Encode(output, canon.Native)
	if err != nil {
		return fault.Wrap(ErrCommit, "trajectory.observe", err, "what %s answered", tool)
	}
	if len(b) > maxInline {
		name := "observation"
		u.contents = append(u.contents, ledger.Content{Name: name, Type: jsonType, Bytes: b})
		u.commit.Attached = u.commit.Attached.With(name, canon.String(canon.BLAKE3(b).String()))
		output = canon.Object(canon.M("attached", canon.String(name)), canon.M("size", canon.Int(int64(len(b)))))
	}
	u.commit.Observations = canon.Array(canon.Object(
		canon.M("latency_ms", canon.Int(int64(latency))),
		canon.M("output", output),
		canon.M("tool", canon.String(tool)),
	))
	return u.spill()
}

// spill moves the values of a delta that are too large for a body beside it.
func (u *unsigned) spill() error {
	for i := range u.commit.Delta {
		c := &u.commit.Delta[i]
		if c.Value.IsZero() {
			continue
		}
		b, err := canon.Encode(c.Value, canon.Native)
		if err != nil {
			return fault.Wrap(ErrCommit, "trajectory.spill", err, "the value of %s %s", c.Kind, c.ID)
		}
		if len(b) <= maxInline/4 {
			continue
		}
		name := fmt.Sprintf("value%d", i)
		u.contents = append(u.contents, ledger.Content{Name: name, Type: jsonType, Bytes: b})
		u.commit.Attached = u.commit.Attached.With(name, canon.String(canon.BLAKE3(b).String()))
		c.Value, c.Att = canon.Value{}, name
	}
	return nil
}

// maxSigning is how often a signer is asked for one signature.
const maxSigning = 5

// signed takes the signature of the commit that waits for it, and commits
// (T-10). A signature that does not hold is none.
func (m *Machine) signed(in effect.Input) ([]ledger.Decision, error) {
	u := m.pending
	if u == nil {
		return nil, fault.New(ErrInput, "trajectory.signed", "nothing waits for a signature")
	}
	sig, err := hex.DecodeString(in.Outcome.Data.Get("signature").Str())
	c := u.commit
	c.Signature = sig
	if in.Outcome.Status != effect.OK || err != nil || len(sig) != 64 || c.CheckSignature(m.charter.Signer) != nil {
		if u.attempts++; u.attempts < maxSigning {
			return nil, nil
		}
		// An effect without a commit must not look like nothing had happened.
		m.err = "the signer gave no signature for an effect that took place"
		return []ledger.Decision{entry(ledger.KindResult, "trajectory", canon.Object(
			canon.M("proposal_id", canon.String(c.Proposal.String())),
			canon.M("reason", canon.String(m.err)),
			canon.M("status", canon.String("unsigned")),
		))}, nil
	}
	m.pending = nil
	for i := range c.Delta {
		stands := attachedValue(&c.Delta[i], u.contents)
		if err := m.world.Apply(c.Delta[i], stands); err != nil {
			return nil, err
		}
		if stands != nil {
			m.large[string(canon.AppendString(nil, stands.String()))] = u.record.delta[i].Value
		}
	}
	name := u.record.tool
	d, err := c.Entry(name, u.contents...)
	if err != nil {
		return nil, err
	}
	if u.record.id, err = c.ID(); err != nil {
		return nil, err
	}
	m.head = u.record.id
	m.commits++
	m.history = append(m.history, u.record)
	out := []ledger.Decision{d}
	if u.agent < 0 {
		ds, err := m.undone()
		return append(out, ds...), err
	}
	m.known[u.record.proposal], m.known[u.record.intent] = len(m.history)-1, len(m.history)-1
	a := m.agents[u.agent]
	a.answer(a.act.call, said(a.act.output))
	ds, err := m.carryOn(a, nil)
	if err != nil {
		return nil, err
	}
	out = append(out, ds...)
	ds, err = m.commitNext()
	return append(out, ds...), err
}

// said is an output as a model reads it.
func said(output canon.Value) string {
	if s, ok := output.AsString(); ok {
		return s
	}
	v, err := Lower(output)
	if err != nil {
		v = output
	}
	b, err := canon.Encode(v, canon.Foreign)
	if err != nil {
		return v.String()
	}
	return string(b)
}

// attachedValue returns what stands in the world for a value that is an
// attachment.
func attachedValue(c *ledger.Change, contents []ledger.Content) *canon.Digest {
	for _, x := range contents {
		if c.Att != "" && x.Name == c.Att {
			w := ledger.NewWorldValue()
			_, _ = w.Write(x.Bytes)
			d := w.Sum()
			return &d
		}
	}
	return nil
}
