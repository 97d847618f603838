package server

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"

	"github.com/reprise-dev/reprise/internal/jobs"
)

//go:embed job_missing.html
var missingHTML string

// mostMissing is how many jobs the page shows. The list under /v1/jobs has
// pages.
const mostMissing = 1000

type missingJobs struct {
	Jobs              []*jobs.Stored
	Seen, Kept        int
	NotOver, NotShown int
}

// missingPage is for operations: the jobs that cannot be replayed, and what each
// of them lacks (M-109). It loads nothing and runs no script.
func (s *Server) missingPage(w http.ResponseWriter, r *http.Request) {
	var m missingJobs
	for j, err := range jobs.List(r.Context(), s.store) {
		if err != nil {
			refuse(w, err)
			return
		}
		switch m.Seen++; {
		case !j.Done:
			m.NotOver++
		case j.Replayable:
			m.Kept++
		case len(m.Jobs) == mostMissing:
			m.NotShown++
		default:
			m.Jobs = append(m.Jobs, j)
		}
	}
	page, err := template.New("missing").Parse(missingHTML)
	var b bytes.Buffer
	if err == nil {
		err = page.Execute(&b, &m)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	// The page's own style, and nothing else of anybody's.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	_, _ = w.Write(b.Bytes()) // the client is gone
}
