package cli_test

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/jobs/jobstest"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/store"
)

// misroute forges the newest job of the story.
func misroute(ts *testscript.TestScript, _ bool, _ []string) {
	ctx := context.Background()
	k, err := keys.Open(ts.MkAbs("config/keys"), rand.Reader)
	ts.Check(err)
	signer, err := k.Signer()
	ts.Check(err)
	s, err := store.Open(ctx, "sqlite:"+ts.MkAbs(".reprise/reprise.db"), nil)
	ts.Check(err)
	defer s.Close()
	r := &jobs.Runner{
		Config: drive.Config{Store: s, Now: time.Now, Rand: rand.Reader, Signer: signer, Manifests: k.Manifests(), Holder: "forger"},
		Keys:   k,
	}
	for j, err := range jobs.List(ctx, s) {
		ts.Check(err)
		_, err = jobstest.Forge(ctx, r, j.Run, jobstest.Misroute, nil)
		ts.Check(err)
		return
	}
	ts.Fatalf("there is no job")
}
