package importer

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of imports. Each refuses a whole file; nothing of it is recorded then.
const (
	// ErrUnknownFormat means that the file is no recording in one of the
	// formats that are read. See [Formats].
	ErrUnknownFormat fault.Invalid = "importer.unknown_format"
	// ErrNotCassette means that the file is text in which no recording is
	// found, such as the configuration that lies beside a cassette, or a part
	// of a message. Leave it out.
	ErrNotCassette fault.Invalid = "importer.not_a_cassette"
	// ErrNotHTTP means that the file records something else than HTTP
	// exchanges, and nothing else that is known. It cannot be imported.
	ErrNotHTTP fault.Invalid = "importer.not_http"
	// ErrEmpty means that the recording has no exchange at all.
	ErrEmpty fault.Invalid = "importer.empty"
	// ErrMalformed means that the file begins like a recording and does not
	// keep to its format. It is damaged or was written by hand: record anew.
	ErrMalformed fault.Invalid = "importer.malformed"
	// ErrTooLarge means that the file is over a limit of [Options].
	ErrTooLarge fault.Invalid = "importer.too_large"
	// ErrRead means that the file could not be read. Look at the disk.
	ErrRead fault.Unavailable = "importer.read_failed"
	// ErrEvidenceOnly is the outcome of an exchange whose bytes are not in the
	// imported file. It can be shown and verified, not replayed; record anew
	// to replay.
	ErrEvidenceOnly fault.NotFound = "importer.evidence_only"
)

// tape is what a file holds: exchanges over HTTP, or turns.
type tape struct {
	format    string // with its version, such as go-vcr/2
	exchanges []exchange
	turns     []turn
	secrets   []redact.Secret // that a file of messages names as such
	unread    []string        // members that were passed over, sorted
}

// format is one family of recordings. To read another, add it to formats.
type format struct {
	name string
	is   func(s *source) bool
	read func(s *source, o *Options) (tape, error)
}

// formats returns the families in the order in which they are tried: what has
// a mark of its own before what is known by its shape.
func formats() []format {
	return append(append([]format{
		{"httprr", func(s *source) bool { return isHTTPRR(s.b) }, func(s *source, o *Options) (tape, error) { return readHTTPRR(s.b, o) }},
	}, messages()...),
		format{"vcr", func(s *source) bool { return isVCR(s.b) }, func(s *source, o *Options) (tape, error) { return readVCR(s.b, o) }},
	)
}

// messages returns the families that are JSON, or YAML that could be JSON.
func messages() []format {
	return []format{
		{"har", isHAR, readHAR},
		{"nock", isNock, readNock},
		{"otlp", isOTLP, readOTLP},
		{"langfuse", isLangfuse, readLangfuse},
		{"orca", isOrca, readOrca},
		{"claude-code", isClaudeCode, readClaudeCode},
		{"codex", isCodex, readCodex},
		{"gemini-cli", isGeminiResponses, readGeminiResponses},
		{"gemini-cli", isGeminiChat, readGeminiChat},
		{"openai-agents", isRunState, readRunState},
		{"swe-agent", isSWEAgent, readSWEAgent},
		{"openhands", isOpenHands, readOpenHands},
		{"adk", isADK, readADK},
		{"chat", isChat, readChat},
		{"websocket", isSocket, readSocket},
		{"grpc", isGRPC, readGRPC},
		{"mcp", isMCP, readMCP},
		{"spans", isSpans, readSpans},
		{"answer", isAnswers, readAnswers},
	}
}

// Formats returns the names of the families that are read.
func Formats() []string {
	var out []string
	for _, f := range formats() {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// read detects the format of b and reads it.
func read(b []byte, o *Options) (tape, error) {
	const op = "importer.read"
	s, err := newSource(b, o.MaxExchanges)
	if err != nil {
		return tape{}, err
	}
	for _, f := range formats() {
		if f.is(s) {
			t, err := f.read(s, o)
			if err != nil {
				return tape{}, err
			}
			if err := t.label(s.list); err != nil {
				return tape{}, err
			}
			if s.cut {
				t.unread = append(t.unread, "/the last line, which broke off")
			}
			return t, t.check(o)
		}
	}
	return tape{}, fault.New(ErrUnknownFormat, op, "no recording in a format that is known")
}

// check refuses a recording of nothing, and one of too much.
func (t *tape) check(o *Options) error {
	const op = "importer.read"
	switch n := len(t.exchanges) + len(t.turns); {
	case n == 0:
		return fault.New(ErrEmpty, op, "a recording without an exchange")
	case n > o.MaxExchanges:
		return fault.New(ErrTooLarge, op, "%d exchanges are over the limit of %d", n, o.MaxExchanges)
	}
	return nil
}

// versioned returns the name of a format with the version that the file gives,
// if that looks like one.
func versioned(name, version string) string {
	if isToken(version) && len(version) <= 16 {
		return name + "/" + version
	}
	return name
}

// readMessages reads a document that was YAML and is no cassette of HTTP
// exchanges; ok is false if it is nothing else that is known either.
func readMessages(b []byte, o *Options) (t tape, ok bool, err error) {
	s, err := newSource(b, o.MaxExchanges)
	if err != nil {
		return tape{}, false, err
	}
	for _, f := range messages() {
		if f.name != "answer" && f.is(s) {
			t, err := f.read(s, o)
			if err == nil {
				err = t.label(s.list)
			}
			return t, true, err
		}
	}
	return tape{}, false, nil
}

// isText reports whether b is UTF-8 without control characters other than
// tabs and line ends.
func isText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r'
	}) < 0
}
