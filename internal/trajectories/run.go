package trajectories

import (
	"context"
	"errors"
	"strings"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/internal/transport"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Codes of runs.
const (
	// ErrNotTrajectory means that a run was made by something else. Nothing
	// here can go on with it.
	ErrNotTrajectory fault.Invalid = "trajectories.other_engine"
	// ErrAgentFailed means that a trajectory ended without its agents being
	// done: a model gave no answer, a budget was spent, or steps ran out. The
	// results in the run say which.
	ErrAgentFailed fault.Denied = "trajectories.agent_failed"
)

// Statuses of a seal.
const (
	StatusDone   = "done"   // every agent is
	StatusFailed = "failed" // one at least is not
)

// modeRun is the mode of a run that was begun with a task.
const modeRun = "run"

// Runner runs trajectories in a store. It is safe for concurrent use if
// Progress is.
type Runner struct {
	Config   drive.Config
	Keys     *keys.Keys
	World    live.World // Environ nil: no variable of the environment is known
	Progress func(Event)
}

// Event is one line of what a run does, for people.
type Event struct {
	Run   ledger.RunID
	Agent string // or ""
	Kind  string // of an entry
	Name  string
	Data  canon.Value
	Call  *effect.Call // of a call that is made now
}

// Run is a trajectory at work.
type Run struct {
	id       ledger.RunID
	session  *drive.Session
	watch    *watch
	charter  *trajectory.Charter
	script   Script
	redact   Redaction
	parent   *ledger.Ref // the call of another run that this one answers
	delegate bool        // that call is being made by this process
}

// Result is where a trajectory stands when nothing more happens by itself.
type Result struct {
	Run        ledger.RunID
	Trajectory canon.Digest
	Done       bool // and sealed
	Status     string
	Waiting    string // what it waits for, if it is not done
	Agents     []AgentResult
	Pending    []trajectory.Pending
	Head       canon.Digest // zero: nothing was committed
	Commits    int64
	World      *canon.Digest // once it is done
	Last       ledger.Ref    // the last entry
	Parent     *Result       // of a delegate whose report let its parent go on
}

// AgentResult is where an agent stands.
type AgentResult struct {
	trajectory.AgentState
	Answer canon.Value // once it is finished
}

// Start begins a trajectory and goes on until it is done or waits.
func (r *Runner) Start(ctx context.Context, t *Task) (*Result, error) {
	c, s, err := r.open(ctx, t)
	if err != nil {
		return nil, err
	}
	return r.goOn(ctx, &Run{id: s.Run(), session: s, charter: c, script: t.Script, redact: t.Redact, watch: r.watch(s.Run(), 0)})
}

// open makes the charter of a task and opens its run.
func (r *Runner) open(ctx context.Context, t *Task) (*trajectory.Charter, *drive.Session, error) {
	if name, ok := t.needsScript(); ok {
		return nil, nil, fault.New(ErrScript, "trajectories.Start", "the script has nothing for agent %q", name)
	}
	c, err := r.Charter(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	o, err := opening(c, t.Script, t.Redact)
	if err != nil {
		return nil, nil, err
	}
	s, err := drive.Open(ctx, r.Config, o)
	return c, s, err
}

// opening returns what the open of a run says.
func opening(c *trajectory.Charter, script Script, red Redaction) (drive.Opening, error) {
	o := drive.Opening{Engine: trajectory.Engine, Mode: modeRun, Title: title(c.Task)}
	summary, err := c.Summary()
	if err != nil {
		return o, err
	}
	o.Data = summary.With("redact", red.value())
	content, err := c.Content()
	if err != nil {
		return o, err
	}
	o.Contents = []ledger.Content{content}
	if len(script) > 0 {
		content, err := script.content()
		if err != nil {
			return o, err
		}
		o.Contents = append(o.Contents, content)
	}
	return o, nil
}

const maxTitle = 80

func title(task string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	if runes := []rune(line); len(runes) > maxTitle {
		line = string(runes[:maxTitle-1]) + "…"
	}
	return line
}

// Resume goes on with a trajectory that waits, or whose process was killed.
func (r *Runner) Resume(ctx context.Context, run ledger.RunID) (*Result, error) {
	t, err := r.take(ctx, run)
	if err != nil {
		return nil, err
	}
	return r.goOn(ctx, t)
}

// take takes over a run that is not sealed, with its engine up to date.
func (r *Runner) take(ctx context.Context, run ledger.RunID) (*Run, error) {
	if _, err := r.first(ctx, run); err != nil {
		return nil, err
	}
	s, err := drive.Resume(ctx, r.Config, run, drive.Opening{})
	if err != nil {
		return nil, err
	}
	t, err := r.load(ctx, run)
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	t.session = s
	return t, nil
}

// secretNames returns the variables of the environment whose values the run
// uses and must not hold.
func (t *Run) secretNames() []string {
	var out []string
	for i := range t.charter.Agents {
		out = append(out, transport.Secrets(t.charter.Agents[i].Model)...)
	}
	for _, tool := range t.charter.Registry.All() {
		out = append(out, transport.Secrets(tool.Transport)...)
	}
	return out
}

// first returns the open of a trajectory.
func (r *Runner) first(ctx context.Context, run ledger.RunID) (*ledger.Opened, error) {
	o, err := drive.NewReader(r.Config.Store, run).Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	if engine := o.Body.Get("engine").Str(); engine != trajectory.Engine {
		return nil, fault.New(ErrNotTrajectory, "trajectories.first", "run %s is no trajectory; it was made by %q", run, engine)
	}
	return o, nil
}

// load follows a run and reads what stands in its open beside the charter. Its
// engine is that of the watch; it has no session.
func (r *Runner) load(ctx context.Context, run ledger.RunID) (*Run, error) {
	o, err := r.first(ctx, run)
	if err != nil {
		return nil, err
	}
	w := r.watch(run, silent)
	f, err := drive.Follow(ctx, r.Config.Store, ledger.Ref{Run: run, N: -1}, w)
	if err != nil {
		return nil, err
	}
	w.skip = f.Inputs // what comes now is new
	t := &Run{id: run, watch: w, charter: w.m.Charter(), redact: redactionOf(o.Data().Get("redact"))}
	if t.script, err = r.scriptAt(ctx, o); err != nil {
		return nil, err
	}
	if p := o.Body.Get("refs").Get("parent"); !p.IsZero() {
		ref, err := ledger.ParseRef(p)
		if err != nil {
			return nil, err
		}
		t.parent = &ref
	}
	return t, nil
}

func (r *Runner) scriptAt(ctx context.Context, o *ledger.Opened) (Script, error) {
	contents, err := drive.NewReader(r.Config.Store, o.Run).Contents(ctx, o)
	if err != nil {
		return nil, err
	}
	return scriptOf(contents)
}

// goOn drives a run until it is done or waits, and seals it if it is done. With
// an error the result says no more than which run it is, to be resumed.
func (r *Runner) goOn(ctx context.Context, t *Run) (*Result, error) {
	call := r.caller(t, t.script, t.redact)
	t.session.Listen(r.listen(t))
	defer r.swept(t.id)
	var st drive.State
	for {
		m := trajectory.NewMachine()
		t.watch.begin(m)
		var err error
		if st, err = drive.Run(ctx, t.session, t.watch, call); err != nil {
			return &Result{Run: t.id}, errors.Join(err, t.session.Close(context.WithoutCancel(ctx)))
		}
		reported, err := r.collect(ctx, t)
		if err != nil {
			return &Result{Run: t.id}, errors.Join(err, t.session.Close(context.WithoutCancel(ctx)))
		}
		if !reported {
			break
		}
	}
	res := t.result(st)
	if !st.Done {
		return res, t.session.Close(ctx)
	}
	if hash, ok := st.World.Hash(); ok {
		res.World = &hash
	}
	if err := t.session.Seal(ctx, res.Status, canon.Object(canon.M("commits", canon.Int(res.Commits)), canon.M("head", digestValue(res.Head))), res.World); err != nil {
		return nil, err
	}
	res.Last = t.last()
	if t.parent != nil && !t.delegate {
		var err error
		if res.Parent, err = r.report(ctx, t); err != nil {
			return res, err
		}
	}
	return res, nil
}

func digestValue(d canon.Digest) canon.Value {
	if d.IsZero() {
		return canon.Null()
	}
	return canon.String(d.String())
}

func (t *Run) last() ledger.Ref {
	at := t.session.At()
	return ledger.Ref{Run: t.id, N: at.Count - 1, ID: at.Last}
}

// result says where a run stands.
func (t *Run) result(st drive.State) *Result {
	m := t.watch.m
	res := &Result{Run: t.id, Trajectory: m.Trajectory(), Done: st.Done, Waiting: st.Waiting, Pending: m.Pending(), Status: StatusDone}
	res.Head, res.Commits = m.Head()
	for _, a := range m.Agents() {
		res.Agents = append(res.Agents, AgentResult{AgentState: a, Answer: t.watch.answers[a.Name]})
		if a.Status != StatusDone {
			res.Status = StatusFailed
		}
	}
	if m.Err() != "" {
		res.Status = StatusFailed
	}
	if !st.Done {
		res.Status = "waiting"
	}
	if t.session != nil {
		res.Last = t.last()
	}
	return res
}

// State returns where a run stands, and changes nothing.
func (r *Runner) State(ctx context.Context, run ledger.RunID) (*Result, error) {
	t, err := r.load(ctx, run)
	if err != nil {
		return nil, err
	}
	step := t.watch.m.Next()
	return t.result(drive.State{Done: step.Done, Waiting: step.Wait}), nil
}

// Err returns [ErrAgentFailed] if the trajectory is done and an agent is not.
func (r *Result) Err() error {
	if !r.Done || r.Status == StatusDone {
		return nil
	}
	err := fault.New(ErrAgentFailed, "trajectories.Run", "the trajectory ended, and not every agent is done")
	for _, a := range r.Agents {
		if a.Status != StatusDone {
			err = err.With(a.Name + ": " + a.Status + ": " + a.Answer.Str())
		}
	}
	return err
}
