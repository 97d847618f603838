package cli_test

import (
	"math"
	"testing"

	"github.com/reprise-dev/reprise/internal/cli"
	"github.com/reprise-dev/reprise/kernel/budget"
)

func TestCostsAreRoundedAndNeverToNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cost budget.Pico
		want string
	}{
		{0, "$0.00"},
		{1, "<$0.000001"},
		{499_999, "<$0.000001"},
		{500_000, "$0.000001"},
		{4_800_000, "$0.000005"},
		{11_700_000, "$0.000012"},
		{80_000_000, "$0.00008"},
		{1_999_999_600_000, "$2.00"},
		{math.MaxInt64, "$9223372.036854"},
	} {
		if got := cli.Dollars(tt.cost); got != tt.want {
			t.Errorf("dollars(%d) = %s, want %s", tt.cost, got, tt.want)
		}
	}
}
