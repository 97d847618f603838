package keys

import (
	"errors"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Servers is the group of the server keys: what snapshots and reflective logs
// of jobs are signed with, and personal data are hashed with. They are for
// operations alone. The secret that is used is derived from the private half.
const Servers Group = "server"

// CurrentServerKey is the name of the server key that signs.
const CurrentServerKey = "current"

const (
	serverTag    = "reprise/server-key/v1\n"
	serverPrefix = "server-"
	serverDigits = 32
)

// ServerKey is a secret key and its id, which is public.
type ServerKey struct {
	ID     string
	Secret []byte
}

// Server returns the server key that signs, and makes it if it is not there.
func (k *Keys) Server() (ServerKey, error) {
	p, err := k.Named(Servers, CurrentServerKey)
	if err != nil {
		return ServerKey{}, err
	}
	return serverKey(p)
}

// FindServer returns the server key of that id, or [ErrNotFound].
func (k *Keys) FindServer(id string) (ServerKey, error) {
	names, err := k.Names(Servers)
	if err != nil {
		return ServerKey{}, err
	}
	for _, name := range names {
		p, err := k.Existing(Servers, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return ServerKey{}, err
		}
		key, err := serverKey(p)
		if err != nil || key.ID == id {
			return key, err
		}
	}
	return ServerKey{}, fault.New(ErrNotFound, "keys.FindServer", "the server key %q is not here", id)
}

func serverKey(p *sign.PrivateKey) (ServerKey, error) {
	secret, err := sign.MAC(p.Seed(), []byte(serverTag))
	return ServerKey{ID: serverPrefix + p.Public().ID().String()[:serverDigits], Secret: secret[:]}, err
}
