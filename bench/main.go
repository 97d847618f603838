// Command bench prints what Reprise promises of its speed and size: a line for
// each promise, with the figure, its bar, and the limit or peer that was
// measured in the same run. It exits with 1 if a bar is missed.
//
// Usage: go run . [-quick] [-only GROUP,…] [-o FILE]
//
// Everything runs on this machine, over the loopback, in folders that are
// removed again. Clients, upstreams and proxies are processes of their own, so
// that a proxy is charged for nothing that another one is not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 {
		if role := roleOf(os.Args[1]); role != nil {
			exit(role(ctx, os.Args[2:]))
			return
		}
	}
	met, err := run(ctx, os.Args[1:])
	exit(err)
	if !met {
		os.Exit(1)
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

// bench is one run of this program.
type bench struct {
	ctx    context.Context //nolint:containedctx // a bench is one run and is given to nobody
	dir    string          // removed at the end
	quick  bool
	rounds int
	rows   []row
	busy   string // what else the machine did at the start
}

// part is a group of rows that are measured together.
type part struct {
	name string
	run  func(b *bench) error
}

var parts = []part{
	{"verify", (*bench).verify},
	{"trajectories", (*bench).trajectories},
	{"append", (*bench).durable},
	{"proxy", (*bench).proxies},
	{"storage", (*bench).storage},
	{"plans", (*bench).plans},
}

func run(ctx context.Context, args []string) (met bool, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "fewer and shorter rounds, no ledger of a million entries: 1 minute instead of 8")
	only := flags.String("only", "", "measure only these groups: "+names())
	out := flags.String("o", "", "put the table into this Markdown `file`, between its two marks")
	tmp := flags.String("dir", "", "make the stores in this `folder`; its disk decides what a durable write costs")
	profile := flags.String("cpuprofile", "", "write where this process spends its time into this `file`")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return false, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return false, err
		}
		defer pprof.StopCPUProfile()
	}
	b := &bench{ctx: ctx, quick: *quick, rounds: 5}
	if b.quick {
		b.rounds = 3
	}
	if b.dir, err = os.MkdirTemp(*tmp, "reprise-bench-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)
	began := time.Now()
	b.busy = load()
	for _, p := range parts {
		if *only != "" && !listed(*only, p.name) {
			continue
		}
		fmt.Printf("\n%s\n", strings.ToUpper(p.name))
		if err := p.run(b); err != nil {
			return false, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	met, line := b.verdict()
	fmt.Printf("\n%s, in %s, on %s%s\n", line, time.Since(began).Round(time.Second), machine(), b.busy)
	if *out != "" {
		return met, b.writeMarkdown(*out, began)
	}
	return met, nil
}

func names() string {
	var list []string
	for _, p := range parts {
		list = append(list, p.name)
	}
	return strings.Join(list, ",")
}

func listed(list, name string) bool {
	for n := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(n) == name {
			return true
		}
	}
	return false
}
