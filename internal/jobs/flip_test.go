package jobs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

// stride is how many bytes lie between two that are flipped. With
// REPRISE_EXHAUSTIVE set every byte is.
func stride() int {
	if os.Getenv("REPRISE_EXHAUSTIVE") != "" {
		return 1
	}
	return 397
}

// apart is a store whose job run is that of another store, and whatever else is
// written stands in one of its own: each replay finds a fresh governance.
type apart struct {
	drive.Store // all but the job
	job         drive.Store
	run         ledger.RunID
}

func (s apart) of(id string) drive.Store {
	if strings.HasPrefix(id, string(s.run)) {
		return s.job
	}
	return s.Store
}

func (s apart) Acquire(ctx context.Context, run ledger.RunID, holder string, ttl time.Duration) (ledger.Lease, error) {
	return s.of(string(run)).Acquire(ctx, run, holder, ttl)
}

func (s apart) At(ctx context.Context, run ledger.RunID) (ledger.Position, error) {
	return s.of(string(run)).At(ctx, run)
}

func (s apart) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return s.of(string(run)).Read(ctx, run, from)
}

func (s apart) Statements(ctx context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	return s.of(string(run)).Statements(ctx, run, typ)
}

func (s apart) Scope(ctx context.Context, id string, create *blob.Scope) (blob.Scope, error) {
	return s.of(id).Scope(ctx, id, create)
}

func (s apart) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	return s.of(scope).Get(ctx, scope, id)
}

func (s apart) List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error] {
	return s.of(scope).List(ctx, scope)
}

// held is everything that a store keeps of one run, in the order in which it is
// read. What it does not keep it does not have.
type held struct {
	drive.Store // for what nobody asks of it
	run         ledger.RunID
	at          ledger.Position
	entries     []*ledger.Entry
	statements  []ledger.Statement // heads and manifests
	scopes      []blob.Scope
	chunks      []chunk
}

type chunk struct {
	scope string
	id    canon.Digest
	bytes []byte
}

// kept returns what the store of a rig keeps of a run.
func (r *rig) kept(run ledger.RunID) *held {
	r.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			r.t.Helper()
			r.t.Fatal(err)
		}
	}
	h := &held{run: run}
	var err error
	h.at, err = r.store.At(ctx, run)
	must(err)
	var scopes []string
	for e, err := range r.store.Read(ctx, run, 0) {
		must(err)
		h.entries = append(h.entries, e)
		scopes = append(scopes, e.Scope)
		for _, p := range e.Parts {
			scopes = append(scopes, p.Scope)
		}
	}
	for _, typ := range []string{ledger.HeadType, sign.ManifestType} {
		for s, err := range r.store.Statements(ctx, run, typ) {
			must(err)
			h.statements = append(h.statements, s)
		}
	}
	slices.Sort(scopes)
	for _, id := range slices.Compact(scopes) {
		s, err := r.store.Scope(ctx, id, nil)
		must(err)
		h.scopes = append(h.scopes, s)
		for id, err := range r.store.List(ctx, s.ID) {
			must(err)
			b, err := r.store.Get(ctx, s.ID, id)
			must(err)
			h.chunks = append(h.chunks, chunk{s.ID, id, b})
		}
	}
	return h
}

// copied returns a store that holds just this.
func (h *held) copied(t *testing.T) drive.Store {
	t.Helper()
	ctx := context.Background()
	to := memory.New(nil)
	lease, err := to.Acquire(ctx, h.run, "copy", time.Minute)
	b := &ledger.Batch{Lease: lease, Statements: h.statements}
	for _, e := range h.entries {
		b.Entries = append(b.Entries, *e)
	}
	for _, s := range h.scopes {
		if _, scopeErr := to.Scope(ctx, s.ID, &s); err == nil {
			err = scopeErr
		}
	}
	for _, c := range h.chunks {
		b.Chunks = append(b.Chunks, blob.Chunk{Scope: c.scope, ID: c.id, Bytes: c.bytes})
	}
	if err == nil {
		err = to.Append(ctx, b)
	}
	if err == nil {
		_, err = to.Acquire(ctx, h.run, "copy", 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func (*held) Acquire(context.Context, ledger.RunID, string, time.Duration) (ledger.Lease, error) {
	return ledger.Lease{}, fmt.Errorf("nobody writes to it")
}

func (h *held) At(context.Context, ledger.RunID) (ledger.Position, error) { return h.at, nil }

func (h *held) Read(_ context.Context, _ ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		for _, e := range h.entries[min(int64(len(h.entries)), from):] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (h *held) Statements(_ context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	return func(yield func(ledger.Statement, error) bool) {
		for _, s := range h.statements {
			if s.Type == typ && s.Run == run && !yield(s, nil) {
				return
			}
		}
	}
}

func (h *held) Scope(_ context.Context, id string, _ *blob.Scope) (blob.Scope, error) {
	for _, s := range h.scopes {
		if s.ID == id {
			return s, nil
		}
	}
	return blob.Scope{}, blob.ErrScopeNotFound
}

func (h *held) Get(_ context.Context, scope string, id canon.Digest) ([]byte, error) {
	for _, c := range h.chunks {
		if c.scope == scope && c.id == id {
			return c.bytes, nil
		}
	}
	return nil, blob.ErrNotFound
}

func (h *held) List(_ context.Context, scope string) iter.Seq2[canon.Digest, error] {
	return func(yield func(canon.Digest, error) bool) {
		for _, c := range h.chunks {
			if c.scope == scope && !yield(c.id, nil) {
				return
			}
		}
	}
}

// object is something that a store keeps of a run.
type object struct {
	name string
	size int
	with func(at int) *held // what is kept, with one bit of that byte flipped
}

// objects returns all that is kept of a run: entries with their places, salts,
// scopes, recipes and sizes; the position; statements; scopes and their keys;
// chunks and their names.
func (h *held) objects() []object {
	var out []object
	bits := func(b []byte, at int) []byte {
		b = slices.Clone(b)
		b[at] ^= 1 << (at % 8)
		return b
	}
	text := func(s string, at int) string { return string(bits([]byte(s), at)) }
	add := func(name string, size int, change func(c *held, at int)) {
		out = append(out, object{name, size, func(at int) *held {
			c := *h
			change(&c, at)
			return &c
		}})
	}
	add("count of the position", 8, func(c *held, at int) { c.at.Count ^= 1 << (8 * at) })
	add("last of the position", len(h.at.Last), func(c *held, at int) { c.at.Last[at] ^= 1 })
	for n, e := range h.entries {
		name := func(what string) string { return fmt.Sprintf("%s of entry %d", what, n) }
		entry := func(what string, size int, change func(e *ledger.Entry, at int)) {
			add(name(what), size, func(c *held, at int) {
				x := *e
				x.Parts = slices.Clone(e.Parts)
				change(&x, at)
				c.entries = slices.Clone(c.entries)
				c.entries[n] = &x
			})
		}
		entry("id", len(e.ID), func(e *ledger.Entry, at int) { e.ID[at] ^= 1 })
		entry("header", len(e.Header), func(e *ledger.Entry, at int) { e.Header = bits(e.Header, at) })
		entry("scope", len(e.Scope), func(e *ledger.Entry, at int) { e.Scope = text(e.Scope, at) })
		entry("salt", len(e.Salt), func(e *ledger.Entry, at int) { e.Salt[at] ^= 1 })
		entry("body", len(e.Body), func(e *ledger.Entry, at int) { e.Body = bits(e.Body, at) })
		for i, p := range e.Parts {
			entry("recipe", len(p.Recipe), func(e *ledger.Entry, at int) { e.Parts[i].Recipe = bits(p.Recipe, at) })
			entry("salt of a part", len(p.Salt), func(e *ledger.Entry, at int) { e.Parts[i].Salt[at] ^= 1 })
			entry("scope of a part", len(p.Scope), func(e *ledger.Entry, at int) { e.Parts[i].Scope = text(p.Scope, at) })
			entry("size of a part", 8, func(e *ledger.Entry, at int) { e.Parts[i].Size ^= 1 << (8 * at) })
		}
	}
	for n, s := range h.statements {
		statement := func(what string, size int, change func(s *ledger.Statement, at int)) {
			add(fmt.Sprintf("%s of statement %d, %s", what, n, s.Type), size, func(c *held, at int) {
				c.statements = slices.Clone(c.statements)
				change(&c.statements[n], at)
			})
		}
		statement("envelope", len(s.Envelope), func(s *ledger.Statement, at int) { s.Envelope = bits(s.Envelope, at) })
		if s.Type == ledger.HeadType { // manifests are told apart by what they say
			statement("count", 8, func(s *ledger.Statement, at int) { s.Count ^= 1 << (8 * at) })
		}
	}
	for n, s := range h.scopes {
		if !slices.ContainsFunc(h.chunks, func(c chunk) bool { return c.scope == s.ID }) {
			continue // its key names nothing
		}
		scope := func(what string, size int, change func(s *blob.Scope, at int)) {
			add(fmt.Sprintf("%s of scope %q", what, s.ID), size, func(c *held, at int) {
				c.scopes = slices.Clone(c.scopes)
				change(&c.scopes[n], at)
			})
		}
		scope("id", len(s.ID), func(s *blob.Scope, at int) { s.ID = text(s.ID, at) })
		scope("key", len(s.Key), func(s *blob.Scope, at int) { s.Key[at] ^= 1 })
	}
	for n, k := range h.chunks {
		held := func(what string, size int, change func(k *chunk, at int)) {
			add(what, size, func(c *held, at int) {
				c.chunks = slices.Clone(c.chunks)
				change(&c.chunks[n], at)
			})
		}
		held("chunk", len(k.bytes), func(k *chunk, at int) { k.bytes = bits(k.bytes, at) })
		held("id of a chunk", len(k.id), func(k *chunk, at int) { k.id[at] ^= 1 })
	}
	return out
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
