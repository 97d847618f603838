package jobs

import (
	"context"
	"errors"
	"slices"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/s3blob"
)

const (
	// ErrNotJob means that a run was made by something else. Nothing here can go
	// on with it.
	ErrNotJob fault.Invalid = "jobs.other_engine"
	// ErrNobodyAsked means that a job does not wait for an approval.
	ErrNobodyAsked fault.NotFound = "jobs.nothing_pending"
	// ErrJobFailed means that a job ended without an answer: the answer says to
	// the user what went wrong, the code to you.
	ErrJobFailed fault.Denied = "jobs.failed"
)

// Statuses of a seal.
const (
	StatusDone   = "done"   // there is an answer
	StatusFailed = "failed" // the answer says why there is none
)

const modeRun = "run"

// archiveMember is where the open of a job says where it is archived. It decides
// nothing.
const archiveMember = "archive"

// Runner runs jobs in a store. It is safe for concurrent use if Progress is.
type Runner struct {
	Config    drive.Config
	Keys      *keys.Keys
	World     live.World
	Functions map[string]Function // agents that are Go functions, by name
	// CellCommand is what calls [capture.EnterCell]: agents that are programs get
	// no network of their own without, when they run again.
	CellCommand []string
	Progress    func(Event)
	// Vault opens the archive that a job file names; nil opens it as the user's
	// environment says.
	Vault func(ctx context.Context, place string) (*s3blob.Vault, error)
}

// Event is one line of what a job does, for people.
type Event struct {
	Run  ledger.RunID
	Kind ledger.Kind
	Name string // the type of an event
	Data canon.Value
	Call *effect.Call // of an agent that is asked now
}

// Result is where a job stands when nothing more happens by itself.
type Result struct {
	Run     ledger.RunID
	JobID   string
	Done    bool // and sealed
	Status  string
	Waiting string             // what it waits for, if it is not done
	Pending *job.ActionRequest // what the council is asked for, if that is it
	// Standing are the requests that the governance snapshot held as open, as
	// they stand now.
	Standing []job.ActionRequest
	Log      *job.Log // once it is done
	Last     ledger.Ref

	// Archive is the place that the job file names for its archive; empty: none.
	Archive     string
	Archived    *Archived // once it is there
	NotArchived error     // why it is not there although the job is done
}

// Err returns [ErrJobFailed] if the job is done and has no answer, and
// [ErrNotArchived] if it is not where its file wants it archived.
func (r *Result) Err() error {
	if !r.Done || r.Status == StatusDone {
		return r.NotArchived
	}
	return fault.New(ErrJobFailed, "jobs.Run", "the job ended with %s: %s", r.Log.Error, r.Log.Final)
}

// run is a job at work.
type run struct {
	id      ledger.RunID
	session *drive.Session
	watch   *watch
	agents  []job.Agent
	player  *player
	archive string // where it is archived when it is over
}

// Start seals the snapshots of a job and begins it, and goes on until it is
// done or waits.
func (r *Runner) Start(ctx context.Context, j *Job) (*Result, error) {
	key, err := r.Keys.Server()
	if err != nil {
		return nil, err
	}
	g, err := OpenGovernance(ctx, r.Config, r.Keys, j.Spec.Tenant)
	if err != nil {
		return nil, err
	}
	spec := j.Spec
	if spec.ID == "" {
		spec.ID = job.DefaultID(spec.Seed)
	}
	if spec.Roster, err = r.roster(j, g); err != nil {
		return nil, err
	}
	contents, adopted, err := governedBy(g, j)
	if err != nil {
		return nil, err
	}
	set, err := seal(contents, &spec, job.Key{ID: key.ID, Secret: key.Secret})
	if err != nil {
		return nil, err
	}
	o := drive.Opening{Engine: job.Engine, Mode: modeRun, Title: title(j.Title), Data: r.captured(spec.Agents, spec.Summary(set).With("tenant", canon.String(spec.Tenant))), Refs: []effect.Place{{Name: "governance", Ref: g.last}}}
	if adopted.Len() > 0 {
		o.Data = o.Data.With(adoptedMember, adopted)
	}
	if j.Archive != "" {
		o.Data = o.Data.With(archiveMember, canon.String(j.Archive))
	}
	if o.Contents, err = spec.Contents(set); err != nil {
		return nil, err
	}
	if len(j.Script) > 0 {
		c, err := j.Script.content()
		if err != nil {
			return nil, err
		}
		o.Contents = append(o.Contents, c)
	}
	s, err := drive.Open(ctx, r.Config, o)
	if err != nil {
		return nil, err
	}
	return r.goOn(ctx, &run{
		id: s.Run(), session: s, agents: spec.Agents, archive: j.Archive, watch: r.watch(s.Run(), 0), player: &player{script: j.Script, asked: map[string]int{}},
	})
}

// roster lists who may vote on what the job asks for: the actors of the file,
// else those of the tenant.
func (r *Runner) roster(j *Job, g *Governance) (govern.Roster, error) {
	if len(j.Actors) == 0 {
		return g.Roster(), nil
	}
	var list []govern.Actor
	for _, a := range j.Actors {
		key := a.Key
		if key.IsZero() {
			own, err := r.Keys.Named(keys.Actors, a.ID)
			if err != nil {
				return govern.Roster{}, err
			}
			key = own.Public()
		}
		list = append(list, govern.Actor{ID: a.ID, Key: key, Roles: a.Roles, Tenant: j.Spec.Tenant})
	}
	return govern.NewRoster(list...)
}

// seal makes the five snapshots and signs them.
func seal(contents map[job.Kind]canon.Value, spec *job.Spec, key job.Key) (job.Set, error) {
	var all []job.Snapshot
	for _, kind := range job.Kinds() {
		content := contents[kind]
		if kind == job.KindGovernance {
			var err error
			if content, err = requests(council(content, spec), spec); err != nil {
				return job.Set{}, err
			}
		}
		s, err := job.Make(kind, spec.Seed, content)
		if err == nil {
			s, err = s.Seal(key)
		}
		if err != nil {
			return job.Set{}, err
		}
		all = append(all, s)
	}
	return job.NewSet(all...)
}

// council fills in who sits on the council and how many of them it takes, where
// the file does not say so: all of the roster, and more than half.
func council(v canon.Value, spec *job.Spec) canon.Value {
	if v.Get("council").Len() == 0 {
		var ids []string
		for _, a := range spec.Roster.Holders(spec.Tenant, govern.Council) {
			ids = append(ids, a.ID)
		}
		slices.Sort(ids)
		v = v.With("council", canon.Strings(ids))
	}
	if n, _ := v.Get("council_quorum").AsInt(); n == 0 {
		v = v.With("council_quorum", canon.Int(int64(v.Get("council").Len()/2+1)))
	}
	if v.Get("super_admins").Len() == 0 {
		var ids []string
		for _, a := range spec.Roster.Holders(spec.Tenant, govern.Admin) {
			ids = append(ids, a.ID)
		}
		v = v.With("super_admins", canon.Strings(ids))
	}
	return v
}

// requests makes requests of what the file asks for in few words: {action,
// payload, origin, justification}. Those that are whole stay as they are.
func requests(v canon.Value, spec *job.Spec) (canon.Value, error) {
	rules, err := job.ParseGovernance(v)
	if err != nil {
		return v, err
	}
	seed := det.Seed("governance:" + string(spec.Seed))
	for i, e := range rules.Requests {
		if e.Has("request_id") {
			continue
		}
		q, err := rules.Request(seed, job.NewStamp(seed, int64(i), job.EventRequested), job.NewRequest{
			Ledger: "governance:" + spec.ID, Origin: e.Get("origin").Str(), Action: e.Get("action").Str(),
			Payload: e.Get("payload"), Justification: e.Get("justification").Str(),
		})
		if err != nil {
			return v, err
		}
		rules.Requests[i] = q.Value()
	}
	return rules.Value(), nil
}

// Resume goes on with a job that waits, or whose process was killed.
func (r *Runner) Resume(ctx context.Context, id ledger.RunID) (*Result, error) {
	t, err := r.take(ctx, id)
	if err != nil {
		return nil, err
	}
	if step := t.watch.m.Next(); step.Wait != "" && !waitsForPeople(t.watch.m) {
		if err := t.session.Receive(ctx, ledger.KindEvent, job.InputRetry, "reprise", canon.Object()); err != nil {
			return nil, errors.Join(err, t.session.Close(ctx))
		}
	}
	return r.goOn(ctx, t)
}

func waitsForPeople(m *job.Machine) bool {
	_, ok := m.Pending()
	return ok
}

// take takes over a run that is not sealed, with its engine up to date.
func (r *Runner) take(ctx context.Context, id ledger.RunID) (*run, error) {
	if _, err := opened(ctx, r.Config.Store, id); err != nil {
		return nil, err
	}
	s, err := drive.Resume(ctx, r.Config, id, drive.Opening{})
	if err != nil {
		return nil, err
	}
	t, err := r.load(ctx, id)
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	t.session = s
	return t, nil
}

// load follows a run. It has no session.
func (r *Runner) load(ctx context.Context, id ledger.RunID) (*run, error) {
	w := r.watch(id, silent)
	read := drive.NewReader(r.Config.Store, id)
	f, err := drive.Follow(ctx, r.Config.Store, ledger.Ref{Run: id, N: -1}, w)
	if err != nil {
		return nil, err
	}
	w.skip = f.Inputs
	t := &run{id: id, watch: w, player: &player{asked: map[string]int{}}}
	for o, err := range read.All(ctx) {
		if err != nil {
			return nil, err
		}
		switch o.Kind {
		case ledger.KindOpen:
			t.archive = o.Data().Get(archiveMember).Str()
			contents, err := read.Contents(ctx, o)
			if err != nil {
				return nil, err
			}
			if t.player.script, err = scriptOf(contents); err != nil {
				return nil, err
			}
			if t.agents, err = agentsOf(contents); err != nil {
				return nil, err
			}
		case ledger.KindCall:
			if o.Body.Get("kind").Str() == kindScript {
				t.player.asked[o.Body.Get("name").Str()]++
			}
		default:
		}
	}
	return t, nil
}

func agentsOf(contents []ledger.Content) ([]job.Agent, error) {
	v, err := canon.Parse(contentOf(contents, "job"))
	if err != nil {
		return nil, err
	}
	spec, err := job.ParseSpec(v)
	if err != nil {
		return nil, err
	}
	return spec.Agents, nil
}

// opened returns the open of a job.
func opened(ctx context.Context, store drive.Store, id ledger.RunID) (*ledger.Opened, error) {
	o, err := drive.NewReader(store, id).Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	if engine := o.Body.Get("engine").Str(); engine != job.Engine {
		return nil, fault.New(ErrNotJob, "jobs.opened", "run %s is no job; it was made by %q", id, engine)
	}
	return o, nil
}

// goOn drives a job until it is done or waits, and seals it if it is done.
// What is not to be kept is erased then.
func (r *Runner) goOn(ctx context.Context, t *run) (*Result, error) {
	t.watch.begin(job.NewMachine())
	call, err := r.caller(ctx, t.agents, t.player, t.watch.calling)
	if err != nil {
		return &Result{Run: t.id}, errors.Join(err, t.session.Close(context.WithoutCancel(ctx)))
	}
	st, err := drive.Run(ctx, t.session, t.watch, call)
	if err != nil {
		return &Result{Run: t.id}, errors.Join(err, t.session.Close(context.WithoutCancel(ctx)))
	}
	res := t.result(st)
	if !st.Done {
		return res, t.session.Close(ctx)
	}
	data := canon.Object(
		canon.M("job_id", canon.String(res.JobID)),
		canon.M("missing", canon.Strings(res.Log.Missing)),
		canon.M("replayable", canon.Bool(res.Log.Replayable)))
	if !res.Log.Replayable {
		if err := t.session.Erase(ctx, job.OutputScope); err != nil {
			return nil, err
		}
	}
	if err := t.session.Seal(ctx, res.Status, data, nil); err != nil {
		return nil, err
	}
	at := t.session.At()
	res.Last = ledger.Ref{Run: t.id, N: at.Count - 1, ID: at.Last}
	if !res.Log.Replayable {
		if err := r.Config.Store.Erase(ctx, drive.ScopeID(string(t.id), job.OutputScope)); err != nil {
			return res, err
		}
	}
	if t.archive != "" {
		res.Archived, res.NotArchived = r.archiveRun(ctx, t.id, t.archive)
	}
	return res, nil
}

// result says where a run stands.
func (t *run) result(st drive.State) *Result {
	m := t.watch.m
	res := &Result{Run: t.id, JobID: t.watch.job, Done: st.Done, Waiting: st.Waiting, Status: "waiting", Archive: t.archive, Standing: m.Standing()}
	if q, ok := m.Pending(); ok {
		res.Pending = &q
	}
	if l, ok := m.Log(); ok {
		res.Log, res.JobID, res.Status = l, l.JobID, StatusDone
		if !answeredBy(l) {
			res.Status = StatusFailed
		}
	}
	return res
}

// answeredBy reports whether the final answer is one: that of an agent, and not
// what a user is told instead.
func answeredBy(l *job.Log) bool {
	said := slices.ContainsFunc(l.Iterations, func(it job.Iteration) bool { return it.OutputID != "" })
	return l.Error == "" || said && l.Error != job.ErrMemoryWriteFail.Error()
}
