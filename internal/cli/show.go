package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

type showFlags struct {
	at     int64
	raw    bool
	html   string
	prices string
}

func (a *app) showCommand() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use: "show RUN", ValidArgsFunction: a.complete(1), Short: "Show a run: every call, its tokens, cost and duration", GroupID: "record",
		Long: `Show the timeline of a run: every call that it made, which model answered, with
how many tokens, at what cost and for how long, and which tools the answer asked
for. What the provider did not say is shown as –, never as zero.

With --at N, show entry N in full: request, answer, and the world as it stood
there if the run has one.`,
		Example: example("reprise show last", "reprise show last --at 3", "reprise show last --at 3 --raw > answer.sse", "reprise show last --html run.html"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.show(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().Int64Var(&f.at, "at", -1, "show this entry in full")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "with --at: write the recorded bytes of the entry, and nothing else")
	cmd.Flags().StringVar(&f.html, "html", "", "write one self-contained page to this file")
	cmd.Flags().StringVar(&f.prices, "prices", "", "take prices from this file before the built-in ones (REPRISE_PRICES)")
	return cmd
}

func (a *app) show(ctx context.Context, name string, f showFlags) error {
	if f.raw && (f.at < 0 || a.json) {
		return fault.New(ErrUsage, "cli.show", "--raw goes with --at, and not with --json")
	}
	prices, err := a.prices(f.prices)
	if err != nil {
		return err
	}
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	switch {
	case f.at >= 0:
		return s.showEntry(ctx, info, f)
	case f.html != "":
		return s.showHTML(ctx, info, prices, f.html)
	default:
		return s.showTimeline(ctx, info, prices)
	}
}

// prices returns the built-in prices, and those of the user before them.
func (a *app) prices(file string) (insight.PriceList, error) {
	if file == "" {
		file = a.lookup("REPRISE_PRICES")
	}
	var own []byte
	if file != "" {
		var err error
		if own, err = os.ReadFile(file); err != nil {
			return insight.PriceList{}, fault.Wrap(ErrFile, "cli.prices", err, "the prices")
		}
	}
	list, err := insight.Prices(own)
	return list, fault.Wrap(fault.CodeOf(err), "cli.prices", err, "%s", file)
}

// brief returns a call without what it says at length, which no line shows: a
// run may hold more of that than memory does.
func brief(c *insight.Call) insight.Call {
	b := *c
	b.Text, b.Model, b.Calls = "", strings.Clone(c.Model), slices.Clone(c.Calls)
	for i := range b.Calls {
		b.Calls[i] = protocol.ToolCall{Name: strings.Clone(b.Calls[i].Name)}
	}
	return b
}

func (s *opened) showTimeline(ctx context.Context, info ledger.RunInfo, prices insight.PriceList) error {
	a := s.a
	r, err := s.summary(ctx, info)
	if err != nil {
		return err
	}
	stop := a.progress("reading")
	var calls []insight.Call
	var sums insight.Totals
	for c, err := range insight.Calls(ctx, s, info.Run, prices) {
		if err == nil {
			err = sums.Add(&c)
		}
		if err != nil {
			stop()
			return err
		}
		calls = append(calls, brief(&c))
	}
	stop()
	if a.json {
		list := make([]canon.Value, len(calls))
		for i := range calls {
			list[i] = calls[i].Value()
		}
		v := canon.Object(
			canon.M("run", r.Value().With("state", canon.String(s.state(&r)))),
			canon.M("calls", canon.Array(list...)),
			canon.M("totals", sums.Value()),
		)
		if driven(&r) {
			steps, err := s.steps(ctx, info.Run)
			if err != nil {
				return err
			}
			v = v.With("steps", canon.Array(steps...))
		}
		a.print(v)
		return nil
	}
	s.heading(&r)
	if driven(&r) {
		return s.showSteps(ctx, info.Run)
	}
	t := newTable(3, ">STEP", ">ENTRY", "KIND", "NAME", "MODEL", ">IN", ">OUT", ">COST", ">TOOK", "STATUS", "ASKS FOR")
	for i := range calls {
		c := &calls[i]
		in, out := dash, dash
		if c.Usage != nil {
			in, out = number(c.Usage.Input+c.Usage.CacheRead+c.Usage.CacheWrite), number(c.Usage.Output+c.Usage.Reasoning)
		}
		model := clean(c.Model)
		if model == "" {
			model = dash
		}
		took := dash
		if c.Timed() {
			took = duration(c.Took)
		}
		t.add(number(c.Step), fmt.Sprint(c.N), c.Kind, strings.Repeat("  ", c.Depth)+clean(c.Name), model, in, out, cost(c.Cost), took, a.callStatus(c), clean(strings.Join(c.Tools(), ", ")))
	}
	if len(calls) == 0 {
		a.printf("%s\n", a.out.warn("no calls: nothing came through the recorder"))
	} else {
		t.write(a.stdout, a.out)
		line := sumLine(&sums)
		if sums.Priced > 0 {
			line += a.out.dim(" at prices " + clean(prices.Version))
		}
		a.printf("\n%s\n", line)
	}
	if a.out.terminal && len(calls) > 0 {
		a.next(a.stdout, a.out, "show "+short(info.Run)+" --at "+fmt.Sprint(calls[0].N)+a.flag(), "verify "+short(info.Run)+a.flag())
	}
	return nil
}

// driven reports whether an engine decides in the run: then what it concluded
// is shown, and not its calls alone.
func driven(r *insight.Run) bool { return r.Engine == trajectory.Engine }

// steps returns the lines of a run as JSON.
func (s *opened) steps(ctx context.Context, run ledger.RunID) ([]canon.Value, error) {
	var out []canon.Value
	for step, err := range insight.Steps(ctx, s, run) {
		if err != nil {
			return nil, err
		}
		out = append(out, step.Value())
	}
	return out, nil
}

// showSteps shows what an engine took in and concluded, one line a step.
func (s *opened) showSteps(ctx context.Context, run ledger.RunID) error {
	a := s.a
	t := newTable(3, ">ENTRY", "WHAT", "WHO", "")
	for step, err := range insight.Steps(ctx, s, run) {
		if err != nil {
			return err
		}
		what, who, text := stepCells(a.out, &step)
		t.add(fmt.Sprint(step.N), what, who, text)
	}
	t.write(a.stdout, a.out)
	if a.out.terminal {
		a.next(a.stdout, a.out, "show "+short(run)+" --at 0"+a.flag(), "verify "+short(run)+a.flag())
	}
	return nil
}

func (s *opened) heading(r *insight.Run) {
	a := s.a
	a.printf("%s  %s\n", a.out.bold("run "+string(r.Run)), title(r))
	facts := []string{"recorded " + a.when(insight.When(r.Opened))}
	if d, ok := r.Took(); ok {
		facts = append(facts, "took "+duration(d))
	}
	facts = append(facts, number(r.At.Count)+" entries", a.paintState(s.state(r)))
	if r.Exit != nil {
		facts = append(facts, fmt.Sprintf("agent exit %d", *r.Exit))
	}
	a.printf("%s\n\n", strings.Join(facts, " · "))
}

func cost(p *budget.Pico) string {
	if p == nil {
		return dash
	}
	return dollars(*p)
}

// maxError is how much of an error's name stands in the table.
const maxError = 24

func (a *app) callStatus(c *insight.Call) string {
	var text string
	switch {
	case c.Status == "":
		return a.out.warn("open")
	case c.Evidence && c.HTTP > 0:
		text = fmt.Sprintf("%d evidence", c.HTTP)
	case c.Evidence:
		text = "evidence"
	case c.Code != "":
		text = clean(c.Code)
	case c.HTTP > 0:
		text = fmt.Sprint(c.HTTP)
	default:
		text = string(c.Status)
	}
	if c.Error != "" {
		text += " " + clean(cut(c.Error, maxError))
	}
	switch {
	case c.Left:
		text = strings.TrimSpace(text + " left early")
	case c.Status == "interrupted":
		text = strings.TrimSpace(text + " interrupted")
	}
	switch {
	case c.Failed():
		return a.out.bad(text)
	case c.Evidence:
		return a.out.warn(text)
	}
	return a.out.good(text)
}

// sumLine says what a run used. A sum that lacks calls says so.
func sumLine(t *insight.Totals) string {
	parts := []string{plural(t.Calls, "call")}
	if t.Failed > 0 {
		parts = append(parts, number(t.Failed)+" failed")
	}
	if t.Open > 0 {
		parts = append(parts, number(t.Open)+" open")
	}
	if t.Evidence > 0 {
		parts = append(parts, number(t.Evidence)+" evidence only")
	}
	if t.Models+t.Counted+t.Priced == 0 {
		return strings.Join(parts, " · ")
	}
	of := func(n int64, what string) string {
		if n >= t.Models {
			return what
		}
		return fmt.Sprintf("%s (%s of %s)", what, number(n), plural(t.Models, "model call"))
	}
	if t.Counted > 0 {
		u := t.Usage
		parts = append(parts, of(t.Counted, number(u.Input+u.CacheRead+u.CacheWrite)+" tokens in, "+number(u.Output+u.Reasoning)+" out"))
	} else {
		parts = append(parts, "tokens "+dash)
	}
	if t.Priced > 0 {
		parts = append(parts, of(t.Priced, dollars(t.Cost)))
	} else {
		parts = append(parts, "cost "+dash)
	}
	return strings.Join(parts, " · ")
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

// showEntry shows one entry in full, and of a call or an outcome the other
// half too.
func (s *opened) showEntry(ctx context.Context, info ledger.RunInfo, f showFlags) error {
	call, outcome, err := insight.CallOf(ctx, s, info.Run, f.at)
	if err != nil {
		return err
	}
	read := drive.NewReader(s, info.Run)
	var list []insight.Detail
	for _, n := range []int64{call, outcome} {
		if n < 0 || f.raw && n != f.at {
			continue
		}
		d, err := insight.Load(ctx, read, n)
		if err != nil {
			return err
		}
		list = append(list, d)
	}
	if call < 0 {
		d, err := insight.Load(ctx, read, f.at)
		if err != nil {
			return err
		}
		list = append(list, d)
	}
	if f.raw {
		return s.a.raw(list[0])
	}
	world, commits, err := insight.WorldAt(ctx, s, info.Run, f.at)
	if err != nil {
		return err
	}
	if s.a.json {
		v := canon.Object(canon.M("run", canon.String(string(info.Run))), canon.M("entries", entriesValue(list)))
		if commits > 0 {
			v = v.With("world", worldValue(world))
		}
		s.a.print(v)
		return nil
	}
	for i := range list {
		s.a.entry(&list[i])
	}
	if commits > 0 {
		s.a.world(world, f.at)
	}
	return nil
}

func (a *app) raw(d insight.Detail) error {
	for _, p := range d.Parts {
		if p.Gone != "" {
			return fault.New(ledger.ErrAbsent, "cli.show", "the content %s of entry %d is not there: %s", p.Name, d.N, p.Gone)
		}
		if _, err := a.stdout.Write(p.Bytes); err != nil {
			return fault.Wrap(ErrFile, "cli.show", err, "standard output")
		}
	}
	return nil
}

// entry prints one entry for people: what it says, and its contents.
func (a *app) entry(d *insight.Detail) {
	a.printf("%s %s\n", a.out.bold(fmt.Sprintf("entry %d · %s", d.N, d.Kind)), a.out.dim(d.T))
	a.printf("%s\n", a.out.dim("id "+d.ID.String()))
	a.facts(d)
	for _, p := range d.Parts {
		if a.streams(&p) {
			continue
		}
		a.printf("\n%s\n", a.out.name(fmt.Sprintf("%s · %s · %s bytes", p.Name, clean(p.Type), number(p.Size))))
		a.part(&p)
	}
	a.printf("\n")
}

// streams prints what a command was given and wrote, and reports whether p was
// that.
func (a *app) streams(p *insight.Part) bool {
	if p.Name != capture.IOName || p.Gone != "" {
		return false
	}
	last := -1
	for stream, b := range capture.ReadIO(p.Bytes) {
		if stream != last {
			a.printf("\n%s\n", a.out.name([...]string{"given to it", "standard output", "standard error"}[stream]))
			last = stream
		}
		if isText(b) {
			a.printf("%s\n", strings.TrimSuffix(cleanBlock(string(b)), "\n"))
		} else {
			a.printf("%s\n", a.out.dim(number(int64(len(b)))+" bytes that are no text"))
		}
	}
	return true
}

// facts prints what an entry says beside its contents: of HTTP, as HTTP has
// it; of anything else, its body.
func (a *app) facts(d *insight.Detail) {
	data := d.Data()
	list := data.Get("headers").Elems()
	switch {
	case list != nil && d.Kind == ledger.KindCall:
		a.printf("%s %s  %s\n", data.Get("method").Str(), a.out.name(clean(data.Get("url").Str())), a.out.dim("to "+clean(data.Get("upstream").Str())))
		for _, c := range data.Get("set").Elems() {
			a.printf("%s %s: %s → %s\n", a.out.warn("changed before it was sent:"), clean(c.Get("pointer").Str()), clean(cmp.Or(c.Get("was").Str(), "nothing")), clean(c.Get("now").Str()))
		}
	case list != nil && d.Kind == ledger.KindOutcome:
		status, _ := data.Get("status").AsInt()
		a.printf("%d %s\n", status, clean(d.Body.Get("status").Str()))
	default:
		if text, ok := insight.Pretty([]byte(d.Body.Without("att", "refs").String())); ok {
			a.printf("%s\n", cleanBlock(string(text)))
		}
		return
	}
	for _, h := range list {
		a.printf("%s %s\n", a.out.dim(clean(h.At(0).Str())+":"), clean(h.At(1).Str()))
	}
	if names := d.Body.Get("redacted").Elems(); len(names) > 0 {
		a.printf("%s\n", a.out.warn(plural(int64(len(names)), "secret")+" replaced by stand-ins"))
	}
}

func (a *app) part(p *insight.Part) {
	switch {
	case p.Gone != "":
		a.printf("%s\n", a.out.warn("not there: "+p.Gone))
	case p.Plain == nil:
		a.printf("%s\n", a.out.dim("in a coding that is not shown; --raw writes the bytes"))
	case p.Answer != nil && protocol.Tells(p.Type):
		a.answer(p.Answer, p)
	default:
		if text, ok := insight.Pretty(p.Plain); ok {
			a.printf("%s\n", cleanBlock(string(text)))
		} else if isText(p.Plain) {
			a.printf("%s\n", cleanBlock(string(p.Plain)))
		} else {
			a.printf("%s\n", a.out.dim("no text; --raw writes the bytes"))
		}
	}
}

// answer prints what a stream says, put together.
func (a *app) answer(r *protocol.Answer, p *insight.Part) {
	a.printf("%s\n", a.out.dim(plural(protocol.CountEvents(p.Type, p.Plain), "event")+", put together; --raw writes them as they came"))
	if r.Text != "" {
		a.printf("%s\n", cleanBlock(r.Text))
	}
	for _, t := range r.Tools() {
		a.printf("asks for %s\n", a.out.name(clean(t)))
	}
	if r.Text == "" && len(r.Calls) == 0 && isText(p.Plain) {
		a.printf("%s\n", cleanBlock(string(p.Plain)))
	}
}

func isText(b []byte) bool {
	_, err := strconv.Unquote(`"` + strings.NewReplacer("\n", "", "\t", "", "\r", "", `"`, "", `\`, "").Replace(string(b)) + `"`)
	return err == nil && strings.ToValidUTF8(string(b), "") == string(b)
}

func (a *app) world(w *ledger.World, n int64) {
	alive, gone := w.Len()
	a.printf("%s\n", a.out.bold(fmt.Sprintf("world behind entry %d · %s", n, plural(alive, "item"))))
	if gone > 0 {
		a.printf("%s\n", a.out.warn(number(gone)+" of its values are not there"))
	}
	for _, it := range w.Items() {
		a.printf("%s %s %s %s\n", a.out.name(clean(it.Kind)), clean(it.ID), a.out.dim(fmt.Sprintf("v%d", it.Version)), clean(string(it.Value)))
	}
}

func worldValue(w *ledger.World) canon.Value {
	var items []canon.Value
	for _, it := range w.Items() {
		v := canon.Object(canon.M("kind", canon.String(it.Kind)), canon.M("id", canon.String(it.ID)), canon.M("version", canon.Int(it.Version)))
		if value, err := canon.Parse(it.Value); err == nil && it.Value != nil {
			v = v.With("value", value)
		}
		items = append(items, v)
	}
	return canon.Array(items...)
}

func entriesValue(list []insight.Detail) canon.Value {
	out := make([]canon.Value, len(list))
	for i := range list {
		out[i] = list[i].Value()
	}
	return canon.Array(out...)
}

// to writes a document to a file or, for "-", to standard output.
func (a *app) to(path string, data []byte) error {
	if path == "-" {
		_, err := io.Copy(a.stdout, strings.NewReader(string(data)))
		return fault.Wrap(ErrFile, "cli", err, "standard output")
	}
	return writeFile(path, data, 0o600)
}
