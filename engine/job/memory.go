package job

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of memories that last.
const (
	// ErrMemory means that an episode, a fact, a key or a request about them is
	// not of its form. Mend the request.
	ErrMemory fault.Invalid = "job.bad_memory"
	// ErrNoFact means that no fact has that key. The user is told
	// [SayMemoryMiss].
	ErrNoFact fault.NotFound = "SEM_NOT_FOUND"
	// ErrPromoted means that this episode has been promoted to this key
	// already. Nothing is to be done.
	ErrPromoted fault.Conflict = "job.promoted_already"
	// ErrMemoryWriteFail means that a memory could not be written: the rules
	// refuse it, or there is no room. The same rules would refuse it again, so
	// it is not tried again; what only the disk refuses is, before the entry
	// counts. The user is told [SayMemoryWriteFail].
	ErrMemoryWriteFail fault.Unavailable = "MEMORY_WRITE_FAIL"
	// ErrStorageFull means that the store has no room. Nothing was dropped;
	// make room and run again.
	ErrStorageFull fault.Unavailable = "STORAGE_FULL"
)

// EventEpisode is the type of the event by which an episode is written. It
// counts on its own; the id of an episode is made of that count.
const EventEpisode = "EPISODIC_WRITE"

// Limits on memories that last.
const (
	maxEpisodes = 1 << 20
	maxFacts    = 1 << 20
)

// Guard is what stands before everything that is kept for longer than a job.
type Guard struct {
	Rules   Privacy
	Purpose Purpose
}

// EpisodeSource says who wrote an episode.
type EpisodeSource string

// The sources.
const (
	ByAgent    EpisodeSource = "agent"
	ByExecutor EpisodeSource = "executor"
	ByBrain    EpisodeSource = "brainstate"
)

// Evidence says which facts, in which state of semantic memory, something rests
// on.
type Evidence struct {
	Keys []string // sem_keys, sorted
	Hash string   // sem_snapshot_hash
}

// NewEpisode is what is to be remembered.
type NewEpisode struct {
	At       det.Instant // created_seeded_ts
	Source   EpisodeSource
	Summary  string
	Payload  canon.Value
	Evidence []Evidence
	Trace    string // trace_id
	Log      string // reflective_log_id
}

// Episode is a row of episodic memory: what happened, redacted.
type Episode struct {
	ID   string // episodic_id
	Seed det.Seed
	NewEpisode
}

// Value returns the row as events and snapshots hold it.
func (e Episode) Value() canon.Value {
	return canon.Object(
		canon.M("created_seeded_ts", canon.String(e.At.String())),
		canon.M("episodic_id", canon.String(e.ID)),
		canon.M("evidence", canon.ArrayOf(e.Evidence, Evidence.value)),
		canon.M("job_seed", canon.String(string(e.Seed))),
		canon.M("payload", e.Payload),
		canon.M("provenance", canon.Object(
			canon.M("reflective_log_id", canon.String(e.Log)),
			canon.M("trace_id", canon.String(e.Trace)),
		)),
		canon.M("source", canon.String(string(e.Source))),
		canon.M("summary", canon.String(e.Summary)),
	)
}

func (e Evidence) value() canon.Value {
	return canon.Object(canon.M("sem_keys", canon.Strings(e.Keys)), canon.M("sem_snapshot_hash", canon.String(e.Hash)))
}

// ParseEpisode reads what [Episode.Value] writes and nothing else. It refuses
// with [ErrMemory]. That the id follows from the seed and a count is known to
// [Episodes] only.
func ParseEpisode(v canon.Value) (Episode, error) {
	const op = "job.ParseEpisode"
	r := newRecord(v, ErrMemory, op, "episode", "created_seeded_ts", "episodic_id", "evidence", "job_seed", "payload", "provenance", "source", "summary")
	p := r.sub("provenance", "reflective_log_id", "trace_id")
	e := Episode{ID: r.digest("episodic_id"), Seed: det.Seed(r.Name("job_seed")), NewEpisode: NewEpisode{
		At: r.instant("created_seeded_ts"), Source: EpisodeSource(r.Word("source", "agent", "executor", "brainstate")),
		Summary: r.Text("summary", maxText), Payload: v.Get("payload"), Trace: p.Text("trace_id", canon.MaxName), Log: p.Text("reflective_log_id", canon.MaxName),
	}}
	r.Take("provenance", p.Err)
	for _, x := range r.list("evidence") {
		ev := newRecord(x, ErrMemory, op, "evidence", "sem_keys", "sem_snapshot_hash")
		e.Evidence = append(e.Evidence, Evidence{Keys: ev.set("sem_keys"), Hash: ev.digest("sem_snapshot_hash")})
		r.Take("evidence", ev.Err)
	}
	return e, r.Err
}

// Episodes is episodic memory: a list to which rows are added, and a value:
// adding returns the longer one.
type Episodes struct {
	rows []Episode // in the order in which they were written
}

// All returns the rows in the order in which they were written.
func (m Episodes) All() iter.Seq[Episode] { return slices.Values(m.rows) }

// Find returns the row of that id.
func (m Episodes) Find(id string) (Episode, bool) {
	i := slices.IndexFunc(m.rows, func(e Episode) bool { return e.ID == id })
	if i < 0 {
		return Episode{}, false
	}
	return m.rows[i], true
}

// Write adds an episode of a job. What the guard's rules find in it is redacted
// first, and told by the result. It refuses with [ErrMemory] and
// [ErrPrivacy], and with [ErrStorageFull] beyond a million rows.
func (m Episodes) Write(seed det.Seed, in NewEpisode, g Guard) (Episodes, Episode, Handled, error) {
	const op = "job.Episodes.Write"
	if len(m.rows) >= maxEpisodes {
		return m, Episode{}, Handled{}, fault.New(ErrStorageFull, op, "more than %d episodes", maxEpisodes)
	}
	g.Purpose.Seed = seed
	g.Purpose.Raw = false
	handled, err := g.Rules.Handle(canon.Object(canon.M("payload", in.Payload), canon.M("summary", canon.String(in.Summary))), g.Purpose)
	if err != nil {
		return m, Episode{}, handled, err
	}
	payload, text, err := fixed(handled.Value.Get("payload"))
	if err != nil || len(text) > 2*maxText {
		return m, Episode{}, Handled{}, fault.New(ErrMemory, op, "the payload of an episode is no JSON of at most %d bytes", 2*maxText)
	}
	in.Payload, in.Summary = payload, handled.Value.Get("summary").Str()
	in.Evidence = slices.Clone(in.Evidence)
	e, err := ParseEpisode(Episode{ID: EpisodicID(seed, m.count(seed)), Seed: seed, NewEpisode: in}.Value())
	if err != nil {
		return m, Episode{}, Handled{}, err
	}
	m.rows = append(slices.Clip(m.rows), e)
	return m, e, handled, nil
}

// count returns how many episodes a job has written.
func (m Episodes) count(seed det.Seed) (n int64) {
	for _, e := range m.rows {
		if e.Seed == seed {
			n++
		}
	}
	return n
}

// Add adds a row as it was recorded. It refuses with [ErrMemory] one whose id
// is not that of the next episode of its job.
func (m Episodes) Add(e Episode) (Episodes, error) {
	if e.ID != EpisodicID(e.Seed, m.count(e.Seed)) || len(m.rows) >= maxEpisodes {
		return m, fault.New(ErrMemory, "job.Episodes.Add", "episode %.80q is not number %d of its job", e.ID, m.count(e.Seed))
	}
	m.rows = append(slices.Clip(m.rows), e)
	return m, nil
}

// Consolidate returns the episode that a job leaves behind at its end: its
// context, with the texts in it as the summary. There is none if the context is
// empty. It goes no further: an episode becomes a fact only by a request.
func (b Brain) Consolidate(at det.Instant, semHash, trace, log string) (NewEpisode, bool) {
	c := b.State.Context
	if len(c.Items) == 0 {
		return NewEpisode{}, false
	}
	var parts []string
	if c.Topic != "" {
		parts = append(parts, c.Topic)
	}
	for _, item := range c.Items {
		if s, ok := item.Value.AsString(); ok {
			parts = append(parts, s)
		} else {
			parts = append(parts, item.Value.String())
		}
	}
	return NewEpisode{
		At: at, Source: ByBrain, Summary: cutText(strings.Join(parts, "; "), maxText), Payload: c.value(),
		Evidence: []Evidence{{Hash: semHash}}, Trace: trace, Log: log,
	}, true
}

// cutText returns s, or as much of its beginning as fits.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit-- // not within a character
	}
	return s[:limit]
}

// Query asks episodic memory.
type Query struct {
	Text     string
	From, To det.Instant // created_seeded_ts of 0 or from..to, both included; a To of 0 is no end
	Max      int         // how many rows are wanted; 0: 10
}

// Ranked is an answer to a query.
type Ranked struct {
	Episode Episode
	Score   Nano // matching terms / terms of the summary
}

// Value returns the answer with the evidence that a decision which uses it must
// name.
func (r Ranked) Value() canon.Value {
	return canon.Object(
		canon.M("episodic_id", canon.String(r.Episode.ID)),
		canon.M("evidence", canon.ArrayOf(r.Episode.Evidence, Evidence.value)),
		canon.M("score", r.Score.Value()),
		canon.M("summary", canon.String(r.Episode.Summary)),
	)
}

// Query returns the rows whose summaries share a term with the query, the best
// first: by score, then the later created_seeded_ts, then the id. A term of the
// query counts once for each row that has it.
func (m Episodes) Query(q Query) []Ranked {
	asked := Terms(q.Text)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	var out []Ranked
	for _, e := range m.rows {
		if e.At < q.From || q.To != 0 && e.At > q.To {
			continue
		}
		terms := Terms(e.Summary)
		total := len(terms)
		slices.Sort(terms)
		matching := 0
		for _, t := range asked {
			if _, ok := slices.BinarySearch(terms, t); ok {
				matching++
			}
		}
		if matching > 0 {
			out = append(out, Ranked{Episode: e, Score: ratio(int64(matching), int64(total))})
		}
	}
	slices.SortFunc(out, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Episode.At, a.Episode.At), strings.Compare(a.Episode.ID, b.Episode.ID),
			strings.Compare(string(a.Episode.Seed), string(b.Episode.Seed)))
	})
	if q.Max <= 0 {
		q.Max = 10
	}
	return out[:min(len(out), q.Max)]
}

// Terms splits a text into its terms: lower case, cut at white space and
// punctuation. Only ASCII and the two blocks of general and CJK punctuation cut,
// and lower case is that of single characters, which Unicode has promised not
// to change: a later version of its tables must not rank anew.
func Terms(text string) []string {
	return strings.FieldsFunc(strings.Map(unicode.ToLower, text), func(r rune) bool {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r == '_':
			return false
		case r <= 0xBF:
			return true // controls, space, ASCII and Latin-1 signs
		default:
			return r >= 0x2000 && r <= 0x206F || r >= 0x3000 && r <= 0x303F
		}
	})
}
