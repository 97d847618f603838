package ledger

import (
	_ "crypto/ed25519" // want "only kernel/canon and kernel/sign hash"
	_ "crypto/hmac"    // want "only kernel/canon and kernel/sign hash"
	_ "crypto/sha256"  // want "only kernel/canon and kernel/sign hash"
	_ "crypto/sha512"  // want "only kernel/canon and kernel/sign hash"
	_ "hash"           // want "only kernel/canon and kernel/sign hash"
)
