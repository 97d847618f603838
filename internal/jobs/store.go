package jobs

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"os"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// opens yields the opens of the runs of an engine, newest first. A run whose
// open cannot be read is passed over: who asks for it by name is told.
func opens(ctx context.Context, store drive.Store, engine string) iter.Seq2[*ledger.Opened, error] {
	return func(yield func(*ledger.Opened, error) bool) {
		for info, err := range store.RunsOf(ctx, engine) {
			if err != nil {
				yield(nil, err)
				return
			}
			o, err := drive.NewReader(store, info.Run).Open(ctx, 0)
			if fault.ClassOf(err) == fault.ClassUnavailable || ctx.Err() != nil {
				yield(nil, errors.Join(err, ctx.Err()))
				return
			}
			if err == nil && o.Body.Get("engine").Str() == engine && !yield(o, nil) {
				return
			}
		}
	}
}

// Stored is a job of a store.
type Stored struct {
	Run        ledger.RunID
	Title      string
	JobID      string
	Seed       string
	Tenant     string
	Snapshots  map[job.Kind]string // ids
	Adopted    []Adopted           // the configurations that came from the council
	Done       bool
	Status     string
	Replayable bool
	Missing    []string
	Last       ledger.Ref
	Archive    string     // where its file wants it archived when it is over; empty: nowhere
	Governance ledger.Ref // where the governance of its tenant stood when it began; zero: nowhere
}

// List yields the jobs of a store, newest first.
func List(ctx context.Context, store drive.Store) iter.Seq2[*Stored, error] {
	return func(yield func(*Stored, error) bool) {
		for o, err := range opens(ctx, store, job.Engine) {
			var s *Stored
			if err == nil {
				s, err = stored(ctx, store, o)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// Find returns a job of a store.
func Find(ctx context.Context, store drive.Store, id ledger.RunID) (*Stored, error) {
	o, err := opened(ctx, store, id)
	if err != nil {
		return nil, err
	}
	return stored(ctx, store, o)
}

func stored(ctx context.Context, store drive.Store, o *ledger.Opened) (*Stored, error) {
	d := o.Data()
	s := &Stored{
		Run: o.Run, Title: o.Body.Get("title").Str(), JobID: d.Get("job_id").Str(), Seed: d.Get("job_seed").Str(), Tenant: d.Get("tenant").Str(),
		Snapshots: map[job.Kind]string{}, Status: "waiting", Archive: d.Get(archiveMember).Str(),
	}
	for _, k := range job.Kinds() {
		s.Snapshots[k] = d.Get(k.Field()).Str()
	}
	for _, m := range d.Get(adoptedMember).Members() {
		s.Adopted = append(s.Adopted, Adopted{job.Kind(m.Name), m.Value.Str()})
	}
	if ref, err := ledger.ParseRef(o.Body.Get("refs").Get("governance")); err == nil {
		s.Governance = ref
	}
	at, err := store.At(ctx, o.Run)
	if err != nil {
		return nil, err
	}
	s.Last = ledger.Ref{Run: o.Run, N: at.Count - 1, ID: at.Last}
	last, err := drive.NewReader(store, o.Run).Open(ctx, s.Last.N)
	if err != nil || last.Kind != ledger.KindSeal {
		return s, nil //nolint:nilerr // an entry that cannot be read is for the verification to report
	}
	s.Done, s.Status = true, last.Body.Get("status").Str()
	s.Replayable, _ = last.Data().Get("replayable").AsBool()
	for _, m := range last.Data().Get("missing").Elems() {
		s.Missing = append(s.Missing, m.Str())
	}
	return s, nil
}

// Subjects returns what a halt of the job may name: its snapshots, in the order
// of the document, and its run.
func (s *Stored) Subjects() []string {
	var out []string
	for _, k := range job.Kinds() {
		if id := s.Snapshots[k]; id != "" {
			out = append(out, id)
		}
	}
	return append(out, string(s.Run))
}

// Materials is what a replay needs of a job, read from its run. It implements
// [job.Materials].
type Materials struct {
	ctx  context.Context //nolint:containedctx // of the one replay that it lives for
	keys *keys.Keys
	read *drive.Reader

	log       *content
	snapshots map[string]*content
	events    map[string]*content
	outputs   map[string]*content
}

// content is a content of an entry.
type content struct {
	o *ledger.Opened
	i int
}

// ReadMaterials finds what a run holds for a replay. The bytes are read when
// they are asked for. Keys may be nil: then no server key is at hand.
func ReadMaterials(ctx context.Context, store drive.Store, run ledger.RunID, k *keys.Keys) (*Materials, error) {
	m := &Materials{
		ctx: ctx, keys: k, read: drive.NewReader(store, run),
		snapshots: map[string]*content{}, events: map[string]*content{}, outputs: map[string]*content{},
	}
	for e, err := range store.Read(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return nil, err
		}
		m.add(&o)
	}
	return m, nil
}

func (m *Materials) add(o *ledger.Opened) {
	held := func(name string) *content {
		if i := o.Attachment(name); i >= 0 {
			return &content{o, i}
		}
		return nil
	}
	d := o.Data()
	switch {
	case o.Kind == ledger.KindOpen:
		for _, k := range job.Kinds() {
			if c := held("snapshot." + string(k)); c != nil {
				m.snapshots[d.Get(k.Field()).Str()] = c
			}
		}
	case o.Kind == ledger.KindResult && o.Body.Get("name").Str() == job.LogResult:
		m.log = held(job.LogContent)
	case d.Has("event_id"):
		if c := held("event"); c != nil {
			m.events[d.Get("event_id").Str()] = c
		}
		if c := held(job.OutputContent); c != nil && o.Body.Get("name").Str() == job.EventOutput {
			if b, err := m.bytes(m.events[d.Get("event_id").Str()], ""); err == nil {
				if v, err := canon.Parse(b); err == nil {
					m.outputs[v.Get("payload").Get("agent_output_id").Str()] = c
				}
			}
		}
	}
}

func (m *Materials) bytes(c *content, what string) ([]byte, error) {
	if c == nil {
		return nil, fault.New(job.ErrNoMaterial, "jobs.Materials", "there is no %s", what)
	}
	b, err := m.read.Bytes(m.ctx, c.o, c.i)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, ledger.ErrAbsent), gone(err):
		return nil, fault.Wrap(job.ErrNoMaterial, "jobs.Materials", err, "%s", what)
	case fault.ClassOf(err) == fault.ClassIntegrity:
		return nil, fault.Wrap(job.ErrIntegrity, "jobs.Materials", err, "%s is not what was recorded", what)
	default:
		return nil, err
	}
}

// gone reports whether a chunk is not there, or the key that it was kept under.
func gone(err error) bool {
	return errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrScopeNotFound)
}

// lenient is a store in which a chunk that is not there is withheld: whether it
// should be there is not for the verification of a ledger to say. What is there
// must be named by the key of its scope.
type lenient struct {
	drive.Store
	keys map[string]*blob.Scope // nil: there is none
	lost *bool                  // whether a chunk was asked for that is not there
}

func (s lenient) key(ctx context.Context, scope string) (*blob.Scope, error) {
	if k, known := s.keys[scope]; known {
		return k, nil
	}
	found, err := s.Scope(ctx, scope, nil)
	switch {
	case gone(err):
		s.keys[scope] = nil
	case err != nil:
		return nil, err
	default:
		s.keys[scope] = &found
	}
	return s.keys[scope], nil
}

func (s lenient) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	const op = "jobs.lenient"
	b, err := s.Store.Get(ctx, scope, id)
	switch {
	case gone(err):
		*s.lost = true
		return nil, fault.Wrap(ledger.ErrAbsent, op, err, "chunk %s", id)
	case err != nil:
		return nil, err
	}
	k, err := s.key(ctx, scope)
	switch {
	case err != nil:
		return nil, err
	case k == nil:
		return nil, fault.New(job.ErrIntegrity, op, "chunk %s is there, and the key of its scope %.80q is not", id, scope)
	case canon.MAC(k.Key[:], b) != id:
		return nil, fault.New(job.ErrIntegrity, op, "chunk %s is not named by its bytes and the key of its scope %.80q", id, scope)
	}
	return b, nil
}

// whole refuses a run that lacks what nobody may take from it: the body of an
// entry; the manifests without which nobody can check its heads; the head that
// covers the end of a sealed run, if there are keys for heads.
func whole(ctx context.Context, store drive.Store, run ledger.RunID, at ledger.Position) error {
	n := int64(0)
	for e, err := range store.Read(ctx, run, 0) {
		switch {
		case err != nil:
			return err
		case e.Body == nil:
			return fault.New(job.ErrIntegrity, "jobs.Replay", "the body of entry %d is not there", n)
		}
		n++
	}
	heads, manifests := int64(0), 0
	for s, err := range store.Statements(ctx, run, ledger.HeadType) {
		if err != nil {
			return err
		}
		heads = max(heads, s.Count)
	}
	for _, err := range store.Statements(ctx, run, sign.ManifestType) {
		if err != nil {
			return err
		}
		manifests++
	}
	switch {
	case manifests == 0 && heads > 0:
		return fault.New(job.ErrIntegrity, "jobs.Replay", "the run has signed heads, and no manifest of the keys that signed them")
	case manifests > 0 && heads < at.Count:
		last, err := drive.NewReader(store, run).Open(ctx, at.Count-1)
		if err != nil || last.Kind != ledger.KindSeal {
			return err // heads follow within a second
		}
		return fault.New(job.ErrIntegrity, "jobs.Replay", "the last signed head covers %d of %d entries", heads, at.Count)
	default:
		return nil
	}
}

// Log implements [job.Materials].
func (m *Materials) Log() ([]byte, error) { return m.bytes(m.log, "reflective log") }

// Snapshot implements [job.Materials].
func (m *Materials) Snapshot(id string) ([]byte, error) {
	return m.bytes(m.snapshots[id], "snapshot "+id)
}

// Event implements [job.Materials].
func (m *Materials) Event(ref job.EventRef) ([]byte, error) {
	return m.bytes(m.events[ref.ID], "event "+ref.ID)
}

// Output implements [job.Materials].
func (m *Materials) Output(id string) ([]byte, error) {
	return m.bytes(m.outputs[id], "output "+id)
}

// Key implements [job.Materials].
func (m *Materials) Key(id string) (job.Key, error) {
	if m.keys == nil {
		return job.Key{}, fault.New(job.ErrNoMaterial, "jobs.Materials", "no server keys are at hand")
	}
	k, err := m.keys.FindServer(id)
	if errors.Is(err, keys.ErrNotFound) {
		return job.Key{}, fault.Wrap(job.ErrNoMaterial, "jobs.Materials", err, "server key %s", id)
	}
	return job.Key{ID: k.ID, Secret: k.Secret}, err
}

// ReadLog returns the reflective log of a job that is over.
func ReadLog(ctx context.Context, store drive.Store, run ledger.RunID) (*job.Log, []byte, error) {
	m, err := ReadMaterials(ctx, store, run, nil)
	if err != nil {
		return nil, nil, err
	}
	b, err := m.Log()
	if err != nil {
		return nil, nil, err
	}
	l, err := job.ParseLog(b)
	return l, b, err
}

// ReadKey reads a public key: 64 hexadecimal digits, or a file in PEM form.
func ReadKey(path, text string) (sign.PublicKey, error) {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == 32 {
		return sign.ParseKey(raw)
	}
	if _, err := os.Stat(path); err != nil {
		return sign.PublicKey{}, fault.New(ErrFile, "jobs.ReadKey", "%q is neither a public key of 64 hexadecimal digits nor a file", text)
	}
	return keys.ReadPublicFile(path)
}
