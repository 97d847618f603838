package importer

import (
	"bytes"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of imports. Each refuses a whole file; nothing of it is recorded then.
const (
	// ErrUnknownFormat means that the file is no recording in one of the
	// formats that are read. See [Formats].
	ErrUnknownFormat fault.Invalid = "importer.unknown_format"
	// ErrNotCassette means that the file is YAML without interactions, such as
	// the configuration that lies beside a cassette. Leave it out.
	ErrNotCassette fault.Invalid = "importer.not_a_cassette"
	// ErrNotHTTP means that the file records something else than HTTP
	// exchanges, such as messages of a socket. It cannot be imported.
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

// tape is what a file holds.
type tape struct {
	format    string // with its version, such as go-vcr/2
	exchanges []exchange
	unread    []string // members that were passed over, sorted
}

// format is one family of recordings. To read another, add it to formats.
type format struct {
	name string
	is   func(b []byte) bool
	read func(b []byte, o *Options) (tape, error)
}

// formats returns the families in the order in which they are tried.
func formats() []format {
	return []format{
		{"httprr", isHTTPRR, readHTTPRR},
		{"vcr", isVCR, readVCR},
	}
}

// Formats returns the names of the families that are read.
func Formats() []string {
	var out []string
	for _, f := range formats() {
		out = append(out, f.name)
	}
	return out
}

// read detects the format of b and reads it.
func read(b []byte, o *Options) (tape, error) {
	const op = "importer.read"
	for _, f := range formats() {
		if !f.is(b) {
			continue
		}
		t, err := f.read(b, o)
		switch {
		case err != nil:
			return tape{}, err
		case len(t.exchanges) == 0:
			return tape{}, fault.New(ErrEmpty, op, "a recording without an exchange")
		case len(t.exchanges) > o.MaxExchanges:
			return tape{}, fault.New(ErrTooLarge, op, "%d exchanges are over the limit of %d", len(t.exchanges), o.MaxExchanges)
		}
		return t, nil
	}
	return tape{}, fault.New(ErrUnknownFormat, op, "neither an httprr trace nor text that could be a cassette")
}

// isText reports whether b is UTF-8 without control characters other than
// tabs and line ends.
func isText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r'
	}) < 0
}
