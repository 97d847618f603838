package sign_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

func listed(name string, state sign.State) sign.Listed {
	return sign.Listed{Key: key(name).Public(), Role: sign.RoleHead, State: state}
}

// chain signs manifests, each behind the last.
type chain struct {
	t    testing.TB
	root *sign.PrivateKey
	list [][]byte
}

func newChain(t testing.TB, root string) *chain { return &chain{t: t, root: key(root)} }

func (c *chain) add(keys ...sign.Listed) *chain {
	m := sign.Manifest{Seq: int64(len(c.list)), Root: c.root.Public(), Keys: keys}
	if m.Seq > 0 {
		m.Prev = sign.Digest(c.list[m.Seq-1])
	}
	return c.sign(m)
}

func (c *chain) sign(m sign.Manifest) *chain {
	payload, err := m.Payload()
	if err != nil {
		c.t.Fatal(err)
	}
	return c.raw(sign.ManifestType, payload)
}

func (c *chain) raw(typ string, payload []byte) *chain {
	e := sealed(c.t, c.root, typ, payload)
	c.list = append(c.list, e.Encode())
	return c
}

func TestAChainThatFollowsTheRulesHolds(t *testing.T) {
	t.Parallel()
	c := newChain(t, "root").
		add(listed("a", sign.Active)).
		add(listed("a", sign.Active), listed("b", sign.Active)).
		add(listed("a", sign.Retired), listed("b", sign.Active)).
		add(listed("a", sign.Revoked), listed("b", sign.Active))
	for n := range len(c.list) + 1 {
		r, err := sign.NewKeyring([]sign.PublicKey{key("other").Public(), key("root").Public()}, c.list[:n])
		if err != nil || r.Trusted() != (n > 0) {
			t.Fatalf("%d manifests: NewKeyring = %v, trusted %v", n, err, r.Trusted())
		}
		last, digest, count := r.Last()
		if count != n || n > 0 && (last.Seq != int64(n-1) || digest != sign.Digest(c.list[n-1])) {
			t.Errorf("%d manifests: Last = %d, %s, %d", n, last.Seq, digest, count)
		}
	}
	r, err := sign.NewKeyring(nil, c.list)
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := r.Find(key("a").Public().ID()); !ok || k.State != sign.Revoked {
		t.Errorf("Find = %v, %v", k, ok)
	}
	if _, ok := r.Find(key("root").Public().ID()); ok {
		t.Error("the root counts as a listed key")
	}
}

func TestAChainThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	a, b := listed("a", sign.Active), listed("b", sign.Active)
	first := func() *chain { return newChain(t, "root").add(a) }
	prev := sign.Digest(first().list[0])
	other := func(f func(m *sign.Manifest)) [][]byte {
		m := sign.Manifest{Seq: 1, Prev: prev, Root: key("root").Public(), Keys: []sign.Listed{a}}
		f(&m)
		return first().sign(m).list
	}
	role := a
	role.Role = "log"
	payload, err := (&sign.Manifest{Root: key("root").Public(), Keys: []sign.Listed{a}}).Payload()
	if err != nil {
		t.Fatal(err)
	}
	text := func(old, now string) [][]byte {
		if !strings.Contains(string(payload), old) {
			t.Fatalf("no %q in %s", old, payload)
		}
		return newChain(t, "root").raw(sign.ManifestType, []byte(strings.Replace(string(payload), old, now, 1))).list
	}
	spki := base64.StdEncoding.EncodeToString(a.Key.SPKI())
	weak := base64.StdEncoding.EncodeToString(append(bytes.Clone(a.Key.SPKI()[:12]), make([]byte, 32)...))
	for _, c := range []struct {
		name string
		list [][]byte
	}{
		{"it does not begin at 0", first().add(a).list[1:]},
		{"twice the same", append(first().list, first().list...)},
		{"a number left out", other(func(m *sign.Manifest) { m.Seq = 2 })},
		{"another predecessor", other(func(m *sign.Manifest) { m.Prev[0] ^= 1 })},
		{"another root", other(func(m *sign.Manifest) { m.Root = key("x").Public() })},
		{"another root, signed by it", func() [][]byte {
			m := sign.Manifest{Seq: 1, Prev: prev, Root: key("x").Public(), Keys: []sign.Listed{a}}
			return append(first().list, newChain(t, "x").sign(m).list...)
		}()},
		{"a key forgotten", first().add(b).list},
		{"a key in another role", first().add(role).list},
		{"a retired key back", newChain(t, "root").add(listed("a", sign.Retired)).add(a).list},
		{"a revoked key back", newChain(t, "root").add(listed("a", sign.Revoked)).add(listed("a", sign.Retired)).list},
		{"a key twice", newChain(t, "root").add(a, a).list},
		{"a key in two states", newChain(t, "root").add(listed("a", sign.Revoked), a).list},
		{"an unknown state", newChain(t, "root").add(listed("a", "lost")).list},
		{"no role", newChain(t, "root").add(sign.Listed{Key: a.Key, State: sign.Active}).list},
		{"another type", newChain(t, "root").raw("text/plain", payload).list},
		{"a member more", text(`{"keys"`, `{"extra":1,"keys"`)},
		{"another version", text(`"v":1}`, `"v":2}`)},
		{"a predecessor of the first", text(`"prev":null`, `"prev":"`+prev.String()+`"`)},
		{"a key id that is not the key's", text(a.Key.ID().String(), prev.String())},
		{"a weak key", text(spki, weak)},
		{"no list of keys", newChain(t, "root").raw(sign.ManifestType, []byte(fmt.Sprintf(`{"keys":{},"prev":null,"root":%q,"seq":0,"v":1}`, base64.StdEncoding.EncodeToString(key("root").Public().SPKI())))).list},
		{"not canonical", newChain(t, "root").raw(sign.ManifestType, append(bytes.Clone(payload), ' ')).list},
		{"no envelope", [][]byte{[]byte("{}")}},
		{"a flipped signature", func() [][]byte {
			e, err := sign.ParseEnvelope(first().list[0])
			if err != nil {
				t.Fatal(err)
			}
			e.Sig[0] ^= 1
			return [][]byte{e.Encode()}
		}()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := sign.NewKeyring([]sign.PublicKey{key("root").Public()}, c.list)
			if !errors.Is(err, sign.ErrManifest) || r != nil {
				t.Errorf("NewKeyring = %v, %v, want %v", r, err, sign.ErrManifest)
			}
		})
	}
}

func TestTrustComesFromTheReader(t *testing.T) {
	t.Parallel()
	list := newChain(t, "root").add(listed("a", sign.Active)).list
	if r, err := sign.NewKeyring(nil, list); err != nil || r.Trusted() {
		t.Errorf("without roots: %v, trusted %v", err, r.Trusted())
	}
	r, err := sign.NewKeyring([]sign.PublicKey{key("other").Public()}, list)
	if !errors.Is(err, sign.ErrUntrusted) || fault.ClassOf(err) != fault.ClassDiverged || r.Trusted() {
		t.Errorf("with another root: %v, trusted %v", err, r.Trusted())
	}
	if _, ok := r.Find(key("a").Public().ID()); !ok {
		t.Error("the keys cannot be looked up, so that a bad signature would go by")
	}
	var none *sign.Keyring
	if none.Trusted() {
		t.Error("no ring is trusted")
	}
}
