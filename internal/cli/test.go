package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store"
)

// Codes of test.
const (
	// ErrNoRecordings means that there is nothing to test. Name a folder that
	// holds .reprise files, or a run.
	ErrNoRecordings fault.NotFound = "cli.no_recordings"
	// ErrNoCommand means that a recording does not say which command made it,
	// or not all of it, because a secret stood in it. Give the command.
	ErrNoCommand fault.Invalid = "cli.no_recorded_command"
	// ErrStranger means that the command in a recording would be run although
	// nobody known has signed it. Look at it; then give the command yourself,
	// trust the signer, or say that it may run.
	ErrStranger fault.Denied = "cli.command_of_a_stranger"
)

// Extension of the files that export writes and test looks for.
const bundleExt = ".reprise"

type testFlags struct {
	hermetic string
	isolate  capture.Isolation
	jobs     int
	update   bool
	recorded bool
	any      bool
	timeout  time.Duration
	trust    []string
	out      outputs
}

func (a *app) testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use: "test [DIR|FILE|RUN…] [-- CMD…]", ValidArgsFunction: a.complete(1 << 10), Short: "Run recordings as regression tests: the agent again, every answer from the record", GroupID: "replay",
		Long: `Replay every recording and say which ones come out differently: every file
*.reprise below DIR (default: this folder), a file, or a run of the store. No
upstream is reached, and the store is not written to.

The agent reaches the record and nothing else: the level is hermetic, and what
was and was not blocked is printed. Where the system gives no network of its own
to a process, --hermetic=require fails instead of going on behind a proxy that
refuses; --hermetic=off is for agents that need a network, such as a database.
Commands that were recorded with --shim are answered from the record.

The agent is CMD, or else the command that the recording names. A file names a
command as a script holds one, so it runs only if one of your own keys or one
that --trust names has signed the file, or if --recorded-command says so.

With --update, recordings that differ are made anew against the live upstreams,
and replace the file; those that are the same stay, byte for byte. A run of the
store is recorded as a new run.

The exit status is 0 if all are the same, 1 if one differs, and that of the
gravest error if one could not be compared.`,
		Example: example(
			"reprise test testdata", "reprise test -j 4 testdata -- node agent.mjs", "reprise test last --html report.html",
			"reprise test --github --junit junit.xml", "reprise test testdata/refund.reprise --update",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			var agent []string
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, agent = args[:at], args[at:]
				if len(agent) == 0 {
					return fault.New(ErrUsage, "cli.test", "no command behind --")
				}
			}
			return a.test(cmd.Context(), args, agent, &f)
		},
	}
	cmd.Flags().StringVar(&f.hermetic, "hermetic", string(capture.IsolateAuto), "let the agent reach nothing but the record: auto (with a network of its own where the system allows it), require or off")
	cmd.Flags().IntVarP(&f.jobs, "jobs", "j", 1, "how many recordings are replayed at a time; 0: one for each processor")
	cmd.Flags().BoolVar(&f.update, "update", false, "record anew, live, what differs")
	cmd.Flags().BoolVar(&f.recorded, "recorded-command", false, "run the commands that files name, whoever made the files")
	cmd.Flags().BoolVar(&f.any, "any-credential", false, "match calls that were recorded with another credential")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long one agent may run")
	cmd.Flags().StringArrayVar(&f.trust, "trust", nil, "run the commands of files that are signed under one of these root keys (PEM)")
	f.out.flags(cmd)
	return cmd
}

// tester runs recordings.
type tester struct {
	*app
	f         *testFlags
	agent     []string // given on the command line; empty: the recorded one
	roots     []sign.PublicKey
	manifests [][]byte
	cwd       string
	exe       string // this program, for shims and cells
}

func (a *app) test(ctx context.Context, args, agent []string, f *testFlags) error {
	if err := f.out.check(a); err != nil {
		return err
	}
	var err error
	if f.isolate, err = capture.ParseIsolation(f.hermetic); err != nil {
		return err
	}
	roots, err := readTrust(f.trust)
	if err != nil {
		return err
	}
	t := &tester{app: a, f: f, agent: agent, roots: roots}
	own, err := a.readKeys()
	if err != nil {
		return err
	}
	if own != nil {
		t.roots, t.manifests = append(t.roots, own.Roots()...), own.Manifests()
	}
	if t.cwd, err = os.Getwd(); err != nil {
		return fault.Wrap(ErrFile, "cli.test", err, "the working folder")
	}
	if t.exe, err = a.executable(); err != nil {
		return err
	}
	list, err := recordings(args)
	if err != nil {
		return err
	}
	suite := &regress.Suite{Title: "reprise test", Made: a.now(), Cases: make([]regress.Case, len(list))}
	t.all(ctx, list, suite)
	a.status = suite.ExitStatus()
	if a.json {
		a.print(suite.Value())
	} else if f.out.markdown != "-" && f.out.junit != "-" && f.out.html != "-" {
		a.printf("%s: %s\n", plural(int64(len(list)), "recording"), suite.Sum())
		for _, line := range suite.Conditions() {
			a.printf("%s %s\n", a.out.dim("·"), clean(line))
		}
	}
	return a.publish(&f.out, suite)
}

// recordings returns what is to be tested: files, and names of runs.
func recordings(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			out = append(out, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && name != arg && strings.HasPrefix(d.Name(), "."):
				return fs.SkipDir
			case d.Type().IsRegular() && filepath.Ext(name) == bundleExt:
				out = append(out, name)
			}
			return nil
		})
		if err != nil {
			return nil, fault.Wrap(ErrFile, "cli.test", err, "the folder %s", arg)
		}
	}
	if len(out) == 0 {
		return nil, fault.New(ErrNoRecordings, "cli.test", "there is no file *%s below %s", bundleExt, strings.Join(args, ", "))
	}
	return out, nil
}

// all runs the recordings, so many at a time, and prints a line for each as it
// ends. The suite keeps the order in which they were named.
func (t *tester) all(ctx context.Context, list []string, suite *regress.Suite) {
	jobs := t.f.jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	next := make(chan int)
	var mu sync.Mutex
	var group sync.WaitGroup
	for range min(jobs, len(list)) {
		group.Go(func() {
			for i := range next {
				c := t.one(ctx, list[i])
				mu.Lock()
				suite.Cases[i] = c
				t.line(&c)
				mu.Unlock()
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	group.Wait()
}

// line says what came of one recording. It goes to standard error where
// standard output holds a document.
func (t *tester) line(c *regress.Case) {
	w, s := t.stdout, t.out
	if t.json || t.f.out.markdown == "-" || t.f.out.junit == "-" || t.f.out.html == "-" {
		w, s = t.stderr, t.err
	}
	mark := s.good("✓")
	if !c.Passed() {
		mark = s.bad("✗")
	}
	fmt.Fprintf(w, "%s %s %s\n", mark, s.bold(clean(c.Name)), s.dim(duration(c.Took)))
	if !c.Passed() || c.Note != "" {
		fmt.Fprintf(w, "    %s\n", clean(c.Sentence()))
	}
	if c.Note != "" {
		fmt.Fprintf(w, "    %s\n", clean(c.Note))
	}
}

// one runs one recording. What goes wrong with it is its result.
func (t *tester) one(ctx context.Context, name string) regress.Case {
	c := regress.Case{Name: name}
	from := t.now()
	if err := ctx.Err(); err != nil {
		c.Err = fault.Wrap(ErrStopped, "cli.test", err, "the test was stopped")
		return c
	}
	limited, stop := context.WithTimeout(ctx, t.f.timeout)
	defer stop()
	c.Err = t.run(limited, &c)
	if limited.Err() != nil {
		c.Report, c.Err = nil, fault.Wrap(ErrStopped, "cli.test", limited.Err(), "the agent was stopped after %s", t.f.timeout)
	}
	c.Took = t.now().Sub(from)
	return c
}

// ErrStopped means that an agent was stopped before it ended: it took longer
// than it may, or the test was interrupted.
const ErrStopped fault.Unavailable = "cli.agent_stopped"

// maxInMemory is the size of a recording up to which it is replayed in memory.
const maxInMemory = 32 << 20

func (t *tester) run(ctx context.Context, c *regress.Case) error {
	info, err := os.Stat(c.Name)
	isFile := err == nil && info.Mode().IsRegular()
	b, err := t.bundle(ctx, c.Name, isFile)
	if err != nil {
		return err
	}
	defer b.Close()
	if isFile {
		c.File = filepath.ToSlash(c.Name)
	}
	s, err := t.scratch(ctx, b.size)
	if err != nil {
		return err
	}
	defer s.Close()
	done, err := archive.Import(ctx, s, b, b.size, archive.ImportOptions{Rand: t.rand, Holder: s.holder})
	if err != nil {
		return err
	}
	r, err := s.recorded(ctx, string(done[0].Run))
	if err != nil {
		return err
	}
	agent, err := t.command(ctx, &r, c.Name, isFile)
	if err != nil {
		return err
	}
	tail := &tail{}
	o, err := t.options(ctx, s, agent, &r, tail)
	if err != nil {
		return err
	}
	res, err := capture.Replay(ctx, o, capture.ReplayOptions{Run: r.Run, AnyCredential: t.f.any, Hermetic: t.f.isolate})
	c.Output = t.printed(o.StoreKey, tail)
	if err != nil {
		return err
	}
	c.Report = res.Report
	if err := regress.Explain(ctx, s, c.Report); err != nil {
		return err
	}
	if c.Sides, err = regress.SidesOf(ctx, s, c.Report); err != nil {
		return err
	}
	if t.f.update && c.Report.Verdict != replay.Same {
		return t.anew(ctx, c, &r, agent, isFile)
	}
	return nil
}

// source is a bundle that can be read at any place.
type source struct {
	io.ReaderAt
	io.Closer
	size int64
}

// bundle returns the bundle of a file, or that of a run of the store.
func (t *tester) bundle(ctx context.Context, name string, isFile bool) (*source, error) {
	if isFile {
		f, err := os.Open(name)
		if err != nil {
			return nil, fault.Wrap(ErrFile, "cli.test", err, "the recording")
		}
		info, err := f.Stat()
		if err != nil {
			return nil, fault.Wrap(ErrFile, "cli.test", errors.Join(err, f.Close()), "the recording")
		}
		return &source{f, f, info.Size()}, nil
	}
	if strings.ContainsAny(name, `/\`) || filepath.Ext(name) == bundleExt {
		return nil, fault.New(ErrFile, "cli.test", "there is no file %s", name)
	}
	s, err := t.openOld(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	info, err := s.find(ctx, name)
	if errors.Is(err, insight.ErrNoRun) {
		return nil, fault.New(insight.ErrNoRun, "cli.test", "%q is no file and no folder here, and no run of the store", name)
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := archive.Export(ctx, s, info.Run, &b, nil); err != nil {
		return nil, err
	}
	return &source{bytes.NewReader(b.Bytes()), io.NopCloser(nil), int64(b.Len())}, nil
}

// scratch opens a store that is gone afterwards.
func (t *tester) scratch(ctx context.Context, size int64) (*scratch, error) {
	dsn, dir := "memory:", ""
	if size > maxInMemory {
		var err error
		if dir, err = os.MkdirTemp("", "reprise-test-"); err != nil {
			return nil, fault.Wrap(ErrFile, "cli.test", err, "a folder for the replay")
		}
		dsn = "sqlite:" + filepath.ToSlash(filepath.Join(dir, defaultFile))
	}
	st, err := store.Open(ctx, dsn, &store.Options{Now: t.now})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &scratch{opened: opened{Store: st, place: place{dsn: dsn}, holder: "reprise-test", a: t.app}, dir: dir}, nil
}

type scratch struct {
	opened
	dir string // empty: it is in memory
}

// Close closes the store and removes what it left.
func (s *scratch) Close() error {
	err := s.Store.Close()
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// command returns the agent to run: the one given, or the one that the
// recording names, if it may be run.
func (t *tester) command(ctx context.Context, r *insight.Run, name string, isFile bool) ([]string, error) {
	const op = "cli.test"
	if r.Engine != capture.Engine {
		return nil, fault.New(ErrEngine, op, "the recording is of the engine %s, which has no agent to run again; import it, and prove it with %s", r.Engine, otherProof(r.Engine))
	}
	if len(t.agent) > 0 {
		return t.agent, nil
	}
	var argv []string
	for _, v := range r.Open.Get("argv").Elems() {
		argv = append(argv, v.Str())
	}
	if len(argv) == 0 {
		return nil, fault.New(ErrNoCommand, op, "the recording names no command, so that nothing was run; give it behind --, or check the recording alone with %q", t.self+" verify "+quote(name))
	}
	if slices.ContainsFunc(argv, func(s string) bool { return strings.Contains(s, "{redacted:") }) {
		return nil, fault.New(ErrNoCommand, op, "a secret stood in the recorded command, %s; give the command behind --", quoteAll(argv))
	}
	if !isFile || t.f.recorded {
		return argv, nil
	}
	signed := ledger.LevelSigned
	report, err := archive.VerifyFile(ctx, name, &archive.VerifyOptions{Roots: t.roots, Manifests: t.manifests, Level: &signed})
	if err != nil && fault.ClassOf(err) != fault.ClassDenied {
		return nil, err
	}
	if err != nil || report.Level < ledger.LevelSigned {
		return nil, fault.New(ErrStranger, op, "the file names the command %s, and nobody whom you trust has signed it; give the command behind --, or --trust KEY, or --recorded-command", quoteAll(argv))
	}
	return argv, nil
}

// otherProof is the command that proves a run of an engine that has no agent.
func otherProof(engine string) string {
	switch engine {
	case trajectory.Engine:
		return `"replay RUN --verify"`
	case job.Engine:
		return `"job replay RUN"`
	default:
		return `"verify RUN"`
	}
}

func (t *tester) options(ctx context.Context, s *scratch, agent []string, r *insight.Run, out io.Writer) (capture.RunOptions, error) {
	o := capture.RunOptions{
		Command: agent, Env: t.env, Stdout: out, Stderr: out, Upstreams: upstreamsOf(r), Title: r.Title,
		Setting: match.SettingAt(t.now(), t.cwd), ShimCommand: []string{t.exe, execShimName}, CellCommand: []string{t.exe, cellName},
	}
	var err error
	if o.Config, err = s.config(nil); err != nil {
		return o, err
	}
	o.StoreKey, err = s.storeKey(ctx)
	return o, err
}

// anew records the agent live, in place of a recording that differs.
func (t *tester) anew(ctx context.Context, c *regress.Case, r *insight.Run, agent []string, isFile bool) error {
	s, err := t.scratch(ctx, maxInMemory+1) // on disk: nobody knows how much will come
	if err != nil {
		return err
	}
	defer s.Close()
	into := &s.opened
	if !isFile {
		if into, err = t.openNew(ctx); err != nil {
			return err
		}
		defer into.Close()
	}
	tail := &tail{}
	o, err := t.options(ctx, s, agent, r, tail)
	if err != nil {
		return err
	}
	k, err := t.openKeys()
	if err != nil {
		return err
	}
	if o.Config, err = into.config(k); err != nil {
		return err
	}
	if o.StoreKey, err = into.storeKey(ctx); err != nil {
		return err
	}
	if o.Normalisers, err = match.RulesOf(r.Open); err != nil {
		return err
	}
	res, err := capture.Record(ctx, o)
	c.Output = t.printed(o.StoreKey, tail)
	if err != nil {
		return err
	}
	if res.Counts.Calls == 0 {
		return fault.New(ErrEmpty, "cli.test", "the agent ran, and nothing came through the recorder; the recording stays as it was")
	}
	was := int64(0)
	if r.Exit != nil {
		was = *r.Exit
	}
	if int64(res.Status) != was {
		return fault.New(ErrFailed, "cli.test", "the agent ended with status %d, not %d as recorded; the recording stays as it was", res.Status, was)
	}
	c.Updated = true
	if !isFile {
		c.Note = "recorded anew as run " + short(res.Run)
		return nil
	}
	if _, err := writeStream(c.Name, func(w io.Writer) error { return archive.Export(ctx, into, res.Run, w, nil) }); err != nil {
		return err
	}
	c.Note = "recorded anew"
	return nil
}

// printed returns the end of what an agent printed, without the secrets that
// are known: reports go to people who do not have them.
func (t *tester) printed(key [32]byte, out *tail) string {
	return redact.New(key, redact.EnvSecrets(t.env)).Text(out.String())
}

// ErrFailed means that the agent ended otherwise than was recorded while it was
// recorded anew, so that the old recording was kept. Mend the agent or the
// upstream, or record with record.
const ErrFailed fault.Unavailable = "cli.agent_failed"

// maxTail is how much of what an agent prints is kept.
const maxTail = 16 << 10

// tail keeps the end of what is written to it. It is safe for concurrent use,
// because an agent has two outputs.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > 2*maxTail {
		t.b = append(t.b[:0], t.b[len(t.b)-maxTail:]...)
	}
	return len(p), nil
}

// String returns the end as text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.b[max(0, len(t.b)-maxTail):]), "\uFFFD")
}
