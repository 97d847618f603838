package keys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrName means that a key cannot have this name. Use letters, digits, dots,
// dashes and underscores, and begin with a letter or a digit.
const ErrName fault.Invalid = "keys.bad_name"

// Group is what named keys are for.
type Group string

// The groups. None of their keys signs heads, and none is in a manifest: who
// relies on one names it, in a charter or a roster.
const (
	Actors     Group = "actors"     // people and services that sign acts; "operator" issues writs
	Committers Group = "committers" // sign the commits of trajectories
	Agents     Group = "agents"     // subjects of writs, named by their key
)

// Operator is the name of the key that issues writs and is trusted to.
const Operator = "operator"

// maxKeyName is the length of the name of a key.
const maxKeyName = 64

func checkName(name string) error {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	bad := func(r rune) bool { return !ok(r) && !strings.ContainsRune("._-", r) }
	if name == "" || len(name) > maxKeyName || strings.ContainsFunc(name, bad) || !ok(rune(name[0])) {
		return fault.New(ErrName, "keys.Named", "%q is no name of a key", name[:min(len(name), maxKeyName)])
	}
	return nil
}

func (k *Keys) namedFile(g Group, name string) string {
	return filepath.Join(k.dir, string(g), name+".pem")
}

// Named returns the key of that name, and makes it if it is not there. Of two
// processes that make it at the same time both get the same one.
func (k *Keys) Named(g Group, name string) (*sign.PrivateKey, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	path := k.namedFile(g, name)
	p, err := readPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if p, err = generate(k.rand); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fault.Wrap(ErrFolder, "keys.Named", err, "the folder of the %s", g)
	}
	if err := publish(path, encodePrivate(p)); err != nil && !errors.Is(err, ErrChanged) {
		return nil, err
	}
	return readPrivate(path)
}

// Existing returns the key of that name, or [ErrNotFound].
func (k *Keys) Existing(g Group, name string) (*sign.PrivateKey, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	p, err := readPrivate(k.namedFile(g, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(ErrNotFound, "keys.Existing", "there is no key %q among the %s", name, g)
	}
	return p, err
}

// Names returns the names of a group, sorted.
func (k *Keys) Names(g Group) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(k.dir, string(g)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(ErrFolder, "keys.Names", err, "the folder of the %s", g)
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".pem"); ok && checkName(name) == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// NewAgent makes the key of a subject of writs. It is found again by
// [Keys.Agent].
func (k *Keys) NewAgent() (*sign.PrivateKey, error) {
	p, err := generate(k.rand)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(k.dir, string(Agents))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(ErrFolder, "keys.NewAgent", err, "the folder of the %s", Agents)
	}
	return p, writeNew(k.namedFile(Agents, p.Public().ID().String()), encodePrivate(p))
}

// Find returns the private half of a key of a group, or [ErrNotFound].
func (k *Keys) Find(g Group, public sign.PublicKey) (name string, key *sign.PrivateKey, err error) {
	names := []string{public.ID().String()}
	if g != Agents {
		if names, err = k.Names(g); err != nil {
			return "", nil, err
		}
	}
	for _, name := range names {
		p, err := k.Existing(g, name)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return "", nil, err
		}
		if err == nil && p.Public().ID() == public.ID() {
			return name, p, nil
		}
	}
	return "", nil, fault.New(ErrNotFound, "keys.Find", "the private half of key %s is not among the %s", public.ID(), g)
}

// ReadPublicFile reads a public key in PEM form from a file.
func ReadPublicFile(path string) (sign.PublicKey, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return sign.PublicKey{}, fault.Wrap(ErrPEM, "keys.ReadPublicFile", err, "%s", path)
	}
	list, err := ParsePublic(b)
	if err != nil {
		return sign.PublicKey{}, err
	}
	if len(list) != 1 {
		return sign.PublicKey{}, fault.New(ErrPEM, "keys.ReadPublicFile", "%s holds %d keys, want one", path, len(list))
	}
	return list[0], nil
}
