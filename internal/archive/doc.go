// Package archive moves runs between stores and bundles, and verifies both.
//
// [Export] writes a run and the runs that it points at, because a replay needs
// them. [Import] verifies a whole bundle before it writes anything, and puts
// its contents into scopes of the store under fresh keys: entries, salts,
// commitments, heads and manifests stay as they were, byte for byte; only how
// contents are cut and stored is the store's own.
//
// [VerifyFile] and [VerifyRun] give the same report about the same ledger.
// Roots of trust come from their caller, never from what is verified.
//
// A branch is verified on its source: first the beginning that it left, and
// then its own entries on the world that stood there. What the beginning fails
// the branch fails, because its open names the last entry of it; heads and
// entries behind that are not its business. The level of a branch is that of
// its own heads, since its signed open fixes the whole beginning.
//
// A delegation is bound both ways: the outcome of a call in the parent names
// the last entry of the child, and the open of the child names that call.
// [VerifyOptions].Delegations follows the tree.
package archive

import (
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Codes of this package.
const (
	// ErrBroken means that a bundle does not verify and was not imported. The
	// cause says what is wrong with it.
	ErrBroken fault.Integrity = "archive.does_not_verify"
	// ErrDiffers means that the store has a run of that id whose entries are
	// others. One of the two is not what was recorded: verify both.
	ErrDiffers fault.Conflict = "archive.run_differs"
	// ErrPartial means that a bundle withholds contents. Verify it as a file,
	// or ask for a partial import.
	ErrPartial fault.Invalid = "archive.partial_bundle"
	// ErrFile means that a file cannot be opened or read.
	ErrFile fault.NotFound = "archive.no_such_file"
	// ErrRandom means that no randomness could be read.
	ErrRandom fault.Unavailable = "archive.no_randomness"
	// ErrChains means that two chains of key manifests by one root exist: the
	// one at hand and the one that the reader knows. The holder of the root
	// key said two things; ask them.
	ErrChains fault.Integrity = "archive.two_manifest_chains"
)

// Store is what runs are read from and written to.
type Store interface {
	ledger.Store
	blob.Store
}
