package openthymos

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// line is an entry as one of the two verdicts reads it.
type line struct {
	id, trajectory string
	parent         string // empty for null
	linked         bool   // the export says what the parent is
	seq            uint64
	kind           string
	payload        canon.Value
	content        canon.Digest // of the payload
	unknown        []string     // members that the format does not have
	dated          bool         // it has created_at, which no hash covers
	changed        bool         // OpenThymos would write it otherwise than it is stored
	body           canon.Digest // content of a commit's body

	signature *signature // what was found, so that both verdicts check once
}

func (l *line) typ() string { return l.payload.Get("type").Str() }

// forms are those that lines are read by.
type forms struct{ entry, payload *form }

// line reads an entry by r. What it gives is what OpenThymos hashes if r is
// lenient, and else what is stored.
func (f *forms) line(v canon.Value, r reading) (*line, error) {
	out, err := r.value(f.entry, v)
	if err != nil {
		return nil, err
	}
	l := &line{
		id: out.Get("id").Str(), trajectory: out.Get("trajectory_id").Str(), kind: out.Get("kind").Str(),
		parent: out.Get("parent").Str(), linked: v.Has("parent"), dated: v.Has("created_at"),
	}
	l.seq, _ = count(out.Get("seq"))
	if rustName(l.kind) == "" {
		return nil, misfit("kind", "unknown entry kind: "+l.kind)
	}
	stored := v.Get("payload")
	written, err := r.value(f.payload, stored)
	if err != nil {
		return nil, under("payload", err)
	}
	l.unknown = r.unknown
	if l.payload = stored; r.lenient {
		l.payload = written
	}
	b, err := canon.Encode(l.payload, canon.ThymosSerde)
	if err != nil {
		return nil, misfit("payload", err.Error())
	}
	l.content = canon.BLAKE3(b)
	l.changed = r.changed
	if l.typ() == kindCommit {
		// Names are sorted and id and type have one length each, so that the
		// bytes of the body need not be written again.
		const before, after = `{"body":`, `,"id":"","type":"commit"}`
		if l.payload.Len() == 3 {
			l.body = canon.BLAKE3(b[len(before) : len(b)-len(after)-64])
		} else {
			l.body = digest(contentID(l.payload.Get("body")))
		}
	}
	return l, nil
}

// maxRustDepth is how deep OpenThymos reads.
const maxRustDepth = 127

// parseLenient reads JSON as OpenThymos does: several members of one name are
// kept, and nesting ends earlier than here.
func parseLenient(b []byte) (canon.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))
	v, err := lenientValue(dec)
	if err != nil {
		return v, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return v, misfit("", "trailing characters")
	}
	return v, nil
}

func lenientValue(dec *jsontext.Decoder) (canon.Value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return canon.Value{}, misfit("", err.Error())
	}
	// The entry itself is one level, and is no part of what is stored.
	if dec.StackDepth() > maxRustDepth+1 {
		return canon.Value{}, misfit("", "recursion limit exceeded")
	}
	switch token.Kind() {
	case 'n':
		return canon.Null(), nil
	case 't', 'f':
		return canon.Bool(token.Bool()), nil
	case '"':
		return canon.String(token.String()), nil
	case '0':
		return canon.Number(token.String())
	case '[':
		return lenientList(dec)
	default:
		return lenientObject(dec)
	}
}

func lenientList(dec *jsontext.Decoder) (canon.Value, error) {
	var out []canon.Value
	for dec.PeekKind() != ']' {
		v, err := lenientValue(dec)
		if err != nil {
			return v, err
		}
		out = append(out, v)
	}
	_, err := dec.ReadToken()
	return canon.Array(out...), err
}

func lenientObject(dec *jsontext.Decoder) (canon.Value, error) {
	var out []canon.Member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return canon.Value{}, misfit("", err.Error())
		}
		key := name.String()
		v, err := lenientValue(dec)
		if err != nil {
			return v, err
		}
		out = append(out, canon.M(key, v))
	}
	_, err := dec.ReadToken()
	return canon.Object(out...), err
}
