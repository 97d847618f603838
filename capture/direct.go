package capture

import (
	"net/http"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// To returns the handler for an upstream that [Options] do not name, for
// clients in this process, whose upstreams show only as they ask. The name of
// an upstream is part of every match key: a replay must give it the same.
func (p *Proxy) To(u Upstream) (http.Handler, error) {
	if u.URL == nil || u.Name == "" {
		return nil, fault.New(ErrUpstream, "capture.To", "an upstream has a name and an address")
	}
	if own := p.names[u.Name]; own != nil {
		return &handler{p: p, u: own}, nil
	}
	return &handler{p: p, u: &u}, nil
}
