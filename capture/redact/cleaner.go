package redact

import (
	"net/http"
	"strings"

	"github.com/reprise-dev/reprise/internal/protocol"
)

// Cleaner replaces the secrets in bytes that come in parts.
type Cleaner interface {
	// Write appends what comes of the next bytes to dst; with last, all of it.
	Write(dst, p []byte, last bool) []byte
	// Found returns the names of the secrets that were found.
	Found() []string
	// Held returns how many of the bytes that came are not decided yet.
	Held() int
}

// Found implements [Cleaner].
func (r *Replacer) Found() []string { return r.names }

// Held implements [Cleaner].
func (r *Replacer) Held() int { return len(r.hold) }

// Cleaner returns what replaces secrets in an answer with these headers, behind
// its coding: in the way that fits its media type.
func (r *Redactor) Cleaner(h http.Header) Cleaner {
	plain := r.Stream()
	typ, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch typ = strings.ToLower(strings.TrimSpace(typ)); {
	case typ == protocol.EventStreamType:
		return &frames{r: r, rest: plain, j: Messages{f: plain.f}}
	case typ == "application/json":
		return &lines{rest: plain, j: Messages{f: plain.f}, arrays: true}
	case typ == "text/event-stream", strings.HasSuffix(typ, "ndjson"), strings.HasSuffix(typ, "jsonl"), strings.HasSuffix(typ, "json-seq"):
		return &lines{rest: plain, j: Messages{f: plain.f}}
	default:
		return plain
	}
}
