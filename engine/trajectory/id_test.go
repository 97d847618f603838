package trajectory_test

import (
	"embed"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/sign"
)

//go:embed testdata/canonical_vectors.json
var vectorFiles embed.FS

func canonicalVectors(t testing.TB) canon.Value {
	t.Helper()
	b, err := vectorFiles.ReadFile("testdata/canonical_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(b))
}

// vectorCase returns the value and digest of a case of the vectors.
func vectorCase(t testing.TB, name string) (canon.Value, canon.Digest) {
	t.Helper()
	for _, c := range canonicalVectors(t).Get("cases").Elems() {
		if c.Get("name").Str() == name {
			return c.Get("value"), digest(t, c.Get("blake3").Str())
		}
	}
	t.Fatalf("there is no vector %q", name)
	return canon.Value{}, canon.Digest{}
}

func digest(t testing.TB, s string) canon.Digest {
	t.Helper()
	d, err := canon.ParseDigest(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// signer returns the key of the vectors with this name.
func signer(t testing.TB, name string) *sign.PrivateKey {
	t.Helper()
	for _, k := range canonicalVectors(t).Get("keys").Elems() {
		if k.Get("name").Str() != name {
			continue
		}
		seed, err := hex.DecodeString(k.Get("seed_hex").Str())
		if err != nil {
			t.Fatal(err)
		}
		key, err := sign.NewPrivateKey(seed)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(key.Public().Raw()); got != k.Get("pubkey_hex").Str() {
			t.Fatalf("key %s = %s, want %s", name, got, k.Get("pubkey_hex"))
		}
		return key
	}
	t.Fatalf("there is no key %q", name)
	return nil
}

// A.5 core/hash: stable.
func TestContentIDsAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	cases := canonicalVectors(t).Get("cases").Elems()
	if len(cases) < 13 {
		t.Fatalf("%d cases, want 13", len(cases))
	}
	for _, c := range cases {
		name := c.Get("name").Str()
		b, err := canon.Encode(c.Get("value"), canon.Thymos)
		if err != nil || string(b) != c.Get("canonical").Str() {
			t.Errorf("%s: canonical = %s, %v, want %s", name, b, err, c.Get("canonical").Str())
		}
		for range 2 {
			if id, err := trajectory.ContentID(c.Get("value")); err != nil || id.String() != c.Get("blake3").Str() {
				t.Errorf("ContentID(%s) = %s, %v, want %s", name, id, err, c.Get("blake3"))
			}
		}
	}
}

// A.5 core/hash: key order irrelevant.
func TestHashDoesNotDependOnKeyOrder(t *testing.T) {
	t.Parallel()
	a, errA := trajectory.ContentID(parse(t, `{"a":{"x":1,"y":[2,3]},"b":null}`))
	b, errB := trajectory.ContentID(parse(t, `{"b":null,"a":{"y":[2,3],"x":1}}`))
	c, errC := trajectory.ContentID(parse(t, `{"b":null,"a":{"y":[3,2],"x":1}}`))
	if errA != nil || errB != nil || errC != nil || a != b || a == c {
		t.Errorf("ContentID = %s, %s, %s (%v, %v, %v), want the first two equal and the last another", a, b, c, errA, errB, errC)
	}
}

func TestContentIDRefusesFractions(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`1.0`, `[1e2]`, `18446744073709551616`} {
		if id, err := trajectory.ContentID(parse(t, in)); err == nil {
			t.Errorf("ContentID(%s) = %s, want an error", in, id)
		}
	}
}

func TestTrajectoryIDs(t *testing.T) {
	t.Parallel()
	for _, c := range canonicalVectors(t).Get("trajectories").Elems() {
		if got := trajectory.SeededTrajectory(c.Get("seed_utf8").Str()).String(); got != c.Get("trajectory_id").Str() {
			t.Errorf("SeededTrajectory(%s) = %s, want %s", c.Get("seed_utf8"), got, c.Get("trajectory_id"))
		}
	}
	// From the ledger vectors: a branch at a commit, and a delegation.
	source := digest(t, "07dd9e14c279439a7b17476e02202aaec24af634367a4c039a62f79c3ce10003")
	commit := digest(t, "1aa1df154c179d188dea2972b8f0f7bf672f79926c0604ee9bc794d3741fc0f6")
	proposal := digest(t, strings.Repeat("ab", 32))
	for _, c := range []struct {
		name      string
		got, want canon.Digest
	}{
		{"run", trajectory.RunTrajectory(commit), canon.BLAKE3(commit[:])},
		{"branch", trajectory.BranchTrajectory(source, commit), digest(t, "abd984d45be08728d68388af96887dfcd1ff2c6a378e3455bc8cea29580e4192")},
		{"child", trajectory.ChildTrajectory("audit", proposal), canon.BLAKE3([]byte("delegate-audit-proposal:" + strings.Repeat("ab", 32)))},
	} {
		if c.got != c.want {
			t.Errorf("%s = %s, want %s", c.name, c.got, c.want)
		}
	}
}
