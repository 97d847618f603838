package jobs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
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
