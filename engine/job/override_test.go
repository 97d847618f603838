package job_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// override sends an act of a person on the trust of a node.
func (x *started) override(person string, role govern.Role, node string, o job.Override, signed *job.Override) {
	x.t.Helper()
	if signed == nil {
		signed = &o
	}
	m, err := signed.Matter(job.DefaultID(x.plan.spec.Seed), node)
	if err != nil {
		x.t.Fatal(err)
	}
	x.receive(ledger.KindApproval, job.InputOverride, person, canon.Object(
		canon.M("act", value(x.t, string(act(x.t, person, role, govern.Approve, m)))),
		canon.M("node_id", canon.String(node)), canon.M("override", o.Value())))
}

// rejections returns the codes with which the job has refused what was said.
func (x *started) rejections() []string {
	x.t.Helper()
	var out []string
	for o, err := range x.reader().All(x.t.Context()) {
		if err != nil {
			x.t.Fatal(err)
		}
		if o.Kind == ledger.KindRejection {
			out = append(out, o.Data().Get("code").Str())
		}
	}
	return out
}

// APT-05, T-APT-05: trust is set by hand only with the signature of an admin or
// of the council, and the act stands in the stream before what it allows.
func TestManualOverrideInARunTakesASignature(t *testing.T) {
	t.Parallel()
	fallen := job.Override{APT: job.One / 10, Reason: "it made things up"}
	for _, tt := range []struct {
		name   string
		person string
		role   govern.Role
		node   string
		o      job.Override
		signed *job.Override
		want   fault.Code // nil: it is taken
	}{
		{"an admin", "ada", govern.Admin, alpha, fallen, nil, nil},
		{"one of the council", "cat", govern.Council, alpha, fallen, nil, nil},
		{"offline", "ada", govern.Admin, alpha, job.Override{APT: 0, Status: job.Offline, Reason: "down"}, nil, nil},
		{"an operator", "oscar", govern.Operator, alpha, fallen, nil, govern.ErrRole},
		{"an admin who claims the council", "ada", govern.Council, alpha, fallen, nil, govern.ErrRole},
		{"signed for another value", "ada", govern.Admin, alpha, fallen, &job.Override{APT: job.One, Reason: fallen.Reason}, job.ErrOverride},
		{"a node that is not there", "ada", govern.Admin, "agent:nobody_v1", fallen, nil, job.ErrNode},
		{"quarantine without the council", "ada", govern.Admin, alpha, job.Override{APT: 0, Status: job.Quarantined, Reason: "leaks"}, nil, job.ErrOverride},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.says(alpha, askPut)
			x := r.start(r.plan(nil))
			x.override(tt.person, tt.role, tt.node, tt.o, tt.signed)
			x.finish()
			at := slices.Index(x.events(), job.EventOverrideAct)
			if tt.want != nil {
				if got := x.rejections(); at >= 0 || !slices.Equal(got, []string{tt.want.Error()}) {
					t.Errorf("refused with %v, events %v; want %v and no override", got, x.events(), tt.want)
				}
			} else if at < 0 || x.events()[at+1] != job.ManualOverride {
				t.Errorf("events = %v, want the act and the override behind it", x.events())
			}
			x.sound()
		})
	}
}

// An act is good for one override, and an overridden node is routed around.
func TestOverriddenTrustDecidesTheNextRouting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, `{"text":"hm","confidence":0.1,"requests":[{"action":"sem_put","key":"a/b","value":1,"justification":"so"}]}`)
	r.says(beta, text("from beta"))
	x := r.start(r.plan(nil))
	o := job.Override{APT: job.One / 10, Reason: "guesses"}
	x.override("ada", govern.Admin, alpha, o, nil)
	x.override("ada", govern.Admin, alpha, o, nil)
	x.finish()
	if got := x.rejections(); len(got) != 1 {
		t.Errorf("refused with %v, want the second use of the act", got)
	}
	if l := x.log(); l.Final != "from beta" || l.Iterations[0].Router.Get("selected_agent").Str() != alpha {
		t.Errorf("final %q", l.Final)
	}
	x.sound()

	// Somebody who holds the key of the log takes the act away, or puts another
	// override behind it: neither follows from what was signed.
	for name, edit := range map[string]func(*job.Archive, *job.Log){
		"another value": func(a *job.Archive, l *job.Log) {
			rewrite(t, a, l, job.ManualOverride, `"new_apt":0.100000000`, `"new_apt":0.900000000`)
		},
		"another act": func(a *job.Archive, l *job.Log) {
			rewrite(t, a, l, job.EventOverrideAct, `"new_apt":"0.100000000"`, `"new_apt":"0.900000000"`)
		},
	} {
		a := x.archive()
		reseal(t, a, func(l *job.Log) { edit(a, l) })
		_, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
		if fault.CodeOf(err) != job.ErrIntegrity {
			t.Errorf("%s: Replay = %v, want %v", name, err, job.ErrIntegrity)
		}
	}
}

// rewrite changes the bytes of the first event of a type, and the log with it.
func rewrite(t *testing.T, a *job.Archive, l *job.Log, eventType, from, to string) {
	t.Helper()
	for i, ref := range l.Events {
		if ref.Type != eventType {
			continue
		}
		b := bytes.Replace(a.Events[ref.ID], []byte(from), []byte(to), 1)
		if bytes.Equal(b, a.Events[ref.ID]) {
			t.Fatalf("%s holds no %s: %s", eventType, from, b)
		}
		a.Events[ref.ID], l.Events[i].Digest = b, canon.SHA256(b)
		return
	}
	t.Fatalf("there is no %s", eventType)
}
