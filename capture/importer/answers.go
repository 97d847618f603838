package importer

import (
	"bytes"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Recordings of answers alone, as test suites of clients keep them: a body of
// JSON, a stream of events, the data of its events one per line, or
// {status, headers, body}. No request is with them, so nothing asks for them in
// a replay; they are kept as evidence, byte for byte.

// shapes are the members by which the answers of model services are known.
// What has none of these is not taken for an answer.
func shapes() [][]string {
	return [][]string{
		{"choices"},
		{"candidates"},
		{"content", "role"},
		{"output", "usage"},
		{"output", "stopReason"},
		{"message", "finish_reason"},
		{"embeddings"},
		{"predictions", "metadata"},
		{"results", "meta"},
		{"results", "metadata"},
		{"results", "model"},
		{"data", "model"},
		{"data", "created"},
		{"text", "model"},
		{"text", "words"},
		{"text", "usage"},
		{"text", "language"},
		{"steps", "usage"},
		{"output", "model"},
		{"audio_url", "audio_metadata"},
		{"request_id", "status"},
		{"status", "created_on"},
		{"id", "status", "created_at"},
		{"skill_id", "created_at"},
		{"content", "stopReason"},
		{"usageMetadata"},
		{"output", "created_at"},
		// Of the data of events.
		{"messageStart"},
		{"contentBlockStart"},
		{"contentBlockDelta"},
		{"contentBlockStop"},
		{"messageStop"},
		{"event_type", "interaction"},
		{"type", "sequence_number"},
		{"type", "event_id"},
	}
}

func isAnswerObject(o object) bool {
	if e := o.obj("error"); e != nil && (e.has("message") || e.has("type")) {
		return true
	}
	if o.str("type") != "" && (o.obj("message") != nil || o.obj("delta") != nil) {
		return true
	}
	for _, names := range shapes() {
		if o.has(names...) {
			return true
		}
	}
	return false
}

// isEventStream reports whether b begins as server-sent events do.
func isEventStream(b []byte) bool {
	for _, p := range []string{"data:", "event:", "id:", ":"} {
		if bytes.HasPrefix(b, []byte(p)) {
			return bytes.Contains(b, []byte("data:"))
		}
	}
	return false
}

func isAnswers(s *source) bool {
	if s.list == nil {
		return isEventStream(s.b)
	}
	if isCassetteOfOne(s.top) {
		return true
	}
	if s.lines && !s.cut {
		return len(s.list) > 0 && isAnswerObject(s.first)
	}
	return false
}

// isCassetteOfOne reports whether o is {status, headers, body}.
func isCassetteOfOne(o object) bool {
	status, ok := o.num("status")
	return ok && isStatus(int(status)) && o.has("headers", "body")
}

func readAnswers(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	switch {
	case s.list == nil:
		k.answer("answer", "", s.b)
		return k.tape("answer/events")
	case isCassetteOfOne(s.top):
		h := s.top.obj("headers")
		if h == nil {
			return tape{}, fault.New(ErrMalformed, "importer.readAnswers", "headers that are no mapping")
		}
		body := s.top["body"]
		t := k.answer("answer", h.first("date", "Date"), plain(body))
		if k := body.Kind(); k == '{' || k == '[' {
			t.why = []Reason{ResponseParsed}
		}
		return k.tape("answer/http")
	case len(s.list) == 1:
		k.answer("answer", "", s.b)
		return k.tape("answer/json")
	default:
		k.answer("answer", "", s.b).why = []Reason{ResponseParsed}
		return k.tape("answer/lines")
	}
}

// roleOf names who says a message.
func roleOf(m object) string {
	if r := m.first("role", "type", "author", "source"); r != "" {
		return r
	}
	return "message"
}
