package job_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
)

const ssn = "123-45-6789"

func privacy(t testing.TB) job.Privacy {
	t.Helper()
	p, err := job.NewPrivacy(job.PrivacyRules{UnredactedRoles: []string{"council", "admin"}, RetentionDays: 90},
		job.Category{Type: "national_id", Sensitivity: job.HighSensitivity, Pattern: `\b\d{3}-\d{2}-\d{4}\b`},
		job.Category{Type: "bank_card", Sensitivity: job.HighSensitivity, Pattern: `\b(?:\d[ -]?){15}\d\b`, Luhn: true},
		job.Category{Type: "email", Sensitivity: job.MediumSensitivity, Pattern: `[\w.+-]+@[\w-]+\.[\w.]+`},
		job.Category{Type: "first_name", Sensitivity: job.LowSensitivity, Pattern: `\bAda\b`},
	)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var piiKey = []byte("a key of the server, for tests")

func guard(t testing.TB) job.Guard {
	t.Helper()
	return job.Guard{Rules: privacy(t), Purpose: job.Purpose{Key: piiKey, Seed: seed, User: "u1"}}
}

func consent(types ...string) job.Consent {
	return job.Consent{User: "u1", Seed: seed, Text: "keep it", Scope: job.ForJob, Types: types}
}

func consents(t testing.TB, given ...job.Consent) job.Consents {
	t.Helper()
	var s job.Consents
	for _, c := range given {
		var err error
		if s, err = s.Give(c, privacy(t)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// F-PRIV-01, PS-01, MACE-S-02: nothing raw is kept, and its hash is that of the
// document.
func TestPersonalDataAreNotWrittenWithoutConsent(t *testing.T) {
	t.Parallel()
	_, handled, err := job.NewPut(governLedger, "u1", "user/u1/ssn", canon.String(ssn), "", guard(t))
	wantCode(t, "NewPut(ssn)", err, job.ErrPrivacy)
	want := canon.MAC(piiKey, []byte(ssn+string(seed))).String()
	event := encode(t, handled.Event())
	if handled.Status != job.ConsentRequired || handled.Redactions[0].Hash != want || strings.Contains(event, ssn) {
		t.Errorf("handled = %s, want the hash %s and nothing raw", event, want)
	}
	if got, _ := job.Say(job.ErrPrivacy.Error()); got != "I can\u2019t store or repeat that kind of sensitive personal information." {
		t.Errorf("Say(PRIVACY_BLOCKED) = %q", got)
	}
}

// F-PRIV-02: with consent, and for high sensitivity by the council, it is kept.
func TestConsentLetsAFactBeWritten(t *testing.T) {
	t.Parallel()
	g := guard(t)
	g.Purpose.Consents = consents(t, consent("national_id"))
	in, handled, err := job.NewPut(governLedger, "u1", "user/u1/ssn", canon.String(ssn), "", g)
	if err != nil || handled.Status != job.Allowed {
		t.Fatalf("NewPut() = %v, %v; want it allowed", handled.Status, err)
	}
	r, err := rules().Request(seed, job.NewStamp(seed, 7, job.EventRequested), in)
	if err != nil {
		t.Fatal(err)
	}
	stamp := job.NewStamp(seed, 8, job.EventExecuted)
	x, err := (job.Semantic{}).Execute(approved(t, r), stamp, 10, g)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := x.Memory.Get("user/u1/ssn"); err != nil || f.Value.Str() != ssn {
		t.Errorf("Get() = %v, %v; want %s", f.Value, err, ssn)
	}
	// The consent was taken back while the council thought.
	g.Purpose.Consents, err = g.Purpose.Consents.Revoke(consent("national_id").ID())
	if err != nil {
		t.Fatal(err)
	}
	x, err = (job.Semantic{}).Execute(approved(t, r), stamp, 10, g)
	wantCode(t, "Execute without the consent", err, job.ErrPrivacy)
	if len(x.Handled.Redactions) != 1 || x.Request.Status() != job.ActionApproved {
		t.Errorf("execution = %+v; want the finding, and the request as it was", x.Handled)
	}
}

// M-T6: an episode is redacted before it is written.
func TestEpisodesAreRedacted(t *testing.T) {
	t.Parallel()
	in := episode(det.Epoch, "Ada wrote from ada@example.org", canon.Object(canon.M("ids", canon.Array(canon.String(ssn)))))
	m, e, handled, err := (job.Episodes{}).Write(seed, in, guard(t))
	if err != nil || handled.Status != job.Redacted || len(handled.Redactions) != 3 {
		t.Fatalf("Write() = %+v, %v; want three redactions", handled, err)
	}
	text := encode(t, e.Value())
	for _, raw := range []string{ssn, "ada@", "Ada"} {
		if strings.Contains(text, raw) {
			t.Errorf("the episode holds %q: %s", raw, text)
		}
	}
	if want := "[redacted:national_id:" + job.PIIHash(piiKey, ssn, seed) + "]"; e.Payload.Get("ids").At(0).Str() != want {
		t.Errorf("payload = %s, want %s", e.Payload, want)
	}
	if r := handled.Redactions[0]; r.Pointer != "/payload/ids/0" || r.Type != "national_id" {
		t.Errorf("redaction = %+v, want that of /payload/ids/0", r)
	}
	if len(m.Query(job.Query{Text: "wrote"})) != 1 || len(m.Query(job.Query{Text: "ada"})) != 0 {
		t.Error("the redacted episode is found by what was redacted, or not by what was not")
	}
}

func TestDetectionIsFromLeftToRightWithoutOverlaps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"nothing":                   nil,
		ssn + "," + ssn:             {"national_id", "national_id"},
		"card 4111 1111 1111 1111.": {"bank_card"},
		"card 4111 1111 1111 1112.": nil, // the check digit is wrong
		"x " + ssn + "@example.org": {"email"},
		"Ada, ada@example.org":      {"first_name", "email"},
		"Adam":                      nil,
	} {
		var got []string
		for _, f := range privacy(t).Detect(text) {
			got = append(got, f.Type)
		}
		if !slices.Equal(got, want) {
			t.Errorf("Detect(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestWhatMayBeKeptRaw(t *testing.T) {
	t.Parallel()
	none, all := consents(t), consents(t, consent("email", "first_name", "national_id"))
	for _, c := range []struct {
		text     string
		consents job.Consents
		council  bool
		user     string
		seed     det.Seed
		want     job.Handling
	}{
		{"nothing", none, false, "u1", seed, job.Allowed},
		{"Ada", none, false, "u1", seed, job.Redacted},
		{"Ada", all, false, "u1", seed, job.Allowed},
		{"a@b.org", none, true, "u1", seed, job.Redacted},
		{"a@b.org", all, false, "u1", seed, job.Allowed},
		{"a@b.org", all, false, "u2", seed, job.Redacted},
		{"a@b.org", all, false, "u1", "another job", job.Redacted},
		{ssn, all, false, "u1", seed, job.Redacted},
		{ssn, none, true, "u1", seed, job.Redacted},
		{ssn, all, true, "u1", seed, job.Allowed},
	} {
		why := job.Purpose{Key: piiKey, Seed: c.seed, User: c.user, Consents: c.consents, Council: c.council}
		if got, err := privacy(t).Handle(canon.String(c.text), why); err != nil || got.Status != c.want {
			t.Errorf("Handle(%q, council %t, user %s) = %s, %v; want %s", c.text, c.council, c.user, got.Status, err, c.want)
		}
	}
	_, err := (job.Privacy{}).Handle(canon.String("x"), job.Purpose{Key: piiKey})
	wantCode(t, "Handle without rules", err, job.ErrPrivacy)
	_, err = privacy(t).Handle(canon.String("x"), job.Purpose{})
	wantCode(t, "Handle without a key", err, job.ErrPrivacy)
}

// Nothing that the detector finds is left, wherever it stands in a value.
func TestNothingDetectedIsLeft(t *testing.T) {
	t.Parallel()
	p := privacy(t)
	text := rapid.SampledFrom([]string{ssn, "a@b.org", "Ada", "x", "4111111111111111", "7"})
	leaf := rapid.Custom(func(t *rapid.T) canon.Value {
		switch rapid.IntRange(0, 3).Draw(t, "leaf") {
		case 0:
			v, err := canon.Number("4111111111111111")
			if err != nil {
				t.Fatal(err)
			}
			return v
		case 1:
			return canon.Object(canon.M(text.Draw(t, "name"), canon.String(text.Draw(t, "text"))))
		default:
			return canon.String(text.Draw(t, "a") + " " + text.Draw(t, "b"))
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		v := canon.Array(rapid.SliceOfN(leaf, 0, 5).Draw(t, "value")...)
		h, err := p.Handle(v, job.Purpose{Key: piiKey, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		b, err := canon.Encode(h.Value, canon.MACEFixed9)
		if err != nil {
			t.Fatal(err)
		}
		if found := p.Detect(string(b)); len(found) != 0 {
			t.Fatalf("Handle(%s) left %s", v, b)
		}
		if (len(h.Redactions) == 0) != h.Value.Equal(v) {
			t.Fatalf("Handle(%s) = %s with %d redactions", v, h.Value, len(h.Redactions))
		}
	})
}

// PS-02: what is redacted is shown to few, and each look is recorded.
// M-87 (Admin only in a replay for a data subject) is decided here.
func TestUnredactedReadsAreForFewAndLogged(t *testing.T) {
	t.Parallel()
	held := job.Held{ID: "ep-1", Redacted: canon.String("[redacted]"), Raw: canon.String(ssn)}
	for _, c := range []struct {
		role string
		dsr  bool
		want bool
	}{{"admin", false, true}, {"council", false, true}, {"auditor", false, false}, {"operator", false, false}, {"admin", true, true}, {"council", true, false}} {
		shown, access, err := privacy(t).Read(held, job.Reader{Actor: "ann", Role: c.role, DSR: c.dsr, Raw: true})
		if !c.want {
			wantCode(t, "Read by "+c.role, err, job.ErrAccess)
			if !shown.IsZero() {
				t.Errorf("Read by %s shows %s", c.role, shown)
			}
			continue
		}
		if err != nil || shown.Str() != ssn || access.Get("actor_id").Str() != "ann" || strings.Contains(access.String(), ssn) {
			t.Errorf("Read by %s = %s, %s, %v; want the value and an event without it", c.role, shown, access, err)
		}
	}
	shown, access, err := privacy(t).Read(held, job.Reader{Actor: "ann", Role: "admin"})
	if err != nil || shown.Str() != "[redacted]" || !access.IsZero() {
		t.Errorf("Read redacted = %s, %s, %v; want no event", shown, access, err)
	}
}

func TestConsentsHoldUntilTheyAreRevoked(t *testing.T) {
	t.Parallel()
	c := consent("email")
	got, err := job.ParseConsent(parse(t, encode(t, c.Value())))
	if err != nil || got.ID() != c.ID() {
		t.Fatalf("ParseConsent(Value()) = %+v, %v; want %+v", got, err, c)
	}
	s := consents(t, c, c)
	if s, err = s.Revoke(c.ID()); err != nil || s.Covers("u1", seed, "email") {
		t.Errorf("Revoke() = %v; want no consent left", err)
	}
	_, err = s.Revoke(c.ID())
	wantCode(t, "Revoke again", err, job.ErrConsent)
	c.Scope = job.Persistent
	_, err = s.Give(c, privacy(t))
	wantCode(t, "Give of a persistent consent where there are none", err, job.ErrConsent)
	_, err = job.ParseConsent(c.Value().With("user_id", canon.String("u2")))
	wantCode(t, "ParseConsent with another user", err, job.ErrConsent)
}

func TestPrivacySnapshotIsReadStrictly(t *testing.T) {
	t.Parallel()
	v := privacy(t).Value()
	got, err := job.ParsePrivacy(parse(t, encode(t, v)))
	if err != nil || !got.Value().Equal(v) {
		t.Fatalf("ParsePrivacy(Value()) = %s, %v; want %s", got.Value(), err, v)
	}
	category := v.Get("categories").At(0)
	for name, bad := range map[string]canon.Value{
		"no pattern":      v.With("categories", canon.Array(category.With("pattern", canon.String("(")))),
		"matches nothing": v.With("categories", canon.Array(category.With("pattern", canon.String("a*")))),
		"twice":           v.With("categories", canon.Array(category, category)),
		"a type":          v.With("categories", canon.Array(category.With("pii_type", canon.String("SSN")))),
		"sensitivity":     v.With("categories", canon.Array(category.With("sensitivity", canon.String("none")))),
		"no roles":        v.Without("unredacted_roles"),
	} {
		_, err := job.ParsePrivacy(bad)
		wantCode(t, "ParsePrivacy("+name+")", err, job.ErrPrivacyRules)
	}
}

func TestMessagesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"SEM_NOT_FOUND":      "I don’t have that information stored yet. If you want, tell me and I’ll remember it.",
		"SEM_WRITE_FAIL":     "I tried to save that but my memory failed. I might not remember this next time.",
		"LLM_SERVICE_DOWN":   "I can’t reach my language engine right now. Try again later.",
		"PRIVACY_BLOCKED":    "I can’t store or repeat that kind of sensitive personal information.",
		"AGENT_TIMEOUT":      "One of my internal modules timed out while trying to fetch the answer. I’ll try a fallback.",
		"SAFETY_BLOCK_EVENT": "I can’t help with that.",
		"REDACTION_EVENT":    "Some information was removed for safety.",
		"INTEGRITY_FAILURE":  "I’m temporarily unable to trust my past data; ops team will check.",
	} {
		if got, ok := job.Say(name); !ok || got != want {
			t.Errorf("Say(%s) = %q, want %q", name, got, want)
		}
	}
	if got, ok := job.Say("ROUTER_NO_MATCH"); ok {
		t.Errorf("Say(ROUTER_NO_MATCH) = %q, want nothing", got)
	}
}
