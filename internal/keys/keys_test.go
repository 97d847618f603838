package keys_test

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// TestMain lets the test binary stand for another process that opens the keys
// for the first time.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KEYS_TEST_OPEN"); dir != "" {
		k, err := keys.Open(dir, rand.Reader)
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString(k.Root().ID().String())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, dir string) *keys.Keys {
	t.Helper()
	k, err := keys.Open(dir, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func folder(t *testing.T) string { return filepath.Join(t.TempDir(), "reprise", "keys") }

func TestFirstUseMakesARootAndAHeadKey(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	k := open(t, dir)
	s, err := k.Signer()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := sign.NewKeyring(k.Roots(), k.Manifests())
	if err != nil {
		t.Fatal(err)
	}
	l, ok := ring.Find(s.Public().ID())
	if !ok || l.State != sign.Active || l.Role != sign.RoleHead {
		t.Errorf("the manifest says %+v of the signer, want an active head key", l)
	}
	if s.Public().ID() == k.Root().ID() {
		t.Error("the root key signs heads")
	}
	if again := open(t, dir); again.Root().ID() != k.Root().ID() {
		t.Error("opened again, the keys are other ones")
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		info, err2 := d.Info()
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadMakesNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	k, err := keys.Read(dir, rand.Reader)
	if k != nil || err != nil {
		t.Errorf("Read(nothing) = %v, %v, want nil, nil", k, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("Read made the folder")
	}
}

func TestTwoProcessesBeginAtTheSameTime(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	var mu sync.Mutex
	var roots []string
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "KEYS_TEST_OPEN="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			roots = append(roots, string(out))
		})
	}
	wg.Wait()
	if len(slices.Compact(slices.Sorted(slices.Values(roots)))) != 1 {
		t.Errorf("the processes have the roots %v, want one", roots)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRotateRetiresTheKeyBefore(t *testing.T) {
	t.Parallel()
	k := open(t, folder(t))
	before, err := k.Signer()
	if err != nil {
		t.Fatal(err)
	}
	now, err := k.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.Signer()
	if err != nil {
		t.Fatal(err)
	}
	if s.Public().ID() != now.ID() || now.ID() == before.Public().ID() {
		t.Error("after a rotation the new key does not sign")
	}
	list := k.List()
	if len(list) != 2 || list[0].State != sign.Active || list[1].State != sign.Retired || list[1].Key.ID() != before.Public().ID() {
		t.Errorf("List() = %+v, want the new key active and the old one retired", list)
	}
	if len(k.Manifests()) != 2 {
		t.Errorf("%d manifests, want 2", len(k.Manifests()))
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	k := open(t, folder(t))
	first, err := k.Signer()
	if err != nil {
		t.Fatal(err)
	}
	revoked, signs, err := k.Revoke(first.Public().ID().String()[:8])
	if err != nil {
		t.Fatal(err)
	}
	if revoked.ID() != first.Public().ID() || signs.ID() == revoked.ID() {
		t.Error("to revoke the key that signs must make another one")
	}
	ring, err := sign.NewKeyring(k.Roots(), k.Manifests())
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := ring.Find(revoked.ID()); l.State != sign.Revoked {
		t.Errorf("the revoked key is %s", l.State)
	}
	for _, id := range []string{"", "zz", revoked.ID().String() + "00"} {
		if _, _, err := k.Revoke(id); !errors.Is(err, keys.ErrNotFound) {
			t.Errorf("Revoke(%q) = %v, want %v", id, err, keys.ErrNotFound)
		}
	}
}

func TestOfTwoChangesOneIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	a, b := open(t, dir), open(t, dir)
	if _, err := a.Rotate(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Rotate(); !errors.Is(err, keys.ErrChanged) {
		t.Errorf("Rotate() = %v, want %v", err, keys.ErrChanged)
	}
	again := open(t, dir)
	if len(again.Manifests()) != 2 {
		t.Errorf("%d manifests, want 2", len(again.Manifests()))
	}
	files, err := filepath.Glob(filepath.Join(dir, "head-*.pem"))
	if err != nil || len(files) != 2 {
		t.Errorf("%d key files, want 2: what was refused leaves nothing", len(files))
	}
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	k := open(t, folder(t))
	files, err := filepath.Glob(filepath.Join(k.Dir(), "head-*.pem"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(files[0], mode); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Signer(); !errors.Is(err, keys.ErrExposed) {
			t.Errorf("mode %#o: Signer() = %v, want %v", mode, err, keys.ErrExposed)
		}
	}
}

func TestWithoutTheRootKeySigningGoesOn(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	k := open(t, dir)
	if err := os.Remove(filepath.Join(dir, "root.pem")); err != nil {
		t.Fatal(err)
	}
	k = open(t, k.Dir())
	if _, err := k.Signer(); err != nil {
		t.Error(err)
	}
	if _, err := k.Rotate(); !errors.Is(err, keys.ErrNoRoot) {
		t.Errorf("Rotate() = %v, want %v", err, keys.ErrNoRoot)
	}
}

func TestATamperedFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	k := open(t, dir)
	if _, err := k.Rotate(); err != nil {
		t.Fatal(err)
	}
	other := open(t, folder(t))
	if err := os.WriteFile(filepath.Join(dir, "manifests", "000001.json"), other.Manifests()[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Open(dir, rand.Reader); !errors.Is(err, keys.ErrBroken) {
		t.Errorf("Open() = %v, want %v", err, keys.ErrBroken)
	}
}

func TestPublicKeysInPEM(t *testing.T) {
	t.Parallel()
	a, b := open(t, folder(t)), open(t, folder(t))
	private, err := os.ReadFile(filepath.Join(a.Dir(), "root.pem"))
	if err != nil {
		t.Fatal(err)
	}
	both := "# ours\n" + string(a.Export()) + "# theirs\n" + string(b.Export())
	got, err := keys.ParsePublic([]byte(both))
	if err != nil || len(got) != 2 || got[0].ID() != a.Root().ID() || got[1].ID() != b.Root().ID() {
		t.Errorf("ParsePublic(two keys) = %v, %v", got, err)
	}
	for _, test := range []struct{ name, in string }{
		{"nothing", ""},
		{"text", "hello"},
		{"a private key", string(private)},
		{"cut off", strings.TrimSuffix(strings.TrimSpace(string(a.Export())), "-----END PUBLIC KEY-----")},
		{"a good one and half a one", string(a.Export()) + "-----BEGIN PUBLIC KEY-----\nMCow"},
		{"too long", strings.Repeat(" ", 1<<20+1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := keys.ParsePublic([]byte(test.in)); !errors.Is(err, keys.ErrPEM) {
				t.Errorf("ParsePublic = %v, %v, want %v", got, err, keys.ErrPEM)
			}
		})
	}
}
