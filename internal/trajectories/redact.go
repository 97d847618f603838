package trajectories

import (
	"slices"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/transport"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Redaction is what is kept out of the ledger beyond what the engine's list of
// names says.
type Redaction struct {
	Members []string // names of members whose values are secret
	Env     []string // environment variables whose values are secret
}

// value returns r as the open of a run says it.
func (r Redaction) value() canon.Value {
	return canon.Object(canon.M("env", canon.Strings(r.Env)), canon.M("members", canon.Strings(r.Members)))
}

func redactionOf(v canon.Value) Redaction {
	read := func(name string) (out []string) {
		for _, e := range v.Get(name).Elems() {
			out = append(out, e.Str())
		}
		return out
	}
	return Redaction{Members: read("members"), Env: read("env")}
}

// redactor returns what keeps secrets out of what comes back: by the engine's
// list of names, by r, and by the values of these variables.
func (r Redaction) redactor(names []string, environ func(string) string) *transport.Redactor {
	return transport.NewRedactor(transport.Rules{Mark: trajectory.Redacted, Members: r.Members, Redact: trajectory.Redact}, slices.Concat(r.Env, names), environ)
}
