package jobs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/s3blob"
	"github.com/reprise-dev/reprise/store/s3blob/s3blobtest"
)

const archived = "archive: s3://archive/jobs?lock=compliance&days=1&path-style=1&region=us-east-1&endpoint="

// shelf is an S3 service with a bucket for archives, and a rig that uses it.
func shelf(t *testing.T) (*rig, s3blobtest.Service) {
	t.Helper()
	s := s3blobtest.Start(t)
	s.Bucket(t, "archive", s3blobtest.Lockable)
	r := newRig(t)
	r.Vault = func(ctx context.Context, place string) (*s3blob.Vault, error) {
		return s3blob.OpenVault(ctx, place, s.Options())
	}
	return r, s
}

func (r *rig) openVault(s s3blobtest.Service) *s3blob.Vault {
	r.t.Helper()
	v, err := s3blob.OpenVault(r.t.Context(), s.Place("archive/jobs", ""), s.Options())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = v.Close() })
	return v
}

// spec: M-98..99
func TestAJobIsArchivedUnderItsContentAndReplaysFromThere(t *testing.T) {
	t.Parallel()
	r, s := shelf(t)
	res := r.done(archived + s.Endpoint + birds)
	a := res.Archived
	if a == nil || len(a.Snapshots) != len(job.Kinds()) || time.Until(a.Bundle.Until) < 23*time.Hour {
		t.Fatalf("Archived = %+v, want a bundle and %d snapshots, locked for a day", a, len(job.Kinds()))
	}
	v := r.openVault(s)
	j, err := jobs.Find(t.Context(), r.store, res.Run)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for x, err := range jobs.Snapshots(t.Context(), r.store, res.Run, "") {
		if err != nil {
			t.Fatal(err)
		}
		want, err := x.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		name := "snapshots/" + j.Snapshots[x.Kind] + "/" + canon.SHA256(want).String() + ".json"
		var got bytes.Buffer
		if err := v.Get(t.Context(), name, &got); err != nil || a.Snapshots[i].Name != name || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("the %s snapshot is %q in the archive, %v; want %q with the bytes of the store", x.Kind, a.Snapshots[i].Name, err, name)
		}
		i++
	}

	to := rigAt(t, "sqlite:"+filepath.Join(t.TempDir(), "other.db"), r.keys)
	err = archive.Withdraw(t.Context(), v, a.Bundle.Name, func(b io.ReaderAt, size int64) error {
		_, err := archive.Import(t.Context(), to.store, b, size, archive.ImportOptions{Rand: rand.Reader, Holder: t.Name()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	to.sound(res.Run)
	replayed, err := to.replay(on(res.Run, production))
	if err != nil || !replayed.Authoritative() {
		t.Errorf("Replay = %+v, %v; want the same, authoritative", replayed, err)
	}
	_, before, err := jobs.ReadLog(t.Context(), r.store, res.Run)
	if err != nil {
		t.Fatal(err)
	}
	if _, after, err := jobs.ReadLog(t.Context(), to.store, res.Run); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the restored log has %d bytes, %v; want the %d of the job, bit for bit", len(after), err, len(before))
	}
}

func TestToArchiveAJobAgainStoresNothingTwice(t *testing.T) {
	t.Parallel()
	r, s := shelf(t)
	res := r.done(archived + s.Endpoint + birds)
	again, err := jobs.Archive(t.Context(), r.store, res.Run, r.openVault(s))
	if err != nil || again.Bundle.New || again.Bundle.Name != res.Archived.Bundle.Name {
		t.Errorf("Archive = %+v, %v; want the object that is there, %s", again, err, res.Archived.Bundle.Name)
	}
}

func TestAJobThatWaitedIsArchivedWhenItIsOver(t *testing.T) {
	t.Parallel()
	r, s := shelf(t)
	text := strings.Replace(birds, "tokens_used: 10", "tokens_used: 10, requests: [{action: sem_put, key: birds/kestrel/kind, value: falcon, justification: asked for}]", 1)
	res := r.start(archived + s.Endpoint + text)
	if res.Done || res.Pending == nil || res.Archived != nil {
		t.Fatalf("Start = %+v, want a job that waits and is not archived", res)
	}
	res, err := r.Vote(t.Context(), res.Run, govern.Approve, jobs.Act{})
	if err != nil || !res.Done || res.Archived == nil {
		t.Errorf("Vote = %+v, %v; want a job that is over and archived", res, err)
	}
}

// away returns the jobs that are named as not archived.
func (r *rig) away() []ledger.RunID {
	r.t.Helper()
	var out []ledger.RunID
	for s, err := range jobs.NotArchived(r.t.Context(), r.store, r.keys) {
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, s.Run)
	}
	return out
}

// A process that ends between the end of a job and its archive leaves a job that
// is named, and that one call archives; between the archive and the record of it,
// one that is named too, of which nothing is stored twice.
func TestAJobIsArchivedAfterItsProcessWasKilled(t *testing.T) {
	t.Parallel()
	r, s := shelf(t)
	open := r.Vault
	r.done(birds) // asks for no archive
	there := r.done(archived + s.Endpoint + birds)
	if got := r.away(); len(got) != 0 {
		t.Fatalf("NotArchived = %v, want none", got)
	}

	ended := make(chan struct{})
	r.Vault = func(context.Context, string) (*s3blob.Vault, error) {
		runtime.Goexit() // nothing behind the end of the job happens
		return nil, nil
	}
	j := r.read(archived + s.Endpoint + birds)
	go func() {
		defer close(ended)
		_, _ = r.Start(context.Background(), j)
	}()
	<-ended
	r.Vault = open
	left := r.away()
	if len(left) != 1 || left[0] == there.Run {
		t.Fatalf("NotArchived = %v, want the job whose process was killed", left)
	}
	r.sound(left[0])
	_, err := jobs.Archive(t.Context(), r.store, left[0], r.openVault(s)) // and killed again: it is there, and nobody knows
	if got := r.away(); err != nil || !slices.Equal(got, left) {
		t.Fatalf("NotArchived = %v, %v; want %v", got, err, left)
	}
	for _, what := range []string{"at first", "again"} {
		a, err := r.Archive(t.Context(), left[0])
		if err != nil || a.Bundle.New {
			t.Errorf("Archive %s = %+v, %v; want what is there", what, a, err)
		}
		if got := r.away(); len(got) != 0 {
			t.Errorf("NotArchived %s = %v, want none", what, got)
		}
	}
	r.sound(left[0])
	if out, err := r.replay(on(left[0], production)); err != nil || !out.Authoritative() {
		t.Errorf("Replay = %+v, %v", out, err)
	}
}

// What is recorded of an archive counts only if a key of the user has signed it,
// for just this job and this place.
func TestOnlySignedStatementsSayThatAJobIsArchived(t *testing.T) {
	t.Parallel()
	r, s := shelf(t)
	res := r.done(archived + s.Endpoint + birds)
	other := r.start(archived + "http://127.0.0.1:1" + birds)
	if got := r.away(); !slices.Equal(got, []ledger.RunID{other.Run}) {
		t.Fatalf("NotArchived = %v, want the one whose archive cannot be reached", got)
	}
	var said []ledger.Statement
	const typ = "application/vnd.reprise.job-archived.v1+json"
	for st, err := range r.store.Statements(t.Context(), res.Run, typ) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, st)
	}
	if len(said) != 1 {
		t.Fatalf("%d statements, want one", len(said))
	}
	h := r.kept(other.Run)
	for what, envelope := range map[string][]byte{"of another job": said[0].Envelope, "that is none": []byte("{}")} {
		c := *h
		c.statements = append(slices.Clone(h.statements), ledger.Statement{Run: other.Run, Type: typ, Count: h.at.Count, Envelope: envelope})
		if !r.isAway(c.copied(t), r.keys) {
			t.Errorf("a statement %s counts", what)
		}
	}
	h = r.kept(res.Run)
	h.statements = append(h.statements, said...)
	if r.isAway(h.copied(t), r.keys) {
		t.Error("the statement of the job does not count")
	}
	if !r.isAway(h.copied(t), newKeys(t)) || !r.isAway(h.copied(t), nil) {
		t.Error("the statement of somebody else counts")
	}
	for run, code := range map[ledger.RunID]fault.Code{r.done(birds).Run: jobs.ErrNoArchive, r.start(askingFor("a")).Run: jobs.ErrUnfinished, other.Run: jobs.ErrNotArchived} {
		_, err := r.Archive(t.Context(), run)
		wantCode(t, err, code)
	}
}

// isAway reports whether the only job of a store is named as not archived.
func (r *rig) isAway(s drive.Store, k *keys.Keys) bool {
	r.t.Helper()
	for _, err := range jobs.NotArchived(r.t.Context(), s, k) {
		if err != nil {
			r.t.Fatal(err)
		}
		return true
	}
	return false
}

func TestAJobThatCannotBeArchivedIsNotLost(t *testing.T) {
	t.Parallel()
	r, s := shelf(t)
	for _, c := range []struct {
		place string
		want  fault.Code
	}{
		{"archive: " + s.Place("nowhere", ""), s3blob.ErrNoBucket},
		{"archive: " + s.Place("nowhere", "&versioning=off"), s3blob.ErrNoBucket},
	} {
		res := r.start(c.place + birds)
		if !res.Done || res.Status != jobs.StatusDone || !errors.Is(res.Err(), jobs.ErrNotArchived) || !errors.Is(res.Err(), c.want) {
			t.Errorf("Start = %+v, %v; want a job that is done, and %v by %v", res, res.Err(), jobs.ErrNotArchived, c.want)
		}
		r.sound(res.Run)
		if replayed, err := r.replay(on(res.Run, production)); err != nil || !replayed.Authoritative() {
			t.Errorf("Replay = %+v, %v; want the same", replayed, err)
		}
	}
	_, err := readFile(t, "archive: /tmp/here"+birds)
	wantCode(t, err, jobs.ErrFile)
}
