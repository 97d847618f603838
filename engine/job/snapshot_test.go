package job_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func serverKey(id string) job.Key {
	return job.Key{ID: id, Secret: []byte(id + " is a key of at least 16 bytes")}
}

// seal returns a signed snapshot of a content written as JSON.
func seal(t testing.TB, kind job.Kind, seed det.Seed, content string) job.Snapshot {
	t.Helper()
	s, err := job.Make(kind, seed, parse(t, content))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.Seal(serverKey("k1")); err != nil {
		t.Fatal(err)
	}
	return s
}

func details(err error) []string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Detail
	}
	return nil
}

// spec: M-07
// spec: M-45
func TestASnapshotIsSignedAndSaysHowItsIDWasMade(t *testing.T) {
	t.Parallel()
	s := seal(t, job.KindRouter, "seed-0001", `{"b":0.5,"a":1}`)
	b, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	v := parse(t, string(b))
	for _, c := range []struct{ member, want string }{
		{"generator", "sha256(config_hash:schema_version:seed_namespace)"},
		{"seed", "seed-0001"},
		{"seed_namespace", "seed-0001/router"},
		{"schema_version", "1.0"},
		{"profile", "mace-fixed9"},
		{"key_id", "k1"},
		{"config_hash", canon.SHA256([]byte(`{"a":1,"b":0.500000000}`)).String()},
	} {
		if got := v.Get(c.member).Str(); got != c.want {
			t.Errorf("the member %s = %q, want %q", c.member, got, c.want)
		}
	}
	if got, want := v.Get("snapshot_id").Str(), det.ID(v.Get("config_hash").Str(), "1.0", "seed-0001/router"); got != want {
		t.Errorf("snapshot_id = %s, want %s", got, want)
	}
	back, err := job.ParseSnapshot(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Check(serverKey("k0"), serverKey("k1")); err != nil {
		t.Errorf("Check() = %v, want nil", err)
	}
	if again, err := back.Bytes(); err != nil || string(again) != string(b) {
		t.Errorf("Bytes() after ParseSnapshot = %s, %v, want %s", again, err, b)
	}
}

// spec: M-99
func TestASnapshotIDNamesTheContent(t *testing.T) {
	t.Parallel()
	id := func(kind job.Kind, seed det.Seed, content string) string { return seal(t, kind, seed, content).ID }
	base := id(job.KindRouter, "s", `{"a":0.5}`)
	if got := id(job.KindRouter, "s", `{"a":0.50000000001}`); got != base {
		t.Errorf("the id of what is written alike = %s, want %s", got, base)
	}
	for name, other := range map[string]string{
		"another content": id(job.KindRouter, "s", `{"a":0.500000001}`),
		"another seed":    id(job.KindRouter, "s2", `{"a":0.5}`),
		"another kind":    id(job.KindPrivacy, "s", `{"a":0.5}`),
	} {
		if other == base {
			t.Errorf("%s has the same id", name)
		}
	}
}

// REPLAY-03, as far as one snapshot goes: whatever byte of it is changed, it
// is INTEGRITY_FAILURE.
//
// spec: M-67
func TestEveryChangedByteOfASnapshotIsAnIntegrityFailure(t *testing.T) {
	t.Parallel()
	b, err := seal(t, job.KindRouter, "seed-0001", `{"text":"ä","n":[0.5,1,true,null]}`).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		for _, mask := range []byte{0x01, 0x02, 0x20, 0x80, 0xff} {
			changed := slices.Clone(b)
			changed[i] ^= mask
			s, err := job.ParseSnapshot(changed)
			if err == nil {
				err = s.Check(serverKey("k1"))
			}
			if code := fault.CodeOf(err); code == nil || code.Error() != "INTEGRITY_FAILURE" {
				t.Fatalf("byte %d ^ %#x: %v, want INTEGRITY_FAILURE", i, mask, err)
			}
		}
	}
	for _, cut := range [][]byte{nil, b[:len(b)-1], append(slices.Clone(b), '\n'), append([]byte{' '}, b...)} {
		if _, err := job.ParseSnapshot(cut); fault.CodeOf(err) != job.ErrIntegrity {
			t.Errorf("ParseSnapshot(%d bytes) = %v, want %v", len(cut), err, job.ErrIntegrity)
		}
	}
}

// Whoever holds the key can sign anything; what does not follow from the
// content and the metadata is found nevertheless.
//
// spec: M-46
func TestASignedSnapshotWhosePartsDoNotFitIsAnIntegrityFailure(t *testing.T) {
	t.Parallel()
	other := seal(t, job.KindRouter, "seed-0001", `{"a":2}`)
	for _, c := range []struct {
		check  string
		change func(*job.Snapshot)
	}{
		{"kind", func(s *job.Snapshot) { s.Kind = "mood" }},
		{"profile", func(s *job.Snapshot) { s.Profile = canon.JCS }},
		{"schema_version", func(s *job.Snapshot) { s.SchemaVersion = "2.0" }},
		{"generator", func(s *job.Snapshot) { s.Generator = "uuid4()" }},
		{"seed", func(s *job.Snapshot) { s.Seed = "" }},
		{"config_hash", func(s *job.Snapshot) { s.Content = other.Content }},
		{"seed_namespace", func(s *job.Snapshot) { s.Seed = "seed-0002" }},
		{"seed_namespace", func(s *job.Snapshot) { s.Kind = job.KindPrivacy }},
		{"snapshot_id", func(s *job.Snapshot) { s.Content, s.ConfigHash = other.Content, other.ConfigHash }},
		{"snapshot_id", func(s *job.Snapshot) { s.ID = other.ID }},
		{"address", func(s *job.Snapshot) { s.Address = other.Address }},
	} {
		s := seal(t, job.KindRouter, "seed-0001", `{"a":1}`)
		c.change(&s)
		s, err := s.Seal(serverKey("k1"))
		if err == nil {
			err = s.Check(serverKey("k1"))
		}
		if fault.CodeOf(err) != job.ErrIntegrity || !slices.Contains(details(err), "check: "+c.check) {
			t.Errorf("%s: Check() = %v %q, want %v with that check", c.check, err, details(err), job.ErrIntegrity)
		}
	}
}

func TestASnapshotIsCheckedWithTheKeyThatItNames(t *testing.T) {
	t.Parallel()
	s := seal(t, job.KindRouter, "seed-0001", `{"a":1}`)
	unsigned, err := job.Make(job.KindRouter, "seed-0001", parse(t, `{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		s       job.Snapshot
		keys    []job.Key
		missing bool // the key is what is missing
	}{
		{"another secret", s, []job.Key{{ID: "k1", Secret: serverKey("k2").Secret}}, false},
		{"a short secret", s, []job.Key{{ID: "k1", Secret: []byte("short")}}, false},
		{"no key of that id", s, []job.Key{serverKey("k2")}, true},
		{"no key at all", s, nil, true},
		{"not signed", unsigned, []job.Key{serverKey("k1"), {}}, false},
	} {
		err := c.s.Check(c.keys...)
		if fault.CodeOf(err) != job.ErrIntegrity || errors.Is(err, job.ErrServerKey) != c.missing {
			t.Errorf("%s: Check() = %v, want %v, for want of the key: %t", c.name, err, job.ErrIntegrity, c.missing)
		}
	}
	if _, err := unsigned.Bytes(); !errors.Is(err, job.ErrSnapshot) {
		t.Errorf("Bytes() of what is not signed = %v, want %v", err, job.ErrSnapshot)
	}
}

func TestWhatIsNoSnapshotIsNotMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kind    job.Kind
		seed    det.Seed
		content canon.Value
	}{
		{"an unknown kind", "mood", "s", canon.Object()},
		{"no seed", job.KindRouter, "", canon.Object()},
		{"a long seed", job.KindRouter, det.Seed(strings.Repeat("s", 257)), canon.Object()},
		{"no content", job.KindRouter, "s", canon.Value{}},
		{"a content that is no object", job.KindRouter, "s", canon.Array()},
		{"a member twice", job.KindRouter, "s", canon.Object(canon.M("a", canon.Null()), canon.M("a", canon.Null()))},
		{"too large a content", job.KindRouter, "s", canon.Object(canon.M("a", canon.String(strings.Repeat("x", job.MaxSnapshot/2))))},
	} {
		if _, err := job.Make(c.kind, c.seed, c.content); !errors.Is(err, job.ErrSnapshot) {
			t.Errorf("%s: Make() = %v, want %v", c.name, err, job.ErrSnapshot)
		}
	}
	if _, err := seal(t, job.KindRouter, "s", `{}`).Seal(job.Key{Secret: serverKey("k1").Secret}); !errors.Is(err, job.ErrSnapshot) {
		t.Errorf("Seal with a key without an id = %v, want %v", err, job.ErrSnapshot)
	}
}

// spec: M-66
func TestASetNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	var all []job.Snapshot
	for _, k := range job.Kinds() {
		all = append(all, seal(t, k, "seed-0001", `{}`))
	}
	whole, err := job.NewSet(all...)
	if err != nil || len(whole.Missing()) != 0 {
		t.Fatalf("NewSet of all five = missing %q, %v, want none", whole.Missing(), err)
	}
	if err := whole.Check(serverKey("k1")); err != nil {
		t.Errorf("Check() = %v, want nil", err)
	}
	fields := []string{"selfrep_snapshot_id", "brainstate_snapshot_id", "router_snapshot_id", "privacy_snapshot_id", "governance_snapshot_id"}
	for i, k := range job.Kinds() {
		part, err := job.NewSet(slices.Delete(slices.Clone(all), i, i+1)...)
		if err != nil {
			t.Fatal(err)
		}
		err = part.Check(serverKey("k1"))
		if fault.CodeOf(err) != job.ErrMissingSnapshot || err.Error() != "MISSING_SNAPSHOT: missing: "+fields[i] || !slices.Equal(details(err), fields[i:i+1]) {
			t.Errorf("without %s: Check() = %v %q, want MISSING_SNAPSHOT naming it", k, err, details(err))
		}
		if _, ok := part.Of(k); ok || !part.Members()[i].Value.IsNull() {
			t.Errorf("without %s: it is there", k)
		}
		if s, ok := whole.Of(k); !ok || s.ID != whole.Members()[i].Value.Str() || whole.Members()[i].Name != fields[i] {
			t.Errorf("Of(%s) = %s, %t, want the one that the log names", k, s.ID, ok)
		}
	}
	if got := (job.Set{}).Missing(); !slices.Equal(got, fields) {
		t.Errorf("Missing() of nothing = %q, want %q", got, fields)
	}
	if _, err := job.NewSet(all[0], all[0]); !errors.Is(err, job.ErrSnapshot) {
		t.Errorf("NewSet of two of a kind = %v, want %v", err, job.ErrSnapshot)
	}
	all[3].MAC[0] ^= 1
	broken, err := job.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Check(serverKey("k1")); fault.CodeOf(err) != job.ErrIntegrity || !slices.Contains(details(err), "snapshot_id: "+all[3].ID) {
		t.Errorf("Check() of a set with a forged snapshot = %v, want %v naming it", err, job.ErrIntegrity)
	}
}
