package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of bundles.
const (
	// ErrStage means that a bundle could not be staged while it is checked.
	// Look at the disk.
	ErrStage fault.Unavailable = "server.cannot_stage"
	// ErrReadOnly means that this server imports nothing.
	ErrReadOnly fault.Denied = "server.read_only"
	// ErrBody means that the body of the request broke off. Send it again.
	ErrBody fault.Invalid = "server.body_broken"
)

const bundlesPath = "/v1/bundles"

func (s *Server) bundleRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "exportRun", Method: http.MethodGet, Path: "/v1/runs/{run}/bundle", Tags: []string{tagBundles},
		Summary:     "Export a run as a bundle",
		Description: "One file that others can verify offline with the public root key, and import. A bundle that is cut off does not verify.",
		Responses:   binary(api.BundleType, "The bundle"), Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		RunPath
		Alone bool `query:"alone" doc:"Leave out the runs that the run stands on"`
	},
	) (*huma.StreamResponse, error) {
		return s.export(ctx, in.Run, in.Alone)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "importBundle", Method: http.MethodPost, Path: bundlesPath, Tags: []string{tagBundles},
		Summary: "Import a bundle",
		Description: "The bundle is verified whole before anything is written, and nothing is written from one that does not verify. " +
			"A run that is there already stays as it is.",
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			api.BundleType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}},
		Errors: failures(http.StatusConflict),
	}, func(ctx context.Context, in *importInput) (*answer[api.ImportResult], error) {
		return of(s.take(ctx, in))
	})
}

// importInput takes the body as it comes: huma would hold it in memory.
type importInput struct {
	Partial bool `query:"partial" doc:"Take a bundle that withholds contents"`
	body    io.Reader
}

// Resolve implements [huma.Resolver].
func (in *importInput) Resolve(hc huma.Context) []error {
	in.body = hc.BodyReader()
	return nil
}

func (s *Server) export(ctx context.Context, name string, alone bool) (*huma.StreamResponse, error) {
	info, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		w := &late{hc: hc, begin: func() { download(hc, api.BundleType, string(info.Run)+".reprise") }}
		err := archive.Export(ctx, s.store, info.Run, w, &archive.ExportOptions{Alone: alone})
		switch {
		case err == nil:
		case w.begun:
			s.breakOff(ctx, err)
		default:
			_ = huma.WriteErr(s.api, hc, http.StatusInternalServerError, "", err) // the client is gone
		}
	}}, nil
}

// late sets the headers of an answer with its first byte, so that an error
// before it is still an answer of its own.
type late struct {
	hc    huma.Context
	begin func()
	begun bool
}

func (w *late) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.begin()
	}
	return w.hc.BodyWriter().Write(p)
}

func (s *Server) take(ctx context.Context, in *importInput) (api.ImportResult, error) {
	const op = "server.import"
	out := api.ImportResult{Runs: []api.Imported{}}
	if s.o.Rand == nil {
		return out, fault.New(ErrReadOnly, op, "this server imports nothing")
	}
	f, err := os.CreateTemp(s.o.Temp, "reprise-import-")
	if err != nil {
		return out, fault.Wrap(ErrStage, op, err, "a file for the bundle")
	}
	defer os.Remove(f.Name())
	defer f.Close()
	size, err := io.Copy(f, in.body)
	if err != nil {
		if _, ours := errors.AsType[*fault.Error](err); ours {
			return out, err
		}
		if _, disk := errors.AsType[*os.PathError](err); disk {
			return out, fault.Wrap(ErrStage, op, err, "the bundle")
		}
		return out, fault.New(ErrBody, op, "the bundle broke off")
	}
	done, err := archive.Import(ctx, s.store, f, size, archive.ImportOptions{Rand: s.o.Rand, Holder: s.o.Holder, Partial: in.Partial})
	if err != nil {
		return out, err
	}
	for _, d := range done {
		out.Runs = append(out.Runs, api.Imported{Run: string(d.Run), NewEntries: d.Entries})
	}
	return out, nil
}
