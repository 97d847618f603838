package keys_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/keys"
)

func TestANamedKeyIsMadeOnceAndFoundAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	k := open(t, dir)
	if _, err := k.Existing(keys.Actors, "alice"); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("Existing before it is made = %v, want %v", err, keys.ErrNotFound)
	}
	a, err := k.Named(keys.Actors, "alice")
	if err != nil {
		t.Fatal(err)
	}
	again, err := open(t, dir).Named(keys.Actors, "alice")
	if err != nil || again.Public().ID() != a.Public().ID() {
		t.Errorf("asked again, the key is another one (%v)", err)
	}
	if other, err := k.Named(keys.Committers, "alice"); err != nil || other.Public().ID() == a.Public().ID() {
		t.Errorf("two groups share a key (%v)", err)
	}
	if name, p, err := k.Find(keys.Actors, a.Public()); err != nil || name != "alice" || p.Public().ID() != a.Public().ID() {
		t.Errorf("Find = %q, %v", name, err)
	}
	if _, _, err := k.Find(keys.Committers, a.Public()); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("Find in another group = %v, want %v", err, keys.ErrNotFound)
	}
	if names, err := k.Names(keys.Actors); err != nil || !slices.Equal(names, []string{"alice"}) {
		t.Errorf("Names = %v, %v", names, err)
	}
	info, err := os.Stat(filepath.Join(dir, "actors", "alice.pem"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	for _, bad := range []string{"", "../root", "a/b", ".hidden", "a b", "ä", string(make([]byte, 65))} {
		if _, err := k.Named(keys.Actors, bad); !errors.Is(err, keys.ErrName) {
			t.Errorf("Named(%q) = %v, want %v", bad, err, keys.ErrName)
		}
	}
}

func TestOneKeyOfANameWhoeverComesFirst(t *testing.T) {
	t.Parallel()
	k := open(t, folder(t))
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			p, err := k.Named(keys.Actors, "both")
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = p.Public().ID().String()
		})
	}
	wg.Wait()
	if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 1 {
		t.Errorf("the keys are %v, want one", ids)
	}
}

func TestKeysOfAgentsAreFoundByTheirPublicHalf(t *testing.T) {
	t.Parallel()
	k := open(t, folder(t))
	a, err := k.NewAgent()
	if err != nil {
		t.Fatal(err)
	}
	b, err := k.NewAgent()
	if err != nil {
		t.Fatal(err)
	}
	_, p, err := k.Find(keys.Agents, a.Public())
	if err != nil || p.Public().ID() != a.Public().ID() || a.Public().ID() == b.Public().ID() {
		t.Errorf("Find(first agent) = %v", err)
	}
}
