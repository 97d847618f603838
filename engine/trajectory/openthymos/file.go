package openthymos

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of files.
const (
	// ErrNotLedger means that a file is no export of a ledger: neither a list
	// of entries, nor an object with one, nor a line for each. Give another
	// file.
	ErrNotLedger fault.Invalid = "openthymos.not_a_ledger"
	// ErrTooLarge means that a file has more bytes or entries than this
	// reader takes. Verify it in parts.
	ErrTooLarge fault.Invalid = "openthymos.too_large"
	// ErrDamaged means that a file breaks off or is no JSON from some entry
	// on. Trust nothing of it, and get it again.
	ErrDamaged fault.Integrity = "openthymos.damaged_file"
)

// Limits on what comes from outside.
const (
	// MaxFile is how many bytes a file may have.
	MaxFile = 1 << 30
	// MaxEntries is how many entries a ledger may have.
	MaxEntries = 1 << 22
)

// Entry is one entry as an export holds it. Nothing in it is checked.
type Entry struct {
	JSON []byte // the object {id, trajectory_id, parent, seq, kind, payload}
}

// File is an export of one ledger.
type File struct {
	Entries []Entry // they share the bytes that were read
	// Damage is what ends the file too early, or nil; its code is
	// [ErrDamaged].
	Damage error
	// Ignored are the names of members beside the entries that say nothing
	// about the ledger.
	Ignored []string
}

// All yields the entries and then the damage, if there is one.
func (f *File) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range f.Entries {
			if !yield(e, nil) {
				return
			}
		}
		if f.Damage != nil {
			yield(Entry{}, f.Damage)
		}
	}
}

// Read splits an export into entries: a JSON array of them, an object with the
// member entries (the answer of GET /audit/entries), or JSON lines. It refuses
// what is none of these with [ErrNotLedger]; damage behind the beginning is
// kept in the File, so that a verification names its place.
func Read(b []byte) (*File, error) {
	const op = "openthymos.Read"
	if len(b) > MaxFile {
		return nil, fault.New(ErrTooLarge, op, "%d bytes are more than %d", len(b), MaxFile)
	}
	r := reader{bytes: b, dec: decoder(b)}
	var err error
	switch r.dec.PeekKind() {
	case '[':
		err = r.array()
		r.end()
	case '{':
		var lines bool
		if lines, err = r.object(); lines {
			r = reader{bytes: b, dec: decoder(b)}
			err = r.lines()
		} else if err == nil {
			r.end()
		}
	default:
		return nil, fault.New(ErrNotLedger, op, "the file begins neither with a list nor with an object")
	}
	if err != nil {
		return nil, err
	}
	return &r.file, nil
}

// decoder finds where values begin and end. Names that stand twice are left
// to the verification, which knows the entry.
func decoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))
}

type reader struct {
	bytes []byte
	dec   *jsontext.Decoder
	file  File
}

func (r *reader) damage(err error) {
	if r.file.Damage == nil {
		r.file.Damage = fault.Wrap(ErrDamaged, "openthymos.Read", err, "the file is no JSON after byte %d", r.dec.InputOffset())
	}
}

// add reads one entry and reports whether to go on.
func (r *reader) add() (bool, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		r.damage(err)
		return false, nil
	}
	if len(r.file.Entries) == MaxEntries {
		return false, fault.New(ErrTooLarge, "openthymos.Read", "more than %d entries", MaxEntries)
	}
	end := r.dec.InputOffset()
	r.file.Entries = append(r.file.Entries, Entry{JSON: r.bytes[end-int64(len(v)) : end]})
	return true, nil
}

func (r *reader) array() error {
	if _, err := r.dec.ReadToken(); err != nil {
		r.damage(err)
		return nil
	}
	for r.dec.PeekKind() != ']' {
		if more, err := r.add(); !more {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		r.damage(err)
	}
	return nil
}

func (r *reader) lines() error {
	for {
		switch r.dec.PeekKind() {
		case '{':
			if more, err := r.add(); !more {
				return err
			}
		default:
			r.end()
			return nil
		}
	}
}

// object reads an object that holds the entries. It reports true if the
// object is an entry itself: then the file has one on each line.
func (r *reader) object() (lines bool, err error) {
	const op = "openthymos.Read"
	if _, err := r.dec.ReadToken(); err != nil {
		return false, fault.Wrap(ErrNotLedger, op, err, "the file is no JSON")
	}
	found, count := false, int64(-1)
	for r.dec.PeekKind() == '"' {
		token, err := r.dec.ReadToken()
		if err != nil {
			r.damage(err)
			return false, nil
		}
		switch name := token.String(); {
		case name == "payload" && !found:
			return true, nil
		case name == "entries" && found:
			r.damage(fault.New(canon.ErrDuplicateName, op, "there are two lists of entries"))
			return false, nil
		case name == "entries":
			if found = true; r.dec.PeekKind() != '[' {
				return false, fault.New(ErrNotLedger, op, "the member entries is no list")
			}
			if err := r.array(); err != nil || r.file.Damage != nil {
				return false, err
			}
		default:
			v, err := r.dec.ReadValue()
			if err != nil {
				r.damage(err)
				return false, nil
			}
			if name != "count" {
				r.file.Ignored = append(r.file.Ignored, name)
			} else if n, err := canon.Parse(v); err == nil {
				count, _ = n.AsInt()
			}
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		r.damage(err)
	}
	switch {
	case !found && r.file.Damage == nil:
		return false, fault.New(ErrNotLedger, op, "the object holds no entries")
	case found && count >= 0 && count != int64(len(r.file.Entries)):
		r.damage(fault.New(ErrDamaged, op, "the export says that it holds %d entries, and holds %d", count, len(r.file.Entries)))
	}
	return false, nil
}

// end takes note of what follows where nothing may.
func (r *reader) end() {
	if r.file.Damage != nil {
		return
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fault.New(canon.ErrSyntax, "openthymos.Read", "something follows behind the end")
		}
		r.damage(err)
	}
}
