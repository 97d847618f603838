package trajectory

import (
	"bytes"
	"encoding/hex"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Codes of pins. Each means that a commit was made under other rules than the
// verifier expects; what was done may be sound all the same.
const (
	// ErrCompilerDrift means that a commit was decided by another compiler
	// than the pinned one (T-13, T-24), or names none.
	ErrCompilerDrift fault.Integrity = "trajectory.compiler_drift"
	// ErrSignerDrift means that a commit is not signed by the pinned key
	// (T-14).
	ErrSignerDrift fault.Integrity = "trajectory.signer_drift"
	// ErrPolicyDrift means that a commit was decided under another policy set
	// than the pinned one (T-15).
	ErrPolicyDrift fault.Integrity = "trajectory.policy_drift"
	// ErrRootDrift means that the writs of the trajectory go back to a key
	// that is not the pinned one.
	ErrRootDrift fault.Integrity = "trajectory.root_drift"
	// ErrLaw means that a branch or a delegate goes by another charter than
	// the trajectory that it comes from gave it.
	ErrLaw fault.Integrity = "trajectory.other_charter"
)

// Pins are what a verifier expects of every commit (T-13 to T-15). They detect
// drift long after a run, and need nothing but the ledger (T-17).
type Pins struct {
	Compiler  string          // empty: any
	Signer    *sign.PublicKey // nil: the one that the charter names
	PolicySet *canon.Digest   // nil: the one that the charter gives
	Root      *sign.PublicKey // nil: those that the charter names
	// Law is the digest that the charter must have: for a branch that of its
	// source, for a delegate that of the charter it was handed.
	Law *canon.Digest
	// SkipSignatures leaves the signatures of commits unchecked. What they
	// prove is then proved by the signed heads alone, if by anything; the
	// report says so.
	SkipSignatures bool
}

// Audit is what this engine checks in the pass of [ledger.Verify]: the charter
// and its writs, the chain of commits, their ids, signatures and attachments,
// and the pins. It runs nothing (T-33, T-35), and its memory does not grow with
// the ledger. Whether each decision follows from its inputs is what
// a replay shows.
type Audit struct {
	pins    Pins
	charter *Charter
	law     canon.Digest // of the charter's bytes
	id      canon.Digest
	hash    canon.Digest // of the charter's policies
	based   bool         // the trajectory id is known
	wants   bool         // a branch whose branch entry has not come yet
	handed  map[int64]canon.Digest
	sum     Summary
	reader  commitReader
}

// Summary is the report of the source document (A.4.3), filled as the entries
// pass.
type Summary struct {
	Trajectory  canon.Digest
	Entries     int64
	Commits     int64 // of this ledger
	Head        canon.Digest
	HeadSeq     int64    // entry number of the last entry
	Compilers   []string // in the order in which they were first seen
	Rejections  int64
	Pending     int64
	Delegations int64
	Branches    int64
	ToolCalls   int64
	next        int64 // the number that the next commit has
}

// NewAudit returns the check of one ledger.
func NewAudit(p Pins) *Audit { return &Audit{pins: p} }

// Summary returns what was seen so far.
func (a *Audit) Summary() Summary { return a.sum }

// Law returns the digest of the charter's bytes: a branch has the one of its
// source.
func (a *Audit) Law() canon.Digest { return a.law }

// Charter returns the charter, or nil before the open or if it cannot be read.
func (a *Audit) Charter() *Charter { return a.charter }

// Entry implements [ledger.Check].
func (a *Audit) Entry(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	a.sum.Entries++
	a.sum.HeadSeq = h.N
	switch h.Kind {
	case ledger.KindOpen:
		return a.open(e, h, f)
	case ledger.KindCommit:
		a.commit(e, h, f)
	case ledger.KindBranch:
		a.branch(e, h, f)
	case ledger.KindRejection:
		a.sum.Rejections++
	case ledger.KindPendingApproval:
		a.sum.Pending++
	case ledger.KindDelegation:
		a.sum.Delegations++
	case ledger.KindCall:
		return a.call(e, h, f)
	default:
	}
	return nil
}

// End implements [ledger.Check].
func (a *Audit) End(f *ledger.Findings) {
	if a.wants {
		f.Fail(ledger.PhasePins, ledger.Finding{Code: ErrCharter, N: 0, Where: "branch", Msg: "the ledger says that it is a branch, and no entry says of which trajectory"})
	}
}

func (a *Audit) open(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	fail := func(code fault.Code, expected, found string, err error) error {
		f.Fail(ledger.PhasePins, ledger.Finding{Code: code, N: h.N, Where: CharterName, Expected: expected, Found: found, Msg: fault.Text(err)})
		return nil
	}
	f.Checked(ledger.PhasePins, 1)
	if a.pins.SkipSignatures {
		f.Remark("the signatures of commits were not checked")
	}
	var b bytes.Buffer
	if err := f.Content(e, CharterName, &b); err != nil {
		return fail(ledger.ErrAbsent, "", "", err)
	}
	a.law = canon.BLAKE3(b.Bytes())
	if p := a.pins.Law; p != nil && *p != a.law {
		return fail(ErrLaw, p.String(), a.law.String(), fault.New(ErrLaw, "trajectory.Audit", "the charter is not the one that was handed on"))
	}
	v, err := canon.Parse(b.Bytes())
	if err != nil {
		return fail(ErrCharter, "", "", err)
	}
	if a.charter, err = ParseCharter(v); err != nil {
		a.charter = nil
		return fail(fault.CodeOf(err), "", "", err)
	}
	if p := a.pins.Root; p != nil {
		for _, ag := range a.charter.Agents {
			if root := a.charter.Chain(ag.Writ)[0]; root.Body.IssuerKey.ID() != p.ID() {
				return fail(ErrRootDrift, keyText(*p), keyText(root.Body.IssuerKey), fault.New(ErrRootDrift, "trajectory.Audit", "the writ of %s was issued by another root", ag.Name))
			}
		}
	}
	a.hash = a.charter.Policies.Hash()
	if a.id, err = a.charter.Trajectory(); err != nil {
		return fail(ErrCharter, "", "", err)
	}
	o, err := ledger.Parse(e)
	if err != nil {
		return fail(ErrCharter, "", "", err)
	}
	a.wants = o.Body.Get("mode").Str() == "branch"
	a.based = !a.wants
	a.sum.Trajectory = a.id
	return nil
}

// branch takes the entry with which a branch says where it left: the first
// behind its open.
func (a *Audit) branch(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) {
	a.sum.Branches++
	if !a.wants {
		return
	}
	fail := func(msg string) {
		f.Fail(ledger.PhasePins, ledger.Finding{Code: ErrCharter, N: h.N, Where: "branch", Msg: msg})
	}
	a.wants = false
	o, err := ledger.Parse(e)
	if err != nil || h.N != 1 {
		fail("the entry that says where a branch left stands behind its open")
		return
	}
	source, err := canon.ParseDigest(o.Data().Get("source_trajectory_id").Str())
	if err != nil {
		fail("source_trajectory_id is no id")
		return
	}
	if v := o.Data().Get("source_commit_id"); !v.IsNull() {
		if a.sum.Head, err = canon.ParseDigest(v.Str()); err != nil {
			fail("source_commit_id is no id")
			return
		}
	}
	a.sum.next, _ = o.Data().Get("source_commits").AsInt()
	a.id = BranchTrajectory(source, a.sum.Head)
	a.sum.Trajectory, a.based = a.id, true
}

// call counts the calls of tools, which carry the id of a proposal, and keeps
// what delegates were handed.
func (a *Audit) call(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	if bytes.Contains(e.Body, []byte(`"idempotency_key":`)) {
		a.sum.ToolCalls++
	}
	if !bytes.Contains(e.Body, []byte(`"kind":"`+callTrajectory+`"`)) {
		return nil
	}
	var b bytes.Buffer
	if err := f.Content(e, CharterName, &b); err != nil {
		return nil //nolint:nilerr // withheld or lost: the kernel has said so
	}
	if a.handed == nil {
		a.handed = map[int64]canon.Digest{}
	}
	a.handed[h.N] = canon.BLAKE3(b.Bytes())
	return nil
}

// Handed returns the digest of the charter that the call at entry n handed to
// a delegate (T-43).
func (a *Audit) Handed(n int64) (canon.Digest, bool) {
	d, ok := a.handed[n]
	return d, ok
}

func (a *Audit) commit(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) {
	fail := func(code fault.Code, where, expected, found, msg string) {
		f.Fail(ledger.PhasePins, ledger.Finding{Code: code, N: h.N, Where: where, Expected: expected, Found: found, Msg: msg})
	}
	f.Checked(ledger.PhasePins, 1)
	if a.charter == nil || !a.based {
		return // the open has failed already
	}
	c, id, msg, err := a.reader.read(e.Body)
	if err != nil {
		fail(fault.CodeOf(err), "data", "", "", fault.Text(err))
		return
	}
	switch {
	case c.Trajectory != a.id:
		fail(ErrCommit, "trajectory_id", a.id.String(), c.Trajectory.String(), "the commit belongs to another trajectory")
	case c.Parent != a.sum.Head:
		fail(ErrCommit, "parent", a.sum.Head.String(), c.Parent.String(), "the commit follows another one than stands before it")
	case c.Seq != a.sum.next:
		fail(ErrCommit, "seq", canon.Int(a.sum.next).String(), canon.Int(c.Seq).String(), "the commits are not numbered without gaps")
	case !a.entitled(c.Writ):
		fail(ErrCommit, "writ_id", "", c.Writ.String(), "no agent of the trajectory has this writ")
	}
	a.attached(e, &c, f, fail)
	a.pinned(&c, msg, fail)
	a.sum.Head, a.sum.next = id, c.Seq+1
	a.sum.Commits++
	if !slices.Contains(a.sum.Compilers, c.Compiler) && len(a.sum.Compilers) < maxCompilers {
		a.sum.Compilers = append(a.sum.Compilers, c.Compiler)
	}
}

// maxCompilers bounds what is listed of compilers; a run has one.
const maxCompilers = 64

func (a *Audit) entitled(writ canon.Digest) bool {
	return slices.ContainsFunc(a.charter.Agents, func(ag Agent) bool { return ag.Writ == writ })
}

// pinned checks what a verifier, or else the charter, says of every commit.
func (a *Audit) pinned(c *Commit, msg []byte, fail func(code fault.Code, where, expected, found, msg string)) {
	compiler, signer, policies := a.charter.Compiler, a.charter.Signer, a.hash
	if a.pins.Compiler != "" {
		compiler = a.pins.Compiler
	}
	if a.pins.PolicySet != nil {
		policies = *a.pins.PolicySet
	}
	if a.pins.Signer != nil {
		signer = *a.pins.Signer
	}
	if c.Compiler != compiler {
		fail(ErrCompilerDrift, "compiler_version", compiler, c.Compiler, "compiler version drift")
	}
	if c.PolicySet != policies {
		fail(ErrPolicyDrift, "policy_set_hash", policies.String(), c.PolicySet.String(), "policy-set drift")
	}
	if a.pins.SkipSignatures {
		return
	}
	if err := c.checkSignature(signer, msg); err != nil {
		code := fault.Code(ErrSignature)
		if a.pins.Signer != nil {
			code = ErrSignerDrift
		}
		fail(code, "signature", keyText(signer), "", fault.Text(err))
	}
}

// attached checks that what stands beside a commit is what its signature is
// over.
func (*Audit) attached(e *ledger.Entry, c *Commit, f *ledger.Findings, fail func(code fault.Code, where, expected, found, msg string)) {
	members := c.Attached.Members()
	if len(members) != len(e.Parts) {
		fail(ErrCommit, "attached", "", "", "the entry has other attachments than the commit is signed with")
		return
	}
	for _, m := range members {
		var b bytes.Buffer
		if err := f.Content(e, m.Name, &b); err != nil {
			continue // withheld or lost: the kernel has said so
		}
		if got := canon.BLAKE3(b.Bytes()).String(); got != m.Value.Str() {
			fail(ErrCommit, "attached "+m.Name, m.Value.Str(), got, "the attachment is not the one that the commit is signed with")
		}
	}
}

func keyText(k sign.PublicKey) string { return hex.EncodeToString(k.Raw()) }

// Value returns the report in the names of the source document, ids with their
// prefixes.
func (s *Summary) Value() canon.Value {
	head := canon.Null()
	if !s.Head.IsZero() {
		head = canon.String(PrefixCommit + s.Head.String())
	}
	return canon.Object(
		canon.M("trajectory_id", canon.String(PrefixTrajectory+s.Trajectory.String())),
		canon.M("entries_seen", canon.Int(s.Entries)),
		canon.M("commits_replayed", canon.Int(s.Commits)),
		canon.M("head_commit", head),
		canon.M("head_seq", canon.Int(s.HeadSeq)),
		canon.M("compiler_versions_seen", canon.Strings(s.Compilers)),
		canon.M("rejected_proposals", canon.Int(s.Rejections)),
		canon.M("pending_approvals", canon.Int(s.Pending)),
		canon.M("delegations", canon.Int(s.Delegations)),
		canon.M("branches", canon.Int(s.Branches)),
		canon.M("tool_calls", canon.Int(s.ToolCalls)),
	)
}
