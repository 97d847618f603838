package trajectory_test

import (
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/sign"
)

//go:embed testdata/policy_dsl_vectors.json
var policyVectors []byte

func policy(t testing.TB, s string) trajectory.Policy {
	t.Helper()
	p, err := trajectory.ParsePolicy(parse(t, s))
	if err != nil {
		t.Fatalf("ParsePolicy(%s): %v", s, err)
	}
	return p
}

// world is what a test's world holds, by kind and id.
type world map[[2]string]thing

type thing struct {
	version int64
	value   canon.Value
}

func (w world) Find(kind, id string) (int64, canon.Value, bool) {
	it, ok := w[[2]string{kind, id}]
	return it.version, it.value, ok
}

// fields returns an intent that asks for target with arguments, by the agent
// of acme.
func fields(t testing.TB, target, args string, w world) trajectory.Fields {
	t.Helper()
	return trajectory.Fields{
		Intent: parse(t, fmt.Sprintf(`{"author":"tester","kind":"act","target":%q,"args":%s}`, target, args)),
		Writ:   parse(t, `{"issuer":"root","subject":"agent","tenant_id":"acme"}`),
		World:  w,
	}
}

func TestPolicyVectorsHold(t *testing.T) {
	t.Parallel()
	v := parse(t, string(policyVectors))
	bundles, evaluations := v.Get("bundles"), v.Get("evaluations")
	if bundles.Len() != 7 || evaluations.Len() != 15 || v.Get("invalid").Len() != 2 {
		t.Fatalf("found %d bundles, %d evaluations and %d invalid ones, want 7, 15 and 2", bundles.Len(), evaluations.Len(), v.Get("invalid").Len())
	}
	for i, e := range evaluations.Elems() {
		p, err := trajectory.ParsePolicy(bundles.Get(e.Get("bundle").Str()))
		if err != nil {
			t.Fatalf("ParsePolicy(%s): %v", e.Get("bundle"), err)
		}
		if !p.Value().Equal(bundles.Get(e.Get("bundle").Str())) {
			t.Errorf("Value() = %s, want %s", p.Value(), bundles.Get(e.Get("bundle").Str()))
		}
		w := world{}
		for _, it := range e.Get("world").Elems() {
			version, _ := it.Get("version").AsInt()
			w[[2]string{it.Get("kind").Str(), it.Get("id").Str()}] = thing{version, it.Get("value")}
		}
		got, _ := p.Evaluate(trajectory.Fields{Intent: e.Get("intent"), Writ: e.Get("writ"), World: w})
		if !got.Value().Equal(e.Get("decision")) {
			t.Errorf("evaluation %d: Evaluate(%s) = %s, want %s", i, e.Get("intent"), got.Value(), e.Get("decision"))
		}
		back, err := trajectory.ParseRuling(e.Get("decision"))
		if err != nil || back != got {
			t.Errorf("ParseRuling(%s) = %v, %v, want %v", e.Get("decision"), back, err, got)
		}
	}
	for _, e := range v.Get("policy_set_hash").Elems() {
		var names []string
		for _, n := range e.Get("rules").Elems() {
			names = append(names, n.Str())
		}
		if got, want := trajectory.UpstreamPolicyHash(names).String(), e.Get("hash").Str(); got != want {
			t.Errorf("UpstreamPolicyHash(%q) = %s, want %s", names, got, want)
		}
	}
}

func TestMalformedBundleIsRefused(t *testing.T) {
	t.Parallel()
	for _, e := range parse(t, string(policyVectors)).Get("invalid").Elems() {
		v, err := canon.Parse([]byte(e.Str()))
		if err == nil {
			_, err = trajectory.ParsePolicy(v)
		}
		if err == nil {
			t.Errorf("ParsePolicy(%s) succeeded, want an error", e.Str())
		}
	}
	rule := func(when, decision string) string {
		return fmt.Sprintf(`{"name":"p","rules":[{"name":"r","when":%s,"decision":%s}]}`, when, decision)
	}
	const permit = `{"kind":"permit"}`
	leaf := func(field, op, value string) string {
		return rule(fmt.Sprintf(`{"field":%q,"op":%q,"value":%s}`, field, op, value), permit)
	}
	for _, tt := range []struct{ name, in, says string }{
		{"no object", `[]`, "want an object"},
		{"no rules", `{"name":"p"}`, "member rules is missing"},
		{"a member too many", `{"name":"p","rules":[],"mode":"off"}`, `member "mode" is not known`},
		{"empty name", `{"name":"","rules":[]}`, "/name: the name has 0 bytes"},
		{"name with a slash", `{"name":"a/b","rules":[]}`, "must not contain"},
		{"number as version", `{"name":"p","version":1,"rules":[]}`, "/version: it is number"},
		{"two rules of one name", `{"name":"p","rules":[{"name":"r","when":{"all":[]},"decision":{"kind":"permit"}},{"name":"r","when":{"all":[]},"decision":{"kind":"permit"}}]}`, "/rules/1: a second rule"},
		{"unknown operator", leaf("intent.target", "regex", `"y"`), `/rules/0/when/op: "regex" is no operator`},
		{"unknown field", leaf("intent.arg.amount", "eq", `1`), `/rules/0/when/field: there is no field "intent.arg.amount"`},
		{"unknown root", leaf("x", "eq", `1`), `there is no field "x"`},
		{"world without id", leaf("world.kv", "eq", `1`), "there is no field"},
		{"version of nothing", leaf("world.kv..version", "eq", `1`), "there is no field"},
		{"placeholder of the world", leaf("world.kv.{world.kv.a}", "eq", `1`), "names nothing"},
		{"placeholder without end", leaf("world.kv.{intent.args.a", "eq", `1`), "without an end"},
		{"order of a list", leaf("intent.args.a", "gt", `[]`), "gt never holds for array"},
		{"in a text", leaf("intent.args.a", "in", `"abc"`), "in never holds for string"},
		{"prefix of a number", leaf("intent.args.a", "starts_with", `1`), "never holds"},
		{"leaf with two forms", rule(`{"all":[],"any":[]}`, permit), `member "any" is not known`},
		{"all of no list", rule(`{"all":{}}`, permit), "/rules/0/when/all"},
		{"unknown decision", rule(`{"all":[]}`, `{"kind":"allow"}`), `kind is "allow"`},
		{"deny without reason", rule(`{"all":[]}`, `{"kind":"deny"}`), "member reason is missing"},
		{"approval by nobody", rule(`{"all":[]}`, `{"kind":"require_approval","channel":"","reason":"x"}`), "/decision/channel"},
		{"bare pointer", rule(`{"field":"intent.args.a","op":"eq","value":1,"pointer":"a"}`, permit), "no JSON pointer"},
		{"fraction", leaf("intent.args.a", "gt", `0.5`), "write a fraction as"},
		{"nested too deep", rule(strings.Repeat(`{"not":`, 64)+`{"all":[]}`+strings.Repeat(`}`, 64), permit), "nest deeper than 64"},
	} {
		_, err := trajectory.ParsePolicy(parse(t, tt.in))
		if !errors.Is(err, trajectory.ErrPolicy) || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%s: ParsePolicy = %v, want %v that says %q", tt.name, err, trajectory.ErrPolicy, tt.says)
		}
	}
}

// decide returns the ruling of a policy with one rule that denies when a
// condition holds.
func denies(t testing.TB, when string, f trajectory.Fields) bool {
	t.Helper()
	p := policy(t, fmt.Sprintf(`{"name":"p","rules":[{"name":"r","when":%s,"decision":{"kind":"deny","reason":"x"}}]}`, when))
	got, _ := p.Evaluate(f)
	return got.Kind == trajectory.Deny
}

func TestDenyOnTarget(t *testing.T) {
	t.Parallel()
	p := policy(t, `{"name":"p","rules":[{"name":"no-del","when":{"field":"intent.target","op":"eq","value":"kv_del"},"decision":{"kind":"deny","reason":"no deletes"}}]}`)
	if got, rule := p.Evaluate(fields(t, "kv_del", `{}`, nil)); got != (trajectory.Ruling{Kind: trajectory.Deny, Reason: "no deletes"}) || rule != "no-del" {
		t.Errorf("Evaluate(kv_del) = %v by %q, want a denial by no-del", got, rule)
	}
	if got, rule := p.Evaluate(fields(t, "kv_set", `{}`, nil)); got.Kind != trajectory.Permit || rule != "" {
		t.Errorf("Evaluate(kv_set) = %v by %q, want permit by no rule", got, rule)
	}
}

func TestThresholdRequiresApproval(t *testing.T) {
	t.Parallel()
	p := policy(t, `{"name":"p","rules":[{"name":"big","when":{"field":"intent.args.amount","op":"gt","value":1000},"decision":{"kind":"require_approval","channel":"ops","reason":"big"}}]}`)
	for _, tt := range []struct {
		args string
		want trajectory.RulingKind
	}{
		{`{"amount":5000}`, trajectory.RequireApproval},
		{`{"amount":1000}`, trajectory.Permit},
		{`{"amount":-5000}`, trajectory.Permit},
		{`{"amount":"5000"}`, trajectory.Permit},
		{`{}`, trajectory.Permit},
		// A fraction, an exponent or a long integer is no way around it.
		{`{"amount":{"$number":"1000.01"}}`, trajectory.RequireApproval},
		{`{"amount":{"$number":"5e3"}}`, trajectory.RequireApproval},
		{`{"amount":{"$number":"99999999999999999999"}}`, trajectory.RequireApproval},
		{`{"amount":{"$number":"999.99"}}`, trajectory.Permit},
		{`{"amount":{"$number":"1e-999999999999"}}`, trajectory.Permit},
	} {
		if got, _ := p.Evaluate(fields(t, "pay", tt.args, nil)); got.Kind != tt.want {
			t.Errorf("Evaluate(%s) = %s, want %s", tt.args, got.Kind, tt.want)
		}
	}
}

func TestCombinatorsAndFirstMatch(t *testing.T) {
	t.Parallel()
	f := fields(t, "deploy", `{"dryrun":false}`, nil)
	const yes, no = `{"all":[]}`, `{"any":[]}`
	for when, want := range map[string]bool{
		yes: true, no: false,
		`{"not":` + yes + `}`:                                       false,
		`{"not":` + no + `}`:                                        true,
		`{"all":[` + yes + `,` + no + `]}`:                          false,
		`{"any":[` + no + `,` + yes + `]}`:                          true,
		`{"field":"intent.args.gone","op":"ne","value":1}`:          false,
		`{"not":{"field":"intent.args.gone","op":"eq","value":1}}`:  true,
		`{"field":"intent.args.dryrun","op":"ne","value":true}`:     true,
		`{"field":"writ.tenant_id","op":"eq","value":"acme"}`:       true,
		`{"field":"intent.author","op":"starts_with","value":"te"}`: true,
		`{"field":"intent.kind","op":"lt","value":"b"}`:             true,
	} {
		if got := denies(t, when, f); got != want {
			t.Errorf("%s = %v, want %v", when, got, want)
		}
	}
	p := policy(t, `{"name":"p","rules":[
		{"name":"first","when":{"all":[]},"decision":{"kind":"permit"}},
		{"name":"second","when":{"all":[]},"decision":{"kind":"deny","reason":"x"}}]}`)
	if got, rule := p.Evaluate(f); got.Kind != trajectory.Permit || rule != "first" {
		t.Errorf("Evaluate = %v by %q, want permit by first", got, rule)
	}
}

func TestInAndContains(t *testing.T) {
	t.Parallel()
	f := fields(t, "b", `{"text":"hello","list":[1,"x",{"$number":"2.50"}],"n":2}`, nil)
	for when, want := range map[string]bool{
		`{"field":"intent.target","op":"in","value":["a","b"]}`:                           true,
		`{"field":"intent.target","op":"in","value":["a"]}`:                               false,
		`{"field":"intent.args.n","op":"in","value":[{"$number":"2.0"}]}`:                 true,
		`{"field":"intent.args.text","op":"contains","value":"ell"}`:                      true,
		`{"field":"intent.args.text","op":"contains","value":"z"}`:                        false,
		`{"field":"intent.args.text","op":"contains","value":1}`:                          false,
		`{"field":"intent.args.list","op":"contains","value":"x"}`:                        true,
		`{"field":"intent.args.list","op":"contains","value":{"$number":"2.5"}}`:          true,
		`{"field":"intent.args.list","op":"contains","value":2}`:                          false,
		`{"field":"intent.args.list","op":"eq","value":"x","pointer":"/1"}`:               true,
		`{"field":"intent.args.list","op":"eq","value":"x","pointer":"/7"}`:               false,
		`{"not":{"field":"intent.args.n","op":"contains","value":2}}`:                     true,
		`{"field":"intent.args.n","op":"gte","value":{"$number":"1.999999999999999999"}}`: true,
	} {
		if got := denies(t, when, f); got != want {
			t.Errorf("%s = %v, want %v", when, got, want)
		}
	}
}

func TestWorldAccessor(t *testing.T) {
	t.Parallel()
	w := world{
		{"kv", "flag"}:         {3, canon.String("locked")},
		{"kv", "a.b"}:          {1, canon.Int(7)},
		{"kv", "flag.version"}: {9, canon.String("a thing of that name")},
		{"booking", "7"}:       {1, parse(t, `{"cabin":"basic"}`)},
	}
	for _, tt := range []struct {
		when, args string
		want       bool
	}{
		{`{"field":"world.kv.flag","op":"eq","value":"locked"}`, `{}`, true},
		{`{"field":"world.kv.flag.version","op":"eq","value":3}`, `{}`, true},
		{`{"field":"world.kv.a.b","op":"eq","value":7}`, `{}`, true},
		{`{"field":"world.kv.gone","op":"ne","value":7}`, `{}`, false},
		{`{"field":"world.booking.{intent.args.id}","pointer":"/cabin","op":"eq","value":"basic"}`, `{"id":"7"}`, true},
		{`{"field":"world.booking.{intent.args.id}","pointer":"/cabin","op":"eq","value":"basic"}`, `{"id":7}`, true},
		{`{"field":"world.booking.{intent.args.id}","pointer":"/cabin","op":"eq","value":"basic"}`, `{"id":{"$number":"7.0"}}`, true},
		{`{"field":"world.booking.{intent.args.id}.version","op":"eq","value":1}`, `{"id":7}`, true},
		{`{"field":"world.booking.{intent.args.id}","op":"ne","value":1}`, `{"id":8}`, false},
		{`{"field":"world.booking.{intent.args.id}","op":"ne","value":1}`, `{}`, false},
		{`{"field":"world.booking.{intent.args.id}","op":"ne","value":1}`, `{"id":[]}`, false},
		// An argument cannot turn a thing's value into another's version.
		{`{"field":"world.kv.{intent.args.id}","op":"starts_with","value":"a thing"}`, `{"id":"flag.version"}`, true},
	} {
		if got := denies(t, tt.when, fields(t, "x", tt.args, w)); got != tt.want {
			t.Errorf("%s of %s = %v, want %v", tt.when, tt.args, got, tt.want)
		}
	}
	f := fields(t, "x", `{}`, nil)
	f.World = nil
	if denies(t, `{"field":"world.kv.flag","op":"ne","value":1}`, f) {
		t.Error("a condition over a missing world holds, want false")
	}
}

// key returns the private key whose seed is n in every byte.
func key(t testing.TB, n byte) *sign.PrivateKey {
	t.Helper()
	k, err := sign.NewPrivateKey(slices.Repeat([]byte{n}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignedBundleTamperIsRefused(t *testing.T) {
	t.Parallel()
	v := parse(t, string(policyVectors))
	wrong, err := hex.DecodeString(v.Get("signed_bundle_wrong_issuer").Str())
	if err != nil {
		t.Fatal(err)
	}
	other, err := sign.ParseKey(wrong)
	if err != nil {
		t.Fatal(err)
	}
	good, err := trajectory.ParseBundle(v.Get("signed_bundle"))
	if err != nil {
		t.Fatal(err)
	}
	if err := good.Check(); err != nil {
		t.Errorf("Check() = %v, want nil", err)
	}
	if err := good.Check(other, good.Issuer); err != nil {
		t.Errorf("Check(its issuer) = %v, want nil", err)
	}
	if err := good.Check(other); !errors.Is(err, sign.ErrUntrusted) {
		t.Errorf("Check(another issuer) = %v, want %v", err, sign.ErrUntrusted)
	}
	if !good.Value().Equal(v.Get("signed_bundle")) {
		t.Errorf("Value() = %s, want %s", good.Value(), v.Get("signed_bundle"))
	}
	tampered, err := trajectory.ParseBundle(v.Get("signed_bundle_tampered"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tampered.Check(); !errors.Is(err, trajectory.ErrBundle) {
		t.Errorf("Check() of a tampered bundle = %v, want %v", err, trajectory.ErrBundle)
	}
	relabelled := good
	relabelled.Issuer = other
	if err := relabelled.Check(other); !errors.Is(err, trajectory.ErrBundle) {
		t.Errorf("Check() under the key of another = %v, want %v", err, trajectory.ErrBundle)
	}
	unsigned := trajectory.Bundle{Policy: good.Policy}
	if err := unsigned.Check(); !errors.Is(err, trajectory.ErrBundle) {
		t.Errorf("Check() of an unsigned bundle = %v, want %v", err, trajectory.ErrBundle)
	}
	for _, in := range []canon.Value{
		unsigned.Value(),
		v.Get("signed_bundle").Without("signature"),
		v.Get("signed_bundle").With("note", canon.Null()),
		v.Get("signed_bundle").With("signature", canon.String("00")),
		v.Get("signed_bundle").With("signature", canon.String(strings.ToUpper(v.Get("signed_bundle").Get("signature").Str()))),
		v.Get("signed_bundle").With("issuer_pubkey", canon.String(strings.Repeat("0", 64))),
	} {
		if _, err := trajectory.ParseBundle(in); !errors.Is(err, trajectory.ErrBundle) {
			t.Errorf("ParseBundle(%s) = %v, want %v", in, err, trajectory.ErrBundle)
		}
	}
	sealed, err := trajectory.Seal(good.Policy, key(t, 7))
	if err != nil || sealed.Check(key(t, 7).Public()) != nil {
		t.Errorf("Seal = %v, %v, want a bundle that checks", sealed.Check(key(t, 7).Public()), err)
	}
}

func set(t testing.TB, bundles ...trajectory.Bundle) trajectory.PolicySet {
	t.Helper()
	s, err := trajectory.NewPolicySet(bundles...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ruled returns a bundle of a policy that rules the same on everything.
func ruled(t testing.TB, name, decision string) trajectory.Bundle {
	t.Helper()
	return trajectory.Bundle{Policy: policy(t, fmt.Sprintf(`{"name":%q,"rules":[{"name":"always","when":{"all":[]},"decision":%s}]}`, name, decision))}
}

func TestEmptyEngineHashIsDeterministic(t *testing.T) {
	t.Parallel()
	const stock = "4ab6efcf6c86f83488e18570bc16bb050ac37de307a5b27deb45655b42c84d50"
	var zero trajectory.PolicySet
	for _, s := range []trajectory.PolicySet{zero, set(t)} {
		if got := s.Hash().String(); got != stock {
			t.Errorf("Hash() of no policies = %s, want %s", got, stock)
		}
	}
	if got, want := trajectory.UpstreamPolicyHash(nil).String(), "d53d18c2"; !strings.HasPrefix(got, want) {
		t.Errorf("UpstreamPolicyHash() = %s, want %s…", got, want)
	}
	if got := trajectory.UpstreamPolicyHash([]string{trajectory.AuthorityRule}).String(); got != stock {
		t.Errorf("UpstreamPolicyHash(%s) = %s, want %s", trajectory.AuthorityRule, got, stock)
	}
}

func TestSetHashIsStableAndSensitive(t *testing.T) {
	t.Parallel()
	at := func(name string, value int) trajectory.Policy {
		return policy(t, fmt.Sprintf(`{"name":%q,"rules":[{"name":"r","when":{"field":"intent.args.n","op":"gt","value":%d},"decision":{"kind":"deny","reason":"x"}}]}`, name, value))
	}
	seal := func(p trajectory.Policy, by byte) trajectory.Bundle {
		b, err := trajectory.Seal(p, key(t, by))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	base := set(t, seal(at("a", 1000), 1), seal(at("b", 1), 1))
	if again := set(t, seal(at("a", 1000), 1), seal(at("b", 1), 1)); again.Hash() != base.Hash() {
		t.Errorf("Hash() of the same set = %s and %s, want one", base.Hash(), again.Hash())
	}
	content := set(t, seal(at("a", 1001), 1), seal(at("b", 1), 1))
	for what, s := range map[string]trajectory.PolicySet{
		"one value of one rule": content,
		"the order":             set(t, seal(at("b", 1), 1), seal(at("a", 1000), 1)),
		"an issuer":             set(t, seal(at("a", 1000), 2), seal(at("b", 1), 1)),
		"no issuer":             set(t, trajectory.Bundle{Policy: at("a", 1000)}, seal(at("b", 1), 1)),
		"a name":                set(t, seal(at("c", 1000), 1), seal(at("b", 1), 1)),
		"one policy fewer":      set(t, seal(at("a", 1000), 1)),
	} {
		if s.Hash() == base.Hash() {
			t.Errorf("Hash() is blind to %s", what)
		}
	}
	// Upstream's hash sees names and versions only: that is the hole.
	if got, want := trajectory.UpstreamPolicyHash(content.Names()), trajectory.UpstreamPolicyHash(base.Names()); got != want {
		t.Errorf("UpstreamPolicyHash = %s, want %s", got, want)
	}
	if _, err := trajectory.NewPolicySet(seal(at("a", 1), 1), seal(at("a", 2), 1)); !errors.Is(err, trajectory.ErrPolicy) {
		t.Errorf("NewPolicySet of two policies of one name = %v, want %v", err, trajectory.ErrPolicy)
	}
}

func TestSetDecidesByItsStrictestPolicy(t *testing.T) {
	t.Parallel()
	permit := ruled(t, "permit", `{"kind":"permit"}`)
	deny := ruled(t, "deny", `{"kind":"deny","reason":"no"}`)
	ask := ruled(t, "ask", `{"kind":"require_approval","channel":"ops","reason":"who"}`)
	ask2 := ruled(t, "ask2", `{"kind":"require_approval","channel":"law","reason":"why"}`)
	silent := trajectory.Bundle{Policy: policy(t, `{"name":"silent","rules":[]}`)}
	for _, tt := range []struct {
		name  string
		set   trajectory.PolicySet
		rules string
		want  trajectory.Ruling
	}{
		{"none", set(t), "writ.authority@1", trajectory.Ruling{Kind: trajectory.Permit}},
		{"silent", set(t, silent), "writ.authority@1 silent@1", trajectory.Ruling{Kind: trajectory.Permit}},
		{"a permit does not silence a denial", set(t, permit, deny), "writ.authority@1 permit@1 permit@1/always deny@1 deny@1/always", trajectory.Ruling{Kind: trajectory.Deny, Reason: "no"}},
		{"an approval does not silence a denial", set(t, ask, deny), "writ.authority@1 ask@1 ask@1/always deny@1 deny@1/always", trajectory.Ruling{Kind: trajectory.Deny, Reason: "no"}},
		{"a denial ends it", set(t, deny, ask), "writ.authority@1 deny@1 deny@1/always", trajectory.Ruling{Kind: trajectory.Deny, Reason: "no"}},
		{"the first that asks", set(t, silent, ask, ask2), "writ.authority@1 silent@1 ask@1 ask@1/always ask2@1 ask2@1/always", trajectory.Ruling{Kind: trajectory.RequireApproval, Channel: "ops", Reason: "who"}},
	} {
		got := tt.set.Evaluate(fields(t, "x", `{}`, nil))
		if strings.Join(got.Rules, " ") != tt.rules || got.Decision != tt.want {
			t.Errorf("%s: Evaluate = %v, want %s and %v", tt.name, got, tt.rules, tt.want)
		}
		back, err := trajectory.ParseTrace(got.Value())
		if err != nil || !back.Value().Equal(got.Value()) {
			t.Errorf("%s: ParseTrace(%s) = %v, %v", tt.name, got.Value(), back, err)
		}
	}
}

func TestTraceHasOneForm(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`null`, `{}`, `{"rules_evaluated":[],"decision":{"kind":"permit"},"x":1}`,
		`{"rules_evaluated":[1],"decision":{"kind":"permit"}}`,
		`{"rules_evaluated":"a","decision":{"kind":"permit"}}`,
		`{"rules_evaluated":[],"decision":{"kind":"permit","detail":"x"}}`,
		`{"rules_evaluated":[],"decision":{"kind":"deny"}}`,
		`{"rules_evaluated":[],"decision":{"kind":"deny","reason":"x"}}`,
		`{"rules_evaluated":[],"decision":{"kind":"require_approval","detail":"x"}}`,
		`{"rules_evaluated":[],"decision":{"kind":"maybe"}}`,
		`{"rules_evaluated":[],"decision":"permit"}`,
	} {
		if got, err := trajectory.ParseTrace(parse(t, in)); !errors.Is(err, trajectory.ErrTrace) {
			t.Errorf("ParseTrace(%s) = %v, %v, want %v", in, got, err, trajectory.ErrTrace)
		}
	}
}

// TestAddedDenialNeverWidens: whatever policies are in force, one more that
// denies only ever turns a ruling into a denial.
func TestAddedDenialNeverWidens(t *testing.T) {
	t.Parallel()
	decisions := []string{`{"kind":"permit"}`, `{"kind":"deny","reason":"no"}`, `{"kind":"require_approval","channel":"ops","reason":"who"}`}
	rapid.Check(t, func(rt *rapid.T) {
		var bundles []trajectory.Bundle
		for i := range rapid.IntRange(0, 5).Draw(rt, "policies") {
			bundles = append(bundles, ruled(t, fmt.Sprint("p", i), rapid.SampledFrom(decisions).Draw(rt, "decision")))
		}
		at := rapid.IntRange(0, len(bundles)).Draw(rt, "at")
		more := slices.Insert(slices.Clone(bundles), at, ruled(t, "deny", decisions[1]))
		if got := set(t, more...).Evaluate(fields(t, "x", `{}`, nil)); got.Decision.Kind != trajectory.Deny {
			rt.Fatalf("Evaluate = %v, want a denial", got)
		}
	})
}

func FuzzParsePolicy(f *testing.F) {
	for _, m := range parse(f, string(policyVectors)).Get("bundles").Members() {
		f.Add([]byte(m.Value.String()))
	}
	f.Add([]byte(`{"name":"p","rules":[{"name":"r","when":{"field":"world.k.{intent.args.a}{{","pointer":"/a","op":"in","value":[{"$number":"1.5"}]},"decision":{"kind":"permit"}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Parse(b)
		if err != nil {
			return
		}
		p, err := trajectory.ParsePolicy(v)
		if err != nil {
			return
		}
		again, err := trajectory.ParsePolicy(p.Value())
		if err != nil || !again.Value().Equal(p.Value()) {
			t.Fatalf("ParsePolicy(%s) = %s, %v", p.Value(), again.Value(), err)
		}
		f := fields(t, "x", `{"a":"b","n":1}`, world{{"k", "b"}: {1, canon.Null()}})
		one, _ := p.Evaluate(f)
		if two, _ := again.Evaluate(f); one != two {
			t.Fatalf("Evaluate = %v and %v, want one", one, two)
		}
	})
}
