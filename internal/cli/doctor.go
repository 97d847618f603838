package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// The results of a check.
const (
	checkGood = "ok"
	checkNote = "note" // fine, but worth knowing
	checkBad  = "bad"
)

// check is one line of a diagnosis.
type check struct {
	name   string
	result string
	says   string
	lines  []string   // what follows, each on a line of its own
	code   fault.Code // of what is bad
	more   canon.Value
}

// whole returns all that c says.
func (c *check) whole() string {
	return strings.Join(append([]string{c.says}, c.lines...), "; ")
}

func (a *app) doctorCommand() *cobra.Command {
	var try bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the store, the keys, the disk and the environment", GroupID: "more",
		Long: `Check the store, the keys, the disk, whether a hermetic replay can be had, which
of the variables are set by which agents are told where their model is, and how each agent that is found here is
pointed at the recorder. Nothing is changed, and no key is printed.

With --try each of these agents is started once, with an empty home of its own
and a key that is none, against a sink on this machine: did its request come?
No provider is reached.`,
		Example: example("reprise doctor", "reprise doctor --try", "reprise doctor --json"),
		Args:    exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), try)
		},
	}
	cmd.Flags().BoolVar(&try, "try", false, "start each agent that is found against a sink on this machine")
	return cmd
}

func (a *app) doctor(ctx context.Context, try bool) error {
	checks := []check{{name: "program", result: checkGood, says: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}}
	checks = append(checks, a.checkStore(ctx)...)
	checks = append(checks, a.checkDisk(), a.checkKeys(), a.checkCell(ctx))
	checks = append(checks, a.checkClients()...)
	agents := len(checks)
	checks = append(checks, a.checkPrograms(ctx, try)...)
	checks = append(checks, check{
		name: "others", result: checkNote, says: "programs of python, node and go, and scripts with curl: recorded where they read one of the variables above",
		lines: []string{"for another variable: record --upstream name=URL sets NAME_BASE_URL; for a program that reads none: record --proxy"},
	})
	for i := range checks {
		if c := checks[i].code; c != nil && a.status == 0 {
			a.status = c.Class().ExitStatus()
		}
	}
	if a.json {
		list := make([]canon.Value, len(checks))
		for i, c := range checks {
			list[i] = canon.Object(canon.M("name", canon.String(c.name)), canon.M("result", canon.String(c.result)), canon.M("says", canon.String(c.whole())))
			if c.code != nil {
				list[i] = list[i].With("code", canon.String(c.code.Error()))
			}
			if !c.more.IsZero() {
				list[i] = list[i].With("agent", c.more)
			}
		}
		a.print(canon.Object(canon.M("checks", canon.Array(list...)), canon.M("ok", canon.Bool(a.status == 0))))
		return nil
	}
	width := 0
	for _, c := range checks {
		width = max(width, len(c.name))
	}
	for i, c := range checks {
		if i == agents {
			a.printf("\nagents that are found here\n")
		}
		mark := a.out.good("✓")
		switch c.result {
		case checkNote:
			mark = a.out.dim("·")
		case checkBad:
			mark = a.out.bad("✗")
		}
		a.printf("%s %-*s  %s\n", mark, width, c.name, clean(c.says))
		for _, l := range c.lines {
			a.printf("  %-*s  %s\n", width, "", clean(l))
		}
	}
	return nil
}

func bad(name string, err error) check {
	return check{name: name, result: checkBad, says: err.Error(), code: fault.CodeOf(err)}
}

func (a *app) checkStore(ctx context.Context) []check {
	const name = "store"
	p := a.place()
	if p.file != "" {
		if _, err := os.Stat(p.file); err != nil {
			return []check{{name: name, result: checkNote, says: p.dsn + " is not there yet; the first record makes it"}}
		}
	}
	s, err := a.open(ctx, p)
	if err != nil {
		return []check{bad(name, err)}
	}
	defer s.Close()
	runs, unsealed := int64(0), int64(0)
	for info, err := range s.Runs(ctx) {
		if err != nil {
			return []check{bad(name, err)}
		}
		runs++
		if !info.Sealed {
			unsealed++
		}
	}
	says := p.dsn + ", " + plural(runs, "run")
	if unsealed > 0 {
		says += fmt.Sprintf(", %s of them not sealed", number(unsealed))
	}
	out := []check{{name: name, result: checkGood, says: says}}
	if info, err := os.Stat(p.dir); err == nil && p.dir != "" && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 && filepath.Base(p.dir) == defaultDir {
		out = append(out, check{name: name, result: checkNote, says: fmt.Sprintf("others may look into %s (mode %#o); chmod 700 it", p.dir, info.Mode().Perm())})
	}
	return out
}

func (a *app) checkKeys() check {
	const name = "keys"
	k, err := a.readKeys()
	if err != nil {
		return bad(name, err)
	}
	if k == nil {
		return check{name: name, result: checkNote, says: "there are none yet; the first record makes them"}
	}
	s, err := k.Signer()
	if err != nil {
		return bad(name, err)
	}
	return check{name: name, result: checkGood, says: "key " + s.Public().ID().String()[:16] + " signs, under root " + k.Root().ID().String()[:16]}
}

// checkCell says whether a replay can keep its agent from the network.
func (a *app) checkCell(ctx context.Context) check {
	const name = "hermetic"
	exe, err := a.executable()
	if err != nil {
		return bad(name, err)
	}
	if err := capture.TryCell(ctx, []string{exe, cellName}); err != nil {
		return check{name: name, result: checkNote, says: "no network of its own for an agent: " + fault.Text(err) + "; a hermetic replay goes on behind a proxy that refuses, and says what was not blocked"}
	}
	return check{name: name, result: checkGood, says: "an agent can have a network of its own in a replay"}
}

// checkDisk writes and syncs a small file where the store is, or will be.
func (a *app) checkDisk() check {
	const name = "disk"
	p := a.place()
	if p.file == "" {
		return check{name: name, result: checkNote, says: "the store is not on a disk of this machine"}
	}
	dir := p.dir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	begun := a.now()
	f, err := os.CreateTemp(dir, ".reprise-doctor-")
	if err != nil {
		return bad(name, fault.Wrap(ErrFile, "cli.doctor", err, "the folder of the store"))
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 4096))
	if err == nil {
		err = f.Sync()
	}
	_ = f.Close()
	if err != nil {
		return bad(name, fault.Wrap(ErrFile, "cli.doctor", err, "the disk of the store"))
	}
	where := dir
	if dir == "." {
		where = "the working folder"
	}
	says := where + " takes a write in " + duration(a.now().Sub(begun))
	if free, ok := freeBytes(dir); ok {
		says += fmt.Sprintf(", %s MB free", number(free>>20))
		if free < 100<<20 {
			return check{name: name, result: checkNote, says: says}
		}
	}
	return check{name: name, result: checkGood, says: says}
}

// checkClients says what a recording of an agent would redirect, and from
// where. Addresses are printed without user and password.
func (a *app) checkClients() []check {
	ups, err := capture.Plan(a.env, nil)
	if err != nil {
		return []check{bad("clients", err)}
	}
	var out []check
	for i := range ups {
		var set, unset []string
		for _, v := range ups[i].Vars {
			if a.lookup(v.Name) != "" {
				set = append(set, v.Name)
			} else {
				unset = append(unset, v.Name)
			}
		}
		says := ups[i].Address()
		if len(set) > 0 {
			says += ", from " + strings.Join(set, ", ")
		} else {
			says += ", the public address; record sets " + strings.Join(unset, ", ")
		}
		out = append(out, check{name: ups[i].Name, result: checkGood, says: says})
	}
	return out
}

// checkPrograms says of each agent that is found how it is redirected, and,
// if it is to be tried, whether its request came. They are tried side by side:
// some take long to start.
func (a *app) checkPrograms(ctx context.Context, try bool) []check {
	type found struct {
		program *capture.Program
		path    string
	}
	var here []found
	list := capture.Programs()
	for i := range list {
		if path, err := exec.LookPath(list[i].Name); err == nil {
			here = append(here, found{&list[i], path})
		}
	}
	if try {
		defer a.progress("trying " + plural(int64(len(here)), "agent"))()
	}
	out := make([]check, len(here))
	var all sync.WaitGroup
	for i, f := range here {
		all.Go(func() { out[i] = a.checkProgram(ctx, f.program, f.path, try) })
	}
	all.Wait()
	return out
}

func (a *app) checkProgram(ctx context.Context, p *capture.Program, path string, try bool) check {
	c := check{
		name: p.Name, result: checkGood, says: path, lines: []string{"by " + string(p.Means) + ": " + p.How},
		more: canon.Object(
			canon.M("how", canon.String(p.How)), canon.M("means", canon.String(string(p.Means))), canon.M("name", canon.String(p.Name)),
			canon.M("path", canon.String(path)), canon.M("seen", canon.String(p.Seen)), canon.M("tried", canon.Bool(try)),
		),
	}
	add := func(format string, args ...any) { c.lines = append(c.lines, fmt.Sprintf(format, args...)) }
	if !try {
		seen := "and not seen to work, its documents and its source say so"
		if p.Seen != "" {
			seen = "seen with " + p.Seen
		}
		add("not tried here: %s; doctor --try starts it", seen)
		return c
	}
	t, err := p.Try(ctx, path, a.env)
	if t != nil {
		c.more = c.more.With("version", canon.String(t.Version)).With("arrived", canon.Bool(t.Request != "")).
			With("request", canon.String(t.Request)).With("beside", canon.Strings(t.Beside))
		if t.Version != "" {
			c.says += " " + t.Version
		}
	}
	if err != nil {
		c.result, c.code = checkBad, fault.CodeOf(err)
		add("tried: %s", fault.Text(err))
		if t != nil && t.Said != "" {
			add("it said: %s", strings.Join(strings.Fields(t.Said), " "))
		}
		return c
	}
	add("tried: %s arrived in %s", t.Request, duration(t.Took))
	if len(t.Beside) > 0 {
		add("beside that it asks for %s, which is not recorded", strings.Join(t.Beside, ", "))
	}
	return c
}
