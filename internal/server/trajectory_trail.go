package server

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// TrailFilter says which entries of a trail are wanted. It is exported because
// huma sees nothing else.
type TrailFilter struct {
	RunPath
	Kind string          `query:"kind" maxLength:"32" doc:"Entries of this kind only" example:"commit"`
	From int64           `query:"from" minimum:"0" maximum:"9007199254740991" doc:"Number of the first entry"`
	To   Optional[int64] `query:"to" minimum:"0" maximum:"9007199254740991" doc:"Number of the last entry"`
}

func (s *Server) trailRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "getTrail", Method: http.MethodGet, Path: "/v1/trajectories/{run}/audit", Tags: []string{tagTrajectories},
		Summary: "Read the trail",
		Description: "Every entry as an auditor reads it: who asked for what, which rules were evaluated, who approved, and whether what is signed was verified here. " +
			"Each has its id and its parent, so that the chain can be checked. A branch goes on where the trail of its source was left. A trail is only worth what its verification says.",
		Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct {
		TrailFilter
		Verify bool `query:"verify" default:"true" doc:"Verify the whole run; a reader of many pages asks for it once"`
		Limit  int  `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"How many entries at most; a page with large bodies has fewer"`
	},
	) (*answer[api.Trail], error) {
		return of(s.trail(ctx, &in.TrailFilter, in.Verify, in.Limit))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "getTrailCSV", Method: http.MethodGet, Path: "/v1/trajectories/{run}/audit.csv", Tags: []string{tagTrajectories},
		Summary: "Read the trail as CSV",
		Description: "With the columns id, trajectory_id, seq, kind, parent, created_at, label, payload. " +
			"Nothing is verified: that is for replay. A trail that cannot be read to its end is broken off.",
		Responses: binary("text/csv", "The trail"), Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *TrailFilter) (*huma.StreamResponse, error) {
		return s.trailCSV(ctx, in)
	})
}

func (s *Server) trail(ctx context.Context, in *TrailFilter, verify bool, limit int) (api.Trail, error) {
	info, err := s.findTrajectory(ctx, in.Run)
	page := api.Trail{Run: string(info.Run), Entries: []api.TrailEntry{}}
	if err != nil {
		return page, err
	}
	if verify {
		proof, err := s.prove(ctx, info, &replayInput{Verify: true})
		if err != nil {
			return page, err
		}
		r := reportOf(proof.Report)
		page.Verification = &r
	}
	size := 0
	for x, err := range s.trailOf(ctx, info.Run, in) {
		if verify && trajectories.Broken(err) {
			break // the verification says why
		}
		if err != nil {
			return page, stored(err)
		}
		n := len(page.Entries)
		size += len(x.Payload) + len(x.Line)
		if n == limit || n > 0 && size > maxPage {
			page.Next = &x.Seq
			break
		}
		page.Entries = append(page.Entries, x)
	}
	page.Count = int64(len(page.Entries))
	return page, nil
}

// trailOf yields the entries of a trail that are wanted. What a branch has of
// its source is read, for what it decides there, and left out: it is the trail
// of the source.
func (s *Server) trailOf(ctx context.Context, run ledger.RunID, in *TrailFilter) iter.Seq2[api.TrailEntry, error] {
	return func(yield func(api.TrailEntry, error) bool) {
		read, t := drive.NewReader(s.store, run), trajectory.NewTrail()
		var id canon.Digest
		for o, err := range read.All(ctx) {
			if err != nil {
				yield(api.TrailEntry{}, err)
				return
			}
			if o.Run == run && in.To.Set && o.N > in.To.Value {
				return
			}
			l := t.Line(o, func(name string) ([]byte, error) {
				if i := o.Attachment(name); i >= 0 {
					return read.Bytes(ctx, o, i)
				}
				return nil, fault.New(ledger.ErrAbsent, "server.trail", "entry %d has no content of that name", o.N)
			})
			id = trajectoryAt(id, o, t)
			if o.Run != run || o.N < in.From || in.Kind != "" && in.Kind != string(o.Kind) {
				continue
			}
			x := api.TrailEntry{
				ID: o.ID.String(), Seq: o.N, Kind: string(o.Kind), Label: string(l.Label), Technical: l.Technical,
				CreatedAt: o.T, Line: raw(l.Value()), Payload: raw(o.Body),
			}
			if !id.IsZero() {
				x.TrajectoryID = id.String()
			}
			if o.N > 0 {
				x.Parent = o.Prev.String()
			}
			if !yield(x, nil) {
				return
			}
		}
	}
}

// trajectoryAt returns the trajectory that an entry belongs to, if the one
// before belonged to at.
func trajectoryAt(at canon.Digest, o *ledger.Opened, t *trajectory.Trail) canon.Digest {
	switch o.Kind {
	case ledger.KindOpen:
		if c := t.Charter(); c != nil && at.IsZero() {
			at, _ = c.Trajectory() // one without an agent belongs to none
		}
	case ledger.KindBranch:
		source, err := canon.ParseDigest(o.Data().Get("source_trajectory_id").Str())
		commit, none := canon.ParseDigest(o.Data().Get("source_commit_id").Str())
		if err == nil && (none == nil || o.Data().Get("source_commit_id").IsNull()) {
			at = trajectory.BranchTrajectory(source, commit)
		}
	default:
	}
	return at
}

func (s *Server) trailCSV(ctx context.Context, in *TrailFilter) (*huma.StreamResponse, error) {
	info, err := s.findTrajectory(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		w := &late{hc: hc, begin: func() { download(hc, "text/csv", string(info.Run)+".csv") }}
		switch err := s.writeTrail(ctx, w, info.Run, in); {
		case err == nil:
		case w.begun:
			s.breakOff(ctx, err)
		default:
			_ = huma.WriteErr(s.api, hc, http.StatusInternalServerError, "", err) // the client is gone
		}
	}}, nil
}

func (s *Server) writeTrail(ctx context.Context, w io.Writer, run ledger.RunID, in *TrailFilter) error {
	c := csv.NewWriter(w)
	err := c.Write([]string{"id", "trajectory_id", "seq", "kind", "parent", "created_at", "label", "payload"})
	for x, failed := range s.trailOf(ctx, run, in) {
		if err = errors.Join(err, stored(failed)); err != nil {
			return err
		}
		err = c.Write([]string{
			x.ID, x.TrajectoryID, strconv.FormatInt(x.Seq, 10), x.Kind, x.Parent, x.CreatedAt, x.Label, string(x.Payload),
		})
	}
	c.Flush()
	return errors.Join(err, c.Error())
}
