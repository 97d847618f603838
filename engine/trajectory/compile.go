package trajectory

// Gate names a gate of the compiler.
type Gate string
