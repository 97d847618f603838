package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// heldMax is up to which length an attachment is checked before any of it is
// sent. A longer one is checked while it goes out, and broken off before its
// end if it is not the recorded one.
const heldMax = 4 << 20

// binary describes an answer of bytes.
func binary(typ, description string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: description,
		Content:     map[string]*huma.MediaType{typ: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}}
}

func (s *Server) contentRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "getAttachment", Method: http.MethodGet, Path: "/v1/runs/{run}/entries/{n}/attachments/{name}", Tags: []string{tagRuns},
		Summary: "Get the bytes of an attachment",
		Description: "The recorded bytes, checked against what the entry commits to, with the media type that was recorded. " +
			"They are sent as a download and never to be rendered. An entry of a replay that points at its record gives the bytes from there.",
		Responses: binary("*/*", "The recorded bytes"), Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		RunPath
		N    int64  `path:"n" minimum:"0" maximum:"9007199254740991" doc:"Number of the entry"`
		Name string `path:"name" maxLength:"1024" doc:"Name of the attachment" example:"response"`
	},
	) (*huma.StreamResponse, error) {
		return s.attachment(ctx, in.Run, in.N, in.Name)
	})
}

func (s *Server) attachment(ctx context.Context, name string, n int64, content string) (*huma.StreamResponse, error) {
	const op = "server.attachment"
	info, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if n >= info.At.Count {
		return nil, fault.New(ledger.ErrNotFound, op, "run %s has %d entries, so there is no entry %d", info.Run, info.At.Count, n)
	}
	read := drive.NewReader(s.store, info.Run)
	o, err := read.Open(ctx, n)
	if err != nil {
		return nil, err
	}
	i := o.Attachment(content)
	if i < 0 {
		return nil, fault.New(ledger.ErrNotFound, op, "entry %d has no attachment of that name", n)
	}
	a := o.Att[i]
	if i >= len(o.Parts) || o.Parts[i].Recipe == nil {
		return nil, fault.New(ledger.ErrAbsent, op, "the bytes of this attachment are not in the store")
	}
	if a.Size <= heldMax {
		b, err := read.Bytes(ctx, o, i)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			download(hc, a.Type, a.Name)
			hc.SetHeader("Content-Length", strconv.Itoa(len(b)))
			_, _ = io.Copy(hc.BodyWriter(), bytes.NewReader(b)) // the client is gone
		}}, nil
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		download(hc, a.Type, a.Name)
		binder := canon.NewBinder(&o.Parts[i].Salt)
		err := read.WriteTo(ctx, o, i, io.MultiWriter(binder, hc.BodyWriter()))
		if err == nil && binder.Sum() != a.Bind {
			err = fault.New(ledger.ErrBindMismatch, op, "attachment %q of entry %d of run %s is not the one that was recorded", a.Name, n, info.Run)
		}
		if err != nil {
			s.breakOff(ctx, err)
		}
	}}, nil
}

// breakOff ends an answer that is under way so that the client sees that it is
// not whole: its length was not announced, and its end never comes.
func (s *Server) breakOff(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.o.Log.LogAttrs(ctx, slog.LevelWarn, "an answer was broken off", slog.String("error", err.Error()))
	}
	panic(http.ErrAbortHandler)
}

// download sets the headers of bytes that anybody may have written.
func download(hc huma.Context, typ, name string) {
	if _, _, err := mime.ParseMediaType(typ); err != nil {
		typ = "application/octet-stream"
	}
	hc.SetHeader("Content-Type", typ)
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": name})
	if disposition == "" {
		disposition = "attachment"
	}
	hc.SetHeader("Content-Disposition", disposition)
}
