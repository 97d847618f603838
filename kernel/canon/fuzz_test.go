package canon_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// FuzzCanonical holds parsing, encoding, the check and the rewriting to each
// other and to two implementations of RFC 8785 by others.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.50,-0,1e21],"a":"\u00e9\n\ud83d\ude00"}`, `{"a":1,"\u0061":2}`, `9007199254740993`, `1e400`, `"\ud800"`,
		`[[[{"":{}}]]]`, `{"\uFB33":1,"😀":2}`, "\uFEFF1", ` { "x" : [ true , null ] } `, `0.000001`, `333333333.33333329`,
		`[56789012345678901234567890, 1E-7, 4.50, 2e-3, 0.000000000000000000000000001]`, string(body(300)),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Parse(b)
		got, errGot := canon.Canonicalize(b)
		if codeOf(err) != codeOf(errGot) {
			t.Fatalf("Parse says %v, Canonicalize says %v", err, errGot)
		}
		valid := jsontext.Value(b).IsValid()
		if err != nil {
			// Only these two are refused beyond I-JSON.
			if valid && !errors.Is(err, canon.ErrNumber) && !errors.Is(err, canon.ErrDepth) {
				t.Fatalf("refused although valid: %v", err)
			}
			for _, p := range canon.Profiles() {
				if canon.Check(b, p) == nil {
					t.Fatalf("Check(%s) accepts what Parse refuses with %v", p, err)
				}
			}
			return
		}
		if !valid {
			t.Fatal("accepted although not valid")
		}
		for _, p := range canon.Profiles() {
			want, err := canon.Encode(v, p)
			canonical := err == nil && bytes.Equal(b, want)
			if err := canon.Check(b, p); canonical != (err == nil) {
				t.Fatalf("Check(%s) = %v, Encode gives %s", p, err, want)
			}
		}
		if want, err := canon.Encode(v, canon.Foreign); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("Canonicalize = %s, Encode = %s, %v", got, want, err)
		}
		ours, err := canon.Encode(v, canon.JCS)
		if err != nil {
			return // an integer that the others would round
		}
		text := jsontext.Value(bytes.Clone(b))
		if err := text.Canonicalize(); err != nil || !bytes.Equal(ours, text) {
			t.Fatalf("JCS = %s, jsontext = %s, %v", ours, text, err)
		}
		// The other oracle reads numbers only within arrays and objects.
		wrapped := append(append([]byte{'['}, b...), ']')
		if theirs, err := jcs.Transform(wrapped); err != nil || !bytes.Equal(theirs[1:len(theirs)-1], ours) {
			t.Fatalf("JCS = %s, jcs = %s, %v", ours, theirs, err)
		}
	})
}
