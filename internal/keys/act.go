package keys

import (
	"io"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// SignAct signs an act with the key that an actor has here, at that time and
// with a nonce of its own, and returns it as bodies hold it. It is the one place
// where acts of people are made; whether one counts is for [govern.Roster.Admit].
func (k *Keys) SignAct(as string, a govern.Act, at time.Time) (canon.Value, error) {
	key, err := k.Existing(Actors, as)
	if err != nil {
		return canon.Value{}, err
	}
	a.At = det.Instant(at.UnixNano())
	if _, err := io.ReadFull(k.rand, a.Nonce[:]); err != nil {
		return canon.Value{}, fault.Wrap(ErrFolder, "keys.SignAct", err, "no randomness")
	}
	b, err := a.Sign(key)
	if err != nil {
		return canon.Value{}, err
	}
	return canon.Parse(b)
}
