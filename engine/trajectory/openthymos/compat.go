package openthymos

import (
	"fmt"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// compat says what OpenThymos says. It reads all entries, then checks them
// all, then folds them, and the first failure ends it: of two failures the one
// of the earlier stage counts, wherever it stands.
type compat struct {
	opts   *Options
	forms  *forms
	phases []ledger.Phase

	read, checked, folded *Finding // the first failure of each stage

	n          int64
	prev       *line
	trajectory string
	ids        []canon.Digest
	unlinked   int64
	world      world
	tally      tally
}

const (
	// invariant is how OpenThymos begins what it has to say against a ledger.
	invariant = "invariant violated: "
	// unserialized is how it begins what it cannot read or write.
	unserialized = "serialization failure: "
	// unhashable is what it says of every world that is not empty.
	unhashable = unserialized + "key must be a string"
)

func (c *compat) damaged(err error) {
	if c.read == nil {
		c.fail(&c.read, nil, ledger.PhaseLoad, fault.CodeOf(err), "file", "", "", unserialized+fault.Text(err))
	}
}

func (c *compat) fail(stage **Finding, l *line, phase string, code fault.Code, where, expected, found, text string) {
	f := &Finding{Phase: phase, Finding: ledger.Finding{Code: code, N: c.n, Where: where, Expected: expected, Found: found, Msg: text}}
	if l != nil {
		f.Seq, f.Entry = l.seq, l.id
	}
	*stage = f
}

// line reads an entry as OpenThymos does. Names may stand twice in it if
// doubled is set.
func (c *compat) line(v canon.Value, doubled bool, err error) (*line, error) {
	if err != nil {
		return nil, err
	}
	return c.forms.line(v, reading{lenient: true, doubled: doubled})
}

func (c *compat) entry(l *line, err error) {
	defer func() { c.n++ }()
	if c.read != nil {
		return
	}
	if err != nil {
		c.fail(&c.read, nil, ledger.PhaseLoad, ErrForm, "entry", "", "", unserialized+fault.Text(err))
		return
	}
	phase(c.phases, ledger.PhaseLoad).Checked++
	if c.checked == nil {
		c.check(l)
		c.prev = l
		c.ids = append(c.ids, digest(l.id))
	}
	if c.checked == nil && c.folded == nil {
		c.fold(l)
	}
}

// check is the integrity of one entry, in the order of OpenThymos.
func (c *compat) check(l *line) {
	fail := func(phase string, code fault.Code, where, expected, found, format string, args ...any) {
		c.fail(&c.checked, l, phase, code, where, expected, found, invariant+fmt.Sprintf(format, args...))
	}
	if c.n == 0 {
		c.trajectory = l.trajectory
	}
	hashes, parents, sequence := phase(c.phases, ledger.PhaseHashes), phase(c.phases, ledger.PhaseParents), phase(c.phases, ledger.PhaseSequence)
	hashes.Checked++
	if id := l.content.String(); id != l.id {
		fail(ledger.PhaseHashes, ErrHashMismatch, "id", id, l.id, "hash mismatch at seq %d: claimed %s vs recomputed %s", l.seq, l.id, id)
		return
	}
	if l.trajectory != c.trajectory {
		fail(ledger.PhaseParents, ErrTrajectory, "trajectory_id", c.trajectory, l.trajectory,
			"entry at seq %d belongs to trajectory traj:%s but earlier entries belonged to traj:%s", l.seq, l.trajectory, c.trajectory)
		return
	}
	if own := l.payload.Get("trajectory_id").Str(); l.typ() == kindRoot && own != l.trajectory {
		fail(ledger.PhaseParents, ErrTrajectory, "payload/trajectory_id", l.trajectory, own,
			"root payload trajectory traj:%s does not match entry trajectory traj:%s", own, l.trajectory)
		return
	}
	if c.n == 0 {
		switch {
		case l.kind != kindRoot && l.kind != kindBranch:
			fail(ledger.PhaseParents, ErrStart, "kind", "root or branch", l.kind, "first entry must be Root or Branch, found %s", rustName(l.kind))
		case l.seq != 0:
			fail(ledger.PhaseSequence, ErrStart, "seq", "0", fmt.Sprint(l.seq), "first entry must have seq 0, found %d", l.seq)
		case l.parent != "":
			fail(ledger.PhaseParents, ErrStart, "parent", "null", l.parent, "first entry must have parent=None")
		default:
			parents.Checked++
			sequence.Checked++
		}
		return
	}
	if l.seq != c.prev.seq+1 {
		fail(ledger.PhaseSequence, ErrSequence, "seq", fmt.Sprint(c.prev.seq+1), fmt.Sprint(l.seq), "non-contiguous seq: %d after %d", l.seq, c.prev.seq)
		return
	}
	sequence.Checked++
	switch {
	case !l.linked:
		c.unlinked++
	case l.parent != c.prev.id:
		fail(ledger.PhaseParents, ErrParentMismatch, "parent", c.prev.id, l.parent, "parent mismatch")
	default:
		parents.Checked++
	}
}

// fold is what one entry does to the world.
func (c *compat) fold(l *line) {
	fail := func(phase string, code fault.Code, where, expected, found, text string) {
		c.fail(&c.folded, l, phase, code, where, expected, found, text)
	}
	c.tally.add(l)
	switch l.typ() {
	case kindSkill:
		id, made := l.payload.Get("skill_id").Str(), contentID(l.payload.Get("skill"))
		phase(c.phases, ledger.PhaseHashes).Checked++
		if id != made {
			fail(ledger.PhaseHashes, ErrSkillID, "payload/skill_id", made, id,
				invariant+fmt.Sprintf("skill_bound at seq %d claims skill:%s but definition hashes to skill:%s", l.seq, id, made))
		}
		return
	case kindCommit:
	default:
		return
	}
	id, body := l.payload.Get("id").Str(), l.payload.Get("body")
	compiler, policies := body.Get("compiler_version").Str(), body.Get("policy_set_hash").Str()
	pins := phase(c.phases, ledger.PhasePins)
	pins.Checked++
	if compiler == "" {
		fail(ledger.PhasePins, ErrNoCompiler, "compiler_version", "a version", "",
			invariant+fmt.Sprintf("commit commit:%s has empty compiler_version (spec Section 8 requires a recorded version)", id))
		return
	}
	if want := c.opts.Compiler; want != "" && compiler != want {
		fail(ledger.PhasePins, ErrCompiler, "compiler_version", want, compiler,
			invariant+fmt.Sprintf("compiler version drift at commit commit:%s: pinned %s got %s", id, want, compiler))
		return
	}
	if !c.opts.Signer.IsZero() {
		phase(c.phases, ledger.PhaseSignatures).Checked++
		if text, code := l.check(c.opts.Signer); code != nil {
			fail(ledger.PhaseSignatures, code, "signature", "", "",
				invariant+fmt.Sprintf("commit commit:%s failed signature verification: authority void: %s", id, text))
			return
		}
	}
	if want := c.opts.PolicySet; want != nil && policies != *want {
		fail(ledger.PhasePins, ErrPolicySet, "policy_set_hash", *want, policies,
			invariant+fmt.Sprintf("policy-set drift at commit commit:%s: pinned %s got %s", id, *want, policies))
		return
	}
	phase(c.phases, ledger.PhaseFold).Checked++
	for i, change := range body.Get("delta").Elems() {
		if bad := c.world.apply(change, digest(id), true); bad != nil {
			if !bad.conflict {
				bad.text = invariant + bad.text
			}
			fail(ledger.PhaseFold, ErrDelta, fmt.Sprintf("delta/%d", i), bad.expected, bad.found, bad.text)
			return
		}
	}
}

// finish gives the verdict, after what OpenThymos compares at the end.
func (c *compat) finish() Verdict {
	first := c.read
	for _, f := range []*Finding{c.checked, c.folded} {
		if first == nil {
			first = f
		}
	}
	c.n = -1
	resources := c.world.list()
	if first == nil {
		c.matchWorld(&first, resources)
	}
	if first == nil {
		c.matchAnchor(&first)
	}
	v := Verdict{Accepted: first == nil, Phases: c.phases, World: resources}
	if c.unlinked > 0 {
		v.Remarks = append(v.Remarks, fmt.Sprintf("the export leaves out the parents of %d entries, as GET /audit/entries does: OpenThymos itself could not check the chain from it", c.unlinked))
	}
	if first != nil {
		p := phase(c.phases, first.Phase)
		p.Failed, p.First = 1, &first.Finding
		v.Findings, v.Total, v.Text = []Finding{*first}, 1, first.Msg
		v.World = nil
		return v
	}
	phase(c.phases, ledger.PhaseReport).Checked = 1
	v.Summary = c.tally.Summary
	v.Summary.Resources = len(resources)
	if hash, err := WorldHash(nil); err == nil && len(resources) == 0 {
		v.Summary.FinalWorldHash = hash.String()
	} else {
		v.Remarks = append(v.Remarks, "GET /replay of OpenThymos answers 500 to this ledger, as to every one whose world is not empty: "+unhashable)
	}
	return v
}

func (c *compat) matchWorld(first **Finding, resources []Resource) {
	o := c.opts.World
	if o == nil {
		return
	}
	phase(c.phases, ledger.PhaseWorld).Checked++
	if len(resources) > 0 || len(o.Resources) > 0 {
		c.fail(first, nil, ledger.PhaseWorld, ErrUnhashable, "world", "", "", unhashable)
		return
	}
	// Only the empty world has a hash.
	empty, err := WorldHash(nil)
	if err == nil && !o.Hash.IsZero() && o.Hash != empty {
		c.fail(first, nil, ledger.PhaseWorld, ErrWorldMismatch, "world", o.Hash.String(), empty.String(),
			invariant+fmt.Sprintf("world divergence after replay: rebuilt 0 resources (%s) vs observed ? resources (%s)", empty, o.Hash))
	}
}

func (c *compat) matchAnchor(first **Finding) {
	a := c.opts.Anchor
	if a == nil {
		return
	}
	phase(c.phases, ledger.PhasePins).Checked++
	made := NewAnchor(a.Trajectory, c.ids)
	if c.prev != nil {
		made.HeadSeq = c.prev.seq
	}
	if made != *a {
		c.fail(first, nil, ledger.PhasePins, ErrAnchorMismatch, "anchor", a.String(), made.String(),
			invariant+fmt.Sprintf("anchor mismatch: published %s, recomputed %s", a, &made))
	}
}

// contentID returns the id of a value by its content.
func contentID(v canon.Value) string {
	b, err := canon.Encode(v, canon.ThymosSerde)
	if err != nil {
		return ""
	}
	return canon.BLAKE3(b).String()
}
