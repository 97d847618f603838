package capture

import (
	"context"
	"io"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// storeKeyScope names the key under which fingerprints of credentials are
// made. It is of one store and never leaves it.
const storeKeyScope = "reprise/store-key"

// StoreKey returns the key of a store with which the fingerprints of
// credentials are made; it is drawn when it is first asked for.
func StoreKey(ctx context.Context, store drive.Store, rand io.Reader) ([32]byte, error) {
	fresh := blob.Scope{ID: storeKeyScope}
	if _, err := io.ReadFull(rand, fresh.Key[:]); err != nil {
		return fresh.Key, fault.Wrap(drive.ErrRandom, "capture.StoreKey", err, "no randomness")
	}
	scope, err := store.Scope(ctx, storeKeyScope, &fresh)
	return scope.Key, err
}
