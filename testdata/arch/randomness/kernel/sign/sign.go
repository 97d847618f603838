package sign

import (
	"crypto/ed25519"
	"io"
	"math/big"
)

func f(r io.Reader, n *big.Int) {
	_, _, _ = ed25519.GenerateKey(r) // want "randomness in pure code: crypto/ed25519.GenerateKey"
	_ = n.Rand                       // want "randomness"
}
