package trajectories

import (
	"encoding/hex"
	"os"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// policies reads the law: policies that stand in the task or in files, signed
// or not, and whose signatures count.
func (r *reader) policies(s yamlfile.Section) (err error) {
	if r.task.Issuers, err = yamlfile.List(s, "issuers", r.key); err != nil {
		return err
	}
	r.task.Policies, err = yamlfile.List(s, "policies", r.policy)
	return err
}

// policy reads a policy or bundle, or the name of the file that holds it.
func (r *reader) policy(n yamlfile.Node) (trajectory.Bundle, error) {
	if file, err := n.Text(); err == nil {
		if n, err = yamlfile.Read(r.path(file), ErrTask); err != nil {
			return trajectory.Bundle{}, err
		}
	}
	v, err := n.JSON()
	if err != nil {
		return trajectory.Bundle{}, err
	}
	b, err := readPolicy(v)
	return b, n.Because(err)
}

// readPolicy reads a policy, or a bundle that is signed.
func readPolicy(v canon.Value) (trajectory.Bundle, error) {
	if v.Has("policy") {
		return trajectory.ParseBundle(v)
	}
	if lifted, err := trajectory.Lift(v); err == nil {
		v = lifted
	}
	p, err := trajectory.ParsePolicy(v)
	return trajectory.Bundle{Policy: p}, err
}

// key reads a public key: 64 hexadecimal digits, or a file in PEM form.
func (r *reader) key(n yamlfile.Node) (sign.PublicKey, error) {
	text, err := n.Text()
	if err != nil {
		return sign.PublicKey{}, err
	}
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == 32 {
		k, err := sign.ParseKey(raw)
		return k, n.Because(err)
	}
	if _, err := os.Stat(r.path(text)); err != nil {
		return sign.PublicKey{}, n.Fail("%q is neither a public key of 64 hexadecimal digits nor a file", text)
	}
	k, err := keys.ReadPublicFile(r.path(text))
	return k, n.Because(err)
}

func (r *reader) people(s yamlfile.Section) (err error) {
	if r.task.Actors, err = yamlfile.List(s, "actors", r.actor); err != nil {
		return err
	}
	r.task.Channels, err = yamlfile.List(s, "channels", channel)
	return err
}

func roles(s yamlfile.Section) ([]govern.Role, error) {
	names, err := s.Texts("roles")
	out := make([]govern.Role, len(names))
	for i, n := range names {
		out[i] = govern.Role(n)
	}
	return out, err
}

func (r *reader) actor(n yamlfile.Node) (actorTask, error) {
	s, err := n.Section("id", "key", "roles")
	if err != nil {
		return actorTask{}, err
	}
	a := actorTask{}
	if a.id, err = s.Text("id"); err != nil {
		return a, err
	}
	if a.id == "" {
		return a, n.Fail("an actor without an id")
	}
	if k, ok := s.Get("key"); ok {
		if a.key, err = r.key(k); err != nil {
			return a, err
		}
	}
	if a.roles, err = roles(s); err == nil && len(a.roles) == 0 {
		err = n.Fail("actor %q has no roles; there are operator, admin, auditor, council and approver", a.id)
	}
	return a, err
}

// channel reads {name, need, roles, rule}, or {name, quorums: […]} where more
// than one group must agree.
func channel(n yamlfile.Node) (trajectory.Channel, error) {
	s, err := n.Section("name", "need", "roles", "rule", "quorums")
	if err != nil {
		return trajectory.Channel{}, err
	}
	c := trajectory.Channel{}
	if c.Name, err = s.Text("name"); err != nil {
		return c, err
	}
	if c.Name == "" {
		return c, n.Fail("a channel without a name")
	}
	parts := []yamlfile.Section{s}
	if s.Has("quorums") {
		parts, err = yamlfile.List(s, "quorums", func(n yamlfile.Node) (yamlfile.Section, error) {
			return n.Section("need", "roles", "rule")
		})
		if err != nil {
			return c, err
		}
	}
	for _, p := range parts {
		q, err := quorum(p)
		if err != nil {
			return c, err
		}
		c.Quorums = append(c.Quorums, q)
	}
	return c, nil
}

func quorum(s yamlfile.Section) (govern.Quorum, error) {
	need, err := s.Count("need", 1)
	if err != nil {
		return govern.Quorum{}, err
	}
	q := govern.Quorum{Need: int(min(need, govern.MaxNeed+1))}
	if q.Roles, err = roles(s); err != nil {
		return q, err
	}
	if len(q.Roles) == 0 {
		q.Roles = []govern.Role{govern.Approver}
	}
	rule, err := s.Text("rule")
	switch rule {
	case "", govern.Veto.String():
	case govern.Majority.String():
		q.Rule = govern.Majority
	default:
		return q, s.Fail("there is no rule %q; there are %s and %s", rule, govern.Veto, govern.Majority)
	}
	return q, err
}
