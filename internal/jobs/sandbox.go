package jobs

import (
	"context"
	"os/exec"
	"runtime"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// boxScript makes everything but the folder $1 read-only and runs the rest in
// namespaces of its own, in which nobody can take that back. What cannot be
// made read-only ends it; the file systems that it leaves are the kernel's own,
// which a user without rights cannot write to.
const boxScript = `set -eu
box=$1; shift
mount --make-rprivate /
mount --bind "$box" "$box"
while read -r _ at type _; do
	at=$(printf '%b' "$at")
	case "$at" in "$box") continue ;; esac
	case "$type" in proc|sysfs|cgroup|cgroup2|devpts|devtmpfs|mqueue|securityfs|debugfs|tracefs|pstore|bpf) continue ;; esac
	mount -o remount,bind,ro "$at" || exit 125
done < /proc/self/mounts
exec unshare --user --map-root-user --mount -- "$@"`

// sandboxed returns the transport of a program that runs without a network and
// writes nowhere but into dir. Where that cannot be had it refuses.
func sandboxed(ctx context.Context, t canon.Value, dir string) (canon.Value, error) {
	const op = "jobs.sandbox"
	box := []string{"unshare", "--user", "--map-root-user", "--net", "--mount", "--", "sh", "-c", boxScript, "sh", dir}
	if runtime.GOOS != "linux" {
		return t, fault.New(ErrSandbox, op, "programs run again on Linux only")
	}
	for _, tool := range []string{"unshare", "mount", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			return t, fault.Wrap(ErrSandbox, op, err, "%s is needed for a sandbox", tool)
		}
	}
	if out, err := exec.CommandContext(ctx, box[0], append(box[1:], "true")...).CombinedOutput(); err != nil {
		return t, fault.Wrap(ErrSandbox, op, err, "this system lets no sandbox be made: %.200s", out)
	}
	path, err := exec.LookPath(box[0])
	if err != nil {
		return t, fault.Wrap(ErrSandbox, op, err, "%s", box[0])
	}
	argv := append([]string{path}, box[1:]...)
	for _, a := range t.Get("argv").Elems() {
		argv = append(argv, a.Str())
	}
	env := t.Get("env")
	if env.IsZero() {
		env = canon.Object()
	}
	if !env.Has("PATH") {
		env = env.With("PATH", canon.String("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"))
	}
	return t.With("argv", names(argv)).With("env", env.With("TMPDIR", canon.String(dir))), nil
}
