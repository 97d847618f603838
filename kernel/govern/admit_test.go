package govern_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

func TestActSurvivesItsSignature(t *testing.T) {
	t.Parallel()
	a := act(1, "pat", govern.Auditor, "REPLAY_REQUEST", refund)
	a.Reason = "customer called\n„zweimal“"
	envelope := signed(a)
	got, err := people().Admit(envelope, anything)
	if err != nil || got.Act() != a || got.Digest() != sign.Digest(envelope) {
		t.Fatalf("Admit(Sign(%+v)) = %+v, %v", a, got.Act(), err)
	}
	if encode(got.Value()) != string(envelope) {
		t.Errorf("Value = %s, want the signed act as it was: %s", got.Value(), envelope)
	}
	again, err := people().Readmit(got.Value(), anything)
	if err != nil || again.Act() != a || again.Digest() != got.Digest() {
		t.Errorf("Readmit(Value()) = %+v, %v; want the act again", again.Act(), err)
	}
}

// TestPayloadIsPinned holds the bytes that actors sign.
func TestPayloadIsPinned(t *testing.T) {
	t.Parallel()
	a := act(0, "ann", govern.Approver, govern.Approve, govern.Matter{Ledger: "l", Subject: "s", Bound: canon.SHA256(nil)})
	a.Reason = "ok"
	e, err := sign.ParseEnvelope(signed(a))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"act":"approve","actor":"ann","at":"2026-09-21T14:13:20Z",` +
		`"bound":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","ledger":"l",` +
		`"nonce":"00000000000000010000000000000000","reason":"ok","role":"approver","subject":"s","v":1}`
	if string(e.Payload) != want || e.Type != govern.ActType {
		t.Errorf("payload = %s of type %s, want %s", e.Payload, e.Type, want)
	}
}

func TestAdmitRefuses(t *testing.T) {
	t.Parallel()
	byAnn := act(1, "ann", govern.Approver, govern.Approve, refund)
	with := func(change func(*govern.Act)) []byte {
		a := byAnn
		change(&a)
		return signed(a)
	}
	forged, err := byAnn.Sign(key("bob"))
	if err != nil {
		t.Fatal(err)
	}
	// An envelope that names ann's key over a signature of bob's.
	e, err := sign.ParseEnvelope(forged)
	if err != nil {
		t.Fatal(err)
	}
	e.KeyID = key("ann").Public().ID()
	relabelled := e.Encode()
	for _, tt := range []struct {
		name     string
		envelope []byte
		change   func(*govern.Requirement)
		want     fault.Code
	}{
		{"as it should be", signed(byAnn), nil, nil},
		{"nothing", nil, nil, govern.ErrAct},
		{"another statement of the same key", statement("application/vnd.reprise.head.v1+json", payload(byAnn)), nil, govern.ErrAct},
		{"more than the limit", append(signed(byAnn), make([]byte, govern.MaxAct)...), nil, govern.ErrAct},
		{"trailing space", append(signed(byAnn), ' '), nil, govern.ErrAct},
		{"nobody who is enrolled", with(func(a *govern.Act) { a.Actor = "zoe" }), nil, govern.ErrUnknownActor},
		{"signed by somebody else who is enrolled", forged, nil, govern.ErrSignature},
		{"a signature under a borrowed key id", relabelled, nil, govern.ErrSignature},
		{"a verb that is not taken", with(func(a *govern.Act) { a.Verb = "FORCE_CONTINUE" }), nil, govern.ErrVerb},
		{"no verb is taken", signed(byAnn), func(r *govern.Requirement) { r.Verbs = nil }, govern.ErrVerb},
		{"another ledger", with(func(a *govern.Act) { a.Matter.Ledger = "trajectory-8" }), nil, govern.ErrMatter},
		{"no ledger is given", signed(byAnn), func(r *govern.Requirement) { r.Ledger = "" }, govern.ErrMatter},
		{"another tenant", with(func(a *govern.Act) { a.Actor, a.Role = "eve", govern.Admin }), nil, govern.ErrTenant},
		{"no tenant is not every tenant", signed(byAnn), func(r *govern.Requirement) { r.Tenant = "" }, govern.ErrTenant},
		{"a role that the actor does not hold", with(func(a *govern.Act) { a.Role = govern.Admin }), nil, govern.ErrRole},
		{"a role that has no say", signed(byAnn), func(r *govern.Requirement) { r.Roles = []govern.Role{govern.Admin} }, govern.ErrRole},
		{"no role has a say", signed(byAnn), func(r *govern.Requirement) { r.Roles = nil }, govern.ErrRole},
		{
			"another role of the actor would have a say",
			with(func(a *govern.Act) { a.Actor, a.Role = "dora", govern.Council }),
			func(r *govern.Requirement) { r.Roles = []govern.Role{govern.Admin} }, govern.ErrRole,
		},
	} {
		need := anything
		if tt.change != nil {
			tt.change(&need)
		}
		got, err := people().Admit(tt.envelope, need)
		wantCode(t, "Admit of "+tt.name, err, tt.want)
		if err != nil && !got.Digest().IsZero() {
			t.Errorf("Admit of %s refuses, but returns an act", tt.name)
		}
	}
	_, err = (govern.Roster{}).Admit(signed(byAnn), anything)
	wantCode(t, "Admit by the zero roster", err, govern.ErrUnknownActor)
	_, err = people().Readmit(canon.Value{}, anything)
	wantCode(t, "Readmit of nothing", err, govern.ErrAct)
	_, err = people().Readmit(canon.Object(), anything)
	wantCode(t, "Readmit of an empty object", err, govern.ErrAct)
}

func payload(a govern.Act) string {
	e, err := sign.ParseEnvelope(signed(a))
	if err != nil {
		panic(err)
	}
	return string(e.Payload)
}

// statement is an envelope over any payload, signed by ann.
func statement(typ, payload string) []byte {
	e, err := sign.Seal(key("ann"), typ, []byte(payload))
	if err != nil {
		panic(err)
	}
	return e.Encode()
}

func TestPayloadHasOneForm(t *testing.T) {
	t.Parallel()
	good := payload(act(1, "ann", govern.Approver, govern.Approve, refund))
	for _, tt := range []struct{ name, old, new string }{
		{"no JSON", good, "approve"},
		{"no object", good, `[]`},
		{"white space", `,"v":1`, `, "v":1`},
		{"another version", `"v":1`, `"v":2`},
		{"a member more", `"v":1`, `"urgent":true,"v":1`},
		{"a member twice", `"v":1`, `"v":1,"v":1`},
		{"a time in another zone", `13:20Z"`, `13:20+00:00"`},
		{"no time", `"2026-09-21T14:13:20Z"`, `""`},
		{"a digest in capitals", refund.Bound.String(), strings.ToUpper(refund.Bound.String())},
		{"a nonce in capitals", `"nonce":"00000000000000020000000000000000"`, `"nonce":"0000000000000002000000000000000A"`},
		{"a short nonce", `"nonce":"0000`, `"nonce":"`},
		{"a long nonce", `"nonce":"0000`, `"nonce":"000000`},
		{"a role that does not exist", `"role":"approver"`, `"role":"Approver"`},
		{"a subject that is no text", `"subject":"proposal-1"`, `"subject":1`},
	} {
		changed := strings.Replace(good, tt.old, tt.new, 1)
		if changed == good {
			t.Fatalf("%s: the case changes nothing", tt.name)
		}
		_, err := people().Admit(statement(govern.ActType, changed), anything)
		wantCode(t, "Admit of a payload with "+tt.name, err, govern.ErrAct)
	}
}

func TestNothingIsSignedThatNobodyWouldAdmit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*govern.Act)
	}{
		{"no verb", func(a *govern.Act) { a.Verb = "" }},
		{"a verb that begins with a digit", func(a *govern.Act) { a.Verb = "2approve" }},
		{"a verb with a space", func(a *govern.Act) { a.Verb = "approve all" }},
		{"a verb that is too long", func(a *govern.Act) { a.Verb = govern.Verb(strings.Repeat("a", 65)) }},
		{"no actor", func(a *govern.Act) { a.Actor = "" }},
		{"no role", func(a *govern.Act) { a.Role = "" }},
		{"no ledger", func(a *govern.Act) { a.Matter.Ledger = "" }},
		{"no subject", func(a *govern.Act) { a.Matter.Subject = "" }},
		{"no bound", func(a *govern.Act) { a.Matter.Bound = canon.Digest{} }},
		{"a reason in another encoding", func(a *govern.Act) { a.Reason = "\xff" }},
		{"a reason that moves the cursor", func(a *govern.Act) { a.Reason = "fine\x1b[2K" }},
		{"a reason that is too long", func(a *govern.Act) { a.Reason = strings.Repeat("a", govern.MaxReason+1) }},
		{"no nonce", func(a *govern.Act) { a.Nonce = [16]byte{} }},
	} {
		a := act(1, "ann", govern.Approver, govern.Approve, refund)
		tt.change(&a)
		b, err := a.Sign(key("ann"))
		wantCode(t, "Sign with "+tt.name, err, govern.ErrAct)
		if b != nil {
			t.Errorf("Sign with %s made a signature", tt.name)
		}
	}
}

// TestWhatIsSignedFitsTheLimits signs what needs most bytes.
func TestWhatIsSignedFitsTheLimits(t *testing.T) {
	t.Parallel()
	quotes := strings.Repeat(`"`, 256)
	largest := act(1, quotes, govern.Approver, govern.Verb(strings.Repeat("a", 64)), matter(quotes, ""))
	largest.Matter.Ledger = quotes
	largest.Reason = strings.Repeat(`"`, govern.MaxReason)
	b := signed(largest)
	if len(b) > govern.MaxAct {
		t.Errorf("the largest act has %d bytes, want at most %d", len(b), govern.MaxAct)
	}
	roster, err := govern.NewRoster(actor(quotes, govern.Approver))
	if err != nil {
		t.Fatal(err)
	}
	need := govern.Requirement{
		Verbs: []govern.Verb{largest.Verb}, Roles: []govern.Role{govern.Approver}, Tenant: tenant, Ledger: quotes,
	}
	if got, err := roster.Admit(b, need); err != nil || got.Act() != largest {
		t.Errorf("Admit of the largest act = %v", err)
	}
}

type brokenSigner struct{ *sign.PrivateKey }

var errNoToken = errors.New("the token is not plugged in")

func (brokenSigner) Sign([]byte) ([]byte, error) { return nil, errNoToken }

func TestSignPassesOnWhatTheSignerSays(t *testing.T) {
	t.Parallel()
	a := act(1, "ann", govern.Approver, govern.Approve, refund)
	if _, err := a.Sign(brokenSigner{key("ann")}); !errors.Is(err, errNoToken) {
		t.Errorf("Sign = %v, want %v", err, errNoToken)
	}
}

func TestNoFlippedBitIsAdmitted(t *testing.T) {
	t.Parallel()
	envelope := signed(act(1, "ann", govern.Approver, govern.Approve, refund))
	roster := people()
	for i := range len(envelope) * 8 {
		flipped := append([]byte(nil), envelope...)
		flipped[i/8] ^= 1 << (i % 8)
		if got, err := roster.Admit(flipped, anything); err == nil {
			t.Fatalf("bit %d flipped: Admit = %+v, want an error", i, got.Act())
		}
	}
	// With a payload that still is an act it is the signature that fails.
	e, err := sign.ParseEnvelope(envelope)
	if err != nil {
		t.Fatal(err)
	}
	e.Payload = []byte(strings.Replace(string(e.Payload), "proposal-1", "proposal-2", 1))
	_, err = roster.Admit(e.Encode(), anything)
	wantCode(t, "Admit of a changed subject", err, govern.ErrSignature)
	if !strings.Contains(string(e.Encode()), base64.StdEncoding.EncodeToString(e.Sig)) {
		t.Error("the signature is not in the envelope")
	}
}

func TestSeenTakesAnActOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.IntRange(0, 12), 0, 24).Draw(t, "numbers")
		var s govern.Seen
		model := map[int]bool{}
		for _, n := range numbers {
			a := admit(act(n, "pat", govern.Operator, govern.Restore, refund))
			before := s
			next, err := s.Add(a)
			if (err == nil) == model[n] || err != nil && !errors.Is(err, govern.ErrRepeated) {
				t.Fatalf("Add of act %d = %v, seen before: %t", n, err, model[n])
			}
			if _, err := before.Add(a); (err == nil) == model[n] {
				t.Fatalf("Add changed the set it was called on")
			}
			s = next
			model[n] = true
		}
	})
	_, err := govern.Seen{}.Add(govern.Admitted{})
	wantCode(t, "Add of the zero act", err, govern.ErrAct)
}
