package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// watched is how many of the newest runs a stream over all runs follows.
	watched = 100
	// heartbeat is how often a stream says that it lives.
	heartbeat = 15 * time.Second
)

func (s *Server) eventRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "watchEntries", Method: http.MethodGet, Path: "/v1/events", Tags: []string{tagRuns},
		Summary: "Follow new entries",
		Description: "Server-sent events, one named entry for each entry that is appended, as EntryEvent; they hold no content. " +
			"With run, the entries of that run from number from on, and the stream ends with its seal; else those of the newest 100 runs from now on. " +
			"A client that lost the stream of one run goes on with Last-Event-ID.",
		Responses: map[string]*huma.Response{"200": {
			Description: "Events, each with the number of its entry as id and an EntryEvent as data",
			Content: map[string]*huma.MediaType{"text/event-stream": {
				Schema: &huma.Schema{Type: huma.TypeString},
			}},
		}},
		Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		Run  string `query:"run" maxLength:"36" doc:"Follow this run only"`
		From int64  `query:"from" minimum:"0" maximum:"9007199254740991" doc:"With run: number of the first entry"`
		Last string `header:"Last-Event-ID" maxLength:"20" doc:"With run: number of the last entry that came"`
	},
	) (*huma.StreamResponse, error) {
		w := &watch{s: s, seen: map[ledger.RunID]int64{}}
		if err := w.begin(ctx, in.Run, in.From, in.Last); err != nil {
			return nil, err
		}
		if s.streams.Add(1) > int64(s.o.MaxStreams) {
			s.streams.Add(-1)
			return nil, fault.New(ErrBusy, "server.watch", "%d streams are open, which is the limit", s.o.MaxStreams)
		}
		return &huma.StreamResponse{Body: w.serve}, nil
	})
	// The schema of the events is part of the document, though huma sees only
	// a stream.
	s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.EntryEvent](), true, "EntryEvent")
}

// watch is one live stream. It looks at the store again and again, because
// other processes append to it too.
type watch struct {
	s    *Server
	run  ledger.RunID // empty: all
	seen map[ledger.RunID]int64
	past bool      // the stream of one run begins behind its seal
	last time.Time // when something was sent
	hc   huma.Context
}

// begin finds where the stream begins.
func (w *watch) begin(ctx context.Context, name string, from int64, last string) error {
	if name != "" {
		info, err := w.s.find(ctx, name)
		if err != nil {
			return err
		}
		if n, err := strconv.ParseInt(last, 10, 64); err == nil && n >= 0 {
			from = n + 1
		}
		w.run = info.Run
		w.seen[info.Run] = from
		w.past = info.Sealed && from >= info.At.Count
		return nil
	}
	return w.each(ctx, func(info ledger.RunInfo) error {
		w.seen[info.Run] = info.At.Count
		return nil
	})
}

// each takes the runs that the stream follows.
func (w *watch) each(ctx context.Context, f func(ledger.RunInfo) error) error {
	n := 0
	for info, err := range w.s.store.Runs(ctx) {
		if err != nil {
			return err
		}
		if err := f(info); err != nil {
			return err
		}
		if n++; n == watched {
			return nil
		}
	}
	return nil
}

func (w *watch) serve(hc huma.Context) {
	defer w.s.streams.Add(-1)
	ctx := hc.Context()
	w.hc = hc
	hc.SetHeader("Content-Type", "text/event-stream")
	hc.SetStatus(http.StatusOK)
	if w.write(": follow\n\n") != nil {
		return
	}
	tick := time.NewTicker(w.s.o.Poll)
	defer tick.Stop()
	for {
		switch done, err := w.look(ctx); {
		case err != nil:
			return // the client comes again and is told why
		case done:
			_ = w.write(": end\n\n") // so that an end is told from a broken connection
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-w.s.closing:
			return
		case <-tick.C:
		}
		if time.Since(w.last) > heartbeat && w.write(": still here\n\n") != nil {
			return
		}
	}
}

// look sends what is new.
func (w *watch) look(ctx context.Context) (done bool, err error) {
	if w.run != "" {
		at, err := w.s.store.At(ctx, w.run)
		if err != nil || at.Count <= w.seen[w.run] {
			return w.past, err
		}
		return w.send(ctx, w.run)
	}
	return false, w.each(ctx, func(info ledger.RunInfo) error {
		if info.At.Count <= w.seen[info.Run] {
			return nil
		}
		_, err := w.send(ctx, info.Run)
		return err
	})
}

// send sends the entries of a run that were not seen yet, and reports whether
// the last of them is the seal.
func (w *watch) send(ctx context.Context, run ledger.RunID) (sealed bool, err error) {
	for e, err := range w.s.store.Read(ctx, run, w.seen[run]) {
		if err != nil {
			return false, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return false, err
		}
		b, err := json.Marshal(api.EntryEvent{
			Run: string(run), N: o.N, ID: o.ID.String(), Kind: string(o.Kind), T: o.T,
			Name: o.Body.Get("name").Str(), Status: o.Body.Get("status").Str(),
		})
		if err != nil {
			return false, err
		}
		if err := w.write(fmt.Sprintf("id: %d\nevent: entry\ndata: %s\n\n", o.N, b)); err != nil {
			return false, err
		}
		w.seen[run] = o.N + 1
		sealed = o.Kind == ledger.KindSeal
	}
	return sealed, nil
}

// write sends one event at once.
func (w *watch) write(text string) error {
	w.last = time.Now()
	_, err := w.hc.BodyWriter().Write([]byte(text))
	if f, ok := w.hc.BodyWriter().(http.Flusher); ok {
		f.Flush()
	}
	return err
}
