package ledger

import (
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of entries.
const (
	// ErrBody means that a body is not what its kind allows: not canonical,
	// too large, or with a member that the kind does not have. On append mend
	// the caller; found in a ledger, trust the entry no longer.
	ErrBody fault.Invalid = "ledger.bad_body"
	// ErrAbsent means that a body or an attachment that is needed is not
	// there: withheld, erased or lost.
	ErrAbsent fault.Integrity = "ledger.content_absent"
)

// MaxBody is the size limit of a body, in bytes. What is larger is an
// attachment.
const MaxBody = 64 << 10

// MaxAttachments is how many attachments an entry may have.
const MaxAttachments = 64

// Entry is one entry as it is stored. Nothing in it is derived: the id is a
// claim that [Verify] checks.
type Entry struct {
	ID     canon.Digest
	Header []byte
	Scope  string // of the body; the unit of its erasure
	Salt   canon.Salt
	Body   []byte      // nil if absent
	Parts  []blob.Part // one for each attachment that the body names, in that order
}

// Attachment is what a body says of one attachment.
type Attachment struct {
	Name  string
	Type  string // media type
	Size  int64
	Bind  canon.Digest
	Scope string // empty: that of the body
}

// Content is an attachment as an engine gives it: the bytes themselves.
type Content struct {
	Name  string
	Type  string
	Bytes []byte

	// Scope names a unit of erasure below that of the run, for a content that
	// is to be erased apart from the rest; empty: that of the run. It is no part
	// of the comparison form.
	Scope string
}

// Decision is what an engine concludes: an entry without its place. The
// shell draws salts, stores the contents and writes att and refs.
type Decision struct {
	Kind     Kind
	Body     canon.Value // an object without att and refs
	Contents []Content
}

// Draft is an entry that is about to be appended.
type Draft struct {
	Run   RunID // whose scope is not spelled out; may be empty
	Kind  Kind
	Body  canon.Value // an object without att and refs
	Refs  canon.Value // an object of place ids, or absent
	Att   []Attachment
	Parts []blob.Part
	Scope string // empty: the run's
	Salt  canon.Salt
	T     string
}

// Position is a place in a ledger: how many entries it has and the id of the
// last. The zero Position is that of an empty ledger.
type Position struct {
	Count int64
	Last  canon.Digest
}

// Prepared is a draft whose body is written and bound. Only its place is
// missing, so that a writer holds its lock for little more than one hash.
type Prepared struct {
	kind  Kind
	t     string
	body  []byte
	bind  canon.Digest
	scope string
	salt  canon.Salt
	parts []blob.Part
}

// Size returns about how many bytes the entry takes in a store.
func (p *Prepared) Size() int {
	n := len(p.body) + 512
	for i := range p.parts {
		n += len(p.parts[i].Recipe) + 64
	}
	return n
}

// Prepare writes the body of d. It refuses what [Verify] would refuse.
func Prepare(d Draft) (Prepared, error) {
	const op = "ledger.Prepare"
	if len(d.Att) != len(d.Parts) || len(d.Att) > MaxAttachments {
		return Prepared{}, fault.New(ErrBody, op, "%d attachments with %d parts; the limit is %d", len(d.Att), len(d.Parts), MaxAttachments)
	}
	v := d.Body
	scope := scopeOr(d.Scope, d.Run)
	if len(d.Att) > 0 {
		v = v.With("att", attValue(d.Att, d.Parts, scope))
	}
	if scope != string(d.Run) {
		v = v.With("scope", canon.String(scope))
	}
	if d.Refs.Len() > 0 {
		v = v.With("refs", d.Refs)
	}
	body, err := canon.Encode(v, canon.Native)
	if err != nil {
		return Prepared{}, fault.Wrap(ErrBody, op, err, "a %s body", d.Kind)
	}
	if len(body) > MaxBody {
		return Prepared{}, fault.New(ErrBody, op, "a %s body of %d bytes is over the limit of %d; put what is long into an attachment", d.Kind, len(body), MaxBody)
	}
	// What was just encoded is canonical; only the members are open.
	if err := checkValue(d.Kind, v); err != nil {
		return Prepared{}, err
	}
	return Prepared{
		kind: d.Kind, t: d.T, body: body, bind: canon.Bind(&d.Salt, body),
		scope: d.Scope, salt: d.Salt, parts: d.Parts,
	}, nil
}

// Next makes the entry that follows at, and the position behind it.
func (at Position) Next(run RunID, p Prepared) (Entry, Position) {
	h := Header{
		Run: run, N: at.Count, Prev: at.Last, Kind: p.kind, Type: BodyType,
		Size: int64(len(p.body)), Bind: p.bind, T: p.t,
	}
	e := Entry{
		Header: h.Append(make([]byte, 0, 384)),
		Scope:  scopeOr(p.scope, run), Salt: p.salt, Body: p.body, Parts: p.parts,
	}
	e.ID = ID(e.Header)
	return e, Position{Count: at.Count + 1, Last: e.ID}
}

// scopeOr returns the scope named, or that of the run.
func scopeOr(scope string, run RunID) string {
	if scope == "" {
		return string(run)
	}
	return scope
}

// attValue names the scope of an attachment where it is another one than that
// of the body, so that nobody can move contents to another scope unnoticed.
func attValue(list []Attachment, parts []blob.Part, home string) canon.Value {
	vs := make([]canon.Value, len(list))
	for i, a := range list {
		var scope canon.Value
		if s := parts[i].Scope; s != "" && s != home {
			scope = canon.String(s)
		}
		vs[i] = canon.Object(
			canon.M("bind", canon.String(a.Bind.String())),
			canon.M("name", canon.String(a.Name)),
			canon.M("scope", scope),
			canon.M("size", canon.Int(a.Size)),
			canon.M("type", canon.String(a.Type)),
		)
	}
	return canon.Array(vs...)
}

// Opened is a parsed entry: the header and the members of the body.
type Opened struct {
	Header
	ID    canon.Digest
	Body  canon.Value // as stored, att and refs included
	Att   []Attachment
	Parts []blob.Part
}

// Parse reads e. It checks the form, not the hashes; an absent body gives an
// Opened whose Body is absent.
func Parse(e *Entry) (Opened, error) {
	h, err := ParseHeader(e.Header)
	if err != nil {
		return Opened{}, err
	}
	o := Opened{Header: h, ID: e.ID, Parts: e.Parts}
	if e.Body == nil {
		return o, nil
	}
	if o.Body, err = canon.Parse(e.Body); err != nil {
		return Opened{}, err
	}
	o.Att, err = parseAtt(o.Body.Get("att"))
	return o, err
}

// ParseContents reads of e only what it says of its attachments, which takes a
// fraction of what [Parse] takes. An entry that pins another one holds that
// one's contents.
func ParseContents(e *Entry) (att []Attachment, pins bool, err error) {
	var r contentsReader
	if err := canon.CheckMembers(e.Body, &r); err != nil {
		return nil, false, fault.Wrap(ErrBody, "ledger.ParseContents", err, "a body")
	}
	if r.refs != nil {
		if r.refs[0] != '{' {
			return nil, false, fault.New(ErrBody, "ledger.ParseContents", "refs is not an object")
		}
		pins = field(r.refs, "pin") != nil
	}
	if r.att == nil {
		return nil, pins, nil
	}
	v, err := canon.Parse(r.att)
	if err == nil {
		att, err = parseAtt(v)
	}
	return att, pins, err
}

// contentsReader takes the members of a body that name contents.
type contentsReader struct{ att, refs []byte }

// Member implements [canon.Members].
func (r *contentsReader) Member(name, value []byte) {
	switch string(name) {
	case "att":
		r.att = value
	case "refs":
		r.refs = value
	}
}

// Ref returns a reference to the entry, as refs hold it.
func (o *Opened) Ref() canon.Value { return Ref{o.Run, o.N, o.ID}.Value() }

// Data returns the member data of the body.
func (o *Opened) Data() canon.Value { return o.Body.Get("data") }

// Attachment returns the place of the attachment of that name, or -1.
func (o *Opened) Attachment(name string) int {
	for i, a := range o.Att {
		if a.Name == name {
			return i
		}
	}
	return -1
}

func parseAtt(v canon.Value) ([]Attachment, error) {
	if v.IsZero() {
		return nil, nil
	}
	if v.Kind() != canon.KindArray || v.Len() == 0 || v.Len() > MaxAttachments {
		return nil, fault.New(ErrBody, "ledger.Parse", "att is not a list of 1 to %d attachments", MaxAttachments)
	}
	out := make([]Attachment, v.Len())
	for i, a := range v.Elems() {
		d, err := canon.ParseDigest(a.Get("bind").Str())
		size, ok := a.Get("size").AsInt()
		name, ok2 := a.Get("name").AsString()
		typ, ok3 := a.Get("type").AsString()
		scope, members := a.Get("scope").Str(), 4
		if scope != "" {
			members++
		}
		if err != nil || !ok || !ok2 || !ok3 || a.Len() != members || size < 0 || name == "" || typ == "" {
			return nil, fault.New(ErrBody, "ledger.Parse", "att/%d is not {bind, name, scope, size, type}", i)
		}
		out[i] = Attachment{Name: name, Type: typ, Size: size, Bind: d, Scope: scope}
	}
	return out, nil
}

// Ref names an entry of this or of another ledger.
type Ref struct {
	Run RunID
	N   int64
	ID  canon.Digest
}

// Value returns r as refs hold it: {id, n, run}.
func (r Ref) Value() canon.Value {
	return canon.Object(
		canon.M("id", canon.String(r.ID.String())),
		canon.M("n", canon.Int(r.N)),
		canon.M("run", canon.String(string(r.Run))),
	)
}

// ParseRef reads what [Ref.Value] writes.
func ParseRef(v canon.Value) (Ref, error) {
	id, err := canon.ParseDigest(v.Get("id").Str())
	n, ok := v.Get("n").AsInt()
	run := RunID(v.Get("run").Str())
	if err != nil || !ok || n < 0 || !run.Valid() || v.Len() != 3 {
		return Ref{}, fault.New(ErrBody, "ledger.ParseRef", "not a reference {id, n, run}")
	}
	return Ref{run, n, id}, nil
}
