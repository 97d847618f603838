package canon_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// TestRFC8785Documents holds the three ways to canonical bytes, and the check,
// to the documents of the RFC's author.
func TestRFC8785Documents(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/rfc8785/input/*.json")
	if err != nil || len(inputs) != 6 {
		t.Fatalf("found %d documents, %v", len(inputs), err)
	}
	for _, name := range inputs {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			in := readFile(t, name)
			want := readFile(t, strings.Replace(name, "input", "output", 1))
			checkForms(t, in, want)
		})
	}
}

// checkForms asserts that in has the canonical form want in JCS and in Foreign,
// however it is made, and that only want passes the check.
func checkForms(t *testing.T, in, want []byte) {
	t.Helper()
	for _, p := range []canon.Profile{canon.JCS, canon.Foreign} {
		v, err := canon.Parse(in)
		if err != nil {
			t.Fatalf("Parse: %v", err)
		}
		got, err := canon.Encode(v, p)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("Encode(%s) = %s, %v, want %s", p, got, err, want)
		}
		if err := canon.Check(want, p); err != nil {
			t.Errorf("Check(%s, %s) = %v", want, p, err)
		}
		if bytes.Equal(in, want) {
			continue
		}
		if err := canon.Check(in, p); !errors.Is(err, canon.ErrNotCanonical) {
			t.Errorf("Check(%s, %s) = %v, want %v", in, p, err, canon.ErrNotCanonical)
		}
	}
	if got, err := canon.Canonicalize(in); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Canonicalize = %s, %v, want %s", got, err, want)
	}
}

func TestRFC8785Numbers(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(bytes.NewReader(readFile(t, "testdata/rfc8785/appendix_b.csv"))).ReadAll()
	if err != nil || len(rows) != 25 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		bits, err := strconv.ParseUint(row[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		// With an exponent the token is no integer, whose digits would be kept.
		token := strconv.FormatFloat(math.Float64frombits(bits), 'e', 20, 64)
		checkForms(t, []byte(token), []byte(row[1]))
	}
}

// TestES6Numbers makes the published sequence of doubles and compares the
// digest of its lines with the published one.
func TestES6Numbers(t *testing.T) {
	t.Parallel()
	const want = "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892" // of 10,000 lines
	static := readFile(t, "testdata/rfc8785/es6_static.txt")
	var doubles []uint64
	for line := range strings.FieldsSeq(string(static)) {
		bits, err := strconv.ParseUint(line, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		doubles = append(doubles, bits)
	}
	for i := range uint64(2000) {
		doubles = append(doubles, 0x0010000000000000+i)
	}
	var block [32]byte
	for len(doubles) < 10_000 {
		block = sha256.Sum256(block[:])
		for i := 0; i < len(block) && len(doubles) < 10_000; i += 8 {
			bits := binary.LittleEndian.Uint64(block[i:])
			if f := math.Float64frombits(bits); f != 0 && !math.IsNaN(f) && !math.IsInf(f, 0) {
				doubles = append(doubles, bits)
			}
		}
	}
	h := sha256.New()
	for _, bits := range doubles {
		token := strconv.FormatFloat(math.Float64frombits(bits), 'e', 20, 64)
		v, err := canon.Number(token)
		if err != nil {
			t.Fatal(err)
		}
		got, err := canon.Encode(v, canon.JCS)
		if err != nil {
			t.Fatalf("Encode(%s): %v", token, err)
		}
		if err := canon.Check(got, canon.JCS); err != nil {
			t.Fatalf("Check(%s): %v", got, err)
		}
		h.Write(strconv.AppendUint(nil, bits, 16))
		h.Write([]byte(","))
		h.Write(got)
		h.Write([]byte("\n"))
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("digest of 10,000 lines = %s, want %s", got, want)
	}
}

// TestJSONCanonVectors runs the vectors of json-canon. Its house rules refuse
// negative zero, underflow and noncharacters, which the RFC does not.
func TestJSONCanonVectors(t *testing.T) {
	t.Parallel()
	lenient := map[string]bool{"NUMBER_NEGZERO": true, "NUMBER_UNDERFLOW": true, "NONCHARACTER": true}
	codes := map[string]fault.Code{
		"INVALID_GRAMMAR": canon.ErrSyntax,
		"LONE_SURROGATE":  canon.ErrSyntax,
		"DUPLICATE_KEY":   canon.ErrDuplicateName,
		"NUMBER_OVERFLOW": canon.ErrNumber,
		"NOT_CANONICAL":   canon.ErrNotCanonical,
	}
	n := 0
	for _, file := range []string{"core", "reject", "verify"} {
		for _, v := range readLines[struct {
			ID, Mode, Input string
			Stdout          string `json:"want_stdout"`
			Stderr          string `json:"want_stderr_contains"`
		}](t, "testdata/rfc8785/"+file+".jsonl") {
			switch {
			case v.Mode == "" || lenient[v.Stderr]:
				continue
			case v.Mode == "verify":
				if err := canon.Check([]byte(v.Input), canon.JCS); codeOf(err) != codes[v.Stderr] {
					t.Errorf("%s: Check(%s) = %v, want %s", v.ID, v.Input, err, v.Stderr)
				}
			default:
				got, err := canon.Canonicalize([]byte(v.Input))
				if string(got) != v.Stdout || codeOf(err) != codes[v.Stderr] {
					t.Errorf("%s: Canonicalize(%s) = %s, %v, want %s%s", v.ID, v.Input, got, err, v.Stdout, v.Stderr)
				}
			}
			n++
		}
	}
	if n != 35+14+13 {
		t.Errorf("ran %d vectors", n)
	}
}

func codeOf(err error) fault.Code { return fault.CodeOf(err) }

// TestJSONTestSuite accepts every y_ file but those with a duplicate name, and
// refuses every n_ file. What it makes of the free i_ files agrees with the
// oracle, which refuses no number.
func TestJSONTestSuite(t *testing.T) {
	t.Parallel()
	type file struct {
		Name  string
		Bytes []byte
	}
	files := readLines[file](t, "testdata/jsontestsuite/parsing.jsonl")
	files = append(files,
		file{"n_structure_100000_opening_arrays.json", bytes.Repeat([]byte("["), 100_000)},
		file{"n_structure_open_array_object.json", append(bytes.Repeat([]byte(`[{"":`), 50_000), '\n')})
	if len(files) != 318 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		_, err := canon.Parse(f.Bytes)
		_, again := canon.Canonicalize(f.Bytes)
		if codeOf(err) != codeOf(again) {
			t.Errorf("%s: Parse says %v, Canonicalize says %v", f.Name, err, again)
		}
		if err != nil && canon.Check(f.Bytes, canon.Foreign) == nil {
			t.Errorf("%s: Check accepts what Parse refuses", f.Name)
		}
		switch duplicate := strings.Contains(f.Name, "duplicated_key"); {
		case f.Name[0] == 'y' && duplicate:
			if !errors.Is(err, canon.ErrDuplicateName) {
				t.Errorf("%s: %v, want %v", f.Name, err, canon.ErrDuplicateName)
			}
		case f.Name[0] == 'y' && err != nil:
			t.Errorf("%s: %v", f.Name, err)
		case f.Name[0] == 'n' && err == nil:
			t.Errorf("%s: accepted", f.Name)
		case f.Name[0] == 'i':
			if oracle := jsontext.Value(f.Bytes).IsValid(); oracle != (err == nil || errors.Is(err, canon.ErrNumber)) {
				t.Errorf("%s: %v, the oracle says %v", f.Name, err, oracle)
			}
		}
	}
}

// TestSourceProfiles holds every source profile to its vectors.
//
// spec: M-35, M-36, M-40, M-107
// spec: P-23
func TestSourceProfiles(t *testing.T) {
	t.Parallel()
	seen := map[canon.Profile]int{}
	for _, v := range readLines[struct {
		Profile             canon.Profile
		Name, Input, Digest string
		Want                *string
	}](t, "testdata/source/profiles.jsonl") {
		value, err := canon.Parse([]byte(v.Input))
		if err != nil {
			t.Fatalf("%s %s: %v", v.Profile, v.Name, err)
		}
		got, err := canon.Encode(value, v.Profile)
		if err != nil {
			t.Errorf("%s %s: %v", v.Profile, v.Name, err)
			continue
		}
		if v.Want != nil && string(got) != *v.Want {
			t.Errorf("%s %s: Encode = %s, want %s", v.Profile, v.Name, got, *v.Want)
		}
		digest := canon.SHA256(got)
		if v.Profile == canon.Thymos || v.Profile == canon.ThymosSerde {
			digest = canon.BLAKE3(got)
		}
		if !strings.HasPrefix(digest.String(), v.Digest) {
			t.Errorf("%s %s: digest %s, want %s", v.Profile, v.Name, digest, v.Digest)
		}
		if err := canon.Check(got, v.Profile); err != nil {
			t.Errorf("%s %s: Check: %v", v.Profile, v.Name, err)
		}
		if err := canon.Check(append(got, ' '), v.Profile); !errors.Is(err, canon.ErrNotCanonical) {
			t.Errorf("%s %s: Check with a space after it = %v", v.Profile, v.Name, err)
		}
		seen[v.Profile]++
	}
	for _, p := range canon.Profiles() {
		switch p {
		case canon.Native, canon.JCS, canon.Foreign:
		default:
			if seen[p] == 0 {
				t.Errorf("no vector for %s", p)
			}
		}
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readLines[T any](t testing.TB, name string) []T {
	t.Helper()
	var out []T
	s := bufio.NewScanner(bytes.NewReader(readFile(t, name)))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, v)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
