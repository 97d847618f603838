package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// codeOK is the label of a replay that is equal to its record. It is no code, so
// it can be mistaken for none.
const codeOK = "ok"

// counted is what the server counts for operations. Nothing of it is ever read
// by an engine. The registry is the server's own: what other packages of the
// process count is not told.
type counted struct {
	registry *prometheus.Registry
	replays  *prometheus.CounterVec
}

func newCounted() *counted {
	c := &counted{registry: prometheus.NewRegistry(), replays: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "reprise_replay_results_total",
		Help: "Replays of jobs that ended here, by mode and by the code of the result; ok is no code.",
	}, []string{"mode", "code"})}
	c.registry.MustRegister(c.replays)
	// A series that is not there before its first event has no increase, and no
	// alert would be raised.
	for _, mode := range []job.Mode{job.Audit, job.Reexecute, job.Production} {
		c.replays.WithLabelValues(string(mode), codeOK)
		for _, code := range alertCodes() {
			c.replays.WithLabelValues(string(mode), code.Error())
		}
	}
	return c
}

// alertCodes are the codes of a replay that operations are told of (M-73), in
// the order of the document.
func alertCodes() []fault.Code {
	return []fault.Code{
		job.ErrMissingSnapshot, job.ErrIntegrity, job.ErrMissingOutput, job.ErrResult, job.ErrDivergence, job.ErrForce, job.ErrReplayTimeout,
	}
}

// replay counts one. Both labels come from closed sets: the modes, and codes
// that are constants.
func (c *counted) replay(mode, code string) { c.replays.WithLabelValues(mode, code).Inc() }

func (s *Server) metricRoutes() {
	s.mux.Handle("GET /metrics", promhttp.HandlerFor(s.counted.registry, promhttp.HandlerOpts{DisableCompression: true}))
}
