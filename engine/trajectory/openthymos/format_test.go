package openthymos_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const zero = "0000000000000000000000000000000000000000000000000000000000000000"

// content is the id of a value by its content.
func content(t testing.TB, v canon.Value) string {
	t.Helper()
	b, err := canon.Encode(v, canon.ThymosSerde)
	if err != nil {
		t.Fatal(err)
	}
	return canon.BLAKE3(b).String()
}

func parse(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// chain writes a ledger as OpenThymos does: payloads in their order, each
// hashed and hung on the one before. The bodies of commits are completed.
type chain struct {
	t          testing.TB
	trajectory string
	seed       byte // of the key that signs commits; 0: none
	entries    []openthymos.Entry
	last       string
}

func newChain(t testing.TB, seed string) *chain {
	c := &chain{t: t, trajectory: canon.BLAKE3([]byte(seed)).String()}
	c.add(`{"type":"root","trajectory_id":"` + c.trajectory + `","note":"test"}`)
	return c
}

func (c *chain) add(payload string) string {
	c.t.Helper()
	return c.put(parse(c.t, payload), int64(len(c.entries)))
}

func (c *chain) put(p canon.Value, seq int64) string {
	parent := canon.Null()
	if c.last != "" {
		parent = canon.String(c.last)
	}
	c.last = content(c.t, p)
	c.entries = append(c.entries, openthymos.Entry{JSON: []byte(canon.Object(
		canon.M("id", canon.String(c.last)), canon.M("trajectory_id", canon.String(c.trajectory)), canon.M("parent", parent),
		canon.M("seq", canon.Int(seq)), canon.M("kind", p.Get("type")), canon.M("payload", p),
	).String())})
	return c.last
}

// body returns the body of a commit that stands next.
func (c *chain) body(delta string) canon.Value {
	c.t.Helper()
	return parse(c.t, fmt.Sprintf(`{
		"parent":[%q],"trajectory_id":%q,"proposal_id":%[3]q,"intent_id":%[3]q,"writ_id":%[3]q,"seq":%d,
		"delta":%s,"observations":[],"policy_trace":{"rules_evaluated":[],"decision":{"kind":"permit"}},
		"compiler_version":"thymos-compiler/0.0.1","policy_set_hash":"",
		"budget_cost":{"tokens":0,"tool_calls":0,"wall_clock_ms":0,"usd_millicents":0},"signature":null}`,
		c.last, c.trajectory, zero, len(c.entries), delta))
}

func (c *chain) commit(body canon.Value) string {
	c.t.Helper()
	if c.seed != 0 {
		seed := make([]byte, 32)
		seed[0] = c.seed
		k, err := sign.NewPrivateKey(seed)
		if err != nil {
			c.t.Fatal(err)
		}
		b, err := canon.Encode(body, canon.ThymosSerde)
		if err != nil {
			c.t.Fatal(err)
		}
		sig, err := k.Sign(b)
		if err != nil {
			c.t.Fatal(err)
		}
		body = body.With("signature", canon.String(fmt.Sprintf("%x", sig)))
	}
	seq, _ := body.Get("seq").AsInt()
	return c.put(canon.Object(canon.M("type", canon.String("commit")), canon.M("id", canon.String(content(c.t, body))), canon.M("body", body)), seq)
}

func (c *chain) key() sign.PublicKey {
	c.t.Helper()
	seed := make([]byte, 32)
	seed[0] = c.seed
	k, err := sign.NewPrivateKey(seed)
	if err != nil {
		c.t.Fatal(err)
	}
	return k.Public()
}

const create = `[{"op":"create","kind":"kv","id":"alpha","value":"1"}]`

// A.5 ledger/lib: rejects_out_of_order_seq
func TestRejectsOutOfOrderSeq(t *testing.T) {
	t.Parallel()
	c := newChain(t, "t2")
	c.commit(c.body(create).With("seq", canon.Int(5)))
	r := verify(t, slice(c.entries), nil)
	if r.Compat.Text != "invariant violated: non-contiguous seq: 5 after 0" || !has(r.Strict.Findings, openthymos.ErrSequence, 1) {
		t.Errorf("compat %q, strict %+v", r.Compat.Text, r.Strict.Findings)
	}
}

// A.5 ledger/lib: same_note_distinct_trajectories_do_not_collide, determinism_same_inputs_same_id
func TestRootIDsNameTheirTrajectory(t *testing.T) {
	t.Parallel()
	if a, b := newChain(t, "a").last, newChain(t, "b").last; a == b {
		t.Errorf("two trajectories share the root id %s", a)
	}
	a, b := newChain(t, "det"), newChain(t, "det")
	if a.commit(a.body(create)) != b.commit(b.body(create)) {
		t.Error("one input gives two ids")
	}
}

// A.5 ledger/lib: pending_approval_round_trips_with_new_status_format,
// pre_rfc_pending_approval_fails_to_deserialize_cleanly
func TestStatusOfAPendingProposal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ status, want string }{
		{`{"kind":"suspended","channel":"ops","reason":"cost"}`, ""},
		{`{"kind":"staged"}`, ""},
		{`{"kind":"rejected","reason":"expired"}`, ""},
		{`"suspended"`, "serialization failure: payload/proposal/body/status: string is not an object"},
		{`{"kind":"late"}`, "serialization failure: payload/proposal/body/status/kind: unknown variant `late`"},
	} {
		body := parse(t, `{"intent_id":"`+zero+`","writ_id":"`+zero+`","plan":{"tool":"t","args":{}},
			"policy_trace":{"rules_evaluated":[],"decision":{"kind":"require_approval","detail":{"channel":"ops","reason":"cost"}}},"status":`+test.status+`}`)
		c := newChain(t, "pending")
		c.put(canon.Object(
			canon.M("type", canon.String("pending_approval")),
			canon.M("proposal", canon.Object(canon.M("id", canon.String(content(t, body))), canon.M("body", body))),
			canon.M("channel", canon.String("ops")), canon.M("reason", canon.String("cost")),
		), 1)
		r := verify(t, slice(c.entries), nil)
		if r.Compat.Text != test.want || r.Strict.Accepted != (test.want == "") {
			t.Errorf("status %s: compat %q, want %q; strict %+v", test.status, r.Compat.Text, test.want, r.Strict.Findings)
		}
	}
}

// A.5 core/commit: signed_commit_verifies_with_correct_key, tampered_body_fails_verification, wrong_key_fails_verification
func TestSignatureCoversTheBody(t *testing.T) {
	t.Parallel()
	c := newChain(t, "sig-test")
	c.seed = 7
	c.commit(c.body(create))
	if r := verify(t, slice(c.entries), &openthymos.Options{Signer: c.key()}); !r.Compat.Accepted || !r.Strict.Accepted {
		t.Fatalf("compat %q, strict %+v", r.Compat.Text, r.Strict.Findings)
	}
	if r := verify(t, slice(c.entries), &openthymos.Options{Signer: key(t, keyB)}); r.Compat.Accepted || !has(r.Strict.Findings, openthymos.ErrSignature, 1) {
		t.Errorf("another key: compat %q, strict %+v", r.Compat.Text, r.Strict.Findings)
	}
	// Somebody changes the body and makes all ids anew, but has not the key.
	tampered := newChain(t, "sig-test")
	payload := parse(t, string(c.entries[1].JSON)).Get("payload")
	body := payload.Get("body").With("writ_id", canon.String(strings.Repeat("1", 64)))
	tampered.put(payload.With("body", body).With("id", canon.String(content(t, body))), 1)
	r := verify(t, slice(tampered.entries), &openthymos.Options{Signer: c.key()})
	if r.Compat.Accepted || len(r.Strict.Findings) != 1 || r.Strict.Findings[0].Code != openthymos.ErrSignature {
		t.Errorf("a tampered body: compat %q, strict %+v", r.Compat.Text, r.Strict.Findings)
	}
	for _, test := range []struct{ signature, text string }{
		{"abc", "malformed commit signature hex: Odd number of digits"},
		{"zz", "malformed commit signature hex: Invalid character 'z' at position 0"},
		{"abcd", "commit signature must be 64 bytes"},
		{strings.Repeat("00", 64), "bad signature: signature error: Verification equation was not satisfied"},
	} {
		d := newChain(t, "sig-test")
		d.commit(d.body(create).With("signature", canon.String(test.signature)))
		r := verify(t, slice(d.entries), &openthymos.Options{Signer: c.key()})
		if !strings.HasSuffix(r.Compat.Text, "failed signature verification: authority void: "+test.text) || !has(r.Strict.Findings, openthymos.ErrSignature, 1) {
			t.Errorf("signature %s: compat %q, strict %+v", test.signature, r.Compat.Text, r.Strict.Findings)
		}
	}
}

// What OpenThymos overlooks because it hashes what it parsed, not what is
// stored.
func TestHoles(t *testing.T) {
	t.Parallel()
	replace := func(old, new string) func(*chain) {
		return func(c *chain) {
			last := &c.entries[len(c.entries)-1]
			changed := strings.Replace(string(last.JSON), old, new, 1)
			if changed == string(last.JSON) {
				c.t.Fatalf("nothing to replace: %s", old)
			}
			last.JSON = []byte(changed)
		}
	}
	const retracted = `[{"op":"create","kind":"kv","id":"x","value":1},{"op":"retract","kind":"kv","id":"x","expected_version":1,"reason":"r"},`
	for _, test := range []struct {
		name   string
		delta  string
		change func(*chain)
		compat string // what OpenThymos says; empty: it accepts
		code   fault.Code
	}{
		{"a member beside the entry's", create, replace(`{"id"`, `{"note":1,"id"`), "", openthymos.ErrUnknown},
		{"a member in the body", create, replace(`"seq":1,"delta"`, `"seq":1,"approved_by":"root","delta"`), "", openthymos.ErrUnknown},
		{"a member in a change", create, replace(`"op":"create"`, `"op":"create","note":1`), "", openthymos.ErrUnknown},
		{"a name twice in a value", `[{"op":"create","kind":"kv","id":"x","value":{"a":1}}]`, replace(`{"a":1}`, `{"a":2,"a":1}`), "", openthymos.ErrDuplicate},
		{"a name twice in the body", create, replace(`"signature":null`, `"signature":null,"signature":null`), "serialization failure: payload/body: duplicate field `signature`", openthymos.ErrDuplicate},
		{"an unknown member twice", create, replace(`"signature":null`, `"signature":null,"x":1,"x":2`), "", openthymos.ErrDuplicate},
		{"capitals in an id", create, replace(`"writ_id":"`+zero, `"writ_id":"`+zero), "", nil},
		{"another spelling of a double", `[{"op":"create","kind":"kv","id":"x","value":1.5}]`, replace("1.5", "1.50"), "", openthymos.ErrForm},
		{"an integer as a double", `[{"op":"create","kind":"kv","id":"x","value":1}]`, replace(`"value":1`, `"value":1.0`), "invariant violated: hash mismatch at seq 1: claimed ", openthymos.ErrHashMismatch},
		{"replace of what was retracted", retracted + `{"op":"replace","kind":"kv","id":"x","expected_version":2,"value":2}]`, nil, "", openthymos.ErrDelta},
		{"retract of what was retracted", retracted + `{"op":"retract","kind":"kv","id":"x","expected_version":2,"reason":"r"}]`, nil, "", openthymos.ErrDelta},
		{"create of what was retracted", retracted + `{"op":"create","kind":"kv","id":"x","value":2}]`, nil, "invariant violated: create collided on existing resource kv:x", openthymos.ErrDelta},
		{"a second root", create, func(c *chain) {
			c.add(`{"type":"root","trajectory_id":"` + c.trajectory + `","note":"again"}`)
		}, "", openthymos.ErrOrder},
		{"a branch in the middle", create, func(c *chain) {
			c.add(`{"type":"branch","source_trajectory_id":"` + zero + `","source_commit_id":"` + zero + `","note":""}`)
		}, "", openthymos.ErrOrder},
		{"a commit of another trajectory", create, func(c *chain) {
			c.commit(c.body(`[]`).With("trajectory_id", canon.String(zero)))
		}, "", openthymos.ErrMisplaced},
		{"a commit made behind another entry", create, func(c *chain) {
			c.commit(c.body(`[]`).With("parent", canon.Array(canon.String(zero))))
		}, "", openthymos.ErrMisplaced},
		{"two parents", create, func(c *chain) {
			c.commit(c.body(`[]`).With("parent", canon.Array(canon.String(c.last), canon.String(zero))))
		}, "", openthymos.ErrMisplaced},
		{"a skill under another name", create, func(c *chain) {
			c.add(`{"type":"skill_bound","skill_id":"` + zero + `","params":[],"skill":{"name":"s","version":1,"instructions":"",
				"ceiling":{"read":true,"write":false,"external":false,"irreversible":false}}}`)
		}, "invariant violated: hash mismatch at seq 2: claimed ", openthymos.ErrSkillID},
		{"an entry twice", create, func(c *chain) {
			for range 2 {
				c.add(`{"type":"rejection","intent_id":"` + zero + `","reason":{"kind":"policy_denied","detail":"no"}}`)
			}
		}, "", openthymos.ErrRepeated},
		{"a commit from before policy sets had a hash", create, func(c *chain) {
			c.commit(c.body(`[]`).Without("policy_set_hash"))
		}, "invariant violated: hash mismatch at seq 2: claimed ", nil},
		{"nothing", create, nil, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, "holes")
			c.commit(c.body(test.delta))
			if test.name == "capitals in an id" {
				last := &c.entries[1]
				last.JSON = []byte(strings.Replace(string(last.JSON), c.last, strings.ToUpper(c.last), 1))
				test.code = openthymos.ErrForm
			} else if test.change != nil {
				test.change(c)
			}
			r := verify(t, slice(c.entries), nil)
			if r.Compat.Accepted != (test.compat == "") || !strings.HasPrefix(r.Compat.Text, test.compat) {
				t.Errorf("compat: %q, want %q", r.Compat.Text, test.compat)
			}
			codes := []fault.Code{}
			for _, f := range r.Strict.Findings {
				codes = append(codes, f.Code)
			}
			if test.code == nil && len(codes) > 0 || test.code != nil && !slices.Contains(codes, test.code) {
				t.Errorf("strict: %v, want %v", codes, test.code)
			}
		})
	}
}

func TestDeepValues(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	// payload, body, delta and change are four levels.
	for _, test := range []struct {
		depth  int
		compat string
	}{{123, ""}, {124, "serialization failure: recursion limit exceeded"}} {
		c := newChain(t, "deep")
		c.commit(c.body(`[{"op":"create","kind":"kv","id":"x","value":` + deep(test.depth) + `}]`))
		if r := verify(t, slice(c.entries), nil); r.Compat.Text != test.compat || !r.Strict.Accepted {
			t.Errorf("depth %d: compat %q, want %q; strict %+v", test.depth, r.Compat.Text, test.compat, r.Strict.Findings)
		}
	}
}

func TestReadTakesThreeFormats(t *testing.T) {
	t.Parallel()
	c := newChain(t, "formats")
	c.commit(c.body(create))
	var lines []string
	for _, e := range c.entries {
		lines = append(lines, string(e.JSON))
	}
	array := "[" + strings.Join(lines, ",") + "]"
	for _, test := range []struct {
		name, text string
		entries    int
		damaged    bool
		err        fault.Code
	}{
		{"an array", array, 2, false, nil},
		{"an object", `{"entries":` + array + `}`, 2, false, nil},
		{"an object with a count", `{"count":2,"entries":` + array + `}`, 2, false, nil},
		{"a wrong count", `{"entries":` + array + `,"count":3}`, 2, true, nil},
		{"two lists", `{"entries":` + array + `,"entries":[]}`, 2, true, nil},
		{"JSON lines", strings.Join(lines, "\n") + "\n", 2, false, nil},
		{"one line", lines[0], 1, false, nil},
		{"no entries", `[]`, 0, false, nil},
		{"cut off", array[:len(array)-10], 1, true, nil},
		{"cut off behind an entry", array[:len(array)-1], 2, true, nil},
		{"an object cut off", `{"entries":` + array, 2, true, nil},
		{"lines cut off", lines[0] + "\n" + lines[1][:20], 1, true, nil},
		{"something behind the end", array + "1", 2, true, nil},
		{"another object", `{"a":1}`, 0, false, openthymos.ErrNotLedger},
		{"entries that are none", `{"entries":{}}`, 0, false, openthymos.ErrNotLedger},
		{"a text", `"x"`, 0, false, openthymos.ErrNotLedger},
		{"nothing", ``, 0, false, openthymos.ErrNotLedger},
	} {
		f, err := openthymos.Read([]byte(test.text))
		if test.err != nil {
			if !errors.Is(err, test.err) {
				t.Errorf("%s: Read = %v, want %v", test.name, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: Read = %v", test.name, err)
			continue
		}
		if len(f.Entries) != test.entries || errors.Is(f.Damage, openthymos.ErrDamaged) != test.damaged {
			t.Errorf("%s: %d entries, damage %v, want %d, %v", test.name, len(f.Entries), f.Damage, test.entries, test.damaged)
		}
		r := verify(t, f.All(), nil)
		if ok := !test.damaged; r.Compat.Accepted != ok || r.Strict.Accepted != (ok && test.entries > 0) {
			t.Errorf("%s: compat %q, strict %+v", test.name, r.Compat.Text, r.Strict.Findings)
		}
		if test.damaged && !has(r.Strict.Findings, openthymos.ErrDamaged, int64(test.entries)) {
			t.Errorf("%s: findings %+v, want the damage behind entry %d", test.name, r.Strict.Findings, test.entries)
		}
	}
}

// GET /audit/entries leaves out the parents, so that nobody can check a chain.
func TestAuditExportHasNoChain(t *testing.T) {
	t.Parallel()
	var rows []canon.Value
	for _, e := range valid(t).Entries {
		rows = append(rows, parse(t, string(e.JSON)).Without("parent").With("created_at", canon.Int(1_700_000_000)))
	}
	export := canon.Object(canon.M("entries", canon.Array(rows...)), canon.M("count", canon.Int(8)))
	r := verify(t, ledgerOf(t, []byte(export.String())).All(), &openthymos.Options{Signer: key(t, keyA)})
	if !r.Compat.Accepted || !strings.Contains(strings.Join(r.Compat.Remarks, "\n"), "leaves out the parents") {
		t.Errorf("compat: %q, %q", r.Compat.Text, r.Compat.Remarks)
	}
	if f := r.Strict.Findings; len(f) != 1 || f[0].Code != openthymos.ErrParentMissing {
		t.Errorf("strict: %+v, want %v once", f, openthymos.ErrParentMissing)
	}
	if !strings.Contains(strings.Join(r.Strict.Remarks, "\n"), "created_at of 8 entries") {
		t.Errorf("remarks: %q", r.Strict.Remarks)
	}
}

func TestParseObservationRefuses(t *testing.T) {
	t.Parallel()
	const r = `{"kind":"kv","id":"a","version":1,"value":0}`
	for _, text := range []string{
		`1`, `"ab"`, `{}`, `{"resources":1}`, `[1]`, `[{"kind":"kv","id":"a","version":-1,"value":0}]`, `[{"kind":"kv","id":"a","value":0}]`, `[` + r + `,` + r + `]`,
	} {
		if _, err := openthymos.ParseObservation(parse(t, text)); !errors.Is(err, openthymos.ErrObserved) {
			t.Errorf("ParseObservation(%s) = %v, want %v", text, err, openthymos.ErrObserved)
		}
	}
}

func TestParseAnchorRefuses(t *testing.T) {
	t.Parallel()
	good := `{"trajectory_id":"` + zero + `","entry_count":1,"head_seq":0,"root":"` + zero + `"}`
	if _, err := openthymos.ParseAnchor(parse(t, good)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`1`, `{}`, strings.Replace(good, "1", "-1", 1), strings.Replace(good, `{`, `{"x":1,`, 1), strings.Replace(good, zero, "00", 1)} {
		if _, err := openthymos.ParseAnchor(parse(t, text)); !errors.Is(err, openthymos.ErrAnchor) {
			t.Errorf("ParseAnchor(%s) = %v, want %v", text, err, openthymos.ErrAnchor)
		}
	}
}

// The ids, forms and keys that OpenThymos publishes.
func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	var v struct {
		Cases []struct {
			Name, Canonical, BLAKE3 string
			Value                   rawValue
		}
		Trajectories []struct {
			Seed string `json:"seed_utf8"`
			ID   string `json:"trajectory_id"`
		}
	}
	readVectors(t, "canonical_vectors.json", &v)
	if len(v.Cases) != 13 || len(v.Trajectories) != 5 {
		t.Fatalf("%d cases and %d trajectories, want 13 and 5", len(v.Cases), len(v.Trajectories))
	}
	for _, c := range v.Cases {
		for _, p := range []canon.Profile{canon.Thymos, canon.ThymosSerde} {
			b, err := canon.Encode(parse(t, string(c.Value)), p)
			if err != nil || string(b) != c.Canonical || canon.BLAKE3(b).String() != c.BLAKE3 {
				t.Errorf("%s in %s: %s, %v, want %s", c.Name, p, b, err, c.Canonical)
			}
		}
	}
	for _, c := range v.Trajectories {
		if got := canon.BLAKE3([]byte(c.Seed)).String(); got != c.ID {
			t.Errorf("trajectory %s = %s, want %s", c.Seed, got, c.ID)
		}
	}
	if empty, err := openthymos.WorldHash(nil); err != nil || empty.String() != v.Cases[0].BLAKE3 {
		t.Errorf("WorldHash(nil) = %s, %v, want %s", empty, err, v.Cases[0].BLAKE3)
	}
}

type rawValue []byte

func (r *rawValue) UnmarshalJSON(b []byte) error {
	*r = slices.Clone(b)
	return nil
}
