package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Level says how much of a run is real when it comes again, from nothing to
// almost everything.
type Level string

// The levels.
const (
	// LevelVerify executes nothing: the ledger is checked.
	LevelVerify Level = "verify"
	// LevelHermetic runs the agent. Whatever was recorded is answered from the
	// record, and nothing else is reached.
	LevelHermetic Level = "hermetic"
	// LevelToolsLive runs the agent and the commands that it runs itself;
	// models and MCP servers are answered from the record.
	LevelToolsLive Level = "tools live"
	// LevelBranchLive answers from the record up to an entry and makes every
	// call after it.
	LevelBranchLive Level = "branch live"
)

// surroundings is what one child finds around it.
type surroundings struct {
	o         *RunOptions
	dir       string // of certificates and shims; may be empty
	env       []string
	set       []string // names of the variables that differ from the child's own
	listeners *listeners
	tunnel    *tunnel // may be nil
	cell      *cell   // may be nil
	uncelled  error   // why there is no cell
}

// surround opens the listeners of a run and puts together what its child
// needs to find them.
func (o *RunOptions) surround(ctx context.Context, p *Proxy, r *ReplayOptions, ups []Upstream) (_ *surroundings, err error) {
	w := &surroundings{o: o, listeners: &listeners{open: loopback, addr: map[string]string{}}}
	defer func() {
		if err != nil {
			w.close()
			if w.cell != nil {
				w.cell.discard()
			}
		}
	}()
	if o.Proxy || len(o.Shims) > 0 {
		if w.dir, err = os.MkdirTemp("", "reprise-run-"); err != nil {
			return nil, fault.Wrap(ErrAuthority, "capture.Run", err, "a folder for temporary files")
		}
	}
	if r != nil && r.Hermetic != IsolateNot {
		if err := w.isolate(ctx, r.Hermetic, len(ups)+2); err != nil {
			return nil, err
		}
	}
	if err := w.listeners.upstreams(ctx, p, ups); err != nil {
		return nil, err
	}
	secret, err := token(o.Config.Rand)
	if err != nil {
		return nil, err
	}
	recorder, err := w.listeners.serve(ctx, p.Recorder(secret))
	if err != nil {
		return nil, err
	}
	extra := []string{RecorderVar + "=" + recorder + "/" + secret}
	if o.Proxy {
		more, err := w.forward(ctx, p, ups, r != nil && r.Hermetic != IsolateNot)
		if err != nil {
			return nil, err
		}
		extra = append(extra, more...)
	}
	if len(o.Shims) > 0 {
		bin := filepath.Join(w.dir, "bin")
		if err := os.Mkdir(bin, 0o700); err != nil {
			return nil, fault.Wrap(ErrShim, "capture.Run", err, "a folder for shims")
		}
		if err := writeShims(bin, o.Shims, o.ShimCommand); err != nil {
			return nil, err
		}
		extra = append(extra, "PATH="+bin+string(filepath.ListSeparator)+lookup(o.Env, "PATH"))
	}
	w.env = ChildEnv(o.Env, ups, w.listeners.addr)
	for _, kv := range extra {
		w.env = without(w.env, kv)
	}
	agent := surrounded{home: o.Setting.Cwd, undo: undoing(o.Env, w.env)}
	for _, kv := range agent.undo {
		name, _, _ := strings.Cut(kv, "=")
		w.set = append(w.set, name)
	}
	slices.Sort(w.set)
	if f, ok := o.Stdin.(*os.File); ok {
		agent.stdin = fileID(f)
	}
	p.surround(agent)
	return w, nil
}

// isolate opens a cell, if it can be had.
func (w *surroundings) isolate(ctx context.Context, how Isolation, n int) error {
	w.uncelled = fault.New(ErrCell, "capture.Run", "this program has no way into a network of its own")
	if o := w.o; len(o.CellCommand) > 0 {
		cmd := o.command(ctx, o.CellCommand[0], o.CellCommand, slices.Clone(o.Env))
		w.cell, w.uncelled = newCell(cmd, n)
	}
	if w.uncelled != nil {
		w.cell = nil
		if how == IsolateRequire {
			return w.uncelled
		}
		return nil
	}
	w.listeners.open = w.cell.listener
	return nil
}

// forward starts the forward proxy and returns the variables that lead there.
func (w *surroundings) forward(ctx context.Context, p *Proxy, ups []Upstream, sealed bool) ([]string, error) {
	hosts, err := newIntercepts(ups, w.o.Intercept)
	if err != nil {
		return nil, err
	}
	hosts.only = w.o.sealing
	ca, err := newAuthority(&w.o.Config)
	if err != nil {
		return nil, err
	}
	secret, err := token(w.o.Config.Rand)
	if err != nil {
		return nil, err
	}
	w.tunnel = newTunnel(p, ca, hosts, secret, sealed)
	addr, err := w.listeners.serve(ctx, w.tunnel)
	if err != nil {
		return nil, err
	}
	trusted, err := ca.trust(w.o.Env, w.dir)
	if err != nil {
		return nil, err
	}
	return append(proxyVars(addr, secret), trusted...), nil
}

// close ends what the child has left behind.
func (w *surroundings) close() {
	w.listeners.close()
	if w.tunnel != nil {
		ctx, cancel := context.WithTimeout(context.Background(), drainFor)
		defer cancel()
		w.tunnel.close(ctx)
	}
	if w.dir != "" {
		_ = os.RemoveAll(w.dir) // it holds nothing that anybody needs, and no secret
	}
}

// declare says in the open of a run what surrounds its child.
func (o *RunOptions) declare(data canon.Value) canon.Value {
	if o.Proxy {
		data = data.With("proxy", canon.Object(canon.M("intercept", canon.Strings(o.Intercept))))
	}
	if len(o.Shims) > 0 {
		data = data.With("shims", canon.Strings(o.Shims))
	}
	return data
}

// inherit takes what surrounded the recorded child for the one that runs now.
func (o *RunOptions) inherit(opened canon.Value, r *ReplayOptions) {
	if v := opened.Get("proxy"); !v.IsZero() {
		o.Proxy = true
		for _, p := range v.Get("intercept").Elems() {
			o.Intercept = append(o.Intercept, p.Str())
		}
	}
	o.seal(r.Hermetic)
	o.Shims = nil
	if !r.ToolsLive {
		for _, s := range opened.Get("shims").Elems() {
			o.Shims = append(o.Shims, s.Str())
		}
	}
}

// seal puts a forward proxy around a hermetic replay. Where the recorded child
// had none, what it asked past the recorder is in no record: the proxy is there
// to refuse that, not to look for it.
func (o *RunOptions) seal(how Isolation) {
	if how != IsolateNot && !o.Proxy {
		o.Proxy, o.sealing = true, true
	}
}

// conditions is under what a run came again.
type conditions struct {
	level   Level
	blocked []string
	open    []string
	set     []string
	denied  []HostCount
	passed  []HostCount
	tools   []string // what became of the agent's own commands
	changes []string // what a branch changed in requests
}

// conditions says what was and what was not blocked.
func (w *surroundings) conditions(p *Proxy, r *ReplayOptions, j *Journal) *conditions {
	c := &conditions{level: LevelToolsLive, set: w.set}
	c.passed, c.denied = w.tunnel.counts()
	switch {
	case r.Until > 0:
		c.level = LevelBranchLive
	case r.Hermetic != IsolateNot:
		c.level = LevelHermetic
	}
	if c.level != LevelHermetic {
		c.open = append(c.open, "the network, for requests that go past the recorder")
	} else {
		c.blocked = append(c.blocked, "hosts asked for through the proxy that the record does not answer for")
		if w.uncelled == nil {
			c.blocked = append(c.blocked, "every address but the replayer's: the agent has a network of its own, without a way out", "abstract Unix sockets")
		} else {
			c.open = append(c.open, "the network, for programs that pass over the variables that are set: "+fault.Text(w.uncelled))
		}
		c.open = append(c.open, "Unix sockets in the file system")
	}
	if len(w.o.Box) > 0 {
		c.blocked = append(c.blocked, "writing to files outside of a temporary folder")
		c.open = append(c.open, "reading files, and processes, of this machine")
	} else {
		c.open = append(c.open, "files and processes of this machine")
	}
	if len(w.o.Shims) > 0 {
		c.tools = append(c.tools, "commands from the record: "+strings.Join(w.o.Shims, ", ")+"; what they do to files was not done again")
	}
	if r.ToolsLive {
		if n := j.forgotten(); n > 0 {
			c.tools = append(c.tools, "the agent's commands ran; recorded ones that were left out: "+strconv.FormatInt(int64(n), 10))
		}
	}
	c.changes = p.changed()
	c.open = append(c.open, "other commands that the agent runs itself")
	return c
}

// report says the conditions in a report.
func (c *conditions) report(r *replay.Report) {
	v := canon.Object(
		canon.M("level", canon.String(string(c.level))), canon.M("blocked", canon.Strings(c.blocked)), canon.M("not_blocked", canon.Strings(c.open)),
		canon.M("set", canon.Strings(c.set)), canon.M("tools", canon.Strings(c.tools)),
	)
	if len(c.denied) > 0 {
		v = v.With("refused", hostsValue(c.denied))
	}
	if len(c.passed) > 0 {
		v = v.With("tunnelled", hostsValue(c.passed))
	}
	if len(c.changes) > 0 {
		v = v.With("changed", canon.Strings(c.changes))
	}
	r.Detail = v
	r.Remarks = append(r.Remarks, "level: "+string(c.level))
	r.Remarks = append(r.Remarks, c.changes...)
	r.Remarks = append(r.Remarks, c.tools...)
	if len(c.blocked) > 0 {
		r.Remarks = append(r.Remarks, "blocked: "+strings.Join(c.blocked, "; "))
	}
	r.Remarks = append(r.Remarks, "not blocked: "+strings.Join(c.open, "; "))
	if c.level == LevelHermetic {
		r.Remarks = append(r.Remarks, "set for the agent: "+strings.Join(c.set, ", "))
	}
	for _, h := range c.denied {
		r.Remarks = append(r.Remarks, fmt.Sprintf("refused: %s (%d)", h.Host, h.N))
	}
	for _, h := range c.passed {
		r.Remarks = append(r.Remarks, fmt.Sprintf("passed on unrecorded: %s (%d)", h.Host, h.N))
	}
}
