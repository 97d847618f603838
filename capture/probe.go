package capture

import (
	"context"
	"net/http"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
)

// A probe asks whether somebody is there and nothing else, such as the HEAD /
// of Claude Code and, where it goes through no proxy, its HEAD /api/hello. Live
// it is a call like any other. In a replay one that was
// recorded is answered from the record; one that was not is no divergence,
// because clients probe when they please: it is told that somebody is there.
// So is one that does not come again.

// isProbe reports whether a request is a probe.
func isProbe(r *http.Request) bool {
	return r.Method == http.MethodHead && (r.URL.Path == "" || isProbeName(probeMethod+r.URL.Path)) && r.URL.RawQuery == ""
}

const probeMethod = http.MethodHead + " "

// isProbeName reports whether calls of that name are probes.
func isProbeName(name string) bool {
	return name == probeMethod+"/" || name == probeMethod+"/api/hello"
}

// EventProbe names the events of probes that were answered without a record.
const EventProbe = "capture.probe_answered"

// probe answers a probe that is not in the record, and reports whether it did.
func (h *handler) probe(ctx context.Context, w http.ResponseWriter, r *http.Request, c *effect.Call) bool {
	rec := h.p.o.Record
	if rec == nil || !h.p.o.Replaying || !isProbe(r) || rec.Journal.holds(c.Match) {
		return false
	}
	if _, err := h.p.note(ctx, EventProbe, canon.Object(canon.M("upstream", canon.String(h.u.Name)))); err != nil {
		h.broken(w, err)
		return true
	}
	w.WriteHeader(http.StatusOK)
	return true
}

// holds reports whether a call with that match key has not come again yet.
func (j *Journal) holds(match canon.Digest) bool {
	for _, left := range j.Left() {
		if left.Key.Match == match {
			return true
		}
	}
	return false
}
