package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/store/s3blob"
)

// isPlace reports whether an argument names a place in a bucket, and no file.
func isPlace(arg string) bool { return strings.HasPrefix(arg, s3blob.Scheme) }

// exportTo archives a run in a bucket.
func (a *app) exportTo(ctx context.Context, name, place string) error {
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	v, err := s3blob.OpenVault(ctx, place, a.s3())
	if err != nil {
		return err
	}
	defer v.Close()
	stop := a.progress("archiving")
	x, err := jobs.Archive(ctx, s, info.Run, v)
	stop()
	if err != nil {
		return err
	}
	if a.json {
		a.print(archivedValue(x).With("run", canon.String(string(info.Run))))
		return nil
	}
	a.archived(x)
	a.next(a.stdout, a.out, "import "+quote(x.URL))
	return nil
}

// archived says what an archive holds now.
func (a *app) archived(x *jobs.Archived) {
	what := "archived"
	if !x.Bundle.New {
		what = "was archived already"
	}
	a.printf("  %s %s, %s bytes", a.out.good(what), clean(x.URL), number(x.Bundle.Size))
	if n := len(x.Snapshots); n > 0 {
		a.printf(", %s", plural(int64(n), "snapshot"))
	}
	if !x.Bundle.Until.IsZero() {
		a.printf(", locked until %s", x.Bundle.Until.UTC().Format(time.DateOnly))
	}
	a.printf("\n")
}

func archivedValue(x *jobs.Archived) canon.Value {
	if x == nil {
		return canon.Null()
	}
	names := make([]string, len(x.Snapshots))
	for i, o := range x.Snapshots {
		names[i] = o.Name
	}
	until := canon.Null()
	if !x.Bundle.Until.IsZero() {
		until = canon.String(x.Bundle.Until.UTC().Format(time.RFC3339))
	}
	return canon.Object(
		canon.M("bundle", canon.String(x.URL)), canon.M("bytes", canon.Int(x.Bundle.Size)), canon.M("locked_until", until),
		canon.M("new", canon.Bool(x.Bundle.New)), canon.M("snapshots", canon.Strings(names)))
}

// s3 returns how buckets are reached.
func (a *app) s3() *s3blob.Options {
	return &s3blob.Options{Now: a.now, Stays: func(objects int, until time.Time) {
		end := "a legal hold is lifted"
		if !until.IsZero() {
			end = until.UTC().Format(time.RFC3339)
		}
		a.sayf("%s: %s stay in the bucket until %s, because they are locked; their key is gone, so that nobody can read them\n",
			a.err.warn("erased"), plural(int64(objects), "chunk"), end)
	}}
}

// bundlesAt returns the bundles that an argument names: one, or all of a place.
func (a *app) bundlesAt(ctx context.Context, arg string) (place string, names []string, err error) {
	place, name, ok := s3blob.SplitObject(arg)
	if ok {
		return place, []string{name}, nil
	}
	v, err := s3blob.ReadVault(ctx, arg, a.s3())
	if err != nil {
		return "", nil, err
	}
	defer v.Close()
	for o, err := range v.Objects(ctx, archive.BundleDir) {
		if err != nil {
			return "", nil, err
		}
		names = append(names, o.Name)
	}
	return arg, names, nil
}

// importPlace takes in the bundles of a place in a bucket.
func (s *opened) importPlace(ctx context.Context, arg string, opts archive.ImportOptions) []taken {
	place, names, err := s.a.bundlesAt(ctx, arg)
	if err != nil {
		return []taken{{file: arg, err: err}}
	}
	v, err := s3blob.ReadVault(ctx, place, s.a.s3())
	if err != nil {
		return []taken{{file: arg, err: err}}
	}
	defer v.Close()
	var list []taken
	for _, name := range names {
		t := taken{file: v.URL(s3blob.Object{Name: name})}
		err := archive.Withdraw(ctx, v, name, func(r io.ReaderAt, size int64) error {
			s.importBundle(ctx, &t, r, size, opts)
			return nil // t has it
		})
		if err != nil {
			t.err = err
		}
		list = append(list, t)
	}
	return list
}
