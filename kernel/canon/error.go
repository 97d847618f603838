package canon

import "github.com/reprise-dev/reprise/kernel/fault"

// The codes of this package. All are faults of the input. Who checks stored
// bytes wraps them in an integrity code of its own.
const (
	// ErrSyntax means that the bytes are no I-JSON: bad grammar, invalid
	// UTF-8, a lone surrogate, a byte order mark or trailing data. Mend the
	// sender.
	ErrSyntax fault.Invalid = "canon.syntax"

	// ErrDuplicateName means that an object has a member name twice, possibly
	// spelled with different escapes. Which one counts is undefined, so
	// neither does. Mend the sender.
	ErrDuplicateName fault.Invalid = "canon.duplicate_name"

	// ErrNumber means that a number overflows a double, or that the profile
	// would have to round it. Send it as a string.
	ErrNumber fault.Invalid = "canon.number"

	// ErrNotCanonical means that the bytes are JSON at most, not the one
	// canonical form of their value. Encode the value again.
	ErrNotCanonical fault.Invalid = "canon.not_canonical"

	// ErrDepth means nesting beyond [MaxDepth]. Flatten the value.
	ErrDepth fault.Invalid = "canon.depth"

	// ErrTooLarge means that an input exceeds a limit on its size. Send less.
	ErrTooLarge fault.Invalid = "canon.too_large"

	// ErrProfile means that the profile is unknown, or that it has no way to
	// write the value. Choose another profile or another shape.
	ErrProfile fault.Invalid = "canon.profile"

	// ErrDigest means that a text is not 64 lower-case hexadecimal digits.
	ErrDigest fault.Invalid = "canon.digest"

	// ErrPointer means that a text is no JSON pointer (RFC 6901).
	ErrPointer fault.Invalid = "canon.pointer"
)

// Limits on what comes from outside.
const (
	// MaxDepth is how deep arrays and objects may nest.
	MaxDepth = 1000

	// MaxSize is how many bytes one JSON text may have.
	MaxSize = 1 << 30
)
