package job_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
)

func parse(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func number(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Number(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// nano quantises a number as a test writes it.
func nano(t testing.TB, text string) job.Nano {
	t.Helper()
	n, err := job.Quantise(number(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// encode returns the canonical text of v in the profile of the document.
func encode(t testing.TB, v canon.Value) string {
	t.Helper()
	b, err := canon.Encode(v, canon.MACEFixed9)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// spec: M-36
func TestANumberIsRoundedToNineDecimalsAsTheSerializerRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`0`, `0.000000000`},
		{`1`, `1.000000000`},
		{`-0`, `0.000000000`},
		{`-0.0`, `0.000000000`},
		{`0.5`, `0.500000000`},
		{`5995e-4`, `0.599500000`},
		{`3.1415926535`, `3.141592654`},
		{`1e-10`, `0.000000000`},
		{`-1e-10`, `0.000000000`},
		{`5e-10`, `0.000000001`},   // the double is above the half
		{`1.5e-09`, `0.000000001`}, // the double is below it
		{`-2.25`, `-2.250000000`},
		{`1000000`, `1000000.000000000`},
		{`-1000000`, `-1000000.000000000`},
		{`1e-400`, `0.000000000`},
	} {
		got, err := job.Quantise(number(t, c.in))
		if err != nil || got.String() != c.want {
			t.Errorf("Quantise(%s) = %s, %v, want %s", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{`1000001`, `-1000000.000000001`, `1e20`, `1e308`, `"1"`, `null`, `[1]`} {
		if got, err := job.Quantise(parse(t, in)); !errors.Is(err, job.ErrNumber) {
			t.Errorf("Quantise(%s) = %s, %v, want %v", in, got, err, job.ErrNumber)
		}
	}
}

func TestARecordedNumberHasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`0`, `1`, `0.5`, `0.5000000000`, `-0.000000000`, `5e-1`, `1000000.000000001`, `"0.500000000"`, `null`, `9223372036854775808.000000000`,
	} {
		if got, ok := job.ParseNano(parse(t, in)); ok {
			t.Errorf("ParseNano(%s) = %s, want it refused", in, got)
		}
	}
	if got, ok := job.ParseNano(canon.Value{}); ok {
		t.Errorf("ParseNano of nothing = %s, want it refused", got)
	}
}

// spec: M-107
func TestANanoIsPrintedByTheSerializerDigitForDigit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := job.Nano(rapid.Int64Range(-int64(job.MaxNano), int64(job.MaxNano)).Draw(t, "n"))
		b, err := canon.Encode(n.Value(), canon.MACEFixed9)
		if err != nil || string(b) != n.String() {
			t.Fatalf("Encode(%s) = %s, %v, want the same digits", n, b, err)
		}
		v, err := canon.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := job.ParseNano(v); !ok || got != n {
			t.Fatalf("ParseNano(%s) = %s, %t, want it back", b, got, ok)
		}
		if got, err := job.Quantise(v); err != nil || got != n {
			t.Fatalf("Quantise(%s) = %s, %v, want it back", b, got, err)
		}
	})
}

func TestAProductWithACountIsFlooredExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    string
		k    int64
		want int64
	}{
		{"0.29", 100, 29}, // 28.999999999999996 in doubles
		{"0.9", 4, 3},
		{"0.999999999", 1, 0},
		{"1", 1 << 40, 1 << 40},
		{"0", 7, 0},
		{"-0.5", 3, -2},
		{"0.75", 1000, 750},
	} {
		if got := nano(t, c.n).Of(c.k); got != c.want {
			t.Errorf("Nano(%s).Of(%d) = %d, want %d", c.n, c.k, got, c.want)
		}
	}
}

// The serializer's vectors, of which the ones that hold a number are also read
// as a Nano.
//
// spec: M-35
// spec: M-40
func TestSnapshotsAreWrittenAsTheSerializerVectorsSay(t *testing.T) {
	t.Parallel()
	var file struct {
		Vectors []struct {
			Label     string
			ValueJSON string `json:"value_json"`
			Fixed9    string `json:"spec_fixed9"`
		}
	}
	vectors(t, "canonical_json_vectors.json", &file)
	for _, c := range file.Vectors {
		v := parse(t, c.ValueJSON)
		if got := encode(t, v); got != c.Fixed9 {
			t.Errorf("%s: Encode(%s) = %s, want %s", c.Label, c.ValueJSON, got, c.Fixed9)
		}
		n, err := job.Quantise(v)
		token, _ := v.Token()
		if err != nil || !strings.ContainsAny(token, ".e") {
			continue
		}
		if want := strings.Replace(c.Fixed9, "-0.000000000", "0.000000000", 1); n.String() != want {
			t.Errorf("%s: Quantise(%s) = %s, want %s", c.Label, c.ValueJSON, n, want)
		}
	}
}
