package insight

import (
	"context"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Codes of [Find].
const (
	// ErrNoRun means that the store holds no run of that name. List the runs.
	ErrNoRun fault.NotFound = "insight.no_such_run"
	// ErrAmbiguous means that more than one run begins like this. Give more
	// of the id.
	ErrAmbiguous fault.Invalid = "insight.ambiguous_run"
)

// Find returns the run that people name: last, last~N for the one N before it,
// an id, or the beginning of one.
func Find(ctx context.Context, store ledger.Store, name string) (ledger.RunInfo, error) {
	const op = "insight.Find"
	back, err := backward(name)
	if err != nil {
		return ledger.RunInfo{}, err
	}
	prefix := strings.ToLower(name)
	var found []ledger.RunInfo
	n := int64(0)
	for info, err := range store.Runs(ctx) {
		switch {
		case err != nil:
			return ledger.RunInfo{}, err
		case back == n:
			return info, nil
		case back < 0 && string(info.Run) == prefix:
			return info, nil
		case back < 0 && strings.HasPrefix(string(info.Run), prefix):
			found = append(found, info)
		}
		n++
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return ledger.RunInfo{}, fault.New(ErrAmbiguous, op, "%d runs begin with %q", len(found), name)
	case back >= 0:
		return ledger.RunInfo{}, fault.New(ErrNoRun, op, "the store has %d runs, so there is no %s", n, name)
	default:
		return ledger.RunInfo{}, fault.New(ErrNoRun, op, "no run begins with %q", name)
	}
}

// maxName is the length of a run id; nothing longer names a run.
const maxName = 36

// backward returns N of last~N, 0 of last, and -1 of the beginning of an id.
func backward(name string) (int64, error) {
	const op = "insight.Find"
	if name == "last" {
		return 0, nil
	}
	if n, ok := strings.CutPrefix(name, "last~"); ok {
		back, err := strconv.ParseUint(n, 10, 31)
		if err != nil {
			return 0, fault.New(ErrNoRun, op, "%q is not last~N", clip(name))
		}
		return int64(back), nil
	}
	hex := func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF-", r) }
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, hex) {
		return 0, fault.New(ErrNoRun, op, "%q is neither last, last~N nor the id of a run", clip(name))
	}
	return -1, nil
}

func clip(name string) string { return strings.ToValidUTF8(name[:min(len(name), maxName)], "") }
