package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrRouting means that routing evidence is not what the source document says
// it is. Mend the adviser, or leave its word out: nothing depends on it.
const ErrRouting fault.Invalid = "trajectory.bad_routing"

// maxBPS is certainty, in hundredths of a percent.
const maxBPS = 10_000

// CheckRouting refuses what is not routing evidence: the word of an adviser
// outside on which model or tool to take, kept for the record. It decides
// nothing here.
func CheckRouting(v canon.Value) error {
	r := newRecord(v, ErrRouting, "trajectory.CheckRouting", "routing evidence",
		"alternatives", "confidence_bps", "cost_estimate_millicents", "decision_hash", "fallback_hint?",
		"latency_estimate_ms", "reason_codes", "selected")
	r.Names("alternatives", maxList)
	r.Names("reason_codes", maxList)
	r.Text("decision_hash", canon.MaxName)
	r.Text("selected", canon.MaxName)
	r.uint("latency_estimate_ms", 64)
	r.uint("cost_estimate_millicents", 64)
	if n := r.uint("confidence_bps", 16); n > maxBPS {
		r.Fail("a confidence of %d is above %d", n, maxBPS)
	}
	if v.Has("fallback_hint") {
		f := r.sub("fallback_hint", "model?", "provider", "reason")
		f.Text("provider", canon.MaxName)
		f.Text("reason", maxText)
		if f.Value.Has("model") {
			f.Text("model", canon.MaxName)
		}
		r.Take("fallback_hint", f.Err)
	}
	return r.Err
}
