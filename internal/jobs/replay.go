package jobs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// ErrMode means that somebody may not run a replay in that mode. Ask for the
	// approval that the message names.
	ErrMode fault.Denied = "jobs.replay_denied"
	// ErrUnfinished means that a job is not over: there is nothing to replay yet.
	ErrUnfinished fault.Conflict = "jobs.not_over"
)

const (
	// EngineReplay is the engine of the audit of a replay.
	EngineReplay = "job.replay"

	// EventDivergence is the entry of the audit for a difference (M-63).
	EventDivergence = "REPLAY_DIVERGENCE"
	// EventTimeout is the entry of the audit for a limit that was passed
	// (M-103).
	EventTimeout = "REPLAY_TIMEOUT"

	stepMedia   = "application/vnd.reprise.job-replay-step.v1+json; profile=mace-fixed9"
	resultMedia = "application/vnd.reprise.job-replay-result.v1+json; profile=mace-fixed9"
)

// ReplayRequest is what somebody asks of the replay service.
type ReplayRequest struct {
	Run  ledger.RunID
	By   Act
	Mode job.Mode // empty: audit

	// Rerun are the nodes or iterations whose agents run again, in reexecute;
	// [RerunAll] is all of them, and [RerunNone] is nobody.
	Rerun []string
	// Sandbox is what becomes of a program that is to run again where this system
	// gives no sandbox: with [capture.IsolateAuto] it runs all the same, and the
	// result says what it was not kept from; else the replay refuses.
	Sandbox capture.Isolation
	// Mocks are outputs that stand in for those that were not kept, by node or
	// iteration id; and answers that stand in for those of models and tools, by
	// KIND:NAME of the calls that agents make which run again.
	Mocks map[string][]byte
	// Force goes on behind divergences, with the votes on the request whose id
	// begins with Approval. Approval also names the request that a council has
	// approved for production.
	Force    bool
	Approval string

	MaxTime       time.Duration // may only lower the limit of the snapshot; 0: as it is
	MaxIterations int64

	// DSR says that this is for a data subject: an audit which shows to an admin
	// what is redacted, and records that it did.
	DSR bool
}

// Limits on what a request may ask for.
const (
	MaxReplayTime = 24 * time.Hour
	MaxMocks      = 256
	MaxMock       = 1 << 20 // bytes of one
)

// check refuses with [job.ErrReplayMode] what cannot be asked for, and fills in
// the mode.
func (q *ReplayRequest) check() error {
	const op = "jobs.Replay"
	mode, err := job.ParseMode(string(q.Mode))
	if err != nil {
		return err
	}
	q.Mode = mode
	if q.MaxTime < 0 || q.MaxTime > MaxReplayTime || q.MaxIterations < 0 {
		return fault.New(job.ErrReplayMode, op, "the limits of a replay are at most %s, and never negative", MaxReplayTime)
	}
	q.Rerun = slices.DeleteFunc(slices.Clone(q.Rerun), func(name string) bool { return name == RerunNone })
	if len(q.Mocks) > MaxMocks {
		return fault.New(job.ErrReplayMode, op, "%d mocks are over the limit of %d", len(q.Mocks), MaxMocks)
	}
	for name, b := range q.Mocks {
		if len(b) > MaxMock {
			return fault.New(job.ErrReplayMode, op, "the mock for %q has %d bytes, which is over the limit of %d", name, len(b), MaxMock)
		}
	}
	return nil
}

// value is what of the request is signed: all of it. Of a mock it is what it
// stands for and the digest of its bytes, so that no other bytes can be put in
// its place.
func (q *ReplayRequest) value(s *Stored) canon.Value {
	mocks := make([]canon.Value, 0, len(q.Mocks))
	for _, name := range slices.Sorted(maps.Keys(q.Mocks)) {
		mocks = append(mocks, canon.Object(
			canon.M("for", canon.String(name)),
			canon.M("sha256", canon.String(canon.SHA256(q.Mocks[name]).String()))))
	}
	return canon.Object(
		canon.M("approval", canon.String(q.Approval)),
		canon.M("dsr", canon.Bool(q.DSR)),
		canon.M("force_continue", canon.Bool(q.Force)),
		canon.M("job_id", canon.String(s.JobID)),
		canon.M("max_iterations", canon.Int(q.MaxIterations)),
		canon.M("max_time_ns", canon.Int(q.MaxTime.Nanoseconds())),
		canon.M("mocks", canon.Array(mocks...)),
		canon.M("mode", canon.String(string(q.Mode))),
		canon.M("rerun", canon.Strings(q.Rerun)),
		canon.M("run", canon.String(string(s.Run))),
		canon.M("sandbox", canon.String(string(q.Sandbox))))
}

// Replayed is what came of a request.
type Replayed struct {
	Request string       // its id; empty: it was not recorded
	Audit   ledger.RunID // empty: the replay did not begin
	Mode    job.Mode
	Result  *job.Result // nil: the replay did not begin
	Err     error       // of the replay; its code is the result's
	Steps   []job.Step
	Shown   []Shown // in a replay for a data subject
	Sandbox Sandbox // of programs that ran again
}

// Sandbox says what programs that ran again were kept from, and what not.
type Sandbox struct {
	Blocked []string
	Open    []string
}

// Authoritative reports whether the result counts.
func (r *Replayed) Authoritative() bool {
	return r.Result != nil && r.Result.Authoritative && r.Err == nil
}

// Replay answers a request for a replay: it checks who asks, records that they
// do, replays, and records what came of it. The error is that of the replay if
// one took place; what is known then is returned beside it.
func (r *Runner) Replay(ctx context.Context, q ReplayRequest) (*Replayed, error) {
	p, err := r.replaying(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := p.ask(ctx); err != nil {
		return p.out, err
	}
	if err := p.allowed(ctx); err != nil {
		return p.out, errors.Join(err, p.close(ctx, err))
	}
	return p.out, p.run(ctx)
}

// subject returns the job that is to be replayed. Of one whose ledger does not
// verify nothing is believed: it is known by its run, and by what can be read.
func (r *Runner) subject(ctx context.Context, run ledger.RunID, broken bool) (*Stored, error) {
	s, err := Find(ctx, r.Config.Store, run)
	switch {
	case broken && err != nil:
		return &Stored{Run: run, Snapshots: map[job.Kind]string{}}, nil
	case broken:
		err := r.doubt(ctx, s)
		return s, err
	case !broken && err == nil && !s.Done:
		return nil, fault.New(ErrUnfinished, "jobs.Replay", "job %s is not over", run)
	}
	return s, err
}

// doubt looks to it that the halt of a job that was changed is recorded where it
// is looked for: a tenant that nobody knows is believed only if the governance
// ledger under which the job began is not here either.
func (r *Runner) doubt(ctx context.Context, s *Stored) error {
	known, err := governances(ctx, r.Config.Store, s.Tenant)
	if err == nil && len(known) == 0 && s.Governance.Run != "" {
		if o, err := drive.NewReader(r.Config.Store, s.Governance.Run).Open(ctx, 0); err == nil && o.Body.Get("engine").Str() == EngineGovernance {
			s.Tenant = o.Data().Get("tenant").Str()
		}
	}
	s.Governance, s.Last = ledger.Ref{}, ledger.Ref{}
	return err
}

// replaying is one replay.
type replaying struct {
	r      *Runner
	q      ReplayRequest
	job    *Stored
	g      *Governance
	others []*Governance // what else it stands on
	asked  *Request
	audit  *drive.Session
	again  *rerun // nil: no agent runs

	checked []job.Step // the verification of the ledgers
	broken  error      // what it has found of that of the job
	out     *Replayed
}

// ask records the request, signed (M-82). Who is on no roster is recorded too,
// as somebody who tried.
func (p *replaying) ask(ctx context.Context) error {
	var id string
	err := p.g.append(ctx, func(st *standing) ([]line, error) {
		asked := p.asking(st)
		roster, err := p.everybody(st)
		if err != nil {
			return nil, err
		}
		actor, act, err := signAct(&p.r.Config, p.r.Keys, roster, p.q.By, verbReplay, asked.Matter, allRoles...)
		if err != nil {
			return nil, err
		}
		b, err := canon.Encode(act, canon.Foreign)
		id = canon.SHA256(b).String()
		return []line{{EventRequest, actor, canon.Object(canon.M("act", act), canon.M("request", asked.Request))}}, err
	})
	if err != nil {
		return err
	}
	p.out.Request = id
	p.asked, err = p.g.state.request(id)
	return err
}

// everybody is the roster with whoever asks on it, so that the attempt of a
// stranger can be signed and recorded.
func (p *replaying) everybody(st *standing) (govern.Roster, error) {
	as := p.q.By.As
	if as == "" {
		return st.roster, nil
	}
	key, err := p.r.Keys.Existing("actors", as)
	if err != nil {
		return st.roster, err
	}
	if _, ok := st.roster.FindKey(key.Public().ID()); ok {
		return st.roster, nil
	}
	return govern.NewRoster(govern.Actor{ID: as, Key: key.Public(), Roles: []govern.Role{govern.Operator}, Tenant: st.tenant})
}

// allowed says whether the replay may begin: by who asks, and by what stands
// still.
func (p *replaying) allowed(ctx context.Context) error {
	const op = "jobs.Replay"
	may := func(roles ...govern.Role) bool {
		return slices.ContainsFunc(p.asked.Roles, func(r govern.Role) bool { return slices.Contains(roles, r) })
	}
	switch {
	case p.asked.Refused != nil:
		return fault.New(p.asked.Refused, op, "%s may not ask for replays", p.asked.Actor)
	case !may(govern.Operator, govern.Admin, govern.Auditor):
		return fault.New(ErrMode, op, "replays are for operators, admins and auditors; %s is %v", p.asked.Actor, p.asked.Roles)
	case p.q.DSR && p.q.Mode != job.Audit:
		return fault.New(ErrMode, op, "a replay for a data subject is an audit")
	case p.q.DSR && !may(govern.Admin):
		return fault.New(job.ErrAccess, op, "in a replay for a data subject only an admin sees what is redacted")
	case p.q.Mode == job.Production && !p.production():
		return fault.New(ErrMode, op, "a production replay takes an admin and an auditor, or the council").With(
			"request: " + p.asked.ID)
	}
	halts, err := p.halts(ctx)
	if errors.Is(err, ErrGovernance) {
		return unjudged(err)
	}
	if err != nil {
		return err
	}
	for _, h := range halts {
		if err := h.Check(p.job.Subjects()...); err != nil {
			return err
		}
	}
	return nil
}

// production reports whether a production replay was allowed: by votes on this
// request's kind that somebody has given to an earlier one.
func (p *replaying) production() bool {
	votes := []govern.Admitted(nil)
	if p.q.Approval != "" {
		q, err := p.g.state.request(p.q.Approval)
		if err != nil || q.Mode() != job.Production || q.Value.Get("run").Str() != string(p.job.Run) || q.Actor != p.asked.Actor {
			return false
		}
		for _, other := range p.g.state.requests {
			if other.Value.Get("approval").Str() == q.ID && other.Audit != "" {
				return false // it was good for one replay, and that took place
			}
		}
		votes = q.Votes
	}
	return p.g.state.granted(p.asked, votes)
}

// halts returns what stands still by now in any of the governance ledgers that
// the replay stands on: those that came with a bundle count too.
func (p *replaying) halts(ctx context.Context) ([]govern.Halts, error) {
	out := []govern.Halts{p.g.state.halts}
	for _, g := range p.others {
		if err := g.catchUp(ctx); err != nil {
			return nil, err
		}
		out = append(out, g.state.halts)
	}
	return out, nil
}

// run replays, and appends every step to the audit as it comes.
func (p *replaying) run(ctx context.Context) error {
	begun := p.r.Config.Now()
	source := p.job.Last
	o := drive.Opening{
		Engine: EngineReplay, Mode: string(p.q.Mode), Title: "replay of " + p.job.Title,
		Data: canon.Object(
			canon.M("job_id", canon.String(p.job.JobID)), canon.M("mode", canon.String(string(p.q.Mode))), canon.M("request_id", canon.String(p.out.Request))),
		Refs: []effect.Place{{Name: "governance", Ref: p.g.last}},
	}
	if !source.ID.IsZero() {
		o.Refs = append(o.Refs, effect.Place{Name: "replays", Ref: source})
	}
	var err error
	if len(p.q.Rerun) > 0 && p.broken == nil {
		if err = p.prepare(ctx, &o); err != nil {
			return errors.Join(err, p.close(ctx, err))
		}
	}
	if p.audit, err = drive.Open(ctx, p.r.Config, o); err != nil {
		return errors.Join(err, p.close(ctx, err))
	}
	p.out.Audit = p.audit.Run()
	result, err := p.replay(ctx, begun)
	p.out.Result, p.out.Err = result, err
	if err == nil && p.q.DSR {
		err = p.disclose(ctx)
	}
	return errors.Join(err, p.seal(ctx, err), p.close(ctx, err))
}

func (p *replaying) replay(ctx context.Context, begun time.Time) (*job.Result, error) {
	result := &job.Result{JobID: p.job.JobID, Mode: p.q.Mode}
	for _, s := range p.checked {
		if err := p.step(ctx, s); err != nil {
			return result, err
		}
	}
	if p.broken != nil {
		result.Code, result.Halt, result.Affected = fault.CodeOf(p.broken), true, p.job.Subjects()
		return result, p.broken
	}
	m, err := ReadMaterials(ctx, p.r.Config.Store, p.job.Run, p.r.Keys)
	if err != nil {
		if unreadable(err) {
			err = fault.Wrap(job.ErrIntegrity, "jobs.Replay", err, "the run cannot be read")
			result.Code, result.Halt, result.Affected = fault.CodeOf(err), true, p.job.Subjects()
		}
		return result, err
	}
	opts := job.ReplayOptions{
		Mode: p.q.Mode, Force: p.q.Force, MaxTime: p.q.MaxTime, MaxIterations: p.q.MaxIterations,
		Elapsed: func() time.Duration { return p.r.Config.Now().Sub(begun) },
	}
	if p.q.Force && p.q.Approval != "" {
		q, err := p.g.state.request(p.q.Approval)
		if err != nil {
			return result, err
		}
		if q.Value.Get("run").Str() == string(p.job.Run) { // else it was on another job of the same seed
			opts.Approvals = q.Forced
		}
	}
	if len(p.q.Mocks) > 0 {
		opts.Mock = p.mock
	}
	if p.again != nil {
		opts.Again = p.again.run
	}
	result, err = job.Replay(m, opts, func(s job.Step) error { return p.step(ctx, s) })
	if result.Halt && len(result.Affected) == 0 {
		result.Affected = p.job.Subjects() // nobody could tell which of them it is
	}
	return result, err
}

func (p *replaying) mock(it job.Rerun) ([]byte, bool) {
	for _, name := range []string{it.Iteration, it.Node} {
		if b, ok := p.q.Mocks[name]; ok {
			return b, true
		}
	}
	return nil, false
}

// verify checks the ledger of a job: every hash, link and signature that is
// there. What is absent is not judged here. Broken is INTEGRITY_FAILURE with
// what was found; the error is for what cannot be told.
func (r *Runner) verify(ctx context.Context, run ledger.RunID) (step job.Step, broken, err error) {
	at, err := r.Config.Store.At(ctx, run)
	if err != nil {
		return step, nil, err
	}
	step = job.Step{Name: "verify_ledger", Subject: string(run)}
	lost := false
	looked := lenient{r.Config.Store, map[string]*blob.Scope{}, &lost}
	report, err := archive.VerifyRun(ctx, looked, run, &archive.VerifyOptions{Partial: true, Level: new(ledger.Level), Expect: &at, Check: Check})
	var f *ledger.Finding
	if err == nil {
		f = ledger.First(report.Phases)
	}
	if err == nil && f == nil {
		err = whole(ctx, r.Config.Store, run, at)
	}
	if err == nil && f == nil && lost {
		err = misled(ctx, r.Config.Store, run)
	}
	switch {
	case f != nil:
		step.Expected, step.Found = f.Expected, f.Found
		broken = fault.New(job.ErrIntegrity, "jobs.Replay", "the ledger of the job: %s", f.Msg).With("entry: "+canon.Int(f.N).String(), "code: "+f.Code.Error())
	case err != nil && unreadable(err):
		broken = fault.Wrap(job.ErrIntegrity, "jobs.Replay", err, "the ledger of the job cannot be read")
	case err != nil:
		return step, nil, err
	}
	step.Code = fault.CodeOf(broken)
	return step, broken, nil
}

// unreadable reports whether an error is about what is stored, and not about
// reading it.
func unreadable(err error) bool {
	c := fault.ClassOf(err)
	return c == fault.ClassIntegrity || c == fault.ClassInvalid
}

// step appends a step to the audit (M-59).
func (p *replaying) step(ctx context.Context, s job.Step) error {
	p.out.Steps = append(p.out.Steps, s)
	b, err := canon.Encode(s.Value(), canon.MACEFixed9)
	if err != nil {
		return err
	}
	name := s.Name
	if s.Code != nil {
		switch s.Code {
		case job.ErrDivergence, job.ErrResult:
			name = EventDivergence
		case job.ErrReplayTimeout:
			name = EventTimeout
		}
	}
	return p.audit.Decide(ctx, ledger.Decision{
		Kind: ledger.KindDecision,
		Body: canon.Object(canon.M("name", canon.String(name)), canon.M("data", canon.Object(
			canon.M("code", codeValue(s.Code)), canon.M("ok", canon.Bool(s.OK())), canon.M("step", canon.String(s.Name)), canon.M("subject", canon.String(s.Subject))))),
		Contents: []ledger.Content{{Name: "step", Type: stepMedia, Bytes: b}},
	})
}

func codeValue(c fault.Code) canon.Value {
	if c == nil {
		return canon.Null()
	}
	return canon.String(c.Error())
}

// seal writes the result into the audit and ends it.
func (p *replaying) seal(ctx context.Context, cause error) error {
	b, err := canon.Encode(p.out.Result.Value(), canon.MACEFixed9)
	if err != nil {
		return err
	}
	status := "same"
	if cause != nil {
		status = fault.CodeOf(cause).Error()
	}
	data := p.summary(cause)
	ctx = context.WithoutCancel(ctx)
	if err := p.audit.Decide(ctx, ledger.Decision{
		Kind:     ledger.KindResult,
		Body:     canon.Object(canon.M("name", canon.String(EventResult)), canon.M("data", data)),
		Contents: []ledger.Content{{Name: "result", Type: resultMedia, Bytes: b}},
	}); err != nil {
		return errors.Join(err, p.audit.Close(ctx))
	}
	// What a job may not keep, its agents have not said again to be kept.
	forget := p.again != nil && !p.job.Replayable
	if forget {
		if err := p.audit.Erase(ctx, job.OutputScope); err != nil {
			return errors.Join(err, p.audit.Close(ctx))
		}
	}
	if err := p.audit.Seal(ctx, status, data, nil); err != nil || !forget {
		return err
	}
	return p.r.Config.Store.Erase(ctx, drive.ScopeID(string(p.audit.Run()), job.OutputScope))
}

// summary is what the audit and REPLAY_RESULT say of the result.
func (p *replaying) summary(cause error) canon.Value {
	var missing, because []string
	authoritative := false
	if r := p.out.Result; r != nil {
		missing, because, authoritative = r.Missing, r.Why, r.Authoritative && cause == nil
	}
	return canon.Object(
		canon.M("authoritative", canon.Bool(authoritative)),
		canon.M("code", codeText(cause)),
		canon.M("job_id", canon.String(p.job.JobID)),
		canon.M("missing", canon.Strings(missing)),
		canon.M("mode", canon.String(string(p.q.Mode))),
		canon.M("non_authoritative_because", canon.Strings(because)),
		canon.M("request_id", canon.String(p.out.Request)))
}

func codeText(err error) canon.Value {
	if err == nil {
		return canon.String("")
	}
	return canon.String(fault.CodeOf(err).Error())
}

// close records in the governance ledger, at once, what stands still because of
// the replay and what came of the request.
func (p *replaying) close(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	r := p.out.Result
	data := p.summary(cause).With("audit_run", canon.String(string(p.out.Audit))).With("divergence", canon.Null())
	if r != nil && !r.Matter.Bound.IsZero() {
		data = data.With("divergence", r.Matter.Value())
	}
	return p.g.append(ctx, func(st *standing) (lines []line, err error) {
		if r != nil && r.Halt {
			lines, err = st.halting(r.Affected, job.ErrIntegrity, fault.Text(cause), canon.Object(
				canon.M("job_id", canon.String(p.job.JobID)), canon.M("request_id", canon.String(p.out.Request))))
		}
		return append(lines, line{EventResult, service, data}), err
	})
}
