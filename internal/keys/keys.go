package keys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Codes of the key folder.
const (
	// ErrFolder means that the folder of the keys cannot be read or written.
	// Look at the path and its permissions, or name another folder.
	ErrFolder fault.Unavailable = "keys.folder"
	// ErrExposed means that others than the owner may read a private key. Take
	// the permission away, and rotate the key if others could have read it.
	ErrExposed fault.Denied = "keys.exposed"
	// ErrBroken means that the files of the folder contradict one another. Put
	// the folder back from a backup.
	ErrBroken fault.Integrity = "keys.broken"
	// ErrNoRoot means that the root key is not in the folder, so that no
	// manifest can be signed. Bring it back for the time of the change.
	ErrNoRoot fault.NotFound = "keys.root_not_found"
	// ErrNotFound means that no key, or more than one, has an id that begins
	// so. List the keys.
	ErrNotFound fault.NotFound = "keys.not_found"
	// ErrNoSigner means that no key may sign. Rotate to make one.
	ErrNoSigner fault.Denied = "keys.no_signer"
	// ErrChanged means that another process changed the keys meanwhile. Open
	// them again and decide anew.
	ErrChanged fault.Conflict = "keys.changed"
	// ErrPEM means that a file holds no public key in PEM form. Get the file
	// again from its owner.
	ErrPEM fault.Invalid = "keys.bad_pem"
)

const (
	rootFile     = "root.pem"
	rootPublic   = "root.pub"
	manifestsDir = "manifests"
)

// Keys is an open key folder. It does not see what other processes change
// afterwards. It is not safe for concurrent use.
type Keys struct {
	dir       string
	rand      io.Reader
	root      sign.PublicKey
	manifests [][]byte
	last      sign.Manifest
}

// Open opens the keys in dir and makes them if dir is not there. Rand must be
// a cryptographic source.
func Open(dir string, rand io.Reader) (*Keys, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := create(dir, rand); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, fault.Wrap(ErrFolder, "keys.Open", err, "the folder of the keys")
	}
	k := &Keys{dir: dir, rand: rand}
	return k, k.load()
}

// Read opens the keys in dir, but makes none: if dir is not there, it returns
// nil.
func Read(dir string, rand io.Reader) (*Keys, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return Open(dir, rand)
}

// create makes the first keys in a folder beside and renames it. That another
// process was first is as good.
func create(dir string, rand io.Reader) error {
	const op = "keys.create"
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fault.Wrap(ErrFolder, op, err, "the folder of the keys")
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-keys-")
	if err != nil {
		return fault.Wrap(ErrFolder, op, err, "the folder of the keys")
	}
	defer os.RemoveAll(tmp)
	root, err := generate(rand)
	if err != nil {
		return err
	}
	head, err := generate(rand)
	if err != nil {
		return err
	}
	m := sign.Manifest{Root: root.Public(), Keys: []sign.Listed{{Key: head.Public(), Role: sign.RoleHead, State: sign.Active}}}
	envelope, err := sealManifest(root, &m)
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(tmp, manifestsDir), 0o700); err != nil {
		return fault.Wrap(ErrFolder, op, err, "the folder of the manifests")
	}
	for _, f := range []struct {
		name string
		data []byte
	}{
		{rootFile, encodePrivate(root)},
		{rootPublic, EncodePublic(root.Public())},
		{headFile(head.Public()), encodePrivate(head)},
		{manifestFile(0), envelope},
	} {
		if err := writeNew(filepath.Join(tmp, f.name), f.data); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, statErr := os.Stat(filepath.Join(dir, rootPublic)); statErr == nil {
			return nil
		}
		return fault.Wrap(ErrFolder, op, err, "the folder of the keys")
	}
	return syncDir(filepath.Dir(dir))
}

func headFile(k sign.PublicKey) string { return "head-" + k.ID().String()[:16] + ".pem" }

func manifestFile(seq int) string {
	return filepath.Join(manifestsDir, fmt.Sprintf("%06d.json", seq))
}

func sealManifest(root sign.Signer, m *sign.Manifest) ([]byte, error) {
	slices.SortFunc(m.Keys, func(a, b sign.Listed) int {
		x, y := a.Key.ID(), b.Key.ID()
		return slices.Compare(x[:], y[:])
	})
	payload, err := m.Payload()
	if err != nil {
		return nil, err
	}
	e, err := sign.Seal(root, sign.ManifestType, payload)
	if err != nil {
		return nil, err
	}
	return e.Encode(), nil
}

// load reads what is public, and checks that it hangs together.
func (k *Keys) load() error {
	const op = "keys.Open"
	b, err := os.ReadFile(filepath.Join(k.dir, rootPublic))
	if err != nil {
		return fault.Wrap(ErrFolder, op, err, "the public root key")
	}
	roots, err := ParsePublic(b)
	if err != nil {
		return err
	}
	if len(roots) != 1 {
		return fault.New(ErrBroken, op, "%s holds %d keys", rootPublic, len(roots))
	}
	k.root, k.manifests = roots[0], nil
	for {
		b, err := os.ReadFile(filepath.Join(k.dir, manifestFile(len(k.manifests))))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return fault.Wrap(ErrFolder, op, err, "manifest %d", len(k.manifests))
		}
		k.manifests = append(k.manifests, b)
	}
	ring, err := sign.NewKeyring(roots, k.manifests)
	if err != nil {
		return fault.Wrap(ErrBroken, op, err, "the manifests in %s", k.dir)
	}
	if !ring.Trusted() {
		return fault.New(ErrBroken, op, "%s holds no manifest", k.dir)
	}
	k.last, _, _ = ring.Last()
	return nil
}

// Dir returns the folder.
func (k *Keys) Dir() string { return k.dir }

// Manifests returns the chain of manifests, oldest first.
func (k *Keys) Manifests() [][]byte { return k.manifests }

// Roots returns the root key, which the user trusts because it is the user's.
func (k *Keys) Roots() []sign.PublicKey { return []sign.PublicKey{k.root} }

// Root returns the root key.
func (k *Keys) Root() sign.PublicKey { return k.root }

// Export returns the root key in PEM form, for others to pin.
func (k *Keys) Export() []byte { return EncodePublic(k.root) }

// Listed is a key and what can be said of it.
type Listed struct {
	sign.Listed
	Here bool // its private half is in the folder
}

// List returns the keys that sign heads: active ones first, then by id.
func (k *Keys) List() []Listed {
	out := make([]Listed, len(k.last.Keys))
	for i, l := range k.last.Keys {
		_, err := os.Stat(filepath.Join(k.dir, headFile(l.Key)))
		out[i] = Listed{Listed: l, Here: err == nil}
	}
	slices.SortStableFunc(out, func(a, b Listed) int { return order(a.State) - order(b.State) })
	return out
}

func order(s sign.State) int {
	return slices.Index([]sign.State{sign.Active, sign.Retired, sign.Revoked}, s)
}

// Signer returns the key that signs heads.
func (k *Keys) Signer() (sign.Signer, error) {
	for _, l := range k.last.Keys {
		if l.State != sign.Active || l.Role != sign.RoleHead {
			continue
		}
		p, err := readPrivate(filepath.Join(k.dir, headFile(l.Key)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if p.Public().ID() != l.Key.ID() {
			return nil, fault.New(ErrBroken, "keys.Signer", "%s holds another key than its name says", headFile(l.Key))
		}
		return p, nil
	}
	return nil, fault.New(ErrNoSigner, "keys.Signer", "%s holds no private key that may sign", k.dir)
}

// Rotate makes a new key that signs heads and retires the ones before. What
// they signed stands.
func (k *Keys) Rotate() (sign.PublicKey, error) { return k.next("") }

// Revoke revokes the key whose id begins with id: its signatures fail from now
// on, the old ones too. If it was the one that signs, a new one is made.
func (k *Keys) Revoke(id string) (revoked, signs sign.PublicKey, err error) {
	var found []sign.Listed
	for _, l := range k.last.Keys {
		if id != "" && strings.HasPrefix(l.Key.ID().String(), strings.ToLower(id)) {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		return revoked, signs, fault.New(ErrNotFound, "keys.Revoke", "%d keys have an id that begins with %q", len(found), id)
	}
	full := found[0].Key.ID().String()
	signs, err = k.next(full)
	return found[0].Key, signs, err
}

// next writes the next manifest: without the key named revoked it rotates.
func (k *Keys) next(revoked string) (signs sign.PublicKey, err error) {
	root, err := readPrivate(filepath.Join(k.dir, rootFile))
	if errors.Is(err, fs.ErrNotExist) {
		return signs, fault.Wrap(ErrNoRoot, "keys.next", err, "the root key")
	}
	if err != nil {
		return signs, err
	}
	m := sign.Manifest{Seq: k.last.Seq + 1, Prev: sign.Digest(k.manifests[len(k.manifests)-1]), Root: k.root, Keys: slices.Clone(k.last.Keys)}
	for i := range m.Keys {
		switch l := &m.Keys[i]; {
		case l.Key.ID().String() == revoked:
			l.State = sign.Revoked
		case revoked == "" && l.State == sign.Active:
			l.State = sign.Retired
		case l.State == sign.Active:
			signs = l.Key
		}
	}
	made := signs.IsZero()
	if made {
		head, err := generate(k.rand)
		if err != nil {
			return signs, err
		}
		signs = head.Public()
		m.Keys = append(m.Keys, sign.Listed{Key: signs, Role: sign.RoleHead, State: sign.Active})
		if err := writeNew(filepath.Join(k.dir, headFile(signs)), encodePrivate(head)); err != nil {
			return signs, err
		}
	}
	envelope, err := sealManifest(root, &m)
	if err == nil {
		err = publish(filepath.Join(k.dir, manifestFile(int(m.Seq))), envelope)
	}
	if err != nil {
		if made {
			_ = os.Remove(filepath.Join(k.dir, headFile(signs)))
		}
		return signs, err
	}
	return signs, k.load()
}
