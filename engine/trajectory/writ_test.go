package trajectory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// rootBody is a writ of key A for key B: anything, without end.
func rootBody(t testing.TB) trajectory.WritBody {
	t.Helper()
	return trajectory.WritBody{
		Issuer: "root", IssuerKey: signer(t, "A").Public(), Subject: "agent", SubjectKey: signer(t, "B").Public(),
		Scopes:     []string{"*"},
		Budget:     trajectory.Budget{Tokens: 1000, ToolCalls: 10, WallClockMS: 60_000, USDMillicents: 100},
		Ceiling:    trajectory.Ceiling{Read: true, Write: true, External: true, Irreversible: true},
		Window:     trajectory.Window{NotBefore: 100, ExpiresAt: 200},
		Delegation: trajectory.Bounds{MaxDepth: 3, MaySubdivide: true},
	}
}

func issue(t testing.TB, b trajectory.WritBody, s sign.Signer) *trajectory.Writ {
	t.Helper()
	w, err := trajectory.IssueWrit(b, s)
	if err != nil {
		t.Fatal(err)
	}
	return &w
}

func vectorWrit(t testing.TB, name string) (w *trajectory.Writ, wire canon.Value, body string) {
	t.Helper()
	for _, c := range canonicalVectors(t).Get("writs").Elems() {
		if c.Get("name").Str() != name {
			continue
		}
		w, err := trajectory.ParseWrit(c.Get("writ"))
		if err != nil {
			t.Fatal(err)
		}
		return &w, c.Get("writ"), c.Get("canonical_body").Str()
	}
	t.Fatalf("there is no writ %q", name)
	return nil, canon.Value{}, ""
}

func TestWritsOfTheVectorsHold(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"root_writ_signed_by_A", "child_writ_signed_by_B"} {
		w, wire, body := vectorWrit(t, name)
		if b, err := canon.Encode(w.Body.Value(), canon.Thymos); err != nil || body != "" && string(b) != body {
			t.Errorf("%s: the body is %s, %v, want %s", name, b, err, body)
		}
		if id, err := trajectory.ContentID(wire.Get("body")); err != nil || id != w.ID {
			t.Errorf("%s: the id is %s, %v, want %s", name, id, err, w.ID)
		}
		if got := w.Value(); !got.Equal(wire) {
			t.Errorf("%s: Value = %s, want %s", name, got, wire)
		}
		if err := w.Check(); err != nil {
			t.Errorf("%s: Check = %v", name, err)
		}
	}
	root, _, _ := vectorWrit(t, "root_writ_signed_by_A")
	child, _, _ := vectorWrit(t, "child_writ_signed_by_B")
	if err := trajectory.CheckChild(root, child); err != nil {
		t.Errorf("CheckChild = %v", err)
	}
	// Ed25519 is deterministic: issuing it again gives the same writ.
	again, err := trajectory.Delegate(root, child.Body, signer(t, "B"))
	if err != nil || !again.Value().Equal(child.Value()) {
		t.Errorf("Delegate = %s, %v, want %s", again.Value(), err, child.Value())
	}
}

// A.5 core/writ: signature.
func TestWritIsSignedByItsIssuer(t *testing.T) {
	t.Parallel()
	w := issue(t, rootBody(t), signer(t, "A"))
	if err := w.Check(); err != nil {
		t.Errorf("Check = %v", err)
	}
	if _, err := trajectory.IssueWrit(rootBody(t), signer(t, "B")); !errors.Is(err, trajectory.ErrWrit) {
		t.Errorf("IssueWrit with another key = %v, want %v", err, trajectory.ErrWrit)
	}
	other := *w
	other.Body.IssuerKey = signer(t, "B").Public()
	other.ID, _ = trajectory.ContentID(other.Body.Value())
	if err := other.Check(); !errors.Is(err, trajectory.ErrWrit) {
		t.Errorf("Check with another issuer = %v, want %v", err, trajectory.ErrWrit)
	}
}

// A.5 core/writ: tamper. Each change is tried as it is, and with an id that
// fits it.
func TestTamperedWritFails(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*trajectory.WritBody){
		"issuer":         func(b *trajectory.WritBody) { b.Issuer = "another" },
		"subject":        func(b *trajectory.WritBody) { b.Subject = "another" },
		"subject key":    func(b *trajectory.WritBody) { b.SubjectKey = b.IssuerKey },
		"nonce":          func(b *trajectory.WritBody) { b.Nonce[15]++ },
		"parent":         func(b *trajectory.WritBody) { b.Parent[0]++ },
		"tenant":         func(b *trajectory.WritBody) { b.Tenant = "t" },
		"scopes":         func(b *trajectory.WritBody) { b.Scopes = []string{"*", "a"} },
		"tokens":         func(b *trajectory.WritBody) { b.Budget.Tokens++ },
		"tool calls":     func(b *trajectory.WritBody) { b.Budget.ToolCalls++ },
		"wall clock":     func(b *trajectory.WritBody) { b.Budget.WallClockMS++ },
		"money":          func(b *trajectory.WritBody) { b.Budget.USDMillicents++ },
		"read":           func(b *trajectory.WritBody) { b.Ceiling.Read = false },
		"write":          func(b *trajectory.WritBody) { b.Ceiling.Write = false },
		"external":       func(b *trajectory.WritBody) { b.Ceiling.External = false },
		"irreversible":   func(b *trajectory.WritBody) { b.Ceiling.Irreversible = false },
		"not before":     func(b *trajectory.WritBody) { b.Window.NotBefore-- },
		"expires at":     func(b *trajectory.WritBody) { b.Window.ExpiresAt++ },
		"depth":          func(b *trajectory.WritBody) { b.Delegation.MaxDepth++ },
		"may subdivide":  func(b *trajectory.WritBody) { b.Delegation.MaySubdivide = false },
		"nothing at all": func(*trajectory.WritBody) {},
	} {
		w := issue(t, rootBody(t), signer(t, "A"))
		change(&w.Body)
		untouched := name == "nothing at all"
		if err := w.Check(); (err == nil) != untouched || !untouched && !errors.Is(err, trajectory.ErrWrit) {
			t.Errorf("%s changed: Check = %v", name, err)
		}
		w.ID, _ = trajectory.ContentID(w.Body.Value())
		if err := w.Check(); (err == nil) != untouched {
			t.Errorf("%s changed, with a new id: Check = %v", name, err)
		}
	}
	w := issue(t, rootBody(t), signer(t, "A"))
	for i := range w.Signature {
		w.Signature[i] ^= 1
		if err := w.Check(); !errors.Is(err, trajectory.ErrWrit) {
			t.Errorf("byte %d of the signature flipped: Check = %v", i, err)
		}
		w.Signature[i] ^= 1
	}
}

// A.5 core/writ: window edges inclusive.
func TestWindowEdgesAreInclusive(t *testing.T) {
	t.Parallel()
	w := trajectory.Window{NotBefore: 100, ExpiresAt: 200}
	for now, want := range map[uint64]bool{0: false, 99: false, 100: true, 150: true, 200: true, 201: false, most: false} {
		if got := w.Holds(now); got != want {
			t.Errorf("Holds(%d) = %t, want %t", now, got, want)
		}
	}
	if always := (trajectory.Window{ExpiresAt: most}); !always.Holds(0) || !always.Holds(most) {
		t.Error("the widest window does not hold at its ends")
	}
}

// A.5 core/writ: nonce.
func TestWritNonceMakesTwinsDistinct(t *testing.T) {
	t.Parallel()
	b := rootBody(t)
	first, same := issue(t, b, signer(t, "A")), issue(t, b, signer(t, "A"))
	b.Nonce[0] = 1
	second := issue(t, b, signer(t, "A"))
	if first.ID != same.ID || first.ID == second.ID || trajectory.RunTrajectory(first.ID) == trajectory.RunTrajectory(second.ID) {
		t.Errorf("ids %s, %s, %s, want the first two equal and the last another", first.ID, same.ID, second.ID)
	}
}

func TestScopesCoverByNameOrByBeginning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scopes, tool string
		want         bool
	}{
		{"kv_set", "kv_set", true},
		{"kv_set", "kv_set2", false},
		{"kv_*", "kv_set", true},
		{"kv_*", "kv_", true},
		{"kv_*", "kv", false},
		{"*", "anything", true},
		{"a b", "b", true},
		{"", "a", false},
		{"KV_*", "kv_set", false},
	} {
		b := trajectory.WritBody{Scopes: strings.Fields(c.scopes)}
		if got := b.Allows(c.tool); got != c.want {
			t.Errorf("scopes %q allow %q = %t, want %t", c.scopes, c.tool, got, c.want)
		}
	}
}

func TestParseWritIsStrict(t *testing.T) {
	t.Parallel()
	_, wire, _ := vectorWrit(t, "child_writ_signed_by_B")
	body := wire.Get("body")
	with := func(name, text string) canon.Value { return wire.With("body", body.With(name, parse(t, text))) }
	for name, v := range map[string]canon.Value{
		"no object":                   canon.Null(),
		"member too many":             wire.With("x", canon.Null()),
		"no signature":                wire.Without("signature"),
		"signature null":              wire.With("signature", canon.Null()),
		"signature in capitals":       wire.With("signature", canon.String(strings.ToUpper(wire.Get("signature").Str()))),
		"signature short":             wire.With("signature", canon.String("00")),
		"id with its prefix":          wire.With("id", canon.String("writ:"+wire.Get("id").Str())),
		"body: member too many":       with("x", `1`),
		"body: no tenant":             wire.With("body", body.Without("tenant_id")),
		"body: empty issuer":          with("issuer", `""`),
		"body: long issuer":           with("issuer", `"`+strings.Repeat("x", 257)+`"`),
		"body: weak key":              with("issuer_pubkey", `"`+strings.Repeat("0", 64)+`"`),
		"body: nonce short":           with("nonce", `[0]`),
		"body: nonce too large":       with("nonce", `[256,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]`),
		"body: nonce negative zero":   with("nonce", `[-0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]`),
		"body: parent all zero":       with("parent", `"`+strings.Repeat("0", 64)+`"`),
		"body: scope is a string":     with("tool_scopes", `["a"]`),
		"body: scope with more":       with("tool_scopes", `[{"tool":"a","x":1}]`),
		"body: scope empty":           with("tool_scopes", `[{"tool":""}]`),
		"body: asterisk inside":       with("tool_scopes", `[{"tool":"a*b"}]`),
		"body: two asterisks":         with("tool_scopes", `[{"tool":"a**"}]`),
		"body: budget lacks":          with("budget", `{"tokens":1}`),
		"body: ceiling as number":     with("effect_ceiling", `{"read":1,"write":false,"external":false,"irreversible":false}`),
		"body: window fraction":       with("time_window", `{"not_before":0.0,"expires_at":1}`),
		"body: window with more":      with("time_window", `{"not_before":0,"expires_at":1,"x":1}`),
		"body: depth negative":        with("delegation", `{"max_depth":-1,"may_subdivide":true}`),
		"body: lifted number":         with("time_window", `{"not_before":0,"expires_at":{"$number":"18446744073709551615"}}`),
		"body: may_subdivide missing": with("delegation", `{"max_depth":1}`),
	} {
		if w, err := trajectory.ParseWrit(v); !errors.Is(err, trajectory.ErrWrit) {
			t.Errorf("%s: ParseWrit = %+v, %v, want %v", name, w, err, trajectory.ErrWrit)
		}
	}
	lifted, err := trajectory.Lift(wire)
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := trajectory.Lower(lifted)
	if w, perr := trajectory.ParseWrit(lowered); err != nil || perr != nil || w.Check() != nil {
		t.Errorf("a writ does not survive the body of an entry: %v, %v", err, perr)
	}
}

func FuzzParseWrit(f *testing.F) {
	for _, name := range []string{"root_writ_signed_by_A", "child_writ_signed_by_B"} {
		w, _, _ := vectorWrit(f, name)
		b, err := canon.Encode(w.Value(), canon.Thymos)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Parse(b)
		if err != nil {
			return
		}
		w, err := trajectory.ParseWrit(v)
		if err == nil && !w.Value().Equal(v) {
			t.Errorf("ParseWrit(%s).Value() = %s, want the same", v, w.Value())
		}
	})
}
