package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Tags of the routes.
const (
	tagRuns    = "runs"
	tagProof   = "proof"
	tagBundles = "bundles"
	tagServer  = "server"
)

// maxPage is how many bytes of bodies a page of entries may hold; a page that
// has more ends early and says where to go on.
const maxPage = 4 << 20

// answer is a JSON answer.
type answer[T any] struct{ Body T }

// of makes an answer.
func of[T any](v T, err error) (*answer[T], error) {
	if err != nil {
		return nil, err
	}
	return &answer[T]{v}, nil
}

// failures are the statuses that any route may answer with beside its own.
func failures(more ...int) []int {
	return append(more, http.StatusBadRequest, http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable)
}

// RunPath is a run in a path. It is exported because huma sees nothing else.
type RunPath struct {
	Run string `path:"run" maxLength:"36" doc:"A run: its id, the beginning of one that no other shares, last, or last~N" example:"last"`
}

// find resolves the name of a run.
func (s *Server) find(ctx context.Context, name string) (ledger.RunInfo, error) {
	return insight.Find(ctx, s.store, name)
}

func (s *Server) runRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "listRuns", Method: http.MethodGet, Path: "/v1/runs", Tags: []string{tagRuns},
		Summary: "List runs", Description: "Newest first, in pages.", Errors: failures(),
	}, func(ctx context.Context, in *struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many runs"`
		Before string `query:"before" maxLength:"36" doc:"Runs older than the one with this id"`
	},
	) (*answer[api.RunPage], error) {
		return of(s.runs(ctx, ledger.RunID(strings.ToLower(in.Before)), in.Limit))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getRun", Method: http.MethodGet, Path: "/v1/runs/{run}", Tags: []string{tagRuns},
		Summary: "Get a run", Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *RunPath) (*answer[api.RunDetail], error) {
		return of(s.run(ctx, in.Run))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "listEntries", Method: http.MethodGet, Path: "/v1/runs/{run}/entries", Tags: []string{tagRuns},
		Summary:     "List entries",
		Description: "In order, in pages. Entries are as they are stored: nothing is checked; see verify.",
		Errors:      failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		RunPath
		From  int64 `query:"from" minimum:"0" maximum:"9007199254740991" default:"0" doc:"Number of the first entry"`
		Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many entries at most; a page with large bodies has fewer"`
	},
	) (*answer[api.EntryPage], error) {
		return of(s.entries(ctx, in.Run, in.From, in.Limit))
	})
}

func (s *Server) runs(ctx context.Context, before ledger.RunID, limit int) (api.RunPage, error) {
	page := api.RunPage{Runs: []api.Run{}}
	for info, err := range s.store.Runs(ctx) {
		switch {
		case err != nil:
			return page, err
		case before != "" && info.Run >= before:
			continue
		case len(page.Runs) == limit:
			page.Next = page.Runs[limit-1].ID
			return page, nil
		}
		r, err := insight.Summarise(ctx, s.store, info)
		if err != nil {
			return page, err
		}
		page.Runs = append(page.Runs, runOf(&r))
	}
	return page, nil
}

func (s *Server) run(ctx context.Context, name string) (api.RunDetail, error) {
	info, err := s.find(ctx, name)
	if err != nil {
		return api.RunDetail{}, err
	}
	r, err := insight.Summarise(ctx, s.store, info)
	if err != nil {
		return api.RunDetail{}, err
	}
	return api.RunDetail{Run: runOf(&r), OpenData: raw(r.Open), SealData: raw(r.End)}, nil
}

func runOf(r *insight.Run) api.Run {
	out := api.Run{
		ID: string(r.Run), Engine: r.Engine, Mode: r.Mode, Title: r.Title, Opened: r.Opened, Ended: r.Ended,
		Entries: r.At.Count, Head: r.At.Last.String(), Calls: r.Calls, Sealed: r.Sealed, Status: r.Status, AgentExit: r.Exit,
	}
	if d, ok := r.Took(); ok {
		ms := d.Milliseconds()
		out.Duration = &ms
	}
	if r.Source != nil {
		out.Source = new(refOf(*r.Source))
	}
	return out
}

// raw returns a value as JSON, or nothing if it is absent.
func raw(v canon.Value) json.RawMessage {
	if v.IsZero() {
		return nil
	}
	return json.RawMessage(v.String())
}

func (s *Server) entries(ctx context.Context, name string, from int64, limit int) (api.EntryPage, error) {
	info, err := s.find(ctx, name)
	page := api.EntryPage{Run: string(info.Run), Entries: []api.Entry{}}
	if err != nil {
		return page, err
	}
	size := 0
	for e, err := range s.store.Read(ctx, info.Run, from) {
		if err != nil {
			return page, err
		}
		if n := len(page.Entries); n == limit || n > 0 && size+len(e.Body) > maxPage {
			next := from + int64(n)
			page.Next = &next
			return page, nil
		}
		size += len(e.Body)
		o, err := ledger.Parse(e)
		if err != nil {
			return page, err
		}
		page.Entries = append(page.Entries, entryOf(e, &o))
	}
	return page, nil
}

func entryOf(e *ledger.Entry, o *ledger.Opened) api.Entry {
	out := api.Entry{
		N: o.N, ID: e.ID.String(), Kind: string(o.Kind), Type: o.Type, Size: o.Size, Bind: o.Bind.String(), T: o.T,
		Scope: e.Scope, Body: json.RawMessage(e.Body), Attachments: make([]api.Attachment, len(o.Att)),
	}
	if o.N > 0 {
		out.Prev = o.Prev.String()
	}
	for i, a := range o.Att {
		x := api.Attachment{Name: a.Name, Type: a.Type, Size: a.Size, Bind: a.Bind.String()}
		if i < len(e.Parts) {
			x.Scope, x.Here = e.Parts[i].Scope, e.Parts[i].Recipe != nil
		}
		out.Attachments[i] = x
	}
	return out
}

func refOf(r ledger.Ref) api.Ref { return api.Ref{Run: string(r.Run), N: r.N, ID: r.ID.String()} }
