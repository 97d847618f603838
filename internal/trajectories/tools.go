package trajectories

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/internal/transport"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// toolSpec is one item of the section tools: tools that are known now, or a
// server that is asked for them.
type toolSpec struct {
	at    yamlfile.Node
	tools []trajectory.Tool
	mcp   *mcpSpec
}

// mcpSpec is an MCP server whose tools are offered.
type mcpSpec struct {
	transport canon.Value
	prefix    string
	only      []string
	effect    trajectory.Effect
	risk      trajectory.Risk
	effects   map[string]trajectory.Effect // of single tools
	loose     bool
}

// ErrToolSchema means that a tool of an MCP server declares its arguments in a
// way that is not held here. Leave the tool out with only, or say loose: true
// for the server: then its arguments are taken as any object.
const ErrToolSchema fault.Invalid = "trajectories.tool_schema"

// AddTools adds the tools of a file to those of the task. The file is a list
// like the section tools of a task file, or has that section.
func (t *Task) AddTools(path string) error {
	n, err := yamlfile.Read(path, ErrTask)
	if err != nil {
		return err
	}
	return t.addTools(n, filepath.Dir(path))
}

func (t *Task) addTools(n yamlfile.Node, dir string) error {
	r := &reader{dir: dir, task: t}
	if items, err := n.Items(); err == nil {
		return r.toolList(items)
	}
	s, err := n.Section("tools")
	if err != nil {
		return err
	}
	return r.tools(s)
}

func (r *reader) tools(s yamlfile.Section) error {
	n, ok := s.Get("tools")
	if !ok {
		return nil
	}
	items, err := n.Items()
	if err != nil {
		return err
	}
	return r.toolList(items)
}

func (r *reader) toolList(items []yamlfile.Node) error {
	for _, n := range items {
		s, err := n.Section("builtin", "files", "mcp", "name", "version", "description", "effect", "risk", "args",
			"estimate", "when", "changes", "undo", "exec", "http", "env", "env_from", "dir")
		if err != nil {
			return err
		}
		spec := toolSpec{at: n}
		switch {
		case s.Has("builtin"):
			spec.tools, err = builtins(s)
		case s.Has("files"):
			spec.tools, err = r.files(s)
		case s.Has("mcp"):
			spec.mcp, err = r.mcp(s)
		default:
			var t trajectory.Tool
			t, err = r.tool(s)
			spec.tools = []trajectory.Tool{t}
		}
		if err != nil {
			return err
		}
		r.task.Tools = append(r.task.Tools, spec)
	}
	return nil
}

// builtins returns the built-in tools of the groups that are named.
func builtins(s yamlfile.Section) ([]trajectory.Tool, error) {
	if err := s.Alone("builtin"); err != nil {
		return nil, err
	}
	groups, err := s.Texts("builtin")
	if err != nil {
		return nil, err
	}
	var out []trajectory.Tool
	for _, g := range groups {
		found := false
		for _, t := range trajectory.Builtins() {
			if t.Name == g || strings.HasPrefix(t.Name, g+"_") {
				out, found = append(out, t), true
			}
		}
		if !found {
			return nil, s.Fail("there is no built-in tool or group %q; there are kv, memory and delegate", g)
		}
	}
	return out, nil
}

// tool reads the declaration of one tool. The engine reads most of it; the
// transport is put together here.
func (r *reader) tool(s yamlfile.Section) (trajectory.Tool, error) {
	v := canon.Object()
	for _, name := range []string{"name", "version", "description", "effect", "risk", "args", "estimate", "when", "changes", "undo"} {
		m, err := s.JSON(name)
		if err != nil {
			return trajectory.Tool{}, err
		}
		v = v.With(name, m)
	}
	if !v.Has("version") {
		v = v.With("version", canon.String("1"))
	}
	if version, ok := v.Get("version").AsInt(); ok {
		v = v.With("version", canon.String(canon.Int(version).String()))
	}
	if !v.Has("args") {
		v = v.With("args", canon.Object(canon.M("type", canon.String("object")), canon.M("additionalProperties", canon.Bool(false))))
	}
	e := v.Get("estimate")
	if e.IsZero() {
		e = canon.Object()
	}
	v = v.With("estimate", estimate(e))
	transport, err := r.transport(s)
	if err != nil {
		return trajectory.Tool{}, err
	}
	t, err := trajectory.ParseTool(v.With("transport", transport))
	return t, s.Because(err)
}

// estimate fills in the counters that a declaration leaves out.
func estimate(e canon.Value) canon.Value {
	for _, m := range (trajectory.Budget{ToolCalls: 1}).Value().Members() {
		if !e.Has(m.Name) {
			e = e.With(m.Name, m.Value)
		}
	}
	return e
}

// transport reads how a tool is called: a program, or an address.
func (r *reader) transport(s yamlfile.Section) (canon.Value, error) {
	argv, err := s.Texts("exec")
	if err != nil {
		return canon.Value{}, err
	}
	h, isHTTP := s.Get("http")
	switch {
	case isHTTP == (len(argv) > 0):
		return canon.Value{}, s.Fail("a tool has either exec, a program and its arguments, or http, or it is among builtin, files or mcp")
	case isHTTP:
		return transport.HTTP(h)
	}
	return transport.Exec(s, r.dir, "exec", argv)
}

// filesTools are the declarations of the tools on a folder.
const filesTools = `[
 {"name":"fs_read","description":"Read a text file of the folder.","effect":"read",
  "args":{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":1024}},"required":["path"],"additionalProperties":false}},
 {"name":"fs_list","description":"List what a folder holds; without a path the folder itself.","effect":"read",
  "args":{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":1024}},"additionalProperties":false}},
 {"name":"fs_write","description":"Write a text file of the folder, whole.","effect":"external",
  "args":{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":1024},"content":{"type":"string","maxLength":1000000}},"required":["path","content"],"additionalProperties":false},
  "changes":[{"op":"put","kind":"file","id":"{args.path}","value":{"size":"{output.size}","sha256":"{output.sha256}"}}],
  "undo":{"tool":"fs_restore","args":{"path":"{args.path}","before":"{output.before}"}}},
 {"name":"fs_restore","description":"Put back what a file held before; null removes it.","effect":"external",
  "args":{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":1024},"before":{"type":["string","null"]}},"required":["path","before"],"additionalProperties":false}}
]`

// files returns the tools on a folder. Nothing outside of it can be reached,
// whatever a path or a link says.
func (r *reader) files(s yamlfile.Section) ([]trajectory.Tool, error) {
	if err := s.Alone("files"); err != nil {
		return nil, err
	}
	n := s.Members["files"]
	f, err := n.Section("root", "write")
	if err != nil {
		return nil, err
	}
	root, err := f.Text("root")
	if err != nil {
		return nil, err
	}
	if root == "" {
		return nil, n.Fail("files has no root, the folder that the tools see")
	}
	write, err := f.Flag("write")
	if err != nil {
		return nil, err
	}
	list, err := canon.Parse([]byte(filesTools))
	if err != nil {
		return nil, fault.Wrap(fault.ErrUnknown, "trajectories.files", err, "the declarations of the file tools")
	}
	var out []trajectory.Tool
	for _, v := range list.Elems() {
		if v.Get("effect").Str() != "read" && !write {
			continue
		}
		op := strings.TrimPrefix(v.Get("name").Str(), "fs_")
		t, err := trajectory.ParseTool(v.With("version", canon.String("1")).With("estimate", estimate(canon.Object())).With("transport", canon.Object(
			canon.M("kind", canon.String("file")), canon.M("op", canon.String(op)), canon.M("root", canon.String(r.path(root))),
		)))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// mcp reads a server: {url} or {argv}, and what is held of its tools.
func (r *reader) mcp(s yamlfile.Section) (*mcpSpec, error) {
	if err := s.Alone("mcp"); err != nil {
		return nil, err
	}
	n := s.Members["mcp"]
	m, err := n.Section("url", "argv", "env", "env_from", "dir", "prefix", "only", "effect", "effects", "risk", "loose")
	if err != nil {
		return nil, err
	}
	spec := &mcpSpec{effect: trajectory.EffectExternal, effects: map[string]trajectory.Effect{}}
	argv, err := m.Texts("argv")
	if err != nil {
		return nil, err
	}
	url, err := m.Text("url")
	if err != nil {
		return nil, err
	}
	switch {
	case (url == "") == (len(argv) == 0):
		return nil, n.Fail("an MCP server has either url or argv")
	case url != "":
		spec.transport = canon.Object(canon.M("kind", canon.String("mcp")), canon.M("url", canon.String(url)))
	default:
		if spec.transport, err = transport.Exec(m, r.dir, "mcp", argv); err != nil {
			return nil, err
		}
	}
	if spec.prefix, err = m.Text("prefix"); err != nil {
		return nil, err
	}
	if spec.only, err = m.Texts("only"); err != nil {
		return nil, err
	}
	if spec.loose, err = m.Flag("loose"); err != nil {
		return nil, err
	}
	risk, err := m.Text("risk")
	if err != nil {
		return nil, err
	}
	spec.risk = trajectory.Risk(risk)
	if e, err := m.Text("effect"); err != nil || e != "" {
		if err != nil {
			return nil, err
		}
		spec.effect = trajectory.Effect(e)
	}
	if e, ok := m.Get("effects"); ok {
		v, err := e.JSON()
		if err != nil {
			return nil, err
		}
		for _, x := range v.Members() {
			spec.effects[x.Name] = trajectory.Effect(x.Value.Str())
		}
	}
	return spec, nil
}

// resolve returns the tools of the task; MCP servers are asked for theirs.
func (t *Task) resolve(ctx context.Context, w *live.World) ([]trajectory.Tool, error) {
	var out []trajectory.Tool
	for _, s := range t.Tools {
		if s.mcp == nil {
			out = append(out, s.tools...)
			continue
		}
		list, err := s.mcp.list(ctx, w)
		if err != nil {
			return nil, s.at.Because(err)
		}
		out = append(out, list...)
	}
	for i := range out {
		u := out[i].Undo
		if u == nil || u.Inverse {
			continue
		}
		if j := slices.IndexFunc(out, func(t trajectory.Tool) bool { return t.Name == u.Tool }); j >= 0 && (out[j].Builtin() || out[j].Name == trajectory.ToolDelegate) {
			return nil, fault.New(ErrTask, "trajectories.tools", "%s cannot be taken back by the built-in tool %s", out[i].Name, u.Tool)
		}
	}
	return out, nil
}

// list asks a server for its tools and declares them. What the server says of
// their effects is not trusted: they are external unless the task says
// otherwise.
func (m *mcpSpec) list(ctx context.Context, w *live.World) ([]trajectory.Tool, error) {
	offered, err := w.Tools(ctx, transport.ResolveEnv(m.transport.Without("kind"), w.Environ))
	if err != nil {
		return nil, err
	}
	var out []trajectory.Tool
	for _, o := range offered {
		if len(m.only) > 0 && !slices.Contains(m.only, o.Name) {
			continue
		}
		effect := m.effect
		if e, ok := m.effects[o.Name]; ok {
			effect = e
		}
		schema := o.Schema
		if _, err := trajectory.ParseSchema(schema); err != nil {
			if !m.loose {
				return nil, fault.New(ErrToolSchema, "trajectories.mcp", "the tool %s of the MCP server: %s", o.Name, fault.Text(err))
			}
			schema = canon.Object(canon.M("type", canon.String("object")))
		}
		v := canon.Object(
			canon.M("name", canon.String(m.prefix+o.Name)), canon.M("version", canon.String("1")), canon.M("description", canon.String(o.Description)),
			canon.M("effect", canon.String(string(effect))), canon.M("args", schema), canon.M("estimate", estimate(canon.Object())),
			canon.M("transport", m.transport.With("tool", canon.String(o.Name))),
		)
		if m.risk != "" {
			v = v.With("risk", canon.String(string(m.risk)))
		}
		t, err := trajectory.ParseTool(v)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	for _, name := range m.only {
		if !slices.ContainsFunc(offered, func(o live.Offer) bool { return o.Name == name }) {
			return nil, fault.New(ErrTask, "trajectories.mcp", "the MCP server has no tool %q", name)
		}
	}
	return out, nil
}
