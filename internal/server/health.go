package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrStopping means that the server is about to end. Ask another one.
const ErrStopping fault.Unavailable = "server.stopping"

func (s *Server) healthRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "getLive", Method: http.MethodGet, Path: "/healthz", Tags: []string{tagServer},
		Summary: "Whether the process answers", Errors: failures(),
	}, func(context.Context, *struct{}) (*answer[api.Health], error) {
		return of(api.Health{Status: "ok"}, nil)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getReady", Method: http.MethodGet, Path: "/readyz", Tags: []string{tagServer},
		Summary: "Whether the store answers", Errors: failures(),
	}, func(ctx context.Context, _ *struct{}) (*answer[api.Health], error) {
		return of(api.Health{Status: "ok"}, s.ready(ctx))
	})
}

func (s *Server) ready(ctx context.Context) error {
	select {
	case <-s.closing:
		return fault.New(ErrStopping, "server.ready", "the server stops")
	default:
	}
	for _, err := range s.store.Runs(ctx) {
		if err != nil {
			return fault.Wrap(ledger.ErrStore, "server.ready", err, "the store does not answer")
		}
		break
	}
	return nil
}

// document returns the OpenAPI document, indented so that its changes read
// well.
func document(doc *huma.OpenAPI) ([]byte, error) {
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
			// huma describes 422 for what does not validate; here that is 400,
			// the status of its class. A route that answers 422 says so in
			// words of its own.
			if op != nil && op.Responses["422"] != nil && op.Responses["422"].Description == http.StatusText(http.StatusUnprocessableEntity) {
				delete(op.Responses, "422")
			}
		}
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fault.Wrap(fault.ErrUnknown, "server.document", err, "the routes cannot be described")
	}
	return append(b, '\n'), nil
}
