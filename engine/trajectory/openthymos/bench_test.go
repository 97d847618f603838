package openthymos_test

import (
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
)

// BenchmarkVerify is what OpenThymos measures itself by: a root and a thousand
// commits of one create each, with both verdicts.
func BenchmarkVerify(b *testing.B) {
	for _, signed := range []bool{false, true} {
		b.Run(fmt.Sprintf("signed=%v", signed), func(b *testing.B) {
			c := newChain(b, "bench-replay")
			opts := &openthymos.Options{}
			if signed {
				c.seed = 1
				opts.Signer = c.key()
			}
			size := 0
			for i := range 1000 {
				c.commit(c.body(fmt.Sprintf(`[{"op":"create","kind":"kv","id":"key%d","value":"val"}]`, i)))
			}
			for _, e := range c.entries {
				size += len(e.JSON)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				r, err := openthymos.Verify(slice(c.entries), opts)
				if err != nil || !r.Strict.Accepted || !r.Compat.Accepted {
					b.Fatal(err, r)
				}
			}
			b.ReportMetric(float64(len(c.entries))*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
