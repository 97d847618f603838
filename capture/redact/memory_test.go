//go:build !race

package redact_test

import (
	"net/http"
	"testing"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
)

// A stream costs no memory for its events.
func TestEventsAreCleanedWithoutMemory(t *testing.T) { //nolint:paralleltest // it counts allocations
	write := redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled}).Cleaner(http.Header{"Content-Type": {"text/event-stream"}}).Write
	event := []byte(redacttest.Dialects()[3].Event(0, "some words. "))
	dst := write(make([]byte, 0, 1<<10), event, false)
	if n := testing.AllocsPerRun(100, func() { dst = write(dst[:0], event, false) }); n > 0 {
		t.Errorf("an event needs %v allocations, want none", n)
	}
}
