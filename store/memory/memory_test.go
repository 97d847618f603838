package memory_test

import (
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/blob/blobtest"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store/memory"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(*testing.T) ledger.Store { return memory.New(nil) })
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(*testing.T) blob.Store { return memory.New(nil) })
}
