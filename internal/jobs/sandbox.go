package jobs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// boxScript makes everything but the folder $1 read-only and runs the rest in
// namespaces of its own, in which nobody can take that back. Over the working
// folder lies another one, if that can be had: what is written there goes to
// $1 too. What cannot be made read-only ends it, but for file systems of the
// kernel's own, which a user without rights cannot write to.
const boxScript = `set -eu
box=$1; shift
here=$(pwd -P)
mount --make-rprivate /
mount --bind "$box" "$box"
over=
case "$box/" in "${here%/}"/*) ;; *)
	mkdir "$box/over" "$box/work"
	if mount -t overlay overlay -o "lowerdir=$here,upperdir=$box/over,workdir=$box/work" "$here" 2>/dev/null; then over=$here; fi
esac
while read -r _ at type _; do
	at=$(printf '%b' "$at")
	case "$at" in "$box"|"$over") continue ;; esac
	case "$type" in
	proc) continue ;;
	sysfs|cgroup|cgroup2|devpts|devtmpfs|mqueue|securityfs|debugfs|tracefs|pstore|bpf) mount -o remount,bind,ro "$at" 2>/dev/null || : ;;
	*) mount -o remount,bind,ro "$at" || exit 125 ;;
	esac
done < /proc/self/mounts
cd "$here"
exec unshare --user --map-root-user --mount -- "$@"`

// box is the temporary folder of one program that runs again.
type box struct {
	dir string
}

func newBox() (*box, error) {
	dir, err := os.MkdirTemp("", "reprise-rerun-*")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "tmp"), 0o700)
	}
	if err != nil {
		return nil, fault.Wrap(ErrSandbox, "jobs.sandbox", err, "no temporary folder")
	}
	return &box{dir}, nil
}

// temp returns where the program may put its files.
func (b *box) temp() string { return filepath.Join(b.dir, "tmp") }

// remove takes the folder away. A folder that an overlay worked in has no
// permissions, which are given back first.
func (b *box) remove() {
	_ = filepath.WalkDir(b.dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // to be removed
		}
		return nil
	})
	_ = os.RemoveAll(b.dir) // it is below the system's folder for what may go
}

// command returns what runs a program so that it writes nowhere but into the
// folder.
func (b *box) command() []string {
	return []string{"unshare", "--user", "--map-root-user", "--mount", "--", "sh", "-c", boxScript, "sh", b.dir}
}

// tryBox refuses with [ErrSandbox] where this system keeps no program from
// files.
func tryBox(ctx context.Context) error {
	const op = "jobs.sandbox"
	if runtime.GOOS != "linux" {
		return fault.New(ErrSandbox, op, "files are kept from a program on Linux only")
	}
	for _, tool := range []string{"unshare", "mount", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fault.Wrap(ErrSandbox, op, err, "%s is needed for a sandbox", tool)
		}
	}
	b, err := newBox()
	if err != nil {
		return err
	}
	defer b.remove()
	try := append(b.command(), "true")
	if out, err := exec.CommandContext(ctx, try[0], try[1:]...).CombinedOutput(); err != nil { //nolint:gosec // to try it is what is needed
		return fault.Wrap(ErrSandbox, op, err, "this system lets no sandbox be made: %.200s", strings.ToValidUTF8(string(out), "\uFFFD"))
	}
	return nil
}

// enclose puts a program that runs again into a sandbox, as far as one can be
// had here, and lets the record answer it. What done does is for when the
// program has ended.
func (a *rerun) enclose(ctx context.Context, call *effect.Call, o *capture.RunOptions, in *capture.Within) (done func(), err error) {
	b, err := newBox()
	if err != nil {
		a.now.fatal = err
		return nil, err
	}
	in.Record, in.Hermetic = &capture.Recorded{Reader: a.reader, Journal: a.journal}, capture.IsolateAuto
	strict := a.strict || call.Class == effect.Irreversible
	if strict {
		in.Hermetic = capture.IsolateRequire
	}
	if !a.tried {
		a.unboxed, a.tried = tryBox(ctx), true
	}
	if err = a.unboxed; err != nil {
		if strict {
			b.remove()
			a.now.fatal = err
			return nil, err
		}
		a.now.open = append(a.now.open, "writing to files: "+fault.Text(err))
	} else if o.Box = b.command(); os.Geteuid() == 0 {
		a.now.open = append(a.now.open, "devices and settings of the kernel, to which root may write: this runs as root")
	}
	o.CellCommand, o.Grace = a.p.r.CellCommand, rerunGrace
	o.Env = slices.DeleteFunc(o.Env, func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") })
	o.Env = append(o.Env, "TMPDIR="+b.temp())
	if !slices.ContainsFunc(o.Env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		o.Env = append(o.Env, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin") // for what makes the sandbox
	}
	return b.remove, nil
}

// rerunGrace is how long a program that is to end may take: nothing that it
// does is kept.
const rerunGrace = time.Second

// ended takes what a program that ran again has asked, and what it was kept
// from.
func (a *rerun) ended(res *capture.Inside, err error) {
	if errors.Is(err, capture.ErrCell) {
		a.now.fatal = fault.Wrap(ErrSandbox, "jobs.sandbox", err, "no network of its own for the program")
	}
	if res != nil {
		a.now.missed = append(a.now.missed, res.Misses...)
		a.now.blocked, a.now.open = append(a.now.blocked, res.Blocked...), append(a.now.open, res.Open...)
	}
	out := &a.p.out.Sandbox
	for _, s := range a.now.blocked {
		if !slices.Contains(out.Blocked, s) {
			out.Blocked = append(out.Blocked, s)
		}
	}
	for _, s := range a.now.open {
		if !slices.Contains(out.Open, s) {
			out.Open = append(out.Open, s)
		}
	}
}

// environ returns where a program that runs again gets what it had from the
// environment of who ran the job: addresses from the record, so that it asks
// what it asked; secrets from here or, of those that are not here, a stand-in.
func (a *rerun) environ(environ func(string) string) func(string) string {
	return func(name string) string {
		if isAddress(name) {
			return a.now.at.addresses.Get(name).Str()
		}
		if v := environ(name); v != "" || !slices.Contains(a.now.at.given, name) {
			return v
		}
		return standIn
	}
}
