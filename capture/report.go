package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// ModeReplay is the mode of the replay of a foreign process: it runs again,
// and what it asks models and tools is answered from the record.
const ModeReplay = "capture-replay"

// ReplayReport says how a replay compares with its record: every call that
// was not recorded, everything recorded that was not asked for, and every
// match that only normalisers made. The run must be durable: it is sealed or
// closed. What was answered is authoritative; what ran in the agent itself is
// counted beside.
func (p *Proxy) ReplayReport(ctx context.Context, store drive.Store) (*replay.Report, error) {
	rec := p.o.Record
	r := &replay.Report{
		Verb: replay.Replayed, Mode: ModeReplay, Verdict: replay.Same, Authoritative: true,
		Run: rec.Reader.Run(), Other: p.s.Run(),
	}
	seen, err := p.readRun(ctx, store)
	if err != nil {
		return nil, err
	}
	found, probes, err := p.divergences(ctx, r, seen)
	if err != nil {
		return nil, err
	}
	for i := range found {
		r.Diverge(found[i])
	}
	c := p.s.Counts()
	r.Counts = []replay.Count{
		{Name: "calls", N: c.Calls},
		{Name: "answered", N: c.Recorded - int64(len(seen.evidence))},
		{Name: "live", N: c.Live},
		{Name: "missed", N: c.Missed + int64(len(seen.evidence))},
		{Name: "tools_answered", N: seen.toolsAnswered},
		{Name: "commands_answered", N: seen.commands},
		{Name: "tools_ran_in_agent", N: seen.toolsInAgent()},
		{Name: "normalised", N: seen.normalised},
	}
	r.Remarks = append(r.Remarks, p.remarks(seen, probes)...)
	if r.Total > 0 {
		r.Verdict = replay.Diverged
	}
	return r, nil
}

// divergences returns what came and was not recorded, what came otherwise, and
// what was recorded and did not come, in the order of the runs: what was left
// out early comes before what came late because of it. Probes that did not come
// again are counted instead.
func (p *Proxy) divergences(ctx context.Context, r *replay.Report, seen *ran) (found []replay.Divergence, probes int, err error) {
	for _, m := range p.s.Misses() {
		d, err := p.extra(ctx, r, seen, &m)
		if err != nil {
			return nil, 0, err
		}
		found = append(found, d)
	}
	for _, d := range p.differing() {
		d.Step = seen.steps[d.Now]
		found = append(found, d)
	}
	rec := p.o.Record
	places := rec.Journal.step()
	called := make(map[ledger.Ref]int64, len(places))
	for was := range places {
		called[ledger.Ref{Run: was.Outcome.Run, N: was.Outcome.N}] = was.Call.N
	}
	for _, d := range seen.evidence {
		d.Nearest, d.Run = called[ledger.Ref{Run: d.Run, N: d.Nearest}], elsewhere(d.Run, r.Run)
		found = append(found, d)
	}
	for _, left := range rec.Journal.Left() {
		if isProbeName(left.Name) {
			probes++
			continue
		}
		found = append(found, replay.Divergence{
			Kind: replay.Missing, What: "call", Step: places[left], Name: left.Name, Recorded: left.Call.N, Run: elsewhere(left.Call.Run, r.Run), Now: -1, Nearest: -1,
			Msg: fmt.Sprintf("%s at entry %d was recorded and did not come again", left.Name, left.Call.N),
		})
	}
	stands := map[int64]int64{} // the step of the call that came instead
	for i := range found {
		if d := &found[i]; d.Kind == replay.Extra && d.Nearest >= 0 && d.Run == "" && stands[d.Nearest] == 0 {
			stands[d.Nearest] = d.Step
		}
	}
	at := func(d *replay.Divergence) int64 {
		if step := stands[d.Recorded]; d.Kind == replay.Missing && step > 0 {
			return step
		}
		return d.Step
	}
	slices.SortStableFunc(found, func(a, b replay.Divergence) int { return cmp.Compare(at(&a), at(&b)) })
	return found, probes, nil
}

// remarks returns what is to be said beside the divergences.
func (p *Proxy) remarks(seen *ran, probes int) []string {
	rec := p.o.Record
	var out []string
	if in := seen.toolsInAgent(); in+seen.toolsAnswered > 0 {
		out = append(out, fmt.Sprintf("tools: %d answered, %d ran in the agent itself", seen.toolsAnswered, in))
	}
	if p.o.Replaying && rec.Journal.Sealed().IsZero() {
		out = append(out, "the record is not sealed: what came to it after the replay began was not compared")
	}
	if probes > 0 {
		what := "recorded probes"
		if probes == 1 {
			what = "recorded probe"
		}
		out = append(out, fmt.Sprintf("%d %s (%s) did not come again, which no answer depends on", probes, what, http.MethodHead))
	}
	if !p.turns.kept() {
		out = append(out, "calls that were under way at once were not made to end in the recorded order, because the agent did not make those that it had made before")
	}
	for _, n := range seen.norms {
		out = append(out, "normalised: "+n)
	}
	for _, n := range p.alterations() {
		out = append(out, "normalised: "+n)
	}
	out = append(out, rec.Journal.Remarks()...)
	if p.s.Counts().Calls == 0 && rec.Journal.Len() == 0 {
		out = append(out, "nothing crossed the proxies, neither then nor now: is the agent pointed at them?")
	}
	return out
}

// extra returns the divergence that a call without an answer is.
func (p *Proxy) extra(ctx context.Context, r *replay.Report, seen *ran, m *drive.Miss) (replay.Divergence, error) {
	d := replay.Divergence{
		Kind: replay.Extra, What: "call", Name: m.Call.Name, Recorded: -1, Now: m.N, Nearest: -1, Step: seen.steps[m.N],
	}
	if errors.Is(m.Err, effect.ErrNoOutcome) {
		// The call is recorded and came again. What the record lacks is its
		// answer: the recorder was killed, or is still writing.
		d.Kind, d.What, d.Msg = replay.Different, "outcome", m.Err.Error()
		if open := p.o.Record.Journal.at(m.Key); open != nil {
			d.Recorded, d.Run = open.Call.N, elsewhere(open.Call.Run, r.Run)
		}
		return d, nil
	}
	now, err := p.formOf(ctx, m)
	if err != nil {
		return d, err
	}
	near, err := p.o.Record.near(ctx, p.rules, m.Key.Path, &m.Call, now)
	if err != nil {
		return d, err
	}
	if near != nil {
		d.Nearest, d.Run, d.Where = near.Record.Call.N, elsewhere(near.Record.Call.Run, r.Run), near.Where
	}
	d.Msg = fmt.Sprintf("%s was not recorded; %s", m.Call.Name, describe(near))
	if near != nil && len(near.Where) == 0 {
		d.Msg = m.Err.Error()
	}
	return d, nil
}

// elsewhere returns a run if it is not the report's own.
func elsewhere(run, own ledger.RunID) ledger.RunID {
	if run == own {
		return ""
	}
	return run
}

// ran is what the replay's own ledger tells.
type ran struct {
	steps         map[int64]int64 // entry of a call to its number, from 1
	toolsAnswered int64
	commands      int64
	normalised    int64
	norms         []string // one line for each set of normalisers
	mcpTools      []string
	results       map[string]string // tool result to the tool's name
	// evidence are the calls that the record knows of and has no answer for,
	// because it was imported from what does not hold the bytes; the nearest
	// entry is that of the recorded outcome.
	evidence []replay.Divergence
}

// maxReportBody bounds the request that is searched for tool results.
const maxReportBody = 16 << 20

// readRun reads the replay's ledger.
func (p *Proxy) readRun(ctx context.Context, store drive.Store) (*ran, error) {
	out := &ran{steps: map[int64]int64{}, results: map[string]string{}}
	reader := drive.NewReader(store, p.s.Run())
	type norm struct {
		ids   string
		n     int64
		first int64
	}
	var norms []norm
	calls := map[int64]*ledger.Opened{}
	for e, err := range store.Read(ctx, p.s.Run(), 0) {
		if err != nil {
			return nil, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return nil, err
		}
		switch o.Kind {
		case ledger.KindCall:
			out.steps[o.N] = int64(len(out.steps)) + 1
			calls[o.N] = &o
			if o.Body.Get("kind").Str() == KindModel {
				if err := out.toolResults(ctx, reader, o.N); err != nil {
					return nil, err
				}
			}
		case ledger.KindOutcome:
			n, _ := o.Body.Get("refs").Get("call").AsInt()
			call := calls[n]
			delete(calls, n)
			if call == nil || o.Body.Get("refs").Get("pin").IsZero() {
				continue
			}
			if IsEvidence(o.Body) {
				d, err := unproven(call, &o)
				if err != nil {
					return nil, err
				}
				d.Step = out.steps[n]
				out.evidence = append(out.evidence, d)
				continue
			}
			if call.Body.Get("kind").Str() == KindExec {
				out.commands++
			}
			if tool, ok := strings.CutPrefix(call.Body.Get("name").Str(), methodToolsCall+" "); ok && call.Body.Get("kind").Str() == KindMCP {
				out.toolsAnswered++
				out.mcpTools = append(out.mcpTools, tool)
			}
			if !call.Body.Get("refs").Get("pin").IsZero() {
				continue
			}
			out.normalised++
			ids := "only in how its JSON is written"
			if list := call.Body.Get("match").Get("norms"); list.Len() > 0 {
				var names []string
				for _, v := range list.Elems() {
					names = append(names, v.Str())
				}
				ids = "by " + strings.Join(names, ", ")
			}
			i := slices.IndexFunc(norms, func(x norm) bool { return x.ids == ids })
			if i < 0 {
				norms = append(norms, norm{ids: ids, first: out.steps[n]})
				i = len(norms) - 1
			}
			norms[i].n++
		default:
		}
	}
	for _, n := range norms {
		out.norms = append(out.norms, fmt.Sprintf("%s from their record %s, the first is step %d", differ(n.n), n.ids, n.first))
	}
	return out, nil
}

// IsEvidence reports whether an outcome, of which this is the body, was
// imported without the bytes that were sent, so that it answers nothing.
func IsEvidence(outcome canon.Value) bool {
	return outcome.Get("status").Str() == string(effect.Error) && outcome.Get("data").Has("import")
}

// unproven returns the divergence that a call is which only evidence stands
// for.
func unproven(call, outcome *ledger.Opened) (replay.Divergence, error) {
	pin, err := ledger.ParseRef(outcome.Body.Get("refs").Get("pin"))
	if err != nil {
		return replay.Divergence{}, err
	}
	name := call.Body.Get("name").Str()
	return replay.Divergence{
		Kind: replay.Extra, What: "call", Name: name, Recorded: -1, Now: call.N, Nearest: pin.N, Run: pin.Run,
		Msg: fmt.Sprintf("%s is in the record as evidence only, which answers nothing: %s", name, outcome.Body.Get("data").Get("message").Str()),
	}, nil
}

// differ counts calls that differ.
func differ(n int64) string {
	if n == 1 {
		return "1 call differs"
	}
	return fmt.Sprintf("%d calls differ", n)
}

// toolResults notes the tool results in a request to a model.
func (r *ran) toolResults(ctx context.Context, reader *drive.Reader, n int64) error {
	o, err := reader.Open(ctx, n)
	if err != nil {
		return err
	}
	i := o.Attachment(RequestName)
	if i < 0 || o.Att[i].Size > maxReportBody {
		return nil
	}
	b, err := reader.Bytes(ctx, o, i)
	if err != nil {
		return err
	}
	data := o.Body.Get("data")
	q := protocol.ReadRequest(data.Get("url").Str(), behind(data, b))
	for i := range q.Messages {
		for j, t := range q.Messages[i].Results {
			id := t.ID
			if id == "" { // Gemini's have a name and a place
				id = fmt.Sprintf("%d/%d/%s", i, j, t.Name)
			}
			r.results[id] = t.Name
		}
	}
	return nil
}

// toolsInAgent returns how many tool results came from no MCP tool. Agents
// name MCP tools with the server's name in front.
func (r *ran) toolsInAgent() int64 {
	var n int64
	for _, name := range r.results {
		if name == "" || !slices.ContainsFunc(r.mcpTools, func(tool string) bool { return strings.HasSuffix(name, tool) }) {
			n++
		}
	}
	return n
}
