package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrImport means that at least one of the files was not imported. The lines
// above say which and why.
const ErrImport fault.Invalid = "cli.import_refused"

func (a *app) exportCommand() *cobra.Command {
	var out, otlp, to string
	var alone, content bool
	cmd := &cobra.Command{
		Use: "export RUN -o FILE", ValidArgsFunction: a.complete(1), Short: "Write a run into one file that others can verify offline", GroupID: "share",
		Long: `Write a run, and the runs that it stands on, into one file. Whoever gets it can
verify it without a store, with your public root key, and import it to replay.

With --to, put that file into a bucket of a service that speaks S3, under the
digest of its bytes, and beside it the snapshots of a job under their ids; with
lock= and days= nobody can delete or change them before:

  s3://BUCKET/PREFIX?region=R&lock=compliance&days=365
  s3://BUCKET/PREFIX?endpoint=https://s3.example.com&path-style=1

Credentials come from the environment, as for every AWS tool.

With --otlp, write its calls as spans of OpenTelemetry instead, with the semantic
conventions for generative AI, as OTLP/JSON. Spans are for dashboards: they prove
nothing, but each names the entry that does. What was said is left out unless
--content asks for it.`,
		Example: example("reprise export last -o run.reprise", "reprise keys export -o key.pub", "reprise verify run.reprise --trust key.pub", "reprise export last --to 's3://archive/reprise?lock=compliance&days=365'", "reprise export last --otlp spans.json"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case to != "":
				if out != "" || otlp != "" || content || alone {
					return fault.New(ErrUsage, "cli.export", "--to archives all that a replay needs, and goes with no other flag")
				}
				return a.exportTo(cmd.Context(), args[0], to)
			case out == "" && otlp == "":
				return fault.New(ErrUsage, "cli.export", "name the file with -o; - is standard output")
			case out != "" && otlp != "":
				return fault.New(ErrUsage, "cli.export", "-o and --otlp are two files: export twice")
			case otlp == "" && content, otlp != "" && alone:
				return fault.New(ErrUsage, "cli.export", "--content goes with --otlp, --alone with -o")
			case otlp != "":
				return a.exportSpans(cmd.Context(), args[0], otlp, content)
			}
			return a.export(cmd.Context(), args[0], out, alone)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file that is written; - is standard output")
	cmd.Flags().StringVar(&to, "to", "", "archive the run in this place of a bucket instead: s3://BUCKET/PREFIX?…")
	cmd.Flags().BoolVar(&alone, "alone", false, "leave out the runs that the run stands on")
	cmd.Flags().StringVar(&otlp, "otlp", "", "write OpenTelemetry spans to this file instead; - is standard output")
	cmd.Flags().BoolVar(&content, "content", false, "with --otlp: also write what was asked and answered")
	return cmd
}

func (a *app) export(ctx context.Context, name, out string, alone bool) error {
	if out == "-" && a.json {
		return fault.New(ErrUsage, "cli.export", "standard output cannot hold both the bundle and JSON")
	}
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	opts := &archive.ExportOptions{Alone: alone}
	if out == "-" {
		return archive.Export(ctx, s, info.Run, a.stdout, opts)
	}
	stop := a.progress("exporting")
	size, err := writeStream(out, func(w io.Writer) error { return archive.Export(ctx, s, info.Run, w, opts) })
	stop()
	if err != nil {
		return err
	}
	if a.json {
		a.print(canon.Object(
			canon.M("run", canon.String(string(info.Run))), canon.M("file", canon.String(out)), canon.M("bytes", canon.Int(size)),
		))
		return nil
	}
	a.printf("wrote %s, %s bytes, run %s\n", out, number(size), a.out.name(short(info.Run)))
	a.next(a.stdout, a.out, "verify "+quote(out), "keys export -o key.pub")
	return nil
}

// writeStream writes a file whole or not at all.
func writeStream(path string, write func(io.Writer) error) (int64, error) {
	const op = "cli.writeStream"
	f, err := os.CreateTemp(filepath.Dir(path), ".reprise-")
	if err != nil {
		return 0, fault.Wrap(ErrFile, op, err, "%s", path)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return 0, err
	}
	err = errors.Join(w.Flush(), f.Sync())
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return 0, fault.Wrap(ErrFile, op, err, "%s", path)
	}
	return info.Size(), nil
}

type importFlags struct {
	partial bool
	trust   []string
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Take in bundles, and recordings of other tools", GroupID: "share",
		Long: `Take in bundles that export wrote, and recordings of other tools:

  exchanges     VCR, vcrpy and go-vcr cassettes, Go httprr, HAR, nock
  traces        OTLP/JSON, spans of OpenTelemetry and OpenInference, Langfuse, Orca
  sessions      Claude Code, Codex, Gemini CLI, OpenHands, OpenAI Agents SDK, ADK
  trajectories  tau-bench, SWE-agent, lists of chat messages
  messages      MCP, WebSocket and gRPC cassettes, answers of models alone

In place of a file, s3://BUCKET/PREFIX/bundles/… takes one bundle from where
export --to put it, and s3://BUCKET/PREFIX all of them.

A bundle is verified before anything is written. What a recording of another tool
does not hold byte for byte is labelled as evidence: it can be shown and verified,
and no replay is answered with it.

Every file gets a line; one that is refused does not stop the others, and the
exit status is 2 then.`,
		Example: example("reprise import run.reprise", "reprise import testdata/cassettes/*.yaml", "reprise import ~/.claude/projects/*/*.jsonl", "reprise import 's3://archive/reprise?region=eu-central-1'"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.New(ErrUsage, "cli.import", "import takes at least one file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importFiles(cmd.Context(), args, f)
		},
	}
	cmd.Flags().BoolVar(&f.partial, "partial", false, "take bundles that withhold contents")
	cmd.Flags().StringArrayVar(&f.trust, "trust", nil, "take only bundles that are signed under one of these root keys (PEM)")
	return cmd
}

// taken is what became of one file.
type taken struct {
	file string
	form string
	runs []canon.Value
	line string
	err  error
}

func (a *app) importFiles(ctx context.Context, files []string, f importFlags) error {
	roots, err := readTrust(f.trust)
	if err != nil {
		return err
	}
	s, err := a.openNew(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	opts := archive.ImportOptions{Rand: a.rand, Holder: s.holder, Partial: f.partial}
	if len(roots) > 0 {
		opts.Verify = &archive.VerifyOptions{Roots: roots}
	}
	var list []canon.Value
	refused := 0
	total := 0
	for _, file := range files {
		var done []taken
		if isPlace(file) {
			done = s.importPlace(ctx, file, opts)
		} else {
			done = []taken{s.importFile(ctx, file, opts)}
		}
		for _, t := range done {
			total++
			if t.err != nil {
				refused++
			}
			list = append(list, a.sayTaken(&t))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if a.json {
		a.print(canon.Object(
			canon.M("files", canon.Array(list...)),
			canon.M("imported", canon.Int(int64(total-refused))), canon.M("refused", canon.Int(int64(refused))),
		))
	} else {
		a.printf("%s imported, %d refused\n", plural(int64(total-refused), "file"), refused)
	}
	if refused > 0 {
		a.status = ErrImport.Class().ExitStatus()
	}
	return nil
}

// sayTaken prints what became of one file, and returns it as a value.
func (a *app) sayTaken(t *taken) canon.Value {
	if t.err == nil {
		if !a.json {
			a.printf("%s %s: %s\n", a.out.good("✓"), clean(t.file), t.line)
		}
		return canon.Object(canon.M("file", canon.String(t.file)), canon.M("format", canon.String(t.form)), canon.M("runs", canon.Array(t.runs...)))
	}
	if !a.json {
		a.printf("%s %s: %s\n", a.out.bad("✗"), clean(t.file), clean(t.err.Error()))
	}
	return canon.Object(canon.M("file", canon.String(t.file)), canon.M("code", canon.String(fault.CodeOf(t.err).Error())), canon.M("message", canon.String(t.err.Error())))
}

func (s *opened) importFile(ctx context.Context, path string, opts archive.ImportOptions) taken {
	t := taken{file: path}
	f, err := os.Open(path)
	if err != nil {
		t.err = fault.Wrap(ErrFile, "cli.import", err, "the file")
		return t
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fault.New(ErrFile, "cli.import", "not a file")
	}
	if err != nil {
		t.err = fault.Wrap(ErrFile, "cli.import", err, "the file")
		return t
	}
	if s.importBundle(ctx, &t, f, info.Size(), opts); errors.Is(t.err, bundle.ErrNotBundle) {
		s.importCassette(ctx, &t, f)
	}
	return t
}

func (s *opened) importBundle(ctx context.Context, t *taken, f io.ReaderAt, size int64, opts archive.ImportOptions) {
	t.form = "reprise"
	var done []archive.Imported
	if done, t.err = archive.Import(ctx, s, f, size, opts); t.err != nil {
		return
	}
	fresh := int64(0)
	for _, d := range done {
		t.runs = append(t.runs, canon.Object(canon.M("run", canon.String(string(d.Run))), canon.M("new_entries", canon.Int(d.Entries))))
		fresh += d.Entries
	}
	t.line = fmt.Sprintf("run %s, %s new", s.a.out.name(short(done[0].Run)), plural(fresh, "entrie"))
	if fresh == 1 {
		t.line = fmt.Sprintf("run %s, 1 entry new", s.a.out.name(short(done[0].Run)))
	}
	if fresh == 0 {
		t.line = fmt.Sprintf("run %s was here already", s.a.out.name(short(done[0].Run)))
	}
	if len(done) > 1 {
		t.line += fmt.Sprintf(", with %s that it stands on", plural(int64(len(done)-1), "run"))
	}
}

func (s *opened) importCassette(ctx context.Context, t *taken, f *os.File) {
	k, err := s.a.openKeys()
	if err != nil {
		t.err = err
		return
	}
	cfg, err := s.config(k)
	if err != nil {
		t.err = err
		return
	}
	key, err := s.importKey(ctx)
	if err != nil {
		t.err = err
		return
	}
	res, err := importer.Import(ctx, cfg, f, filepath.Base(t.file), importer.Options{
		Redactor: redact.New(key, redact.EnvSecrets(s.a.env)),
		Beside:   os.DirFS(filepath.Dir(t.file)),
	})
	if err != nil {
		t.err = err
		return
	}
	t.form, t.err = res.Format, nil
	run := canon.Object(
		canon.M("run", canon.String(string(res.Run))),
		canon.M("exchanges", canon.Int(int64(res.Exchanges))), canon.M("replayable", canon.Int(int64(res.Replayable))),
		canon.M("evidence", counted(res.Evidence)), canon.M("lacks", counted(res.Lacks)),
		canon.M("events", canon.Int(int64(res.Events))),
	)
	t.runs = []canon.Value{run}
	t.line = fmt.Sprintf("run %s, %s, %s of %s replayable", s.a.out.name(short(res.Run)), res.Format, number(int64(res.Replayable)), plural(int64(res.Exchanges), "exchange"))
	if res.Events > 0 {
		t.line += fmt.Sprintf(", %s beside", plural(int64(res.Events), "message"))
	}
	for _, c := range res.Evidence {
		t.line += fmt.Sprintf("; %d %s", c.N, c.What)
	}
}

// importKey returns the key of the fingerprints of what another tool recorded.
// It is not that of the store: the keys in such a file are those of whoever
// made it, so that a replay cannot ask for them; it answers any, and says so.
func (s *opened) importKey(ctx context.Context) ([32]byte, error) {
	key, err := s.storeKey(ctx)
	return canon.MAC(key[:], []byte("reprise/cred/imported/v1\n")), err
}

func counted(list []importer.Count) canon.Value {
	ms := make([]canon.Member, len(list))
	for i, c := range list {
		ms[i] = canon.M(c.What, canon.Int(int64(c.N)))
	}
	return canon.Object(ms...)
}
