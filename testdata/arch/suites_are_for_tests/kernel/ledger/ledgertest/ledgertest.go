// Package ledgertest may do what only a suite does, but stands in its ring.
package ledgertest

import (
	"testing"
	"time"

	"plant.example/suites_are_for_tests/kernel/ledger"
	_ "plant.example/suites_are_for_tests/store" // want "kernel imports store"
)

func Run(t *testing.T, _ ledger.Entry) { go t.Log(time.Now()) }
