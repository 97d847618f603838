package cli

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func (a *app) matchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "match", Short: "Say how requests are matched with a record", GroupID: "replay",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.matchExplainCommand(), a.matchRulesCommand())
	return cmd
}

// requestFlags say of a request in a file what its bytes do not.
type requestFlags struct{ method, path, upstream string }

func (a *app) matchExplainCommand() *cobra.Command {
	var f requestFlags
	cmd := &cobra.Command{
		Use: "explain RUN ENTRY|FILE", ValidArgsFunction: a.complete(1), Short: "Say what the normalisers make of a request, its key, and which recorded call it is or comes nearest to",
		Long: `Say how a request is matched with the record of RUN: what each normaliser makes
of it, the key that comes of that, and the recorded call with that key; or, if
there is none, the one that comes nearest and every place where it differs.

The request is that of entry ENTRY of RUN (show prints the entries), or the body
in FILE; - is standard input. Of a run that is itself a replay, the entry is
explained against the run that it replayed. A file is taken for a request like
the first recorded one unless flags say otherwise.

The exit status is 0 if the request has its match in the record and 1 if not.`,
		Example: example("reprise match explain last 3", "reprise match explain last prompt.json", "reprise match explain last prompt.json --path /v1/messages --upstream anthropic"),
		Args:    exactly(2, "a run, and an entry or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.matchExplain(cmd.Context(), args[0], args[1], f)
		},
	}
	cmd.Flags().StringVar(&f.method, "method", "", "of a request in a file (default: as the first recorded call)")
	cmd.Flags().StringVar(&f.path, "path", "", "of a request in a file, with its query (default: as the first recorded call)")
	cmd.Flags().StringVar(&f.upstream, "upstream", "", "of a request in a file: the name of its upstream (default: as the first recorded call)")
	return cmd
}

func (a *app) matchExplain(ctx context.Context, name, what string, f requestFlags) error {
	s, r, err := a.openSummary(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	own, err := s.record(ctx, r.Run)
	if err != nil {
		return err
	}
	rec := own
	if r.Mode == "replay" && r.Source != nil {
		if rec, err = s.record(ctx, r.Source.Run); err != nil {
			return err
		}
	}
	var q capture.Request
	if n, numErr := strconv.ParseInt(what, 10, 64); numErr == nil {
		q, err = capture.RequestAt(ctx, own.Reader, own.Journal, ledger.Ref{Run: r.Run, N: n})
	} else {
		q, err = s.requestIn(ctx, what, f, rec)
	}
	if err != nil {
		return err
	}
	e, err := capture.Explain(ctx, rec, q)
	if err != nil {
		return err
	}
	a.explained(rec, e)
	return nil
}

func (s *opened) record(ctx context.Context, run ledger.RunID) (*capture.Recorded, error) {
	j, err := capture.ReadJournal(ctx, s, run, 0)
	if err != nil {
		return nil, err
	}
	return &capture.Recorded{Reader: drive.NewReader(s, run), Journal: j}, nil
}

// maxRequestFile bounds a request that is explained.
const maxRequestFile = capture.DefaultMaxWhole

// requestIn reads a request from a file. What the file does not say is as in
// the first recorded call.
func (s *opened) requestIn(ctx context.Context, file string, f requestFlags, rec *capture.Recorded) (capture.Request, error) {
	const op = "cli.match"
	a := s.a
	in := a.stdin
	if file != "-" {
		o, err := os.Open(file)
		if err != nil {
			return capture.Request{}, fault.Wrap(ErrFile, op, err, "the request")
		}
		defer o.Close()
		in = o
	}
	body, err := io.ReadAll(io.LimitReader(in, maxRequestFile+1))
	if err != nil {
		return capture.Request{}, fault.Wrap(ErrFile, op, err, "the request")
	}
	if len(body) > maxRequestFile {
		return capture.Request{}, fault.New(ErrFile, op, "the request is over %d bytes", maxRequestFile)
	}
	if f.method == "" || f.path == "" || f.upstream == "" {
		for _, r := range rec.Journal.Left() {
			o, err := rec.Reader.Ref(ctx, r.Call)
			if err != nil {
				return capture.Request{}, err
			}
			d := o.Body.Get("data")
			if d.Get("method").Str() == "" {
				continue // of a stdio server
			}
			f = requestFlags{or(f.method, d.Get("method").Str()), or(f.path, d.Get("url").Str()), or(f.upstream, d.Get("upstream").Str())}
			break
		}
	}
	if f.method == "" || f.path == "" || f.upstream == "" {
		return capture.Request{}, fault.New(ErrUsage, op, "the record holds no HTTP request to take these from; give --method, --path and --upstream")
	}
	key, err := s.storeKey(ctx)
	if err != nil {
		return capture.Request{}, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return capture.Request{}, fault.Wrap(ErrFile, op, err, "the working folder")
	}
	red := redact.New(key, redact.EnvSecrets(a.env))
	return capture.NewRequest(f.upstream, f.method, f.path, body, red, match.SettingAt(a.now(), cwd))
}

func or(s, fallback string) string {
	if s != "" {
		return s
	}
	return fallback
}

func (a *app) explained(rec *capture.Recorded, e *capture.Explanation) {
	itself := e.Request.Self.Run == rec.Reader.Run()
	if len(e.Same) == 0 && !itself {
		a.status = fault.ExitDiverged
	}
	if a.json {
		a.print(explanationValue(rec.Reader.Run(), e))
		return
	}
	q := &e.Request
	a.printf("%s %s\n", a.out.name(clean(q.Name)), a.out.dim(clean("of the kind "+q.Kind+", "+number(int64(len(q.Body)))+" bytes, to "+or(q.Upstream, "a stdio server"))))
	var idle []string
	for i := range e.Rules {
		r := &e.Rules[i]
		if !r.Changed {
			idle = append(idle, r.ID())
			continue
		}
		a.printf("  %s %s %s\n", a.out.good("✓"), a.out.bold(r.ID()), a.out.dim(r.Doc))
		a.differences(r.Where, "before", "after ")
	}
	if len(idle) > 0 {
		a.printf("  %s %s\n", a.out.dim("·"), a.out.dim("without effect: "+strings.Join(idle, ", ")))
	}
	a.printf("key %s %s\n", e.Key, a.out.dim("of upstream, method, path and query, and the body in this form"))
	a.printf("credential: %s\n", e.Credential)
	switch {
	case itself:
		a.printf("%s it is entry %d of this record, which answers it\n%s %s\n", a.out.good("match:"), e.Request.Self.N, a.out.dim("of the other calls:"), clean(e.Why))
	case len(e.Same) > 0:
		a.printf("%s %s\n", a.out.good("match:"), clean(e.Why))
	default:
		a.printf("%s %s\n", a.out.bad("no match:"), clean(e.Why))
	}
	if e.Nearest != nil {
		a.differences(e.Nearest.Where, "recorded", "now     ")
	}
}

// differences prints places with what stands there on both sides.
func (a *app) differences(list []canon.Difference, left, right string) {
	for i, w := range list {
		if i == maxPlaces {
			a.printf("    %s\n", a.out.dim("and "+plural(int64(len(list)-i), "more place")))
			return
		}
		a.printf("    %s\n      %s %s\n      %s %s\n", a.out.name(pointer(w.Pointer)), a.out.dim(left), excerpt(w.A, w.B), a.out.dim(right), excerpt(w.B, w.A))
	}
}

func explanationValue(run ledger.RunID, e *capture.Explanation) canon.Value {
	rules := make([]canon.Value, len(e.Rules))
	for i := range e.Rules {
		r := &e.Rules[i]
		rules[i] = canon.Object(
			canon.M("id", canon.String(r.ID())), canon.M("about", canon.String(r.Doc)),
			canon.M("changed", canon.Bool(r.Changed)), canon.M("differences", places(r.Where, "before", "after")),
		)
	}
	same := make([]canon.Value, len(e.Same))
	for i, r := range e.Same {
		same[i] = recordValue(r)
	}
	v := canon.Object(
		canon.M("run", canon.String(string(run))),
		canon.M("name", canon.String(e.Request.Name)),
		canon.M("kind", canon.String(e.Request.Kind)),
		canon.M("rules", canon.Array(rules...)),
		canon.M("key", canon.String(e.Key.String())),
		canon.M("credential", canon.String(e.Credential)),
		canon.M("matches", canon.Bool(len(e.Same) > 0)),
		canon.M("same", canon.Array(same...)),
		canon.M("why", canon.String(e.Why)),
	)
	if n := e.Nearest; n != nil {
		v = v.With("nearest", recordValue(n.Record).With("differences", places(n.Where, "recorded", "now")))
	}
	return v
}

func recordValue(r *effect.Record) canon.Value {
	return canon.Object(
		canon.M("run", canon.String(string(r.Call.Run))), canon.M("entry", canon.Int(r.Call.N)), canon.M("name", canon.String(r.Name)),
	)
}

func places(list []canon.Difference, left, right string) canon.Value {
	out := make([]canon.Value, len(list))
	for i, d := range list {
		out[i] = canon.Object(canon.M("pointer", canon.String(d.Pointer)), canon.M(left, d.A), canon.M(right, d.B))
	}
	return canon.Array(out...)
}

func (a *app) matchRulesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rules [RUN]", ValidArgsFunction: a.complete(1), Short: "List the normalisers, or those that a run was recorded with",
		Example: example("reprise match rules", "reprise match rules last"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fault.New(ErrUsage, "cli", "%s takes one run at most", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.matchRules(cmd.Context(), args) },
	}
}

func (a *app) matchRules(ctx context.Context, args []string) error {
	list, optional := match.Normalisers(), match.Optional()
	if len(args) == 1 {
		s, r, err := a.openSummary(ctx, args[0])
		if err != nil {
			return err
		}
		defer s.Close()
		if list, err = match.RulesOf(r.Open); err != nil {
			return err
		}
		optional = nil
	}
	var values []canon.Value
	t := newTable(2, "NORMALISER", "FOR", "WHAT IT LEAVES OUT OF THE KEY")
	add := func(n *match.Normaliser, on bool) {
		values = append(values, canon.Object(
			canon.M("id", canon.String(n.ID())), canon.M("kind", canon.String(n.Kind)), canon.M("about", canon.String(n.Doc)), canon.M("on", canon.Bool(on)),
		))
		about := n.Doc
		if !on {
			about += " (off; record --normalise " + n.Name + ")"
		}
		t.add(n.ID(), or(n.Kind, "all"), about)
	}
	for i := range list {
		add(&list[i], true)
	}
	for i := range optional {
		add(&optional[i], false)
	}
	if a.json {
		a.print(canon.Object(canon.M("rules", canon.Array(values...))))
		return nil
	}
	t.write(a.stdout, a.out)
	return nil
}
