package job

import (
	"iter"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Fact is an entry of semantic memory.
type Fact struct {
	Key     string
	Value   canon.Value
	At      det.Instant // timestamp_seeded of the event that wrote it
	Source  string      // who asked for it
	Request string      // request_id of the approval
}

func (f Fact) value() canon.Value {
	return canon.Object(
		canon.M("key", canon.String(f.Key)),
		canon.M("request_id", canon.String(f.Request)),
		canon.M("source", canon.String(f.Source)),
		canon.M("timestamp_seeded", canon.String(f.At.String())),
		canon.M("value", f.Value),
	)
}

// Semantic is semantic memory: facts by key. It is a value, and
// [Semantic.Execute], with an approved request, is the only way to change it.
type Semantic struct {
	facts      []Fact   // by key
	promotions []string // episodic_id ":" key, sorted: what need not be promoted again
}

// isKey reports whether a text names a fact: segments of lower-case letters,
// digits and underscores, with slashes between them.
func isKey(s string) bool {
	if len(s) > canon.MaxName {
		return false
	}
	for segment := range strings.SplitSeq(s, "/") {
		if segment == "" || strings.Trim(segment, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return false
		}
	}
	return true
}

func (s Semantic) search(key string) (int, bool) {
	return slices.BinarySearchFunc(s.facts, key, func(f Fact, key string) int { return strings.Compare(f.Key, key) })
}

// Get returns the fact of exactly that key. It refuses with [ErrNoFact], and
// a text that is no key with [ErrMemory].
func (s Semantic) Get(key string) (Fact, error) {
	const op = "job.Semantic.Get"
	if !isKey(key) {
		return Fact{}, fault.New(ErrMemory, op, "%.80q is no key", key)
	}
	i, ok := s.search(key)
	if !ok {
		return Fact{}, fault.New(ErrNoFact, op, "there is no fact %q", key)
	}
	return s.facts[i], nil
}

// Search returns the facts whose keys begin with prefix, by key.
func (s Semantic) Search(prefix string) iter.Seq[Fact] {
	return func(yield func(Fact) bool) {
		i, _ := s.search(prefix)
		for ; i < len(s.facts) && strings.HasPrefix(s.facts[i].Key, prefix); i++ {
			if !yield(s.facts[i]) {
				return
			}
		}
	}
}

// Hash returns sem_snapshot_hash: the SHA-256 of the mace-fixed9 bytes of one
// array, which holds for each fact, by key, the array of its key, its value and
// its timestamp_seeded. The document lists these three parts and joins them
// without a mark; here two memories have one hash only if they are equal.
func (s Semantic) Hash() string {
	b, err := canon.Encode(canon.ArrayOf(s.facts, func(f Fact) canon.Value {
		return canon.Array(canon.String(f.Key), f.Value, canon.String(f.At.String()))
	}), canon.MACEFixed9)
	if err != nil {
		panic("job: " + err.Error()) // every value was encoded when it came
	}
	return canon.SHA256(b).String()
}

// Value returns the memory as snapshots hold it.
func (s Semantic) Value() canon.Value {
	return canon.Object(
		canon.M("facts", canon.ArrayOf(s.facts, Fact.value)),
		canon.M("promotions", canon.Strings(s.promotions)),
		canon.M("sem_snapshot_hash", canon.String(s.Hash())),
	)
}

// ParseSemantic reads what [Semantic.Value] writes and nothing else. It refuses
// with [ErrMemory].
func ParseSemantic(v canon.Value) (Semantic, error) {
	const op = "job.ParseSemantic"
	r := newRecord(v, ErrMemory, op, "memory", "facts", "promotions", "sem_snapshot_hash")
	var s Semantic
	facts, promotions := v.Get("facts"), v.Get("promotions")
	if facts.Kind() != canon.KindArray || promotions.Kind() != canon.KindArray || facts.Len() > maxFacts || promotions.Len() > maxFacts {
		r.Fail("facts and promotions are no lists of at most %d elements", maxFacts)
		return Semantic{}, r.Err
	}
	for i, e := range facts.Elems() {
		f := newRecord(e, ErrMemory, op, "fact", "key", "request_id", "source", "timestamp_seeded", "value")
		fact := Fact{Key: f.Name("key"), Value: e.Get("value"), At: f.instant("timestamp_seeded"), Source: f.Name("source"), Request: f.digest("request_id")}
		if !isKey(fact.Key) || i > 0 && s.facts[i-1].Key >= fact.Key {
			f.Fail("%q is no key, or not in its place", fact.Key)
		}
		if r.Take("facts", f.Err); r.Err != nil {
			return Semantic{}, r.Err
		}
		s.facts = append(s.facts, fact)
	}
	for i, e := range promotions.Elems() {
		p := e.Str()
		if p == "" || len(p) > 2*canon.MaxName || i > 0 && s.promotions[i-1] >= p {
			r.Fail("memory.promotions holds something else than sorted names")
		}
		s.promotions = append(s.promotions, p)
	}
	if r.Err == nil && r.digest("sem_snapshot_hash") != s.Hash() {
		r.Fail("memory.sem_snapshot_hash is not %s", s.Hash())
	}
	if r.Err != nil {
		return Semantic{}, r.Err
	}
	return s, nil
}

// NewPut returns the request by which a fact is written: [ActionPut]. A request
// is kept, so that personal data are looked for now: without the consent of its
// user the value is refused with [ErrPrivacy] and no request is made.
// Where the council must agree too, that is what the request asks of it.
func NewPut(ledger, source, key string, value canon.Value, justification string, g Guard) (NewRequest, Handled, error) {
	const op = "job.NewPut"
	if !isKey(key) {
		return NewRequest{}, Handled{}, fault.New(ErrMemory, op, "%.80q is no key", key)
	}
	g.Purpose.Raw, g.Purpose.Council = true, true
	handled, err := g.Rules.Handle(value, g.Purpose)
	if err != nil {
		return NewRequest{}, handled, err
	}
	g.Purpose.Raw = false
	why, err := g.Rules.Handle(canon.String(justification), g.Purpose)
	if err != nil {
		return NewRequest{}, why, err
	}
	return NewRequest{
		Ledger: ledger, Origin: source, Action: ActionPut, Justification: why.Value.Str(),
		Payload: canon.Object(canon.M("key", canon.String(key)), canon.M("value", value)),
	}, handled, nil
}

// NewPromotion returns the request by which the payload of an episode becomes a
// fact: [ActionPromote]. It refuses with [ErrMemory] an episode that is not
// there, and with [ErrPromoted] one that was promoted to the key before.
func (s Semantic) NewPromotion(m Episodes, ledger, origin, episodicID, key, justification string) (NewRequest, error) {
	const op = "job.Semantic.NewPromotion"
	e, ok := m.Find(episodicID)
	if !ok || !isKey(key) {
		return NewRequest{}, fault.New(ErrMemory, op, "there is no episode %.80q, or %.80q is no key", episodicID, key)
	}
	if err := s.checkPromotion(episodicID, key); err != nil {
		return NewRequest{}, err
	}
	return NewRequest{
		Ledger: ledger, Origin: origin, Action: ActionPromote, Justification: justification,
		Payload: canon.Object(
			canon.M("episodic_id", canon.String(episodicID)), canon.M("key", canon.String(key)), canon.M("value", e.Payload),
		),
		Evidence: []canon.Value{canon.Object(
			canon.M("episodic_id", canon.String(episodicID)), canon.M("sem_snapshot_hash", canon.String(s.Hash())),
		)},
	}, nil
}

func (s Semantic) checkPromotion(episodicID, key string) error {
	if _, found := slices.BinarySearch(s.promotions, episodicID+":"+key); found {
		return fault.New(ErrPromoted, "job.Semantic", "episode %s was promoted to %q before", episodicID, key)
	}
	return nil
}

// Execution is what a request has done.
type Execution struct {
	Memory   Semantic
	Request  ActionRequest
	Handled  Handled     // what the privacy rules found; it is to be recorded, after an error too
	Manifest canon.Value // of a deletion: what was removed
}

// Execute does what an approved request asks for, by the event of that stamp.
// It refuses a request that may not be executed ([ActionRequest.Ready]), one of
// low or medium risk, since facts are for the council, and a value whose
// personal data may not be kept ([ErrPrivacy]); then nothing changes.
func (s Semantic) Execute(req ActionRequest, stamp Stamp, after int64, g Guard) (Execution, error) {
	const op = "job.Semantic.Execute"
	unchanged := Execution{Memory: s, Request: req}
	if req.Class != HighRisk {
		return unchanged, fault.New(ErrNotApproved, op, "request %s is of %s risk; semantic memory is changed by the council only", req.ID(), req.Class)
	}
	done, err := req.Execute(stamp, after)
	if err != nil {
		return unchanged, err
	}
	x := Execution{Memory: s, Request: done}
	switch req.Action {
	case ActionPut, ActionPromote:
		names := []string{"key", "value"}
		if req.Action == ActionPromote {
			names = append(names, "episodic_id")
		}
		r := newRecord(req.Payload, ErrMemory, op, "payload", names...)
		fact := Fact{Key: r.Name("key"), Value: req.Payload.Get("value"), At: stamp.At, Source: req.Origin, Request: req.ID()}
		promotion := ""
		if req.Action == ActionPromote {
			promotion = r.digest("episodic_id")
		}
		if !isKey(fact.Key) {
			r.Fail("%q is no key", fact.Key)
		}
		if r.Err != nil {
			return unchanged, r.Err
		}
		g.Purpose.Seed, g.Purpose.Council, g.Purpose.Raw = req.Seed, true, true
		x.Handled, err = g.Rules.Handle(fact.Value, g.Purpose)
		if err != nil {
			unchanged.Handled = x.Handled
			return unchanged, err
		}
		x.Memory, err = s.put(fact, promotion)
	case ActionDelete:
		x.Memory, x.Manifest, err = s.remove(req.Payload)
	default:
		err = fault.New(ErrMemory, op, "%q is no change of semantic memory", req.Action)
	}
	if err != nil {
		return unchanged, err
	}
	return x, nil
}

// put writes a fact in place of the one of its key.
func (s Semantic) put(f Fact, episodicID string) (Semantic, error) {
	if episodicID != "" {
		if err := s.checkPromotion(episodicID, f.Key); err != nil {
			return s, err
		}
		i, _ := slices.BinarySearch(s.promotions, episodicID+":"+f.Key)
		s.promotions = slices.Insert(slices.Clone(s.promotions), i, episodicID+":"+f.Key)
	}
	i, there := s.search(f.Key)
	if !there && len(s.facts) >= maxFacts {
		return s, fault.New(ErrStorageFull, "job.Semantic.put", "more than %d facts", maxFacts)
	}
	s.facts = slices.Clone(s.facts)
	if there {
		s.facts[i] = f
	} else {
		s.facts = slices.Insert(s.facts, i, f)
	}
	return s, nil
}

// remove deletes facts, and returns the manifest: which ones by which approvals
// had been written, and nothing of what they said.
func (s Semantic) remove(payload canon.Value) (Semantic, canon.Value, error) {
	r := newRecord(payload, ErrMemory, "job.Semantic.remove", "payload", "keys", "sem_snapshot_hash")
	keys := r.set("keys")
	if r.Err != nil {
		return s, canon.Value{}, r.Err
	}
	before := s.Hash()
	var removed []canon.Value
	s.facts = slices.DeleteFunc(slices.Clone(s.facts), func(f Fact) bool {
		if _, found := slices.BinarySearch(keys, f.Key); !found {
			return false
		}
		removed = append(removed, canon.Object(canon.M("key", canon.String(f.Key)), canon.M("request_id", canon.String(f.Request))))
		return true
	})
	return s, canon.Object(
		canon.M("removed", canon.Array(removed...)),
		canon.M("sem_snapshot_hash_after", canon.String(s.Hash())),
		canon.M("sem_snapshot_hash_before", canon.String(before)),
	), nil
}
