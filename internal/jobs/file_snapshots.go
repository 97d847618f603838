package jobs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
)

// What a governance snapshot says where the file does not. They are ours, the
// document has no values for them; a snapshot holds all of them.
const (
	agentTimeoutMS = 60_000
	maxIterations  = 16
	maxReplayMS    = 600_000
	voteWindow     = 86_400
	retentionDays  = 365
	tokenBudget    = 100_000
	maxDepth       = 4
	startGain      = job.One / 2
	startExplore   = job.One / 5
)

// snapshots reads the five contents. What a file leaves out is as the document
// has it, and stands in the snapshot then: nothing is looked up later.
func (r *reader) snapshots(s yamlfile.Section) error {
	all, err := r.section(s, "snapshots", "selfrep", "brainstate", "router", "privacy", "governance")
	if err != nil {
		return err
	}
	for kind, read := range map[job.Kind]func(yamlfile.Section) (canon.Value, error){
		job.KindSelfRep: r.selfrep, job.KindBrainState: r.brainstate, job.KindRouter: r.router, job.KindPrivacy: r.privacy, job.KindGovernance: r.governance,
	} {
		part, err := r.section(all, string(kind), members(kind)...)
		if err != nil {
			return err
		}
		r.job.Given[kind] = part.Node.Node != nil
		v, err := read(part)
		if err != nil {
			if part.Node.Node != nil {
				return part.Because(err)
			}
			return s.Because(err)
		}
		r.job.Contents[kind] = v
	}
	return nil
}

func members(kind job.Kind) []string {
	switch kind {
	case job.KindSelfRep:
		return []string{"nodes", "edges", "constants"}
	case job.KindBrainState:
		return []string{"constants", "attention_gain", "explore_bias", "token_budget", "max_depth"}
	case job.KindPrivacy:
		return []string{"categories", "unredacted_roles", "retention_days", "persist_external_outputs", "persistent_consents", "safety_rules"}
	default:
		return nil // what the content of the snapshot holds
	}
}

// section returns a part of the file, in it or in a file of its own; an empty
// one if there is none.
func (r *reader) section(s yamlfile.Section, name string, known ...string) (yamlfile.Section, error) {
	n, ok := s.Get(name)
	if !ok {
		return yamlfile.Section{}, nil
	}
	if file, err := n.Text(); err == nil {
		if n, err = yamlfile.Read(r.path(file), ErrFile); err != nil {
			return yamlfile.Section{}, err
		}
	}
	return n.Section(known...)
}

// over returns a content with the members that the section has.
func over(v canon.Value, s yamlfile.Section, names ...string) (canon.Value, error) {
	if len(names) == 0 {
		for name := range s.Members {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	for _, name := range names {
		m, err := decimals(s, name)
		if err != nil {
			return v, err
		}
		if m.IsZero() {
			continue
		}
		if !v.Has(name) {
			n, _ := s.Get(name)
			return v, n.Fail("%q is not known here", name)
		}
		if old := v.Get(name); old.Kind() == canon.KindObject && m.Kind() == canon.KindObject && name != "action_classes" {
			for _, e := range m.Members() {
				e.Value, err = like(old.Get(e.Name), e.Value)
				if err != nil {
					return v, err
				}
				old = old.With(e.Name, e.Value)
			}
			m = old
		}
		if m, err = like(v.Get(name), m); err != nil {
			return v, err
		}
		v = v.With(name, m)
	}
	return v, nil
}

// like makes a whole number one of nine decimals where the standard is one: a
// person writes 1 for 1.0.
func like(standard, v canon.Value) (canon.Value, error) {
	of, ok := standard.Token()
	if _, number := v.Token(); !ok || !number || !strings.Contains(of, ".") {
		return v, nil
	}
	n, err := job.Quantise(v)
	return n.Value(), err
}

// decimals reads a member whose numbers with a point are those of the formulas,
// which have nine decimals.
func decimals(s yamlfile.Section, name string) (canon.Value, error) {
	v, err := s.JSON(name)
	if err != nil {
		return v, err
	}
	return quantised(v)
}

func quantised(v canon.Value) (canon.Value, error) {
	if token, ok := v.Token(); ok && strings.ContainsAny(token, ".eE") {
		n, err := job.Quantise(v)
		return n.Value(), err
	}
	var err error
	switch v.Kind() {
	case canon.KindArray:
		elems := slices.Clone(v.Elems())
		for i := range elems {
			if elems[i], err = quantised(elems[i]); err != nil {
				return v, err
			}
		}
		return canon.Array(elems...), nil
	case canon.KindObject:
		ms := slices.Clone(v.Members())
		for i := range ms {
			if ms[i].Value, err = quantised(ms[i].Value); err != nil {
				return v, err
			}
		}
		return canon.Object(ms...), nil
	default:
		return v, nil
	}
}

// selfrep reads nodes, edges and constants. Without nodes each agent is one,
// as new as one can be.
func (r *reader) selfrep(s yamlfile.Section) (canon.Value, error) {
	empty, err := job.NewSelfRep(job.StandardTrust(), nil, nil)
	if err != nil {
		return canon.Value{}, err
	}
	v, err := over(empty.Value(), s, "constants")
	if err != nil {
		return v, err
	}
	var nodes, edges []canon.Value
	list, err := decimals(s, "nodes")
	if err != nil {
		return v, err
	}
	for _, e := range list.Elems() {
		nodes = append(nodes, node(e, v.Get("constants")))
	}
	for _, a := range r.job.Spec.Agents {
		if !slices.ContainsFunc(nodes, func(n canon.Value) bool { return n.Get("node_id").Str() == a.Node }) {
			nodes = append(nodes, node(canon.Object(canon.M("node_id", canon.String(a.Node))), v.Get("constants")))
		}
	}
	links, err := s.JSON("edges")
	if err != nil {
		return v, err
	}
	for _, e := range links.Elems() {
		if !e.Has("required") {
			e = e.With("required", canon.Bool(true))
		}
		edges = append(edges, e.With("edge_id", canon.String(e.Get("from").Str()+"->"+e.Get("to").Str())))
	}
	slices.SortFunc(edges, func(a, b canon.Value) int { return strings.Compare(a.Get("edge_id").Str(), b.Get("edge_id").Str()) })
	for i, n := range nodes {
		var needs []string
		for _, e := range edges {
			if e.Get("from").Str() == n.Get("node_id").Str() {
				needs = append(needs, e.Get("to").Str())
			}
		}
		slices.Sort(needs)
		nodes[i] = n.With("dependencies", canon.Strings(needs))
	}
	slices.SortFunc(nodes, func(a, b canon.Value) int {
		x, _ := job.Quantise(a.Get("apt"))
		y, _ := job.Quantise(b.Get("apt"))
		return cmp.Or(cmp.Compare(y, x), strings.Compare(a.Get("node_id").Str(), b.Get("node_id").Str()))
	})
	v = v.With("nodes", canon.Array(nodes...)).With("edges", canon.Array(edges...))
	sr, err := job.ParseSelfRep(v)
	if err != nil {
		return v, err
	}
	return sr.Value(), nil
}

// node fills in what a node of a file leaves out.
func node(v, constants canon.Value) canon.Value {
	id := v.Get("node_id").Str()
	kind, _, _ := strings.Cut(id, ":")
	none := canon.Array()
	for _, m := range []canon.Member{
		canon.M("type", canon.String(kind)), canon.M("display_name", canon.String(id)), canon.M("version", canon.String("1")),
		canon.M("status", canon.String(string(job.Healthy))), canon.M("status_reason", canon.Null()), canon.M("apt", constants.Get("apt_init")),
		canon.M("metrics", canon.Object()), canon.M("policy", canon.Object()), canon.M("registration", canon.Object()),
		canon.M("last_updated", canon.String(det.Epoch.String())),
	} {
		if !v.Has(m.Name) {
			v = v.With(m.Name, m.Value)
		}
	}
	if apt, err := like(constants.Get("apt_init"), v.Get("apt")); err == nil {
		v = v.With("apt", apt)
	}
	fill := func(name string, ms ...canon.Member) {
		part := v.Get(name)
		for _, m := range ms {
			if !part.Has(m.Name) {
				part = part.With(m.Name, m.Value)
			}
		}
		v = v.With(name, part)
	}
	fill("metrics", canon.M("apt_events", canon.Int(0)), canon.M("consecutive_failures", canon.Int(0)), canon.M("total_calls", canon.Int(0)))
	fill("policy", canon.M("allowed_actions", none), canon.M("forbidden_actions", none), canon.M("immutable_actions", none))
	fill("registration", canon.M("registered_at", canon.String(det.Epoch.String())), canon.M("registered_by", canon.String("operator")))
	return v
}

func (r *reader) brainstate(s yamlfile.Section) (canon.Value, error) {
	attend := job.Attention{Gain: startGain, Explore: startExplore}
	for name, to := range map[string]*job.Nano{"attention_gain": &attend.Gain, "explore_bias": &attend.Explore} {
		v, err := s.JSON(name)
		if err != nil {
			return v, err
		}
		if v.IsZero() {
			continue
		}
		if *to, err = job.Quantise(v); err != nil {
			return v, err
		}
	}
	tokens, err := s.Count("token_budget", tokenBudget)
	if err != nil {
		return canon.Value{}, err
	}
	depth, err := s.Count("max_depth", maxDepth)
	if err != nil {
		return canon.Value{}, err
	}
	b := job.Brain{
		Constants: job.StandardBrainConstants(),
		State:     job.NewBrainState(r.job.Spec.Seed, det.Epoch, attend, job.Budget{Tokens: bounded(tokens), MaxDepth: bounded(depth)}),
	}
	v, err := over(b.Value(), s, "constants")
	if err != nil {
		return v, err
	}
	if b, err = job.ParseBrain(v); err != nil {
		return v, err
	}
	return b.Value(), nil
}

func (*reader) router(s yamlfile.Section) (canon.Value, error) {
	c := job.StandardRouter()
	v, err := over(c.Value(), s)
	if err != nil {
		return v, err
	}
	if c, err = job.ParseRouterConfig(v); err != nil {
		return v, err
	}
	return c.Value(), nil
}

// privacy reads the categories and rules. Without any nothing is looked for.
func (*reader) privacy(s yamlfile.Section) (canon.Value, error) {
	v := canon.Object(
		canon.M("categories", canon.Array()),
		canon.M("persist_external_outputs", canon.Bool(false)),
		canon.M("persistent_consents", canon.Bool(false)),
		canon.M("retention_days", canon.Int(retentionDays)),
		canon.M("safety_rules", canon.Array()),
		canon.M("unredacted_roles", canon.Array(canon.String("admin"))))
	v, err := over(v, s)
	if err != nil {
		return v, err
	}
	if rules := slices.Clone(v.Get("safety_rules").Elems()); len(rules) == 0 && v.Get("safety_rules").Kind() == canon.KindArray {
		v = v.Without("safety_rules")
	} else {
		slices.SortFunc(rules, func(a, b canon.Value) int { return strings.Compare(a.Get("rule_id").Str(), b.Get("rule_id").Str()) })
		v = v.With("safety_rules", canon.Array(rules...))
	}
	var list []canon.Value
	for _, e := range v.Get("categories").Elems() {
		if !e.Has("luhn") {
			e = e.With("luhn", canon.Bool(false))
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b canon.Value) int { return strings.Compare(a.Get("pii_type").Str(), b.Get("pii_type").Str()) })
	p, err := job.ParsePrivacy(v.With("categories", canon.Array(list...)))
	if err != nil {
		return v, err
	}
	return p.Value(), nil
}

// governance reads the rules of the council. Who sits on it is filled in from
// the roster where the file names nobody, when the job starts.
func (*reader) governance(s yamlfile.Section) (canon.Value, error) {
	v := canon.Object(
		canon.M("action_classes", canon.Object()),
		canon.M("action_requests", canon.Array()),
		canon.M("actionrequest_timeout", canon.Int(voteWindow)),
		canon.M("agent_timeout_ms", canon.Int(agentTimeoutMS)),
		canon.M("audit_window_days", canon.Int(retentionDays)),
		canon.M("council", canon.Array()),
		canon.M("council_quorum", canon.Int(0)),
		canon.M("emergency_review_window", canon.Int(voteWindow)),
		canon.M("gov_approval_wait", canon.Int(0)),
		canon.M("governance_retention_days", canon.Int(retentionDays)),
		canon.M("iteration_cap", canon.Int(maxIterations)),
		canon.M("max_replay_ms", canon.Int(maxReplayMS)),
		canon.M("super_admins", canon.Array()),
		canon.M("vote_window", canon.Int(voteWindow)))
	return over(v, s)
}
