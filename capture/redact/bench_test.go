package redact_test

import (
	"net/http"
	"testing"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
)

// What it costs to look for secrets in one event of a stream.
func BenchmarkEvents(b *testing.B) {
	r := redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
	for _, d := range redacttest.Dialects()[:4] {
		b.Run(d.Name, func(b *testing.B) {
			write := r.Cleaner(http.Header{"Content-Type": {d.Type}}).Write
			event := []byte(d.Event(0, "words. "))
			var dst []byte
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				dst = write(dst[:0], event, false)
			}
		})
	}
}
