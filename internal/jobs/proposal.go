package jobs

import (
	"context"
	"slices"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// A tenant can leave it to its council by which router configuration and which
// privacy policy its jobs decide. Somebody proposes a content, the council votes
// on exactly that content, and what more than half of it has approved is in
// force: the next job takes it into its snapshot, and one whose file says
// something else is refused. Jobs that have begun keep what they began with.

const (
	// ErrProposal means that a proposal is not of its form: no such kind, or a
	// content that is none of the kind. Mend the file.
	ErrProposal fault.Invalid = "jobs.bad_proposal"
	// ErrNotInForce means that a job file has a configuration that the council
	// of its tenant has not adopted. Leave it out, and the one in force is taken;
	// or propose it.
	ErrNotInForce fault.Denied = "jobs.not_in_force"
)

// Names of the events of proposals.
const (
	EventProposed = "govern.proposed" // data {act, config, kind}: config is canonical JSON, as text
	EventAdopted  = "govern.adopted"  // data {config_hash, kind, proposal_id}
)

const (
	aboutProposal = "proposal"

	// maxConfig bounds a content that is proposed, in bytes.
	maxConfig = 32 << 10
	// maxProposals bounds those that nobody has decided.
	maxProposals = 100
)

// proposing are the roles in which somebody may propose.
var proposing = []govern.Role{govern.Admin, govern.Council, govern.Operator}

// Proposal is a configuration that somebody wants to be in force.
type Proposal struct {
	ID     string // digest of the signed act
	Actor  string
	Reason string
	Kind   job.Kind
	Config string // canonical JSON, as a snapshot holds it
	State  govern.State

	ballot govern.Ballot
}

// ConfigHash is that of the snapshots that come of it.
func (p *Proposal) ConfigHash() canon.Digest { return canon.SHA256([]byte(p.Config)) }

// Votes returns the last word of each of the council.
func (p *Proposal) Votes() []govern.Vote { return p.ballot.Votes() }

// Matter is what a vote on it is about.
func (p *Proposal) Matter(ledgerID string) govern.Matter {
	return govern.Matter{Ledger: ledgerID, Subject: p.ID, Bound: p.ConfigHash()}
}

// ReadConfig reads what is to be proposed: a YAML file with the members that
// the section of that kind has in a job file. What it leaves out is as there.
func ReadConfig(kind job.Kind, path string) (string, error) {
	n, err := yamlfile.Read(path, ErrFile)
	if err != nil {
		return "", err
	}
	return readConfig(kind, n)
}

// ParseConfig is [ReadConfig] of a file that was read already; name is for its
// errors.
func ParseConfig(kind job.Kind, name string, b []byte) (string, error) {
	n, err := yamlfile.Parse(name, b, ErrProposal)
	if err != nil {
		return "", err
	}
	return readConfig(kind, n)
}

func readConfig(kind job.Kind, n yamlfile.Node) (string, error) {
	s, err := n.Section(members(kind)...)
	if err != nil {
		return "", err
	}
	var r reader
	var v canon.Value
	switch kind {
	case job.KindRouter:
		v, err = r.router(s)
	case job.KindPrivacy:
		v, err = r.privacy(s)
	default:
		return "", badKind(kind)
	}
	if err != nil {
		return "", s.Because(err)
	}
	b, err := canon.Encode(v, canon.MACEFixed9)
	if err != nil {
		return "", s.Because(err)
	}
	return string(b), nil
}

func badKind(kind job.Kind) error {
	return fault.New(ErrProposal, "jobs.Propose", "a council adopts %s or %s, not %q", job.KindRouter, job.KindPrivacy, kind)
}

// checkConfig refuses what is no content of the kind, in its one form.
func checkConfig(kind job.Kind, config string) error {
	const op = "jobs.Propose"
	if len(config) > maxConfig {
		return fault.New(ErrProposal, op, "a content of %d bytes; the limit is %d", len(config), maxConfig)
	}
	err := canon.Check([]byte(config), canon.MACEFixed9)
	var v canon.Value
	if err == nil {
		v, err = canon.Parse([]byte(config))
	}
	if err == nil {
		switch kind {
		case job.KindRouter:
			_, err = job.ParseRouterConfig(v)
		case job.KindPrivacy:
			_, err = job.ParsePrivacy(v)
		default:
			return badKind(kind)
		}
	}
	if err != nil {
		return fault.Wrap(ErrProposal, op, err, "the content of a %s", kind)
	}
	return nil
}

// ProposalMatter returns what an act with the verb propose must be about. Its
// subject is the kind: a proposal is known by the act itself.
func (g *Governance) ProposalMatter(kind job.Kind, config string) govern.Matter {
	return g.state.proposalMatter(kind, config)
}

func (s *standing) proposalMatter(kind job.Kind, config string) govern.Matter {
	return govern.Matter{Ledger: s.id, Subject: string(kind), Bound: canon.SHA256([]byte(config))}
}

// proposed folds a proposal.
func (s *standing) proposed(from string, data canon.Value) error {
	p := &Proposal{Actor: from, Kind: job.Kind(data.Get("kind").Str()), Config: data.Get("config").Str()}
	if err := checkConfig(p.Kind, p.Config); err != nil {
		return err
	}
	a, err := s.admit(data, from, s.id, []govern.Verb{verbPropose}, proposing...)
	if err != nil {
		return err
	}
	if a.Act().Matter != s.proposalMatter(p.Kind, p.Config) {
		return bad("the proposal is not the one that was signed")
	}
	open := 0
	for _, x := range s.proposals {
		if x.State == govern.Open {
			open++
		}
	}
	if open >= maxProposals {
		return fault.New(ErrProposal, "jobs.Propose", "%d proposals are not decided yet; let the council decide them first", open)
	}
	p.ID, p.Reason = a.Digest().String(), a.Act().Reason
	if p.ballot, err = govern.NewBallot(p.Matter(s.id), s.quorum()); err != nil {
		return err
	}
	p.State = p.ballot.State()
	s.proposals = append(slices.Clip(s.proposals), p)
	return nil
}

// voteOnProposal folds a vote of the council.
func (s *standing) voteOnProposal(from string, data canon.Value) error {
	p, err := s.proposal(data.Get("proposal_id").Str())
	if err != nil {
		return err
	}
	a, err := s.admit(data, from, s.id, []govern.Verb{govern.Approve, govern.Deny, govern.Abstain}, govern.Council)
	if err != nil {
		return err
	}
	next := *p
	if next.ballot, err = p.ballot.Cast(a); err != nil {
		return err
	}
	next.State = next.ballot.State()
	s.lastVote = next.State
	i := slices.Index(s.proposals, p)
	s.proposals = slices.Clone(s.proposals)
	s.proposals[i] = &next
	if next.State == govern.Granted {
		s.inForce = append(slices.Clip(s.inForce), &next)
	}
	return nil
}

// anew opens the ballots of what is not decided, under another council: the
// votes until now do not count there.
func (s *standing) anew() error {
	s.proposals = slices.Clone(s.proposals)
	for i, p := range s.proposals {
		if p.State != govern.Open {
			continue
		}
		next := *p
		var err error
		if next.ballot, err = govern.NewBallot(p.Matter(s.id), s.quorum()); err != nil {
			return err
		}
		s.proposals[i] = &next
	}
	return nil
}

// adoptedIs checks what the service has noted.
func (s *standing) adoptedIs(data canon.Value) error {
	kind := job.Kind(data.Get("kind").Str())
	p, ok := s.adopted(kind)
	if !ok || p.ID != data.Get("proposal_id").Str() || p.ConfigHash().String() != data.Get("config_hash").Str() {
		return bad("%s of something that the council has not adopted", EventAdopted)
	}
	return nil
}

// adopted returns what the council has adopted last.
func (s *standing) adopted(kind job.Kind) (*Proposal, bool) {
	for _, p := range slices.Backward(s.inForce) {
		if p.Kind == kind {
			return p, true
		}
	}
	return nil, false
}

// proposal finds a proposal by the beginning of its id.
func (s *standing) proposal(id string) (*Proposal, error) {
	return prefixed(s.proposals, func(p *Proposal) string { return p.ID }, id, "proposal")
}

// Request finds a request for a replay by the beginning of its id.
func (g *Governance) Request(id string) (*Request, error) { return g.state.request(id) }

// Proposal finds a proposal by the beginning of its id.
func (g *Governance) Proposal(id string) (*Proposal, error) { return g.state.proposal(id) }

// Proposals returns what was proposed, oldest first.
func (g *Governance) Proposals() []*Proposal { return g.state.proposals }

// InForce returns what the council has adopted last of a kind.
func (g *Governance) InForce(kind job.Kind) (*Proposal, bool) { return g.state.adopted(kind) }

// Propose asks the council to adopt a content. It takes an admin, an operator
// or one of the council.
func (g *Governance) Propose(ctx context.Context, kind job.Kind, config string, a Act) (*Proposal, error) {
	return g.propose(ctx, kind, config, func(st *standing) (string, canon.Value, error) {
		return signAct(&g.cfg, g.keys, st.roster, a, verbPropose, st.proposalMatter(kind, config), proposing...)
	})
}

// ProposeSigned is [Governance.Propose] with an act that was signed elsewhere.
func (g *Governance) ProposeSigned(ctx context.Context, kind job.Kind, config string, act canon.Value) (*Proposal, error) {
	return g.propose(ctx, kind, config, func(st *standing) (string, canon.Value, error) {
		return peeked(act, st.proposalMatter(kind, config))
	})
}

func (g *Governance) propose(ctx context.Context, kind job.Kind, config string, say func(*standing) (string, canon.Value, error)) (*Proposal, error) {
	if err := checkConfig(kind, config); err != nil {
		return nil, err
	}
	err := g.append(ctx, func(st *standing) ([]line, error) {
		actor, act, err := say(st)
		return []line{{EventProposed, actor, canon.Object(
			canon.M("act", act), canon.M("config", canon.String(config)), canon.M("kind", canon.String(string(kind))))}}, err
	})
	if err != nil {
		return nil, err
	}
	return g.state.proposals[len(g.state.proposals)-1], nil
}

// Decide is a vote of one of the council on a proposal, by the beginning of its
// id. When more than half of the council has approved, it is in force.
func (g *Governance) Decide(ctx context.Context, id string, verb govern.Verb, a Act) (*Proposal, error) {
	return g.decide(ctx, id, func(st *standing, p *Proposal) (string, canon.Value, error) {
		return signAct(&g.cfg, g.keys, st.roster, a, verb, p.Matter(st.id), govern.Council)
	})
}

// DecideSigned is [Governance.Decide] with an act that was signed elsewhere.
func (g *Governance) DecideSigned(ctx context.Context, id string, act canon.Value) (*Proposal, error) {
	return g.decide(ctx, id, func(st *standing, p *Proposal) (string, canon.Value, error) { return peeked(act, p.Matter(st.id)) })
}

func (g *Governance) decide(ctx context.Context, id string, say func(*standing, *Proposal) (string, canon.Value, error)) (*Proposal, error) {
	err := g.append(ctx, func(st *standing) ([]line, error) {
		p, err := st.proposal(id)
		if err != nil {
			return nil, err
		}
		id = p.ID
		actor, act, err := say(st, p)
		if err != nil {
			return nil, err
		}
		lines := []line{{govern.EventVote, actor, canon.Object(
			canon.M("about", canon.String(aboutProposal)), canon.M("act", act), canon.M("proposal_id", canon.String(id)))}}
		next := *st
		if err := next.event(lines[0].name, actor, lines[0].data); err != nil {
			return nil, err
		}
		if next.lastVote == govern.Granted {
			lines = append(lines, line{EventAdopted, service, canon.Object(
				canon.M("config_hash", canon.String(p.ConfigHash().String())), canon.M("kind", canon.String(string(p.Kind))), canon.M("proposal_id", canon.String(id)))})
		}
		return lines, nil
	})
	if err != nil {
		return nil, err
	}
	return g.state.proposal(id)
}

// peeked returns who says an act that was signed elsewhere. One about something
// else is refused here; the fold admits the others.
func peeked(act canon.Value, about govern.Matter) (string, canon.Value, error) {
	said, err := govern.Peek(act)
	if err == nil && said.Matter != about {
		err = fault.New(govern.ErrMatter, "jobs.Governance", "the act is not about this; the matter is bound to %s", about.Bound)
	}
	return said.Actor, act, err
}

// adoptedMember is where the open of a job says by which proposal each
// configuration that the council has adopted came into its snapshots.
const adoptedMember = "adopted"

// governedBy returns the contents of a job with those that the council of its
// tenant has adopted, and by which proposals. A file that says something else is
// refused with [ErrNotInForce].
func governedBy(g *Governance, j *Job) (map[job.Kind]canon.Value, canon.Value, error) {
	contents := map[job.Kind]canon.Value{}
	var by []canon.Member
	for _, kind := range job.Kinds() {
		contents[kind] = j.Contents[kind]
		p, ok := g.InForce(kind)
		if !ok {
			continue
		}
		if j.Given[kind] {
			given, err := canon.Encode(j.Contents[kind], canon.MACEFixed9)
			if err != nil {
				return nil, canon.Value{}, err
			}
			if string(given) != p.Config {
				return nil, canon.Value{}, fault.New(ErrNotInForce, "jobs.Start", "the %s of the job file is not the one that the council has adopted with the proposal %s", kind, p.ID[:12])
			}
		}
		v, err := canon.Parse([]byte(p.Config))
		if err != nil {
			return nil, canon.Value{}, err
		}
		contents[kind] = v
		by = append(by, canon.M(string(kind), canon.String(p.ID)))
	}
	return contents, canon.Object(by...), nil
}

// Adopted says by which proposal a configuration came into a job.
type Adopted struct {
	Kind     job.Kind
	Proposal string
}

// upheld checks that what a job says to have taken over from its council is what
// the council has adopted, in the ledger under which the job began.
func upheld(s *Stored, ledgers []*Governance) error {
	for _, a := range s.Adopted {
		i := slices.IndexFunc(ledgers, func(g *Governance) bool { return g.run == s.Governance.Run })
		ok := i >= 0 && slices.ContainsFunc(ledgers[i].state.inForce, func(p *Proposal) bool {
			id := job.SnapshotID(p.ConfigHash().String(), job.SnapshotVersion, job.Namespace(det.Seed(s.Seed), a.Kind))
			return p.ID == a.Proposal && p.Kind == a.Kind && id == s.Snapshots[a.Kind]
		})
		if !ok {
			return fault.New(job.ErrIntegrity, "jobs.Replay", "the %s of the job is not what its council has adopted with the proposal %.12s", a.Kind, a.Proposal).With("snapshot_id: " + s.Snapshots[a.Kind])
		}
	}
	return nil
}
