//go:build !race

package capture_test

const racing = false
