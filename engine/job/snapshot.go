package job

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	// ErrIntegrity means that a snapshot, a log or something that a replay
	// needs is not what was signed, or that it cannot be checked. The replay
	// halts; the council decides whether it goes on.
	ErrIntegrity fault.Integrity = "INTEGRITY_FAILURE"
	// ErrMissingSnapshot means that not all five snapshots of a job are there;
	// the error names those that are not. Restore them from the archive.
	ErrMissingSnapshot fault.NotFound = "MISSING_SNAPSHOT"
	// ErrServerKey stands beneath INTEGRITY_FAILURE where the key to check with
	// is not at hand (M-32). Nothing is known to be wrong, so this sets no halt:
	// ask operations for the key of that id.
	ErrServerKey fault.Integrity = "job.no_server_key"
	// ErrSnapshot means that something cannot be made a snapshot: its kind is
	// unknown, it has no seed, or its content is too large or cannot be written.
	// Mend the job.
	ErrSnapshot fault.Invalid = "job.bad_snapshot"
)

// MaxSnapshot is how many bytes a snapshot may have.
const MaxSnapshot = 16 << 20

const (
	// SnapshotVersion is the schema_version of the contents that this package
	// reads.
	SnapshotVersion = "1.0"
	// Generator names the function that makes snapshot ids (M-45).
	Generator = "sha256(config_hash:schema_version:seed_namespace)"

	addressTag = "reprise/job/snapshot/v1\n"
	macTag     = "reprise/job/snapshot-mac/v1\n"
)

// Kind is which of the five snapshots of a job one is.
type Kind string

// The kinds.
const (
	KindSelfRep    Kind = "selfrep"
	KindBrainState Kind = "brainstate"
	KindRouter     Kind = "router"
	KindPrivacy    Kind = "privacy"
	KindGovernance Kind = "governance"
)

// kinds holds the kinds in the order of the document.
var kinds = [...]Kind{KindSelfRep, KindBrainState, KindRouter, KindPrivacy, KindGovernance}

// Kinds returns the five kinds, in the order of the document.
func Kinds() []Kind { return slices.Clone(kinds[:]) }

// Field returns the member of the reflective log that names the snapshot of the
// kind, such as router_snapshot_id (M-25 to M-29).
func (k Kind) Field() string { return string(k) + "_snapshot_id" }

// Key is the server key, or one of those before it. Its secret is a key for
// this one purpose.
type Key struct {
	ID     string
	Secret []byte
}

// Snapshot is what a job starts from, frozen: a state or a configuration, under
// the id of the document's formula and an address that names all of it.
type Snapshot struct {
	ID            string // snapshot_id
	Kind          Kind
	ConfigHash    string // SHA-256 over the canonical bytes of the content
	SchemaVersion string
	SeedNamespace string // the seed, a slash and the kind
	Generator     string // the function by which the id was made
	Seed          det.Seed
	Profile       canon.Profile
	Content       canon.Value
	Address       canon.Digest // over everything above
	KeyID         string       // of the key that signed; empty: not signed
	MAC           canon.Digest // over everything above
}

// Make returns the snapshot of a content, not signed yet. Numbers are rounded
// here, as the profile writes them. It refuses with [ErrSnapshot]; whether the
// content is one of its kind is said by the reader of that kind.
func Make(kind Kind, seed det.Seed, content canon.Value) (Snapshot, error) {
	const op = "job.Make"
	if !slices.Contains(kinds[:], kind) {
		return Snapshot{}, fault.New(ErrSnapshot, op, "there is no snapshot of the kind %q", kind)
	}
	if seed == "" || len(seed) > canon.MaxName {
		return Snapshot{}, fault.New(ErrSnapshot, op, "the seed of the %s snapshot has %d bytes, not 1 to %d", kind, len(seed), canon.MaxName)
	}
	if content.Kind() != canon.KindObject {
		return Snapshot{}, fault.New(ErrSnapshot, op, "the content of the %s snapshot is no object", kind)
	}
	b, err := canon.Encode(content, canon.MACEFixed9)
	if err != nil {
		return Snapshot{}, fault.Wrap(ErrSnapshot, op, err, "the content of the %s snapshot", kind)
	}
	if len(b) > MaxSnapshot/2 {
		return Snapshot{}, fault.New(ErrSnapshot, op, "the content of the %s snapshot has %d bytes; at most %d fit", kind, len(b), MaxSnapshot/2)
	}
	written, err := canon.Parse(b)
	if err != nil {
		return Snapshot{}, fault.Wrap(ErrSnapshot, op, err, "the content of the %s snapshot", kind)
	}
	s := Snapshot{
		Kind: kind, ConfigHash: canon.SHA256(b).String(), SchemaVersion: SnapshotVersion,
		SeedNamespace: Namespace(seed, kind), Generator: Generator, Seed: seed,
		Profile: canon.MACEFixed9, Content: written,
	}
	s.ID = SnapshotID(s.ConfigHash, s.SchemaVersion, s.SeedNamespace)
	s.Address, err = s.address()
	return s, err
}

// Namespace is the seed namespace of a kind. It keeps kinds apart: an empty configuration of one is not one of
// another.
func Namespace(seed det.Seed, kind Kind) string { return string(seed) + "/" + string(kind) }

// Seal returns s signed with the key (M-07).
func (s Snapshot) Seal(key Key) (Snapshot, error) {
	const op = "job.Snapshot.Seal"
	if key.ID == "" || len(key.ID) > canon.MaxName {
		return Snapshot{}, fault.New(ErrSnapshot, op, "the id of the server key has %d bytes, not 1 to %d", len(key.ID), canon.MaxName)
	}
	s.KeyID = key.ID
	b, err := canon.Encode(s.signed(), s.Profile)
	if err != nil {
		return Snapshot{}, fault.Wrap(ErrSnapshot, op, err, "snapshot %s", s.ID)
	}
	if s.MAC, err = sign.MAC(key.Secret, []byte(macTag), b); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

// Check checks everything that s claims: first the signature, with the one of
// the keys that it names, then its digests and the provenance of its id (M-09,
// M-46). What is wrong is INTEGRITY_FAILURE, with the snapshot and the check
// among its details; without the key it is that too, and [ErrServerKey].
func (s Snapshot) Check(keys ...Key) error {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.ID == s.KeyID })
	if s.KeyID == "" {
		return s.broken("signature", nil, "it is not signed")
	}
	if i < 0 {
		cause := fault.New(ErrServerKey, "job.Snapshot.Check", "the server key %q is not at hand", s.KeyID)
		return s.broken("signature", cause, "missing: server key %s", s.KeyID)
	}
	b, err := canon.Encode(s.signed(), canon.MACEFixed9)
	if err != nil {
		return s.broken("form", err, "it cannot be written")
	}
	if err := sign.CheckMAC(keys[i].Secret, s.MAC[:], []byte(macTag), b); err != nil {
		return s.broken("signature", err, "the signature does not fit")
	}
	return s.provenance()
}

// provenance checks what follows from the content and the metadata.
func (s Snapshot) provenance() error {
	switch {
	case !slices.Contains(kinds[:], s.Kind):
		return s.broken("kind", nil, "there is no kind %q", s.Kind)
	case s.Profile != canon.MACEFixed9:
		return s.broken("profile", nil, "missing: serializer profile %s", s.Profile)
	case s.SchemaVersion != SnapshotVersion:
		return s.broken("schema_version", nil, "missing: schema version %s; this version reads %s", s.SchemaVersion, SnapshotVersion)
	case s.Generator != Generator:
		return s.broken("generator", nil, "missing: generator %q", s.Generator)
	case s.Seed == "":
		return s.broken("seed", nil, "missing: seed")
	}
	b, err := canon.Encode(s.Content, s.Profile)
	if err != nil {
		return s.broken("content", err, "the content cannot be written")
	}
	if got := canon.SHA256(b).String(); got != s.ConfigHash {
		return s.broken("config_hash", nil, "the content hashes to %s, not %s", got, s.ConfigHash)
	}
	if s.SeedNamespace != Namespace(s.Seed, s.Kind) {
		return s.broken("seed_namespace", nil, "the namespace %q is not that of the seed and kind", s.SeedNamespace)
	}
	if got := SnapshotID(s.ConfigHash, s.SchemaVersion, s.SeedNamespace); got != s.ID {
		return s.broken("snapshot_id", nil, "the generator gives %s", got)
	}
	if got, err := s.address(); err != nil || got != s.Address {
		return s.broken("address", err, "the address is %s, not %s", got, s.Address)
	}
	return nil
}

func (s Snapshot) broken(check string, cause error, format string, args ...any) error {
	e := fault.New(ErrIntegrity, "job.Snapshot.Check", format, args...)
	e.Msg = string(s.Kind) + " snapshot " + s.ID + ": " + e.Msg
	e.Err = cause
	return e.With("snapshot_id: "+s.ID, "check: "+check)
}

func (s Snapshot) address() (canon.Digest, error) {
	b, err := canon.Encode(canon.Object(s.members()...), s.Profile)
	if err != nil {
		return canon.Digest{}, fault.Wrap(ErrSnapshot, "job.Snapshot", err, "the %s snapshot", s.Kind)
	}
	return canon.Hash(addressTag, b), nil
}

// members returns what the address is over.
func (s Snapshot) members() []canon.Member {
	return []canon.Member{
		canon.M("config_hash", canon.String(s.ConfigHash)),
		canon.M("content", s.Content),
		canon.M("generator", canon.String(s.Generator)),
		canon.M("kind", canon.String(string(s.Kind))),
		canon.M("profile", canon.String(string(s.Profile))),
		canon.M("schema_version", canon.String(s.SchemaVersion)),
		canon.M("seed", canon.String(string(s.Seed))),
		canon.M("seed_namespace", canon.String(s.SeedNamespace)),
		canon.M("snapshot_id", canon.String(s.ID)),
	}
}

// signed returns what the signature is over: all but itself.
func (s Snapshot) signed() canon.Value {
	return canon.Object(append(s.members(),
		canon.M("address", canon.String(s.Address.String())),
		canon.M("key_id", canon.String(s.KeyID)))...)
}

// Value returns s as a log or an archive holds it. It must be sealed.
func (s Snapshot) Value() canon.Value {
	signed := s.signed()
	return canon.Object(append(slices.Clone(signed.Members()), canon.M("mac", canon.String(s.MAC.String())))...)
}

// Bytes returns the canonical bytes of [Snapshot.Value]: what is stored.
func (s Snapshot) Bytes() ([]byte, error) {
	if s.KeyID == "" {
		return nil, fault.New(ErrSnapshot, "job.Snapshot.Bytes", "the %s snapshot %s is not signed", s.Kind, s.ID)
	}
	b, err := canon.Encode(s.Value(), s.Profile)
	if err != nil {
		return nil, fault.Wrap(ErrSnapshot, "job.Snapshot.Bytes", err, "snapshot %s", s.ID)
	}
	return b, nil
}

// ParseSnapshot reads what [Snapshot.Bytes] returns and nothing else. Other
// bytes are INTEGRITY_FAILURE: they were a snapshot before somebody changed
// them. It checks the form; what the snapshot claims is for [Snapshot.Check].
func ParseSnapshot(b []byte) (Snapshot, error) {
	const op = "job.ParseSnapshot"
	if len(b) > MaxSnapshot {
		return Snapshot{}, fault.New(ErrIntegrity, op, "a snapshot of %d bytes; the most is %d", len(b), MaxSnapshot)
	}
	if err := canon.Check(b, canon.MACEFixed9); err != nil {
		return Snapshot{}, fault.Wrap(ErrIntegrity, op, err, "these bytes are no snapshot")
	}
	v, err := canon.Parse(b)
	if err != nil {
		return Snapshot{}, fault.Wrap(ErrIntegrity, op, err, "these bytes are no snapshot")
	}
	r := newRecord(v, ErrIntegrity, op, "the snapshot", strings.Fields(`address config_hash content generator key_id kind
		mac profile schema_version seed seed_namespace snapshot_id`)...)
	s := Snapshot{
		ID:            r.digest("snapshot_id"),
		Kind:          Kind(r.Name("kind")),
		ConfigHash:    r.digest("config_hash"),
		SchemaVersion: r.Name("schema_version"),
		SeedNamespace: r.Text("seed_namespace", 2*canon.MaxName),
		Generator:     r.Name("generator"),
		Seed:          det.Seed(r.Name("seed")),
		Profile:       canon.Profile(r.Name("profile")),
		Content:       v.Get("content"),
		KeyID:         r.Name("key_id"),
	}
	if s.Content.Kind() != canon.KindObject {
		r.Fail("the content of the snapshot is no object")
	}
	s.Address, _ = canon.ParseDigest(r.digest("address"))
	s.MAC, _ = canon.ParseDigest(r.digest("mac"))
	if r.Err != nil {
		return Snapshot{}, r.Err
	}
	return s, nil
}

// Set is the snapshots of a job, at most one of each kind. The zero Set is
// empty.
type Set struct {
	held [len(kinds)]Snapshot
}

// NewSet returns the set of these snapshots. It refuses with [ErrSnapshot] two
// of a kind.
func NewSet(snapshots ...Snapshot) (Set, error) {
	var set Set
	for _, s := range snapshots {
		i := slices.Index(kinds[:], s.Kind)
		if i < 0 || set.held[i].ID != "" {
			return Set{}, fault.New(ErrSnapshot, "job.NewSet", "a second snapshot, or none, of the kind %q", s.Kind)
		}
		set.held[i] = s
	}
	return set, nil
}

// Of returns the snapshot of a kind, if it is there.
func (s Set) Of(kind Kind) (Snapshot, bool) {
	i := slices.Index(kinds[:], kind)
	if i < 0 || s.held[i].ID == "" {
		return Snapshot{}, false
	}
	return s.held[i], true
}

// Missing returns which of the five are not there, as the reflective log names
// them, in the order of the document.
func (s Set) Missing() []string {
	var missing []string
	for i, k := range kinds {
		if s.held[i].ID == "" {
			missing = append(missing, k.Field())
		}
	}
	return missing
}

// Check refuses a set that is not whole with MISSING_SNAPSHOT, whose details
// are what is missing, and then the first snapshot that [Snapshot.Check]
// refuses.
func (s Set) Check(keys ...Key) error {
	if missing := s.Missing(); len(missing) > 0 {
		return fault.New(ErrMissingSnapshot, "job.Set.Check", "missing: %s", strings.Join(missing, ", ")).With(missing...)
	}
	for _, held := range s.held {
		if err := held.Check(keys...); err != nil {
			return err
		}
	}
	return nil
}

// Members returns the five members by which the reflective log names the
// snapshots; what is missing is null.
func (s Set) Members() []canon.Member {
	members := make([]canon.Member, len(kinds))
	for i, k := range kinds {
		members[i] = canon.M(k.Field(), canon.Text(s.held[i].ID).OrNull())
	}
	return members
}
