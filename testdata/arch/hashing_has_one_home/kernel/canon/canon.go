package canon

import (
	_ "crypto/ed25519"
	_ "crypto/hmac"
	_ "crypto/sha256"
	_ "crypto/sha512"
	_ "hash"
)
