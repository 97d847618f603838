package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	publicBlock  = "PUBLIC KEY"
	privateBlock = "PRIVATE KEY"
	maxPEM       = 1 << 20
)

func generate(rand io.Reader) (*sign.PrivateKey, error) {
	var seed [ed25519.SeedSize]byte
	if _, err := io.ReadFull(rand, seed[:]); err != nil {
		return nil, fault.Wrap(ErrFolder, "keys.generate", err, "no randomness")
	}
	return sign.NewPrivateKey(seed[:])
}

// EncodePublic returns the PEM form of a public key (SPKI).
func EncodePublic(k sign.PublicKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: k.SPKI()})
}

// ParsePublic reads one or more public keys in PEM form. Text between the
// blocks is passed over; a block of another type is refused, because a private
// key in this place is a mistake that its owner must hear of.
func ParsePublic(b []byte) ([]sign.PublicKey, error) {
	const op = "keys.ParsePublic"
	if len(b) > maxPEM {
		return nil, fault.New(ErrPEM, op, "%d bytes are over the limit of %d", len(b), maxPEM)
	}
	var out []sign.PublicKey
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != publicBlock {
			return nil, fault.New(ErrPEM, op, "a block of type %q where a %s is asked for", block.Type, publicBlock)
		}
		k, err := sign.ParseSPKI(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	if len(out) == 0 || bytes.Contains(b, []byte("-----BEGIN")) {
		return nil, fault.New(ErrPEM, op, "no public key in PEM form, or one that is cut off")
	}
	return out, nil
}

func encodePrivate(k *sign.PrivateKey) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(k.Seed()))
	if err != nil {
		panic(fault.Wrap(fault.ErrUnknown, "keys.encodePrivate", err, "an Ed25519 key is always encodable"))
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der})
}

// readPrivate reads a private key, and refuses one that others may read. The
// error of a file that is not there is [fs.ErrNotExist] itself.
func readPrivate(path string) (*sign.PrivateKey, error) {
	const op = "keys.readPrivate"
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fault.Wrap(ErrFolder, op, err, "a private key")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(ErrFolder, op, err, "a private key")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fault.New(ErrExposed, op, "%s may be read or written by others (mode %#o); chmod 600 it, and rotate if it was read", path, mode)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPEM))
	if err != nil {
		return nil, fault.Wrap(ErrFolder, op, err, "a private key")
	}
	block, rest := pem.Decode(b)
	if block == nil || block.Type != privateBlock || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fault.New(ErrBroken, op, "%s is not one private key in PEM form", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fault.Wrap(ErrBroken, op, err, "%s", path)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fault.New(ErrBroken, op, "%s is not an Ed25519 key", path)
	}
	return sign.NewPrivateKey(key.Seed())
}

// writeNew writes a file that is not there yet, and makes it durable.
func writeNew(path string, data []byte) error {
	const op = "keys.writeNew"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(ErrFolder, op, err, "a file of the keys")
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fault.Wrap(ErrFolder, op, err, "a file of the keys")
	}
	return syncDir(filepath.Dir(path))
}

// publish writes a file whole or not at all, and only if none of that name is
// there: of two processes one gets [ErrChanged].
func publish(path string, data []byte) error {
	const op = "keys.publish"
	tmp, err := os.MkdirTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return fault.Wrap(ErrFolder, op, err, "a manifest")
	}
	defer os.RemoveAll(tmp)
	whole := filepath.Join(tmp, "manifest")
	if err := writeNew(whole, data); err != nil {
		return err
	}
	err = os.Link(whole, path)
	if errors.Is(err, fs.ErrExist) {
		return fault.Wrap(ErrChanged, op, err, "the keys were changed by another process")
	}
	if err != nil {
		return fault.Wrap(ErrFolder, op, err, "a manifest")
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a folder durable, where the system can.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	return fault.Wrap(ErrFolder, "keys.syncDir", err, "the folder %s", dir)
}
