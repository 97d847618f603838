package trajectories_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memory"
)

// TestMain makes the test binary a runner that kills itself, a tool that
// counts its calls, and an MCP server.
func TestMain(m *testing.M) {
	switch os.Getenv("TRAJ_TEST") {
	case "run":
		runAndDie()
	case "ledgerline":
		ledgerline()
	case "mcp":
		serveMCP()
	default:
		os.Exit(m.Run())
	}
	os.Exit(0)
}

// ledgerline is a tool whose effect can be counted: it appends a line with the
// key under which it was called, unless there is one with that key.
func ledgerline() {
	path, key := os.Getenv("FILE"), os.Getenv("KEY")
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	if strings.Contains(string(b), key) && os.Getenv("DEDUPE") != "" {
		fmt.Println(`{"done":"before"}`)
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	args, err := io.ReadAll(bufio.NewReader(os.Stdin))
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f, "%s %s\n", key, args)
	if err := f.Close(); err != nil {
		panic(err)
	}
	fmt.Println(`{"done":"now"}`)
}

type addIn struct {
	A int    `json:"a"`
	B int    `json:"b"`
	W string `json:"w,omitempty"`
}

// serveMCP is a server with a tool that adds, one that fails, one that leaks,
// and one whose schema says more than is held.
func serveMCP() {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(_ context.Context, _ *mcp.CallToolRequest, in addIn) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.Itoa(in.A + in.B)}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Add two numbers."}, add)
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("out of paper")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "leak"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		text := fmt.Sprintf(`{"password":"hunter22","env":%q,"has":%q}`, strings.Join(os.Environ(), " "), os.Getenv("SECRET_NAME"))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	if os.Getenv("ODD") != "" {
		s.AddTool(&mcp.Tool{Name: "odd", InputSchema: map[string]any{"type": "object", "patternProperties": map[string]any{"^x": map[string]any{}}}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "odd"}}}, nil
			})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil && os.Getenv("ODD") == "never" {
		panic(err)
	}
}

// rig is a runner over a store in memory.
type rig struct {
	t   *testing.T
	r   *trajectories.Runner
	dir string
}

func newRig(t *testing.T, env map[string]string) *rig {
	t.Helper()
	dir := t.TempDir()
	k, err := keys.Open(filepath.Join(dir, "keys"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := k.Signer()
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, dir: dir, r: &trajectories.Runner{
		Keys:   k,
		Config: drive.Config{Store: memory.New(nil), Now: time.Now, Rand: rand.Reader, Signer: signer, Manifests: k.Manifests(), Holder: "test"},
		World: live.World{Environ: func(name string) string { return env[name] }, More: map[string]live.Func{
			"sleep": func(context.Context, *effect.Call) (effect.Outcome, error) {
				return effect.Outcome{Status: effect.OK}, nil
			},
		}},
	}}
}

// file writes a file of the rig and returns its path.
func (g *rig) file(name, text string) string {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

// task reads a task with a script.
func (g *rig) task(task, script string) *trajectories.Task {
	g.t.Helper()
	g.file("script.yaml", script)
	t, err := trajectories.ReadTask(g.file("task.yaml", task))
	if err != nil {
		g.t.Fatal(err)
	}
	return t
}

func (g *rig) start(task, script string) *trajectories.Result {
	g.t.Helper()
	res, err := g.r.Start(g.t.Context(), g.task(task, script))
	if err != nil {
		g.t.Fatal(err)
	}
	return res
}

// entries returns the bodies of a run's entries of a kind, as JSON.
func (g *rig) entries(run ledger.RunID, kind ledger.Kind) []canon.Value {
	g.t.Helper()
	var out []canon.Value
	for e, err := range g.r.Config.Store.Read(g.t.Context(), run, 0) {
		if err != nil {
			g.t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			g.t.Fatal(err)
		}
		if o.Kind == kind {
			out = append(out, o.Body)
		}
	}
	return out
}

// contents returns every byte that a run holds: bodies and attachments.
func (g *rig) contents(run ledger.RunID) string {
	g.t.Helper()
	var b strings.Builder
	read := drive.NewReader(g.r.Config.Store, run)
	for o, err := range read.All(g.t.Context()) {
		if err != nil {
			g.t.Fatal(err)
		}
		b.WriteString(o.Body.String())
		list, err := read.Contents(g.t.Context(), o)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, c := range list {
			b.Write(c.Bytes)
		}
	}
	return b.String()
}

// dying is a store that kills the process around its so-manieth append.
type dying struct {
	store.Store
	at     int // 0: at none
	before bool
	behind string // a file: the first append behind what is written to it is not made
	seen   int
}

func (d *dying) Append(ctx context.Context, b *ledger.Batch) error {
	if len(b.Entries) > 0 {
		d.seen++
	}
	if d.seen > 0 && d.seen == d.at && d.before {
		die()
	}
	if info, err := os.Stat(d.behind); err == nil && info.Size() > 0 && len(b.Entries) > 0 {
		die()
	}
	err := d.Store.Append(ctx, b)
	if d.seen > 0 && d.seen == d.at {
		die()
	}
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// runAndDie is the process that is killed.
func runAndDie() {
	ctx := context.Background()
	dir := os.Getenv("DIR")
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "r.db"), nil)
	if err != nil {
		panic(err)
	}
	at, err := strconv.Atoi(os.Getenv("AT"))
	if err != nil {
		panic(err)
	}
	r := runnerOn(&dying{Store: s, at: at, before: os.Getenv("BEFORE") != "", behind: os.Getenv("BEHIND")}, dir, time.Now, "dying")
	t, err := trajectories.ReadTask(filepath.Join(dir, "task.yaml"))
	if err != nil {
		panic(err)
	}
	if _, err := r.Start(ctx, t); err != nil {
		panic(err)
	}
}

func runnerOn(s drive.Store, dir string, now func() time.Time, holder string) *trajectories.Runner {
	k, err := keys.Open(filepath.Join(dir, "keys"), rand.Reader)
	if err != nil {
		panic(err)
	}
	return &trajectories.Runner{
		Keys:   k,
		Config: drive.Config{Store: s, Now: now, Rand: rand.Reader, Spool: filepath.Join(dir, "spool"), Holder: holder},
	}
}
