package cli

// RunAt is [Run] under a clock.
var RunAt = run
