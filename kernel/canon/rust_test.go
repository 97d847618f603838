package canon_test

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
)

func TestThymosSerdePrintsNumbersAsRustDoes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ token, want string }{
		{"0", "0"},
		{"18446744073709551615", "18446744073709551615"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"18446744073709551616", "1.8446744073709552e19"},
		{"-0", "-0.0"},
		{"0.0", "0.0"},
		{"1.0", "1.0"},
		{"1.50", "1.5"},
		{"1e0", "1.0"},
		{"0.00001", "0.00001"},
		{"0.000001", "1e-6"},
		{"1e-7", "1e-7"},
		{"-1.25e-10", "-1.25e-10"},
		{"1234567890123456.0", "1234567890123456.0"},
		{"9999999999999998.0", "9999999999999998.0"},
		{"1e16", "1e16"},
		{"12345678901234567.0", "1.2345678901234568e16"},
		{"1e21", "1e21"},
		{"5e-324", "5e-324"},
		{"1.7976931348623157e308", "1.7976931348623157e308"},
	} {
		n, err := canon.Number(test.token)
		if err != nil {
			t.Fatal(err)
		}
		got, err := canon.Encode(n, canon.ThymosSerde)
		if err != nil || string(got) != test.want {
			t.Errorf("Encode(%s, ThymosSerde) = %s, %v, want %s", test.token, got, err, test.want)
		}
		if err := canon.Check(got, canon.ThymosSerde); err != nil {
			t.Errorf("Check(%s, ThymosSerde) = %v", got, err)
		}
		if test.token != test.want {
			if err := canon.Check([]byte(test.token), canon.ThymosSerde); !errors.Is(err, canon.ErrNotCanonical) {
				t.Errorf("Check(%s, ThymosSerde) = %v, want %v", test.token, err, canon.ErrNotCanonical)
			}
		}
	}
}
