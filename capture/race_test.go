//go:build race

package capture_test

// racing says that the race detector is at work. It slows bytes down twenty
// times and is after something else than how much memory they take: tests of
// memory take their short form under it, and their long one without it.
const racing = true
