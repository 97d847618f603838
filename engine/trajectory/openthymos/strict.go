package openthymos

import (
	"fmt"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// strict says what may be believed. It goes on after a failure, so that each
// phase names its first one; behind what cannot be read or folded the world is
// not known, and nothing more is folded.
type strict struct {
	opts     *Options
	forms    *forms
	phases   []ledger.Phase
	findings []Finding
	total    int64

	n          int64
	prev       *line // the entry before, or nil if it could not be read
	trajectory string
	ids        []canon.Digest
	seen       map[canon.Digest]int64

	covered    []bool // by a signature, the anchor or the expected head
	lastSigned int64  // the last commit whose signature holds, or -1
	unchecked  int64  // commits whose signature no key was given for
	unlinked   int64  // entries whose parent the export leaves out
	unbound    int64  // commits that name no parent
	dated      int64

	world world
	lost  bool // the world is not known from here on
	tally tally

	until string // the commit that a branch left its source at: nothing behind it counts
	found bool   // that commit was folded
	err   error  // the source cannot be had
}

func newStrict(opts *Options, f *forms) *strict {
	return &strict{opts: opts, forms: f, phases: newPhases(), seen: map[canon.Digest]int64{}, lastSigned: -1}
}

func (s *strict) fail(l *line, name string, code fault.Code, where, expected, found, format string, args ...any) {
	f := Finding{Phase: name, Finding: ledger.Finding{Code: code, N: s.n, Where: where, Expected: expected, Found: found, Msg: fmt.Sprintf(format, args...)}}
	if l != nil {
		f.Seq, f.Entry = l.seq, l.id
	}
	p := phase(s.phases, name)
	if p.Failed++; p.First == nil {
		p.First = &f.Finding
	}
	s.total++
	if len(s.findings) < MaxFindings {
		s.findings = append(s.findings, f)
	}
}

func (s *strict) did(name string) { phase(s.phases, name).Checked++ }

// equal compares what is claimed with what was computed.
func (s *strict) equal(l *line, name string, code fault.Code, where, expected, found, msg string) {
	if s.did(name); expected != found {
		s.fail(l, name, code, where, expected, found, "%s", msg)
	}
}

func (s *strict) damaged(err error) {
	s.fail(nil, ledger.PhaseLoad, fault.CodeOf(err), "file", "", "", "%s", fault.Text(err))
	s.lost = true
}

// entry takes the next entry and returns what it reads, or nil.
func (s *strict) entry(v canon.Value, err error) *line {
	s.did(ledger.PhaseLoad)
	l, code := (*line)(nil), fault.Code(ErrForm)
	if err != nil {
		code = codeOfParse(err)
	} else {
		l, err = s.forms.line(v, reading{})
	}
	s.covered = append(s.covered, false)
	if err != nil {
		s.fail(nil, ledger.PhaseLoad, code, "entry", "", "", "%s", fault.Text(err))
		s.ids = append(s.ids, canon.Digest{})
		s.lost = true
	} else {
		s.ids = append(s.ids, digest(l.id))
		s.line(l)
	}
	s.prev = l
	s.n++
	return l
}

func (s *strict) line(l *line) {
	if len(l.unknown) > 0 {
		s.fail(l, ledger.PhaseLoad, ErrUnknown, "entry", "", l.unknown[0], "a member that the format does not have; OpenThymos ignores it")
	}
	if l.kind != l.typ() {
		s.fail(l, ledger.PhaseLoad, ErrKind, "kind", l.typ(), l.kind, "the kind is not the type of the payload")
	}
	if l.dated {
		s.dated++
	}
	if s.trajectory == "" {
		s.trajectory = l.trajectory
	}
	s.tally.add(l)
	s.hashes(l)
	s.chain(l)
	s.sequence(l)
	switch l.typ() {
	case kindCommit:
		s.commit(l)
	case kindBranch:
		if s.n == 0 {
			s.branch(l)
		}
	}
}

func (s *strict) hashes(l *line) {
	s.equal(l, ledger.PhaseHashes, ErrHashMismatch, "id", l.content.String(), l.id, "the id is not that of the payload")
	id := s.ids[s.n]
	if at, twice := s.seen[id]; twice {
		s.fail(l, ledger.PhaseHashes, ErrRepeated, "id", "an id of its own", l.id, "the entry stands at place %d already, and no store of OpenThymos holds an entry twice", at)
	} else {
		s.seen[id] = s.n
	}
	p := l.payload
	switch l.typ() {
	case kindCommit:
		s.equal(l, ledger.PhaseHashes, ErrCommitID, "payload/id", l.body.String(), p.Get("id").Str(), "the commit's id is not that of its body")
	case kindPending:
		proposal := p.Get("proposal")
		s.equal(l, ledger.PhaseHashes, ErrProposalID, "payload/proposal/id", contentID(proposal.Get("body")), proposal.Get("id").Str(), "the proposal's id is not that of its body")
	case kindSkill:
		s.equal(l, ledger.PhaseHashes, ErrSkillID, "payload/skill_id", contentID(p.Get("skill")), p.Get("skill_id").Str(), "the skill's id is not that of its definition")
	}
}

// chain checks that the entry belongs to this trajectory and hangs on the one
// before. What a commit's body says of its place is the only part of it that
// is hashed.
func (s *strict) chain(l *line) {
	const at = ledger.PhaseParents
	p := l.payload
	opens := l.typ() == kindRoot || l.typ() == kindBranch
	s.equal(l, at, ErrTrajectory, "trajectory_id", s.trajectory, l.trajectory, "the entry belongs to another trajectory")
	switch l.typ() {
	case kindRoot:
		s.equal(l, at, ErrTrajectory, "payload/trajectory_id", l.trajectory, p.Get("trajectory_id").Str(), "the root is that of another trajectory")
	case kindBranch:
		made := branchTrajectory(p.Get("source_trajectory_id").Str(), p.Get("source_commit_id").Str())
		s.equal(l, at, ErrTrajectory, "trajectory_id", made, l.trajectory, "the trajectory is not the one of a branch of that source")
	}
	if !l.linked {
		s.unlinked++
	}
	parent := ""
	switch {
	case s.n == 0 && !opens:
		s.fail(l, at, ErrStart, "payload/type", "root or branch", l.typ(), "the first entry is neither root nor branch: the beginning is missing")
	case s.n == 0 && l.parent != "":
		s.fail(l, at, ErrStart, "parent", "null", l.parent, "the first entry has a parent: the beginning is missing")
	case s.n > 0 && opens:
		s.fail(l, at, ErrOrder, "payload/type", "what follows a beginning", l.typ(), "a %s stands behind the first entry", l.typ())
	}
	if s.n > 0 && s.prev != nil {
		parent = s.prev.id
		if l.linked {
			s.equal(l, at, ErrParentMismatch, "parent", parent, l.parent, "the entry names another parent than the entry before it")
		}
	}
	if l.typ() != kindCommit {
		return
	}
	body := p.Get("body")
	s.equal(l, at, ErrMisplaced, "payload/body/trajectory_id", l.trajectory, body.Get("trajectory_id").Str(), "the commit was made for another trajectory")
	named := body.Get("parent")
	switch {
	case named.Len() == 0: // allowed; it binds nothing
		s.unbound++
	case s.n == 0 || s.prev != nil:
		s.equal(l, at, ErrMisplaced, "payload/body/parent", parent, only(named), "the commit was made behind another entry")
	}
}

// only returns the one element of a list of ids, and of more what equals
// nothing.
func only(list canon.Value) string {
	if list.Len() == 1 {
		return list.At(0).Str()
	}
	return list.String()
}

// branchTrajectory is the id of the branch of a trajectory at a commit.
func branchTrajectory(source, commit string) string {
	return canon.BLAKE3([]byte("branch-traj:" + source + "-commit:" + commit)).String()
}

func (s *strict) sequence(l *line) {
	const at = ledger.PhaseSequence
	if s.n == 0 {
		s.equal(l, at, ErrStart, "seq", "0", fmt.Sprint(l.seq), "the first entry is not number 0: the beginning is missing")
	} else {
		want := uint64(s.n) // if the entry before cannot be read, its place counts
		if s.prev != nil {
			want = s.prev.seq + 1
		}
		s.equal(l, at, ErrSequence, "seq", fmt.Sprint(want), fmt.Sprint(l.seq), "the number does not follow the one before")
	}
	if l.typ() == kindCommit {
		seq, _ := count(l.payload.Get("body").Get("seq"))
		s.equal(l, at, ErrMisplaced, "payload/body/seq", fmt.Sprint(l.seq), fmt.Sprint(seq), "the commit was made for another number")
	}
}

func (s *strict) commit(l *line) {
	body := l.payload.Get("body")
	s.signature(l, body)
	s.pins(l, body)
	if s.lost {
		return
	}
	s.did(ledger.PhaseFold)
	id := l.payload.Get("id").Str()
	for i, change := range body.Get("delta").Elems() {
		if bad := s.world.apply(change, digest(id), false); bad != nil {
			s.fail(l, ledger.PhaseFold, ErrDelta, fmt.Sprintf("payload/body/delta/%d", i), bad.expected, bad.found, "%s", bad.text)
			s.lost = true
			return
		}
	}
	s.found = s.found || id == s.until
}

func (s *strict) signature(l *line, body canon.Value) {
	const at, where = ledger.PhaseSignatures, "payload/body/signature"
	if s.opts.Signer.IsZero() {
		if signature, ok := body.Get("signature").AsString(); ok {
			s.unchecked++
			if _, text := signatureBytes(signature); text != "" {
				s.fail(l, at, ErrSignature, where, "", "", "%s", text)
			}
		}
		return
	}
	s.did(at)
	if text, code := l.check(s.opts.Signer); code != nil {
		s.fail(l, at, code, where, "", "", "%s", text)
		return
	}
	s.lastSigned = s.n
	s.covered[s.n] = true
	if s.n > 0 && body.Get("parent").Len() == 1 {
		s.covered[s.n-1] = true
	}
}

func (s *strict) pins(l *line, body canon.Value) {
	const at = ledger.PhasePins
	s.did(at)
	compiler := body.Get("compiler_version").Str()
	switch want := s.opts.Compiler; {
	case compiler == "":
		s.fail(l, at, ErrNoCompiler, "payload/body/compiler_version", "a version", "", "the commit does not say which compiler made it")
	case want != "" && compiler != want:
		s.fail(l, at, ErrCompiler, "payload/body/compiler_version", want, compiler, "the commit was made by another compiler than the pinned one")
	}
	if want := s.opts.PolicySet; want != nil {
		s.equal(l, at, ErrPolicySet, "payload/body/policy_set_hash", *want, body.Get("policy_set_hash").Str(), "the commit was made under another policy set than the pinned one")
	}
}

// branch begins with the world of the source, up to the commit that the branch
// left it at. What the source says is checked as the branch is, but for the
// pins that speak of the branch alone.
func (s *strict) branch(l *line) {
	const at, where = ledger.PhaseFold, "source"
	trajectory, commit := l.payload.Get("source_trajectory_id").Str(), l.payload.Get("source_commit_id").Str()
	s.lost = true
	if s.opts.Source == nil {
		s.fail(l, at, ErrSourceMissing, where, "the entries of traj:"+trajectory, "", "the world of a branch begins with that of its source; give the source too")
		return
	}
	source := newStrict(&Options{Signer: s.opts.Signer}, s.forms)
	source.until = commit
	for e, err := range s.opts.Source {
		if err != nil {
			if fault.ClassOf(err) != fault.ClassIntegrity {
				s.err = err
				return
			}
			source.damaged(err)
			break
		}
		v, err := canon.Parse(e.JSON)
		source.entry(v, err)
		if source.found {
			break
		}
	}
	source.links()
	switch first := source.first(); {
	case first != nil:
		s.fail(l, at, ErrSource, fmt.Sprintf("source entry %d, %s", first.N, first.Where), first.Expected, first.Found, "%s: %s", first.Code.Error(), first.Msg)
	case source.trajectory != trajectory:
		s.fail(l, at, ErrSource, where, trajectory, source.trajectory, "the source is another trajectory")
	case !source.found:
		s.fail(l, at, ErrSource, where, commit, "", "the source has no such commit; OpenThymos would take all of it")
	default:
		s.world, s.lost = source.world, false
		s.did(at)
	}
}

func (s *strict) first() *ledger.Finding { return ledger.First(s.phases) }

// links refuses an export without parents once, not at every entry.
func (s *strict) links() {
	if s.unlinked > 0 {
		n := s.n
		s.n = -1
		s.fail(nil, ledger.PhaseParents, ErrParentMissing, "parent", fmt.Sprintf("%d entries with a parent", n), fmt.Sprintf("%d", n-s.unlinked),
			"the export leaves parents out, as GET /audit/entries does: its chain cannot be checked")
		s.n = n
	}
}

// finish checks what the ledger as a whole has to be.
func (s *strict) finish() error {
	if s.err != nil {
		return s.err
	}
	count := s.n
	s.links()
	s.n = -1
	if count == 0 && s.total == 0 {
		s.fail(nil, ledger.PhaseLoad, ErrEmpty, "ledger", "", "", "there is no entry; OpenThymos accepts that")
	}
	s.head()
	s.anchor()
	s.compareWorld()
	s.n = count
	s.did(ledger.PhaseReport)
	return nil
}

func (s *strict) head() {
	h := s.opts.Head
	if h == nil {
		return
	}
	s.did(ledger.PhasePins)
	entries, at := uint64(len(s.ids)), h.Count
	if at == 0 {
		at = entries
	}
	found := fmt.Sprintf("%d entries", entries)
	if at > 0 && at <= entries {
		if found = s.ids[at-1].String(); s.ids[at-1] == h.ID {
			s.covered[at-1] = true
			return
		}
	}
	s.fail(nil, ledger.PhasePins, ErrExpectedHead, "expected head", h.ID.String(), found, "the ledger does not have the head that you know: entries were cut off, added or exchanged")
}

func (s *strict) anchor() {
	a := s.opts.Anchor
	if a == nil {
		return
	}
	s.did(ledger.PhasePins)
	made := NewAnchor(digest(s.trajectory), s.ids[:min(a.Count, uint64(len(s.ids)))])
	if made != *a {
		s.fail(nil, ledger.PhasePins, ErrAnchorMismatch, "anchor", a.String(), made.String(), "the ledger is not the one that the anchor fixes: entries were cut off, added or exchanged")
		return
	}
	for i := range a.Count {
		s.covered[i] = true
	}
}

func (s *strict) compareWorld() {
	o := s.opts.World
	if o == nil || s.lost {
		return
	}
	rebuilt := s.world.list()
	if o.Hash.IsZero() {
		s.did(ledger.PhaseWorld)
		if where, expected, found, differs := differ(rebuilt, o.Resources); differs {
			s.fail(nil, ledger.PhaseWorld, ErrWorldMismatch, where, expected, found, "the observed world is not the one that the commits add up to")
		}
		return
	}
	hash, err := WorldHash(rebuilt)
	if err != nil {
		s.fail(nil, ledger.PhaseWorld, ErrWorldMismatch, "world", o.Hash.String(), "", "%s", fault.Text(err))
		return
	}
	s.equal(nil, ledger.PhaseWorld, ErrWorldMismatch, "world", o.Hash.String(), hash.String(), "the observed world is not the one that the commits add up to")
}

func (s *strict) verdict() Verdict {
	v := Verdict{
		Accepted: s.total == 0, Phases: s.phases, Findings: s.findings, Total: s.total,
		Summary: s.tally.Summary, UnsignedTail: s.n - s.lastSigned - 1,
	}
	if !s.lost {
		v.World = s.world.list()
		v.Summary.Resources = len(v.World)
		if hash, err := WorldHash(v.World); err == nil {
			v.Summary.FinalWorldHash = hash.String()
		}
	}
	first := -1
	for i, covered := range s.covered {
		if !covered {
			if v.Uncovered++; first < 0 {
				first = i
			}
		}
	}
	remark := func(format string, args ...any) { v.Remarks = append(v.Remarks, fmt.Sprintf(format, args...)) }
	if s.unchecked > 0 {
		remark("%d commits carry a signature, and no key was given to check it", s.unchecked)
	}
	if s.unbound > 0 {
		remark("%d commits name no parent: nothing binds them to the entry before", s.unbound)
	}
	if !s.opts.Signer.IsZero() && v.UnsignedTail > 0 {
		remark("unsigned tail: %d entries follow the last signed commit", v.UnsignedTail)
	}
	if v.Uncovered > 0 {
		remark("%d entries, the first at place %d, are covered by no signature, anchor or expected head: whoever holds the file could have exchanged them", v.Uncovered, first)
	}
	if s.dated > 0 {
		remark("created_at of %d entries is covered by no hash", s.dated)
	}
	return v
}
