package jobs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/store"
)

// rig is a store of its own with keys of its own.
type rig struct {
	*jobs.Runner
	t     *testing.T
	store store.Store
	dsn   string
	keys  *keys.Keys
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return rigAt(t, "sqlite:"+filepath.Join(t.TempDir(), "reprise.db"), newKeys(t))
}

func newKeys(t testing.TB) *keys.Keys {
	t.Helper()
	k, err := keys.Open(filepath.Join(t.TempDir(), "keys"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rigAt(t *testing.T, dsn string, k *keys.Keys) *rig {
	t.Helper()
	s, err := store.Open(context.Background(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := &rig{t: t, store: s, dsn: dsn, keys: k}
	r.Runner = r.over(s)
	return r
}

// over returns a runner over another view of the store.
func (r *rig) over(s drive.Store) *jobs.Runner {
	r.t.Helper()
	return runner(r.t, s, r.keys)
}

func runner(t testing.TB, s drive.Store, k *keys.Keys) *jobs.Runner {
	t.Helper()
	signer, err := k.Signer()
	if err != nil {
		t.Fatal(err)
	}
	return &jobs.Runner{
		Config: drive.Config{Store: s, Now: time.Now, Rand: rand.Reader, Signer: signer, Manifests: k.Manifests(), Holder: t.Name()},
		Keys:   k, CellCommand: []string{os.Args[0], "cell"},
	}
}

func readFile(t *testing.T, text string) (*jobs.Job, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return jobs.Read(path)
}

// read reads a job file of this text.
func (r *rig) read(text string) *jobs.Job {
	r.t.Helper()
	j, err := readFile(r.t, text)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// start runs a job until it is done or waits.
func (r *rig) start(text string) *jobs.Result {
	r.t.Helper()
	res, err := r.Start(context.Background(), r.read(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// done runs a job that ends with an answer.
func (r *rig) done(text string) *jobs.Result {
	r.t.Helper()
	res := r.start(text)
	if !res.Done || res.Err() != nil {
		r.t.Fatalf("Start = %+v, %v; want a job that is done", res, res.Err())
	}
	return res
}

func (r *rig) replay(q jobs.ReplayRequest) (*jobs.Replayed, error) {
	r.t.Helper()
	return r.Replay(context.Background(), q)
}

func (r *rig) governance() *jobs.Governance {
	r.t.Helper()
	g, err := jobs.OpenGovernance(context.Background(), r.Config, r.keys, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// enrol gives people keys and roles.
func (r *rig) enrol(id string, roles ...govern.Role) {
	r.t.Helper()
	if err := r.governance().Enrol(context.Background(), id, jobs.Actor{ID: id, Roles: roles}, jobs.Act{}); err != nil {
		r.t.Fatal(err)
	}
}

// events returns the names of the governance ledger, from the last one of that
// name on.
func (r *rig) events(since string) []string {
	r.t.Helper()
	var out []string
	for o, err := range r.governance().Entries(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		name := o.Body.Get("name").Str()
		if name == since {
			out = nil
		}
		out = append(out, name)
	}
	return out
}

// since returns the names of the entries of the governance ledger behind one.
func (r *rig) since(n int64) string {
	r.t.Helper()
	var out []string
	for o, err := range r.governance().Entries(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if o.N > n {
			out = append(out, o.Body.Get("name").Str())
		}
	}
	return strings.Join(out, " ")
}

// audit returns the names of the entries of the audit of a replay.
func (r *rig) audit(run ledger.RunID) []string {
	r.t.Helper()
	var out []string
	for o, err := range drive.NewReader(r.store, run).All(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, o.Body.Get("name").Str())
	}
	return out
}

// sound fails unless the run verifies.
func (r *rig) sound(run ledger.RunID) {
	r.t.Helper()
	v, err := archive.VerifyRun(context.Background(), r.store, run, &archive.VerifyOptions{Roots: r.keys.Roots(), Check: jobs.Check})
	if err != nil || v.Verdict != replay.Verified {
		r.t.Errorf("VerifyRun(%s) = %+v, %v; want verified", run, v, err)
	}
}

// moved returns a rig with an empty store into which the run was exported.
func (r *rig) moved(run ledger.RunID) *rig {
	r.t.Helper()
	ctx := context.Background()
	var b bytes.Buffer
	if err := archive.Export(ctx, r.store, run, &b, nil); err != nil {
		r.t.Fatal(err)
	}
	to := rigAt(r.t, "sqlite:"+filepath.Join(r.t.TempDir(), "other.db"), r.keys)
	if _, err := archive.Import(ctx, to.store, bytes.NewReader(b.Bytes()), int64(b.Len()), archive.ImportOptions{Rand: rand.Reader, Holder: r.t.Name()}); err != nil {
		r.t.Fatal(err)
	}
	return to
}

// wantCode fails unless the error has the code, to the letter.
func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("the code is %v (%v), want %s", got, err, code)
	}
}

// birds is a job of two agents of which the first fails.
const birds = `
seed: s1
input: {query: "what is a kestrel?", user: uma}
persist: always
agents:
  - node: agent:alpha_v1
    script: [{fail: the index is locked}]
  - node: agent:beta_v1
    script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]
snapshots:
  selfrep:
    nodes:
      - {node_id: "agent:alpha_v1", apt: 0.9, metrics: {apt_events: 5}}
      - {node_id: "agent:beta_v1", apt: 0.8, metrics: {apt_events: 5}}
`

var production = jobs.ReplayRequest{Mode: job.Production}

func on(run ledger.RunID, q jobs.ReplayRequest) jobs.ReplayRequest {
	q.Run = run
	return q
}
