package trajectory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// delegate issues a child of key B's writ for key A.
func delegate(t testing.TB, parent *trajectory.Writ, change func(*trajectory.WritBody)) (trajectory.Writ, error) {
	t.Helper()
	b := parent.Body
	b.Subject, b.SubjectKey = "child", signer(t, "A").Public()
	b.Delegation.MaxDepth--
	change(&b)
	return trajectory.Delegate(parent, b, signer(t, "B"))
}

// A.5 core/writ: valid subset.
func TestValidSubsetIsAChild(t *testing.T) {
	t.Parallel()
	root := issue(t, rootBody(t), signer(t, "A"))
	child, err := delegate(t, root, func(b *trajectory.WritBody) {
		b.Scopes = []string{"kv_get", "kv_s*"}
		b.Budget = root.Body.Budget.Half()
		b.Ceiling.Irreversible = false
		b.Window.ExpiresAt = 150
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := trajectory.CheckChild(root, &child); err != nil {
		t.Errorf("CheckChild = %v", err)
	}
	if child.Body.Parent != root.ID || child.Body.Issuer != "agent" || child.Body.IssuerKey != signer(t, "B").Public() {
		t.Errorf("the child says it comes from %s, issued by %q", child.Body.Parent, child.Body.Issuer)
	}
	if same, err := delegate(t, root, func(*trajectory.WritBody) {}); err != nil || trajectory.CheckChild(root, &same) != nil {
		t.Errorf("a child as wide as its parent but for depth = %v", err)
	}
}

// A.5 core/writ: wrong signer for child.
func TestChildOfAWrongSignerFails(t *testing.T) {
	t.Parallel()
	root := issue(t, rootBody(t), signer(t, "A"))
	b := root.Body
	b.Parent, b.Delegation.MaxDepth = root.ID, 1
	for name, change := range map[string]func(*trajectory.WritBody){
		"issued by the parent's issuer":           func(*trajectory.WritBody) {},
		"under the name of the subject":           func(b *trajectory.WritBody) { b.Issuer = "agent" },
		"with the key of the subject, other name": func(b *trajectory.WritBody) { b.IssuerKey = signer(t, "B").Public() },
		"of another parent, else as it ought to be": func(b *trajectory.WritBody) {
			b.Issuer, b.IssuerKey = "agent", signer(t, "B").Public()
			b.Parent[0]++
		},
	} {
		c := b
		change(&c)
		key := signer(t, "A")
		if c.IssuerKey != key.Public() {
			key = signer(t, "B")
		}
		if err := trajectory.CheckChild(root, issue(t, c, key)); !errors.Is(err, trajectory.ErrNotChild) {
			t.Errorf("%s: CheckChild = %v, want %v", name, err, trajectory.ErrNotChild)
		}
	}
	if _, err := trajectory.Delegate(root, b, signer(t, "A")); !errors.Is(err, trajectory.ErrWrit) {
		t.Errorf("Delegate with another key = %v, want %v", err, trajectory.ErrWrit)
	}
	child, err := delegate(t, root, func(*trajectory.WritBody) {})
	if err != nil {
		t.Fatal(err)
	}
	child.Signature[0] ^= 1
	if err := trajectory.CheckChild(root, &child); !errors.Is(err, trajectory.ErrWrit) {
		t.Errorf("CheckChild of a broken signature = %v, want %v", err, trajectory.ErrWrit)
	}
	child.Signature[0] ^= 1
	root.Body.Budget.Tokens++
	if err := trajectory.CheckChild(root, &child); !errors.Is(err, trajectory.ErrWrit) {
		t.Errorf("CheckChild under a tampered parent = %v, want %v", err, trajectory.ErrWrit)
	}
}

// A.5 core/writ: budget overflow. Beside it every other way to be wider.
func TestWiderChildIsRefused(t *testing.T) {
	t.Parallel()
	body := rootBody(t)
	body.Scopes, body.Ceiling = []string{"kv_*", "log"}, trajectory.Ceiling{}
	root := issue(t, body, signer(t, "A"))
	for i, c := range []struct {
		says   string
		change func(*trajectory.WritBody)
	}{
		{"tenant", func(b *trajectory.WritBody) { b.Tenant = "other" }},
		{"scope", func(b *trajectory.WritBody) { b.Scopes = []string{"kv_get", "kv"} }},
		{"scope", func(b *trajectory.WritBody) { b.Scopes = []string{"log*"} }},
		{"scope", func(b *trajectory.WritBody) { b.Scopes = []string{"k*"} }},
		{"scope", func(b *trajectory.WritBody) { b.Scopes = []string{"*"} }},
		{"budget", func(b *trajectory.WritBody) { b.Budget.Tokens++ }},
		{"budget", func(b *trajectory.WritBody) { b.Budget.ToolCalls = most }},
		{"budget", func(b *trajectory.WritBody) { b.Budget.WallClockMS++ }},
		{"budget", func(b *trajectory.WritBody) { b.Budget.USDMillicents++ }},
		{"effects", func(b *trajectory.WritBody) { b.Ceiling.Read = true }},
		{"effects", func(b *trajectory.WritBody) { b.Ceiling.Write = true }},
		{"effects", func(b *trajectory.WritBody) { b.Ceiling.External = true }},
		{"effects", func(b *trajectory.WritBody) { b.Ceiling.Irreversible = true }},
		{"window", func(b *trajectory.WritBody) { b.Window.NotBefore-- }},
		{"window", func(b *trajectory.WritBody) { b.Window.ExpiresAt++ }},
		{"depth", func(b *trajectory.WritBody) { b.Delegation.MaxDepth++ }},
	} {
		_, err := delegate(t, root, c.change)
		if !errors.Is(err, trajectory.ErrWider) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("case %d: Delegate = %v, want %v over the %s", i, err, trajectory.ErrWider, c.says)
		}
	}
	body.Delegation.MaySubdivide = false
	root = issue(t, body, signer(t, "A"))
	if _, err := delegate(t, root, func(*trajectory.WritBody) {}); !errors.Is(err, trajectory.ErrWider) || !strings.Contains(err.Error(), "subdivided") {
		t.Errorf("Delegate of a writ that may not be subdivided = %v, want %v", err, trajectory.ErrWider)
	}
}

// The checks come in the order of the source document: of two reasons the
// earlier is named.
func TestChildIsRefusedForTheFirstReason(t *testing.T) {
	t.Parallel()
	body := rootBody(t)
	body.Scopes, body.Ceiling, body.Delegation.MaySubdivide = []string{"a"}, trajectory.Ceiling{}, false
	root := issue(t, body, signer(t, "A"))
	steps := []struct {
		says   string
		change func(*trajectory.WritBody)
	}{
		{"tenant", func(b *trajectory.WritBody) { b.Tenant = "other" }},
		{"scope", func(b *trajectory.WritBody) { b.Scopes = []string{"b"} }},
		{"budget", func(b *trajectory.WritBody) { b.Budget.Tokens++ }},
		{"effects", func(b *trajectory.WritBody) { b.Ceiling.Read = true }},
		{"window", func(b *trajectory.WritBody) { b.Window.ExpiresAt++ }},
		{"depth", func(b *trajectory.WritBody) { b.Delegation.MaxDepth++ }},
		{"subdivided", func(*trajectory.WritBody) {}},
	}
	for i, s := range steps {
		_, err := delegate(t, root, func(b *trajectory.WritBody) {
			for _, later := range steps[i:] {
				later.change(b)
			}
		})
		if !errors.Is(err, trajectory.ErrWider) || !strings.Contains(err.Error(), s.says) {
			t.Errorf("Delegate with reason %d and all later ones = %v, want %v over the %s", i, err, trajectory.ErrWider, s.says)
		}
	}
}

// A.5 core/writ: depth no overflow at max.
func TestDepthDoesNotOverflowAtMax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parent, child uint64
		ok            bool
	}{
		{0, 0, false},
		{1, 0, true},
		{1, 1, false},
		{2, 1, true},
		{2, 0, true},
		{most, most - 1, true},
		{most, most, false},
		{most - 1, most, false},
		{0, most, false},
	} {
		parent, child := rootBody(t), rootBody(t)
		parent.Delegation.MaxDepth, child.Delegation.MaxDepth = c.parent, c.child
		if err := child.Within(&parent); (err == nil) != c.ok {
			t.Errorf("depth %d under %d: Within = %v, want allowed %t", c.child, c.parent, err, c.ok)
		}
	}
}

// A child writ is never wider than its parent, tried on every pair of small
// writs: whatever a child allows, its parent allows.
func TestChildIsNeverWiderThanItsParent(t *testing.T) {
	t.Parallel()
	t.Run("scopes", func(t *testing.T) {
		t.Parallel()
		atoms := []string{"*", "a", "b", "a*", "b*", "aa", "ab", "aa*", "ab*", "aab"}
		tools := []string{"", "a", "b", "aa", "ab", "ba", "aaa", "aab", "aba", "abb", "aabb", "c", "a*", "*"}
		var sets [][]string
		for i := range 1 << len(atoms) {
			var set []string
			for j, a := range atoms {
				if i>>j&1 == 1 {
					set = append(set, a)
				}
			}
			if len(set) <= 3 {
				sets = append(sets, set)
			}
		}
		allowed, refused := 0, 0
		for _, p := range sets {
			for _, c := range sets {
				parent, child := rootBody0(p), rootBody0(c)
				child.Delegation.MaxDepth = 0
				err := child.Within(&parent)
				if err != nil {
					refused++
				} else {
					allowed++
				}
				wider := slices.ContainsFunc(tools, func(tool string) bool { return child.Allows(tool) && !parent.Allows(tool) })
				if err == nil && wider {
					t.Fatalf("scopes %q are allowed under %q, which are narrower", c, p)
				}
				if err != nil && slices.Equal(p, c) {
					t.Fatalf("scopes %q are refused under themselves: %v", c, err)
				}
			}
		}
		if allowed == 0 || refused == 0 {
			t.Errorf("%d pairs allowed, %d refused, want both", allowed, refused)
		}
	})
	t.Run("limits", func(t *testing.T) {
		t.Parallel()
		// Every pair over two values of each of the ten limits.
		limits := func(n int) trajectory.WritBody {
			bit := func(i int) uint64 { return uint64(n >> i & 1) }
			b := rootBody0([]string{"*"})
			b.Budget = trajectory.Budget{Tokens: bit(0), ToolCalls: bit(1), WallClockMS: bit(2), USDMillicents: bit(3)}
			b.Ceiling = trajectory.Ceiling{Read: bit(4) == 1, Write: bit(5) == 1, External: bit(6) == 1, Irreversible: bit(7) == 1}
			b.Window = trajectory.Window{NotBefore: 1 - bit(8), ExpiresAt: 2 + bit(9)}
			return b
		}
		for p := range 1 << 10 {
			for c := range 1 << 10 {
				parent, child := limits(p), limits(c)
				child.Delegation.MaxDepth = 0
				subset := c&^p == 0
				if err := child.Within(&parent); (err == nil) != subset {
					t.Fatalf("limits %010b under %010b: Within = %v, want allowed %t", c, p, err, subset)
				}
			}
		}
	})
	t.Run("delegation and tenant", func(t *testing.T) {
		t.Parallel()
		for n := range 4 * 4 * 2 * 2 * 2 * 2 {
			parent, child := rootBody0(nil), rootBody0(nil)
			parent.Delegation = trajectory.Bounds{MaxDepth: uint64(n & 3), MaySubdivide: n>>4&1 == 1}
			child.Delegation = trajectory.Bounds{MaxDepth: uint64(n >> 2 & 3), MaySubdivide: n>>5&1 == 1}
			parent.Tenant, child.Tenant = fmt.Sprint(n>>6&1), fmt.Sprint(n>>7&1)
			want := child.Delegation.MaxDepth < parent.Delegation.MaxDepth && parent.Delegation.MaySubdivide && parent.Tenant == child.Tenant
			if err := child.Within(&parent); (err == nil) != want {
				t.Errorf("%+v under %+v: Within = %v, want allowed %t", child, parent, err, want)
			}
		}
	})
}

// rootBody0 is a body with these scopes that may be handed on once.
func rootBody0(scopes []string) trajectory.WritBody {
	return trajectory.WritBody{Scopes: scopes, Delegation: trajectory.Bounds{MaxDepth: 1, MaySubdivide: true}}
}

func TestChainEndsInATrustedKey(t *testing.T) {
	t.Parallel()
	a, b := signer(t, "A").Public(), signer(t, "B").Public()
	root := issue(t, rootBody(t), signer(t, "A"))
	child, err := delegate(t, root, func(*trajectory.WritBody) {})
	if err != nil {
		t.Fatal(err)
	}
	grandbody := child.Body
	grandbody.Subject, grandbody.SubjectKey, grandbody.Delegation.MaxDepth = "grandchild", b, 1
	grand, err := trajectory.Delegate(&child, grandbody, signer(t, "A"))
	if err != nil {
		t.Fatal(err)
	}
	broken := *root
	broken.Signature = make([]byte, 64)
	long := slices.Repeat([]*trajectory.Writ{root}, trajectory.MaxChain+1)
	for _, c := range []struct {
		name  string
		chain []*trajectory.Writ
		roots []sign.PublicKey
		want  fault.Code
	}{
		{"one writ", []*trajectory.Writ{root}, []sign.PublicKey{a}, nil},
		{"three writs, two roots", []*trajectory.Writ{root, &child, &grand}, []sign.PublicKey{b, a}, nil},
		{"no writ", nil, []sign.PublicKey{a}, trajectory.ErrWrit},
		{"too many", long, []sign.PublicKey{a}, trajectory.ErrWrit},
		{"nothing is trusted", []*trajectory.Writ{root}, nil, trajectory.ErrWritUntrusted},
		{"another key is trusted", []*trajectory.Writ{root, &child}, []sign.PublicKey{b}, trajectory.ErrWritUntrusted},
		{"the zero key is no root", []*trajectory.Writ{root}, []sign.PublicKey{{}}, trajectory.ErrWritUntrusted},
		{"does not begin with a root", []*trajectory.Writ{&child, &grand}, []sign.PublicKey{a, b}, trajectory.ErrNotChild},
		{"a generation is missing", []*trajectory.Writ{root, &grand}, []sign.PublicKey{a}, trajectory.ErrNotChild},
		{"the root is not signed", []*trajectory.Writ{&broken, &child}, []sign.PublicKey{a}, trajectory.ErrWrit},
	} {
		err := trajectory.CheckChain(c.chain, c.roots)
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: CheckChain = %v, want %v", c.name, err, c.want)
		}
	}
}
