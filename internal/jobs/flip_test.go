package jobs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// stride is how many bytes lie between two that are flipped. With
// REPRISE_EXHAUSTIVE set every byte is.
func stride() int {
	if os.Getenv("REPRISE_EXHAUSTIVE") != "" {
		return 1
	}
	return 397
}

// flips checks what is kept with every byte of the objects flipped in turn, or,
// unless REPRISE_EXHAUSTIVE is set, with some of them. Each processor has a
// worker with a check of its own, and takes the next flip when it is done.
func flips(t *testing.T, objects []object, worker func(t *testing.T) func(kept *held, what string)) {
	t.Helper()
	type flip struct {
		o  *object
		at int
	}
	var list []flip
	step := stride()
	bytes := 0
	for k := range objects {
		o := &objects[k]
		bytes += o.size
		for at := k % min(step, max(o.size, 1)); at < o.size; at += step {
			list = append(list, flip{o, at})
		}
	}
	var next atomic.Int64
	t.Run("flip", func(t *testing.T) {
		for n := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				check := worker(t)
				for !t.Failed() {
					i := next.Add(1) - 1
					if i >= int64(len(list)) {
						return
					}
					f := list[i]
					check(f.o.with(f.at), fmt.Sprintf("byte %d of the %s", f.at, f.o.name))
				}
			})
		}
	})
	t.Logf("%d flips of %d bytes in %d objects", len(list), bytes, len(objects))
}

// stands is a job that is over, and its governance as it was then.
type stands struct {
	*rig
	run             ledger.RunID
	job, governance *held
	runner          *jobs.Runner
}

func (r *rig) stands(text string, votes ...string) *stands {
	r.t.Helper()
	res := r.voted(r.start(text), votes...)
	if !res.Done {
		r.t.Fatalf("the job waits: %+v", res)
	}
	return &stands{r, res.Run, r.kept(res.Run), r.kept(r.governance().Run()), r.over(nil)}
}

// replayed replays the job from what is kept of it, in a store that is as it was
// when the job was over.
func (s *stands) replayed(kept drive.Store) (*jobs.Replayed, *jobs.Governance, error) {
	s.t.Helper()
	x := s.replayer(s.t)
	out, err := x.replay(kept)
	g, gErr := jobs.OpenGovernance(context.Background(), x.Config, x.Keys, "")
	if gErr != nil {
		s.t.Fatal(gErr)
	}
	return out, g, err
}

// replayer replays one job again and again, each time in a store that is as it
// was when the job was over.
type replayer struct {
	*jobs.Runner
	s     *stands
	t     *testing.T
	fresh drive.Store // all but the job
}

// replayer returns one with a copy of the keys, so that nobody else pins what it
// writes.
func (s *stands) replayer(t *testing.T) *replayer {
	t.Helper()
	dir := inMemory(t)
	err := os.CopyFS(dir, os.DirFS(s.keys.Dir()))
	if err == nil {
		err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			return os.Chmod(path, 0o600)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	k, err := keys.Open(dir, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := *s.runner
	x.Keys, x.Config.Manifests = k, k.Manifests()
	x.Config.Signer = nil // no heads: nobody looks at them
	return &replayer{&x, s, t, nil}
}

// inMemory returns a folder that is in memory, where the system has one such.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "reprise-test-*") //nolint:usetesting // which is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (x *replayer) replay(kept drive.Store) (*jobs.Replayed, error) {
	x.t.Helper()
	if err := os.RemoveAll(filepath.Join(x.Keys.Dir(), "governance")); err != nil {
		x.t.Fatal(err)
	}
	x.fresh = x.s.governance.copied(x.t)
	x.Config.Store = apart{Store: x.fresh, job: kept, run: x.s.run}
	return x.Replay(context.Background(), on(x.s.run, production))
}

// halts fails unless a replay of what is kept is an integrity failure, and the
// governance ledger ends in the halt of all that the job stands on.
func (x *replayer) halts(kept *held, what string) {
	x.t.Helper()
	_, err := x.replay(kept)
	halted := 0
	for e, err := range x.fresh.Read(context.Background(), x.s.governance.run, x.s.governance.at.Count) {
		if err != nil {
			x.t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			x.t.Fatal(err)
		}
		if o.Body.Get("name").Str() == jobs.EventHalt && o.Data().Get("halt").Get("cause").Get("code").Str() == job.ErrIntegrity.Error() {
			halted++
		}
	}
	if codeOf(err) != job.ErrIntegrity.Error() || halted == 0 {
		x.t.Errorf("%s: Replay = %v with %d halts, want INTEGRITY_FAILURE and the halt", what, err, halted)
	}
}

// lone is a job of one agent.
const lone = `
seed: seed-0001
input: {query: "what is a kestrel?", user: uma}
persist: always
agents:
  - node: agent:beta_v1
    script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]
snapshots:
  selfrep:
    nodes:
      - {node_id: "agent:beta_v1", apt: 0.8, metrics: {apt_events: 5}}
`

// knowing is a small job in which everything happens that is kept of jobs: it
// begins with a fact that an earlier job has written, reads it, and asks for
// another one, on which two of the council vote. All five kinds of snapshots say
// something of their own.
func (r *rig) knowing() *stands {
	r.t.Helper()
	r.enrol("cat", govern.Council)
	semantic := r.remembered(r.voted(r.start(askingFor("birds/kestrel")), "operator", "cat"))
	return r.stands(strings.NewReplacer(
		"seed: seed-0001", "seed: seed-0002\nmemory: {semantic: "+semantic+"}",
		"{text: a small falcon, confidence: 0.9, tokens_used: 10}",
		"{text: let me see, deliverable: false, reads: [{get: birds/kestrel}]}, {text: mail a@b.org, confidence: 0.9, requests: [{action: sem_put, key: a, value: 1.5, justification: so}]}",
	).Replace(lone)+`  privacy: {categories: [{pii_type: email, sensitivity: medium, pattern: '[a-z0-9.]+@[a-z0-9.]+'}]}
`, "operator", "cat")
}

// Whatever byte of whatever is stored of a job is changed, a replay says
// INTEGRITY_FAILURE, and the job stands still.
//
// spec: M-09, M-83
func TestAnyFlippedBitOfAJobIsAnIntegrityFailureAndHalts(t *testing.T) {
	t.Parallel()
	s := newRig(t).knowing()
	if out, _, err := s.replayed(s.job); err != nil || !out.Authoritative() {
		t.Fatalf("Replay of what is kept = %+v, %v; want it to be authoritative", out, err)
	}
	flips(t, s.job.objects(), func(t *testing.T) func(*held, string) { return s.replayer(t).halts })
}

// An output in several chunks, to which the outcome of the agent leads too, is
// not missing because a recipe names another chunk.
func TestAChangedRecipeMakesNoOutputMissing(t *testing.T) {
	t.Parallel()
	s := newRig(t).knowing()
	x := s.replayer(t)
	flipped := 0
	for n, e := range s.job.entries {
		o, err := ledger.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		i := o.Attachment(job.OutputContent)
		if o.Kind != ledger.KindDecision || i < 0 {
			continue
		}
		for at := 4; at < len(e.Parts[i].Recipe); at += 16 {
			flipped++
			h := *s.job
			h.entries = slices.Clone(h.entries)
			c := *e
			c.Parts = slices.Clone(e.Parts)
			c.Parts[i].Recipe = slices.Clone(c.Parts[i].Recipe)
			c.Parts[i].Recipe[at] ^= 1
			h.entries[n] = &c
			x.halts(&h, fmt.Sprintf("byte %d of the recipe of the output in entry %d", at, n))
		}
	}
	if flipped < 10 {
		t.Errorf("%d flips, want recipes of several chunks", flipped)
	}
}

// Who may replay and what stands still is in the governance ledger: if a byte of
// it was changed nothing is replayed, whoever asks and however often, and
// nothing is written behind what was changed.
func TestAnyFlippedBitOfTheGovernanceIsAnIntegrityFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.enrol("cat", govern.Council)
	s := r.stands(lone)
	if _, err := r.replay(on(s.run, production)); err != nil {
		t.Fatal(err)
	}
	g, whole := r.kept(r.governance().Run()), s.job.copied(t)
	flips(t, g.objects(), func(t *testing.T) func(*held, string) {
		return func(kept *held, what string) {
			runner := *s.runner
			runner.Config.Store = apart{Store: whole, job: kept, run: g.run}
			if _, err := runner.Replay(context.Background(), on(s.run, production)); codeOf(err) != job.ErrIntegrity.Error() {
				t.Errorf("%s: Replay = %v, want INTEGRITY_FAILURE", what, err)
			}
		}
	})
}

// Each thing that is stored of a job is taken away in turn. What a replay needs
// is named by its code; what nobody may take is an integrity failure.
//
// spec: M-13, M-34
func TestWhateverIsRemovedOfAJobHasItsCode(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]func(r *rig) *stands{
		"a failure and an answer":   func(r *rig) *stands { return r.stands(birds) },
		"votes and semantic memory": (*rig).knowing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job(newRig(t)).lacking()
		})
	}
}

// lacking takes away each thing in turn.
func (s *stands) lacking() {
	t := s.t
	t.Helper()
	integrity, snapshot, output := job.ErrIntegrity.Error(), job.ErrMissingSnapshot.Error(), job.ErrMissingOutput.Error()
	check := func(what string, want string, change func(h *held)) {
		t.Helper()
		h := *s.job
		h.entries, h.statements, h.scopes, h.chunks = slices.Clone(h.entries), slices.Clone(h.statements), slices.Clone(h.scopes), slices.Clone(h.chunks)
		change(&h)
		out, g, err := s.replayed(&h)
		if codeOf(err) != want {
			t.Errorf("without %s: Replay = %v, want %q", what, err, want)
		}
		if changed := want == integrity && (out == nil || out.Result == nil || len(out.Result.Missing) == 0); changed && len(g.Standing()) == 0 {
			t.Errorf("without %s: nothing stands still", what)
		}
	}
	last := ledger.Position{}
	for n, e := range s.job.entries {
		check(fmt.Sprintf("entry %d", n), integrity, func(h *held) { h.entries = slices.Delete(h.entries, n, n+1) })
		check(fmt.Sprintf("entry %d and what follows", n), map[bool]string{true: integrity}[n > 0], func(h *held) {
			if n > 0 { // a run without an open is none
				h.entries, h.at = h.entries[:n], last
			}
		})
		last = ledger.Position{Count: int64(n + 1), Last: e.ID}
		check(fmt.Sprintf("the body of entry %d", n), integrity, func(h *held) {
			x := *e
			x.Body = nil
			h.entries[n] = &x
		})
		o, err := ledger.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range e.Parts {
			want := integrity
			switch name := o.Att[i].Name; {
			case o.Kind == ledger.KindOpen && strings.HasPrefix(name, "snapshot."):
				want = snapshot
			case o.Kind == ledger.KindDecision && name == job.OutputContent:
				want = output
			case o.Kind == ledger.KindOpen || o.Kind == ledger.KindCall || o.Kind == ledger.KindOutcome:
				continue // withheld: nothing that a replay asks for
			}
			check(fmt.Sprintf("the content %s of entry %d", o.Att[i].Name, n), want, func(h *held) {
				x := *e
				x.Parts = slices.Clone(e.Parts)
				x.Parts[i] = blob.Part{Scope: p.Scope, Salt: p.Salt}
				h.entries[n] = &x
			})
		}
	}
	heads := 0
	for _, st := range s.job.statements {
		if st.Type == ledger.HeadType {
			heads++
		}
	}
	for n, st := range s.job.statements {
		want := integrity
		if st.Type == ledger.HeadType && n < heads-1 {
			want = "" // the last one covers what it covered
		}
		check(fmt.Sprintf("statement %d, %s", n, st.Type), want, func(h *held) { h.statements = slices.Delete(h.statements, n, n+1) })
	}
	for n, sc := range s.job.scopes {
		if !slices.ContainsFunc(s.job.chunks, func(c chunk) bool { return c.scope == sc.ID }) {
			continue
		}
		check("the key of scope "+sc.ID, integrity, func(h *held) { h.scopes = slices.Delete(h.scopes, n, n+1) })
	}
	for n, c := range s.job.chunks {
		h := *s.job
		h.chunks = slices.Delete(slices.Clone(h.chunks), n, n+1)
		if _, _, err := s.replayed(&h); !slices.Contains([]string{integrity, snapshot, output}, codeOf(err)) {
			t.Errorf("without chunk %s: Replay = %v, want one of the codes of what is missing", c.id, err)
		}
	}
}

// The governance under which a job began is needed too.
func TestAMissingGovernanceIsAnIntegrityFailure(t *testing.T) {
	t.Parallel()
	s := newRig(t).stands(lone)
	runner := s.over(s.job.copied(t))
	_, err := runner.Replay(context.Background(), on(s.run, production))
	wantCode(t, err, job.ErrIntegrity)
	if !strings.Contains(err.Error(), "missing: the governance ledger "+string(s.governance.run)) {
		t.Errorf("Replay = %v, want it to name the ledger", err)
	}
	// Nor does one that was begun in its place stand in for it.
	if _, err := jobs.OpenGovernance(context.Background(), runner.Config, s.keys, ""); err != nil {
		t.Fatal(err)
	}
	_, err = runner.Replay(context.Background(), on(s.run, production))
	wantCode(t, err, job.ErrIntegrity)
}
