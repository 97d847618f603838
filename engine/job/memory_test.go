package job_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
)

func episode(at det.Instant, summary string, payload canon.Value) job.NewEpisode {
	return job.NewEpisode{At: at, Source: job.ByAgent, Summary: summary, Payload: payload, Trace: "t", Log: "log-1"}
}

// remember writes episodes one after the other.
func remember(t testing.TB, m job.Episodes, in ...job.NewEpisode) job.Episodes {
	t.Helper()
	for _, e := range in {
		var err error
		if m, _, _, err = m.Write(seed, e, guard(t)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// M-T3: what the context holds at the end of a job becomes an episode.
func TestContextBecomesAnEpisodeAtTheEnd(t *testing.T) {
	t.Parallel()
	b := brain()
	if _, any := b.Consolidate(det.Epoch, job.Semantic{}.Hash(), "t", "log-1"); any {
		t.Error("an empty context leaves an episode")
	}
	b, _ = step(t, b, job.TickInput{
		Goals:  []job.NewGoal{{ID: "g", Type: job.GoalAnswer, Origin: job.FromUser, Metadata: canon.Object(canon.M("topic", canon.String("ohms law")))}},
		Insert: []job.NewMemory{fact("volts are amps times ohms", 0), fact("volts are amps times ohms", 0)},
	})
	in, any := b.Consolidate(det.Epoch, job.Semantic{}.Hash(), "t", "log-1")
	if !any {
		t.Fatal("the context leaves no episode")
	}
	m := remember(t, job.Episodes{}, in)
	e := slices.Collect(m.All())[0]
	if e.ID != job.EpisodicID(seed, 0) || e.Source != job.ByBrain || e.Summary != "ohms law; volts are amps times ohms" {
		t.Errorf("episode = %s", e.Value())
	}
	if got := e.Payload.Get("items").At(0).Get("value").Str(); got != "volts are amps times ohms" {
		t.Errorf("payload = %s, want the context", e.Payload)
	}
	got, err := job.ParseEpisode(parse(t, encode(t, e.Value())))
	if err != nil || !got.Value().Equal(e.Value()) {
		t.Errorf("ParseEpisode(Value()) = %s, %v; want %s", got.Value(), err, e.Value())
	}
	again, err := (job.Episodes{}).Add(got)
	if err != nil {
		t.Fatal(err)
	}
	_, err = again.Add(got)
	wantCode(t, "Add of the same episode again", err, job.ErrMemory)
}

// M-T4.
func TestEpisodesAreRankedByAFixedRule(t *testing.T) {
	t.Parallel()
	m := remember(t, job.Episodes{},
		episode(det.Epoch+5, "The cat sat", canon.Null()),            // 0: 1/3
		episode(det.Epoch+9, "cat, DOG!", canon.Null()),              // 1: 2/2
		episode(det.Epoch+7, "a dog sat", canon.Null()),              // 2: 1/3, later
		episode(det.Epoch+7, "a cat ran", canon.Null()),              // 3: 1/3, as late: by id
		episode(det.Epoch+9, "nothing of the kind", canon.Null()),    // 4: no term
		episode(det.Epoch+1, "dog dog dog cat of all", canon.Null()), // 5: 2/6
	)
	rows := slices.Collect(m.All())
	tie := []int{2, 3}
	if rows[3].ID < rows[2].ID {
		tie = []int{3, 2}
	}
	want := []int{1, tie[0], tie[1], 0, 5}
	check := func(what string, got []job.Ranked, want []int) {
		t.Helper()
		var ids []string
		for _, r := range got {
			ids = append(ids, r.Episode.ID)
		}
		var wanted []string
		for _, i := range want {
			wanted = append(wanted, rows[i].ID)
		}
		if !slices.Equal(ids, wanted) {
			t.Errorf("%s = %v, want rows %v", what, ids, want)
		}
	}
	got := m.Query(job.Query{Text: "Dog? CAT! dog"})
	check("Query(dog, cat)", got, want)
	if got[0].Score != job.One || got[1].Score != n9("0.333333333") {
		t.Errorf("scores = %s, %s; want 1 and 1/3", got[0].Score, got[1].Score)
	}
	check("Query with Max", m.Query(job.Query{Text: "dog cat", Max: 2}), want[:2])
	check("Query with a window", m.Query(job.Query{Text: "dog cat", From: det.Epoch + 2, To: det.Epoch + 7}), []int{tie[0], tie[1], 0})
	check("Query of nothing", m.Query(job.Query{Text: " ?! "}), nil)
	if got := got[0].Value().Get("episodic_id").Str(); got != rows[1].ID {
		t.Errorf("an answer names %s, want its episode", got)
	}
}

func TestSummaryIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	b := brain()
	b.State.Budget.Tokens = 1 << 20
	long := job.NewMemory{Type: job.MemoryFact, Value: canon.String("x" + strings.Repeat("é", 8000))}
	more := job.NewMemory{Type: job.MemoryFact, Value: canon.Object(canon.M("y", canon.String(strings.Repeat("é", 8000))))}
	b, _ = step(t, b, job.TickInput{Insert: []job.NewMemory{long, long, more, more}})
	in, any := b.Consolidate(det.Epoch, job.Semantic{}.Hash(), "t", "log-1")
	if !any || len(in.Summary) > 16<<10 || !utf8.ValidString(in.Summary) {
		t.Errorf("a summary of %d bytes, valid %t; want at most 16 KiB of UTF-8", len(in.Summary), utf8.ValidString(in.Summary))
	}
}

func TestTermsAreCutAtSpaceAndPunctuation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                   nil,
		"A-b_c  D\te.\u2019": {"a", "b_c", "d", "e"},
		"ÄRGER über 3,5 €":   {"ärger", "über", "3", "5", "€"},
		"日本。語":               {"日本", "語"},
	} {
		if got := job.Terms(text); !slices.Equal(got, want) {
			t.Errorf("Terms(%q) = %q, want %q", text, got, want)
		}
	}
}

// learn has the council approve a request, and executes it.
func learn(t testing.TB, s job.Semantic, in job.NewRequest) (job.Execution, error) {
	t.Helper()
	r, err := rules().Request(seed, job.NewStamp(seed, 7, job.EventRequested), in)
	if err != nil {
		t.Fatal(err)
	}
	return s.Execute(approved(t, r), job.NewStamp(seed, 8, job.EventExecuted), 10, guard(t))
}

func put(t testing.TB, s job.Semantic, key, value string) job.Semantic {
	t.Helper()
	in, _, err := job.NewPut(governLedger, "agent:math_v1", key, canon.String(value), "the user said so", guard(t))
	if err != nil {
		t.Fatal(err)
	}
	x, err := learn(t, s, in)
	if err != nil {
		t.Fatal(err)
	}
	return x.Memory
}

// M-T5, MACE-S-03: an episode becomes a fact only when the council has approved
// it, and only once.
func TestPromotionIsGatedAndIdempotent(t *testing.T) {
	t.Parallel()
	var s job.Semantic
	m := remember(t, job.Episodes{}, episode(det.Epoch, "a colour", canon.String("cerulean")))
	id := slices.Collect(m.All())[0].ID
	const key = "user/profile/user_1/favorite_color"
	in, err := s.NewPromotion(m, governLedger, "agent:chat_v1", id, key, "asked twice")
	if err != nil {
		t.Fatal(err)
	}
	pending, err := rules().Request(seed, job.NewStamp(seed, 7, job.EventRequested), in)
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Execute(pending, job.NewStamp(seed, 8, job.EventExecuted), 10, guard(t))
	wantCode(t, "Execute(pending)", err, job.ErrNotApproved)
	_, err = x.Memory.Get(key)
	wantCode(t, "Get before the approval", err, job.ErrNoFact)

	x, err = learn(t, s, in)
	if err != nil || x.Request.Status() != job.ActionExecuted {
		t.Fatalf("Execute(approved) = %s, %v", x.Request.Status(), err)
	}
	got, err := x.Memory.Get(key)
	if err != nil || got.Value.Str() != "cerulean" || got.At != job.NewStamp(seed, 8, job.EventExecuted).At || got.Request != x.Request.ID() {
		t.Errorf("Get(%q) = %+v, %v; want what the episode says", key, got, err)
	}
	_, err = x.Memory.NewPromotion(m, governLedger, "agent:chat_v1", id, key, "again")
	wantCode(t, "NewPromotion again", err, job.ErrPromoted)
	_, err = learn(t, x.Memory, in)
	wantCode(t, "Execute of a second request for it", err, job.ErrPromoted)
	_, err = s.NewPromotion(m, governLedger, "agent:chat_v1", "?", key, "")
	wantCode(t, "NewPromotion of no episode", err, job.ErrMemory)
}

// A class of lower risk in the snapshot does not open semantic memory.
func TestFactsAreForTheCouncilOnly(t *testing.T) {
	t.Parallel()
	g := rules()
	g.Classes[job.ActionPut] = job.LowRisk
	in, _, err := job.NewPut(governLedger, "x", "a/b", canon.Int(1), "", guard(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Request(seed, job.NewStamp(seed, 7, job.EventRequested), in)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = cast(t, r, vote{"admin", "approve", 1}); err != nil || r.Status() != job.ActionApproved {
		t.Fatalf("status = %s, %v", r.Status(), err)
	}
	_, err = (job.Semantic{}).Execute(r, job.NewStamp(seed, 8, job.EventExecuted), 10, guard(t))
	wantCode(t, "Execute by an admin", err, job.ErrNotApproved)
}

func TestFactsAreFoundByKeyAndPrefix(t *testing.T) {
	t.Parallel()
	s := put(t, put(t, put(t, job.Semantic{}, "b/c", "2"), "b/a", "1"), "bc", "3")
	keys := func(prefix string) (out []string) {
		for f := range s.Search(prefix) {
			out = append(out, f.Key)
		}
		return out
	}
	for prefix, want := range map[string][]string{"b/": {"b/a", "b/c"}, "": {"b/a", "b/c", "bc"}, "b/a": {"b/a"}, "x": nil, "B": nil} {
		if got := keys(prefix); !slices.Equal(got, want) {
			t.Errorf("Search(%q) = %q, want %q", prefix, got, want)
		}
	}
	for _, key := range []string{"", "/", "a//b", "a/", "/a", "A", "a b", "é", strings.Repeat("a", 300)} {
		_, err := s.Get(key)
		wantCode(t, "Get("+key+")", err, job.ErrMemory)
	}
}

func TestMemoryHashCoversKeysValuesAndInstants(t *testing.T) {
	t.Parallel()
	a := put(t, job.Semantic{}, "a", "1")
	at := job.NewStamp(seed, 8, job.EventExecuted).At.String()
	if got, want := a.Hash(), canon.SHA256([]byte(`[["a","1","`+at+`"]]`)).String(); got != want {
		t.Errorf("Hash() = %s, want %s", got, want)
	}
	// The parts are marked: joined without a mark these two would be one.
	if put(t, job.Semantic{}, "a", "1").Hash() != a.Hash() || put(t, job.Semantic{}, "a1", "").Hash() == a.Hash() {
		t.Error("two memories share a hash, or one has two")
	}
	got, err := job.ParseSemantic(parse(t, encode(t, a.Value())))
	if err != nil || got.Hash() != a.Hash() {
		t.Errorf("ParseSemantic(Value()) = %s, %v; want %s", got.Value(), err, a.Value())
	}
	v := a.Value()
	first := v.Get("facts").At(0)
	for name, bad := range map[string]canon.Value{
		"another value": v.With("facts", canon.Array(first.With("value", canon.String("2")))),
		"no key":        v.With("facts", canon.Array(first.With("key", canon.String("A")))),
		"twice":         v.With("facts", canon.Array(first, first)),
		"no hash":       v.Without("sem_snapshot_hash"),
	} {
		_, err := job.ParseSemantic(bad)
		wantCode(t, "ParseSemantic("+name+")", err, job.ErrMemory)
	}
}

// F-DSR-01: facts are deleted by the council only, and the manifest says which.
func TestDeletionNeedsTheCouncilAndLeavesAManifest(t *testing.T) {
	t.Parallel()
	s := put(t, put(t, put(t, job.Semantic{}, "user/u1/name", "x"), "user/u2/name", "y"), "user/u1/town", "z")
	in, err := s.NewDeletion(governLedger, "u1", "user/u1/")
	if err != nil || in.Justification != "DSR_DELETE_REQUEST" {
		t.Fatalf("NewDeletion() = %+v, %v", in, err)
	}
	x, err := learn(t, s, in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Memory.Get("user/u2/name"); err != nil {
		t.Errorf("Get(user/u2/name) = %v, want what is of somebody else", err)
	}
	_, err = x.Memory.Get("user/u1/town")
	wantCode(t, "Get(user/u1/town)", err, job.ErrNoFact)
	removed := x.Manifest.Get("removed")
	if removed.Len() != 2 || removed.At(0).Get("key").Str() != "user/u1/name" || strings.Contains(x.Manifest.String(), `"z"`) {
		t.Errorf("manifest = %s, want the two keys and no values", x.Manifest)
	}
	_, err = s.NewDeletion(governLedger, "u1", "")
	wantCode(t, "NewDeletion of everything", err, job.ErrMemory)
	_, err = s.NewDeletion(governLedger, "u1", "none/")
	wantCode(t, "NewDeletion of nothing", err, job.ErrMemory)
}

// M-T8.
func TestFullStoreHasItsCode(t *testing.T) {
	t.Parallel()
	_, _, _, err := job.FullEpisodes().Write("seed", job.NewEpisode{}, job.Guard{})
	wantCode(t, "Write into a full store", err, job.ErrStorageFull)
}
