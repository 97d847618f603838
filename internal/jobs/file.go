package jobs

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/transport"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/s3blob"
)

// ErrFile means that a job file cannot be read: it is no YAML, or says what no
// job file says. The message has the line; mend it there.
const ErrFile fault.Invalid = "jobs.bad_file"

// Job is what a person writes down of a job: a job file.
type Job struct {
	// Spec is what decides, beside the snapshots. Where Actors is empty its
	// roster is filled in when the job starts.
	Spec job.Spec
	// Contents are those of the five snapshots, before they are sealed.
	Contents map[job.Kind]canon.Value
	// Given are the kinds that the file says something about.
	Given   map[job.Kind]bool
	Actors  []Actor
	Script  Script
	Title   string
	Archive string // the place in a bucket where it is archived when it is over
}

// Actor is somebody who may sign acts about a job, or in a tenant.
type Actor struct {
	ID    string
	Key   sign.PublicKey // zero: the user's own key of that name
	Roles []govern.Role
}

// reader reads one job file. Paths in it are relative to it.
type reader struct {
	dir string
	job *Job
}

// Read reads a job file. A name that it does not know is refused.
func Read(path string) (*Job, error) {
	n, err := yamlfile.Read(path, ErrFile)
	if err != nil {
		return nil, err
	}
	s, err := n.Section("job_id", "seed", "title", "tenant", "input", "candidates", "agents", "snapshots", "memory", "actors", "persist", "strict", "archive")
	if err != nil {
		return nil, err
	}
	r := &reader{dir: filepath.Dir(path), job: &Job{Contents: map[job.Kind]canon.Value{}, Given: map[job.Kind]bool{}}}
	for _, f := range []func(yamlfile.Section) error{r.basics, r.input, r.agents, r.actors, r.memory, r.snapshots} {
		if err := f(s); err != nil {
			return nil, err
		}
	}
	return r.job, nil
}

func (r *reader) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.dir, p)
}

func (r *reader) basics(s yamlfile.Section) error {
	spec := &r.job.Spec
	seed := ""
	for name, to := range map[string]*string{"job_id": &spec.ID, "seed": &seed, "title": &r.job.Title, "tenant": &spec.Tenant, "archive": &r.job.Archive} {
		var err error
		if *to, err = s.Text(name); err != nil {
			return err
		}
	}
	if seed == "" {
		return s.Fail("the member seed is missing: every decision of a job comes from it")
	}
	spec.Seed = det.Seed(seed)
	if r.job.Archive != "" {
		p, err := s3blob.ParsePlace(r.job.Archive)
		if err != nil {
			return s.Fail("archive: %s", fault.Text(err))
		}
		r.job.Archive = p.String()
	}
	var err error
	if spec.Strict, err = s.Flag("strict"); err != nil {
		return err
	}
	persist, err := s.Text("persist")
	if err != nil {
		return err
	}
	spec.Persist = job.PersistDefault
	if persist != "" {
		spec.Persist = job.Persist(persist)
	}
	if !slices.Contains([]job.Persist{job.PersistAlways, job.PersistNever, job.PersistDefault}, spec.Persist) {
		return s.Fail("persist is %q; there are always, never and default", persist)
	}
	spec.Candidates, err = s.Texts("candidates")
	return err
}

func (r *reader) input(s yamlfile.Section) error {
	spec := &r.job.Spec
	n, ok := s.Get("input")
	if !ok {
		return s.Fail("the member input is missing: at least {query: …}")
	}
	in, err := n.Section("query", "user", "roles", "goal", "consents")
	if err != nil {
		return err
	}
	if spec.Query, err = in.Text("query"); err != nil {
		return err
	}
	if spec.User, err = in.Text("user"); err != nil {
		return err
	}
	if spec.Roles, err = in.Texts("roles"); err != nil {
		return err
	}
	if spec.Query == "" {
		return n.Fail("the query is missing")
	}
	if r.job.Title == "" {
		r.job.Title = spec.Query
	}
	spec.Goal = job.GoalSpec{User: job.One, Heuristic: job.One, Metadata: canon.Object()}
	if g, ok := in.Get("goal"); ok {
		if err := goal(g, &spec.Goal); err != nil {
			return err
		}
	}
	c, ok := in.Get("consents")
	if !ok {
		return nil
	}
	items, err := c.Items()
	if err != nil {
		return err
	}
	for _, e := range items {
		if err := r.consent(e); err != nil {
			return err
		}
	}
	return nil
}

func goal(n yamlfile.Node, g *job.GoalSpec) error {
	s, err := n.Section("user", "heuristic", "metadata")
	if err != nil {
		return err
	}
	for name, to := range map[string]*job.Nano{"user": &g.User, "heuristic": &g.Heuristic} {
		v, err := s.JSON(name)
		if err != nil {
			return err
		}
		if v.IsZero() {
			continue
		}
		if *to, err = job.Quantise(v); err != nil {
			return n.Because(err)
		}
	}
	v, err := s.JSON("metadata")
	if err == nil && !v.IsZero() {
		g.Metadata = v
	}
	return err
}

func (r *reader) consent(n yamlfile.Node) error {
	s, err := n.Section("types", "text", "scope")
	if err != nil {
		return err
	}
	spec := &r.job.Spec
	c := job.Consent{User: spec.User, Seed: spec.Seed, Scope: job.ForJob}
	if c.Types, err = s.Texts("types"); err != nil {
		return err
	}
	slices.Sort(c.Types)
	if c.Text, err = s.Text("text"); err != nil {
		return err
	}
	scope, err := s.Text("scope")
	if err != nil {
		return err
	}
	if scope != "" {
		c.Scope = job.ConsentScope(scope)
	}
	if _, err := job.ParseConsent(c.Value()); err != nil {
		return n.Because(err)
	}
	spec.Consents = append(spec.Consents, c)
	return nil
}

func (r *reader) agents(s yamlfile.Section) error {
	n, ok := s.Get("agents")
	if !ok {
		return s.Fail("the member agents is missing: nobody could answer")
	}
	items, err := n.Items()
	if err != nil {
		return err
	}
	for _, e := range items {
		if err := r.agent(e); err != nil {
			return err
		}
	}
	return nil
}

// agent reads {node, and how it is called}.
func (r *reader) agent(n yamlfile.Node) error {
	s, err := n.Section("node", "exec", "http", "mcp", "model", "script", "go", "env", "env_from", "dir", "upstreams", "class", "confidence")
	if err != nil {
		return err
	}
	node, err := s.Text("node")
	if err != nil {
		return err
	}
	if node == "" {
		return n.Fail("an agent without a node, such as agent:writer_v1")
	}
	ways := slices.DeleteFunc([]string{"exec", "http", "mcp", "model", "script", "go"}, func(w string) bool { return !s.Has(w) })
	if len(ways) != 1 {
		return n.Fail("%s is called in %d ways; give one of exec, http, mcp, model, script and go", node, len(ways))
	}
	t, err := r.way(s, node, ways[0])
	if err != nil {
		return err
	}
	class, err := s.Text("class")
	if err != nil {
		return err
	}
	if class == "" && (ways[0] == kindScript || ways[0] == kindModel) {
		class = "read"
	}
	if class != "" {
		t = t.With("class", canon.String(class))
	}
	confidence, err := s.JSON("confidence")
	if err != nil {
		return err
	}
	if !confidence.IsZero() {
		q, err := job.Quantise(confidence)
		if err != nil || !q.Unit() {
			return n.Fail("confidence is no number of 0 to 1")
		}
		t = t.With("confidence", q.Value())
	}
	r.job.Spec.Agents = append(r.job.Spec.Agents, job.Agent{Node: node, Transport: t})
	return nil
}

func (r *reader) way(s yamlfile.Section, node, way string) (canon.Value, error) {
	n, _ := s.Get(way)
	switch way {
	case "exec":
		argv, err := s.Texts("exec")
		if err != nil {
			return canon.Value{}, err
		}
		t, err := transport.Exec(s, r.dir, kindExec, argv)
		if err != nil {
			return t, err
		}
		return upstreams(s, t)
	case "http":
		return transport.HTTP(n)
	case "mcp":
		return r.mcp(n)
	case kindModel:
		return model(n)
	case "go":
		name, err := n.Text()
		return canon.Object(canon.M("kind", canon.String(kindGo)), canon.M("function", canon.String(name))), err
	default:
		return canon.Object(canon.M("kind", canon.String(kindScript))), r.script(n, node)
	}
}

// upstreams reads {NAME: URL}: where the models and services of a program
// really are. It finds each at the recording proxy, by the variables that
// reprise record sets.
func upstreams(s yamlfile.Section, t canon.Value) (canon.Value, error) {
	n, ok := s.Get("upstreams")
	if !ok {
		return t, nil
	}
	v, err := n.JSON()
	if err != nil {
		return t, err
	}
	if v.Kind() != canon.KindObject {
		return t, n.Fail("upstreams is names and addresses, as in {openai: http://localhost:8080/v1}")
	}
	for _, m := range v.Members() {
		if _, err := capture.Plan(nil, []string{m.Name + "=" + m.Value.Str()}); err != nil {
			return t, n.Because(err)
		}
	}
	return t.With("upstreams", v), nil
}

func (r *reader) mcp(n yamlfile.Node) (canon.Value, error) {
	s, err := n.Section("url", "argv", "env", "env_from", "dir", "tool")
	if err != nil {
		return canon.Value{}, err
	}
	argv, err := s.Texts("argv")
	if err != nil {
		return canon.Value{}, err
	}
	url, err := s.Text("url")
	if err != nil {
		return canon.Value{}, err
	}
	tool, err := s.Text("tool")
	if err != nil {
		return canon.Value{}, err
	}
	if tool == "" || (url == "") == (len(argv) == 0) {
		return canon.Value{}, n.Fail("an agent behind an MCP server has a tool, and either url or argv")
	}
	t := canon.Object(canon.M("kind", canon.String("mcp")), canon.M("url", canon.String(url)))
	if url == "" {
		if t, err = transport.Exec(s, r.dir, "mcp", argv); err != nil {
			return t, err
		}
	}
	return t.With("tool", canon.String(tool)), nil
}

// model reads {url, key_env, parameters, prompt}, or an address.
func model(n yamlfile.Node) (canon.Value, error) {
	t := canon.Object(canon.M("kind", canon.String(kindModel)))
	if url, err := n.Text(); err == nil {
		t = t.With("url", canon.String(chatAddress(url)))
	} else {
		s, err := n.Section("url", "key_env", "parameters", "prompt")
		if err != nil {
			return t, err
		}
		for _, name := range []string{"url", "key_env", "prompt"} {
			text, err := s.Text(name)
			if err != nil {
				return t, err
			}
			if name == "url" {
				text = chatAddress(text)
			}
			if text != "" {
				t = t.With(name, canon.String(text))
			}
		}
		p, err := s.JSON("parameters")
		if err != nil {
			return t, err
		}
		if !p.IsZero() {
			if p.Kind() != canon.KindObject || p.Has("messages") || p.Has("stream") {
				return t, n.Fail("parameters are what a chat request holds beside messages and stream, as names and values")
			}
			t = t.With("parameters", p)
		}
	}
	if url := t.Get("url").Str(); !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return t, n.Fail("%q is not the address of a model", url)
	}
	return t, nil
}

func chatAddress(url string) string {
	const chat = "/chat/completions"
	if url == "" || strings.HasSuffix(url, chat) {
		return url
	}
	return strings.TrimSuffix(url, "/") + chat
}

func (r *reader) actors(s yamlfile.Section) error {
	n, ok := s.Get("actors")
	if !ok {
		return nil
	}
	items, err := n.Items()
	if err != nil {
		return err
	}
	for _, e := range items {
		a, err := r.actor(e)
		if err != nil {
			return err
		}
		r.job.Actors = append(r.job.Actors, a)
	}
	return nil
}

func (r *reader) actor(n yamlfile.Node) (Actor, error) {
	s, err := n.Section("id", "key", "roles")
	if err != nil {
		return Actor{}, err
	}
	a := Actor{}
	if a.ID, err = s.Text("id"); err != nil {
		return a, err
	}
	if a.ID == "" {
		return a, n.Fail("an actor without an id")
	}
	if k, err := s.Text("key"); err != nil || k != "" {
		if err != nil {
			return a, err
		}
		if a.Key, err = ReadKey(r.path(k), k); err != nil {
			return a, n.Because(err)
		}
	}
	names, err := s.Texts("roles")
	for _, name := range names {
		a.Roles = append(a.Roles, govern.Role(name))
	}
	if err == nil && len(a.Roles) == 0 {
		err = n.Fail("actor %q has no roles; there are operator, admin, auditor, council and approver", a.ID)
	}
	return a, err
}

// memory reads {facts: [{key, value}]}: what the job remembers when it begins.
func (r *reader) memory(s yamlfile.Section) error {
	spec := &r.job.Spec
	n, ok := s.Get("memory")
	if !ok {
		return nil
	}
	m, err := n.Section("semantic", "episodes")
	if err != nil {
		return err
	}
	if v, err := m.JSON("semantic"); err != nil || !v.IsZero() {
		if err != nil {
			return err
		}
		if spec.Semantic, err = job.ParseSemantic(v); err != nil {
			return n.Because(err)
		}
	}
	v, err := m.JSON("episodes")
	if err != nil {
		return err
	}
	for _, e := range v.Elems() {
		row, err := job.ParseEpisode(e)
		if err == nil {
			spec.Episodes, err = spec.Episodes.Add(row)
		}
		if err != nil {
			return n.Because(err)
		}
	}
	return nil
}

const maxTitle = 80

func title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > maxTitle {
		line = string(runes[:maxTitle-1]) + "…"
	}
	return line
}

// seconds bounds a number of a file.
func bounded(n uint64) int64 { return int64(min(n, math.MaxInt32)) }
