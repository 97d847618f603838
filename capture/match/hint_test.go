package match

import (
	"math/bits"
	"testing"
)

func TestHintsAreTheNamesThatStandInABody(t *testing.T) {
	t.Parallel()
	var h hintSet
	set := h.add([]string{"input", "*", "id"}) | h.add([]string{"**", "*_time"})
	for body, want := range map[string]int{
		`{"input":[{"id":1}]}`:   2,
		`{"create_time":3}`:      1,
		`{"ids":1,"inputs":"x"}`: 0,
		`{"a":"the id","b":2}`:   1, // only a hint: the pointer decides
		`"`:                      0,
		`id`:                     0,
		``:                       0,
	} {
		if got := bits.OnesCount64(h.in([]byte(body)) & set); got != want {
			t.Errorf("hints in %s = %d, want %d", body, got, want)
		}
	}
	if h.add([]string{"**"}) != 0 {
		t.Error("steps without a name have hints; they must always be looked at")
	}
}
