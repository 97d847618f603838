package openthymos

import (
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Codes of verification. All mean: trust the ledger no longer from this entry
// on, and find out who changed it.
const (
	ErrEmpty          fault.Integrity = "openthymos.empty"                // there is no entry at all
	ErrDuplicate      fault.Integrity = "openthymos.duplicate_member"     // a name stands twice in an object
	ErrUnknown        fault.Integrity = "openthymos.unknown_member"       // a member that the format does not have
	ErrKind           fault.Integrity = "openthymos.kind_mismatch"        // the kind is not the type of the payload
	ErrHashMismatch   fault.Integrity = "openthymos.hash_mismatch"        // the id is not that of the payload (T-21)
	ErrCommitID       fault.Integrity = "openthymos.commit_id_mismatch"   // the commit's id is not that of its body
	ErrProposalID     fault.Integrity = "openthymos.proposal_id_mismatch" // the proposal's id is not that of its body
	ErrSkillID        fault.Integrity = "openthymos.skill_id_mismatch"    // the skill's id is not that of its definition
	ErrTrajectory     fault.Integrity = "openthymos.wrong_trajectory"     // an entry or its payload names another trajectory
	ErrStart          fault.Integrity = "openthymos.bad_start"            // the first entry is no root or branch, or not the first
	ErrOrder          fault.Integrity = "openthymos.bad_order"            // a root or a branch stands behind the first entry
	ErrParentMismatch fault.Integrity = "openthymos.parent_mismatch"      // an entry names another parent (T-22)
	ErrParentMissing  fault.Integrity = "openthymos.parent_missing"       // the export leaves parents out: the chain cannot be checked
	ErrSequence       fault.Integrity = "openthymos.sequence_gap"         // the numbers are not contiguous (T-23)
	ErrMisplaced      fault.Integrity = "openthymos.commit_misplaced"     // a commit's body names another place than it stands in
	ErrRepeated       fault.Integrity = "openthymos.repeated_entry"       // an entry stands twice
	ErrUnsigned       fault.Integrity = "openthymos.unsigned_commit"      // a signature is asked for, and there is none
	ErrSignature      fault.Integrity = "openthymos.bad_signature"        // a commit's signature is not that of the pinned key
	ErrNoCompiler     fault.Integrity = "openthymos.no_compiler"          // a commit does not say which compiler made it
	ErrCompiler       fault.Integrity = "openthymos.compiler_drift"       // another compiler than the pinned one (T-24)
	ErrPolicySet      fault.Integrity = "openthymos.policy_drift"         // another policy set than the pinned one
	ErrExpectedHead   fault.Integrity = "openthymos.expected_head"        // the ledger does not end in the head that was expected
	ErrSourceMissing  fault.Integrity = "openthymos.source_missing"       // a branch was given without its source: its world is not known
	ErrSource         fault.Integrity = "openthymos.bad_source"           // the source of a branch is broken or another one
	ErrUnhashable     fault.Integrity = "openthymos.world_unhashable"     // OpenThymos cannot hash a world with anything in it; see strict
)

// Head is a place in a ledger that the caller knows.
type Head struct {
	// Count is how many entries the ledger had then. Zero: the ID is that of
	// the last entry, however many there are.
	Count uint64
	ID    canon.Digest
}

// Options say what is known besides the entries. The zero value pins nothing.
type Options struct {
	Compiler  string         // every commit must name this version; empty: any
	Signer    sign.PublicKey // every commit must be signed by this key; zero: signatures are not looked at
	PolicySet *string        // every commit must declare this hash; nil: any
	Head      *Head          // the ledger must contain this head (strict only: OpenThymos has no such check)
	Anchor    *Anchor        // the ledger must be the one that this fixes
	World     *Observation   // the world that the commits must add up to
	// Source are the entries of the trajectory that a branch left. Strict
	// begins with its world; OpenThymos does not.
	Source iter.Seq2[Entry, error]
}

// Verify checks the entries of one trajectory in the order given. A broken
// ledger is a result; the error is for entries that cannot be had. An error
// of class integrity in the sequence is damage, and part of the result.
func Verify(entries iter.Seq2[Entry, error], opts *Options) (*Report, error) {
	if opts == nil {
		opts = &Options{}
	}
	f := &forms{entry: entryForm(), payload: payloadForm()}
	c := &compat{opts: opts, forms: f, phases: newPhases()}
	s := newStrict(opts, f)
	for e, err := range entries {
		if err != nil {
			if fault.ClassOf(err) != fault.ClassIntegrity {
				return nil, err
			}
			c.damaged(err)
			s.damaged(err)
			break
		}
		v, err := canon.Parse(e.JSON)
		l := s.entry(v, err)
		odd := err != nil || tooDeep(e.JSON)
		if odd {
			v, err = parseLenient(e.JSON)
		}
		// Most entries are what OpenThymos would write: they are read once.
		if odd || l == nil || l.changed {
			l, err = c.line(v, odd, err)
		}
		c.entry(l, err)
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	return &Report{Compat: c.finish(), Strict: s.verdict()}, nil
}

// tooDeep reports whether a valid entry nests deeper than OpenThymos reads.
func tooDeep(b []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxRustDepth+1 {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// newPhases returns the phases of a verification, in their order.
func newPhases() []ledger.Phase {
	out := make([]ledger.Phase, 0, 10)
	for _, name := range ledger.Phases() {
		out = append(out, ledger.Phase{Name: name})
	}
	return out
}

func phase(list []ledger.Phase, name string) *ledger.Phase {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return &list[0]
}

// signature is what came of checking one: how OpenThymos words what is wrong,
// and the code of it, or nothing.
type signature struct {
	text string
	code fault.Code
}

// check compares the signature of a commit with a key.
func (l *line) check(key sign.PublicKey) (text string, code fault.Code) {
	if l.signature == nil {
		text, code := checkSignature(l.payload.Get("body"), key)
		l.signature = &signature{text, code}
	}
	return l.signature.text, l.signature.code
}

func checkSignature(body canon.Value, key sign.PublicKey) (text string, code fault.Code) {
	signed := body.Get("signature")
	if signed.IsZero() || signed.IsNull() {
		return "commit is unsigned", ErrUnsigned
	}
	raw, text := signatureBytes(signed.Str())
	if text != "" {
		return text, ErrSignature
	}
	b, err := canon.Encode(body.With("signature", canon.Null()), canon.ThymosSerde)
	if err != nil || !key.Verify(b, raw) {
		return "bad signature: signature error: Verification equation was not satisfied", ErrSignature
	}
	return "", nil
}

// signatureBytes reads hexadecimal digits of either case, as OpenThymos does.
func signatureBytes(s string) (raw []byte, text string) {
	if len(s)%2 == 1 {
		return nil, "malformed commit signature hex: Odd number of digits"
	}
	raw = make([]byte, len(s)/2)
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return nil, fmt.Sprintf("malformed commit signature hex: Invalid character %s at position %d", rustChar(s[i:]), i)
		}
		raw[i/2] = raw[i/2]<<4 | c
	}
	if len(raw) != 64 {
		return nil, "commit signature must be 64 bytes"
	}
	return raw, ""
}

// rustChar quotes the first character of s as Rust does.
func rustChar(s string) string {
	r, _ := utf8.DecodeRuneInString(s)
	return "'" + string(r) + "'"
}

// codeOfParse tells a name that stands twice from other faults of an entry.
func codeOfParse(err error) fault.Code {
	if errors.Is(err, canon.ErrDuplicateName) {
		return ErrDuplicate
	}
	return ErrForm
}
