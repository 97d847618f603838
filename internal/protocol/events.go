package protocol

import (
	"bytes"
	"iter"
)

// Events yields the data of each server-sent event of a stream: the data lines
// of one event joined by newlines, as the standard of event streams has it. A
// last event without its empty line counts, because a stream that broke off
// is read too.
func Events(stream []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		stream = bytes.TrimPrefix(stream, []byte("\xef\xbb\xbf"))
		var data []byte
		has := false
		for len(stream) > 0 {
			var line []byte
			line, stream = nextLine(stream)
			if len(line) == 0 {
				if has && !yield(data) {
					return
				}
				data, has = nil, false
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			if string(name) != "data" {
				continue
			}
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
		if has {
			yield(data)
		}
	}
}

// nextLine cuts the first line off, which ends with CR LF, LF or CR.
func nextLine(b []byte) (line, rest []byte) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil
	}
	rest = b[i+1:]
	if b[i] == '\r' && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	return b[:i], rest
}

// CountEvents returns how many events a stream of that media type has.
func CountEvents(contentType string, stream []byte) (n int64) {
	switch {
	case isType(contentType, EventStreamType):
		for range EventStream(stream) {
			n++
		}
	case isType(contentType, "application/x-ndjson"):
		for line := range bytes.Lines(stream) {
			if len(bytes.TrimSpace(line)) > 0 {
				n++
			}
		}
	default:
		for range Events(stream) {
			n++
		}
	}
	return n
}
