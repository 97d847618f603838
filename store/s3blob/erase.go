package s3blob

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Erase implements [blob.Store]. The key goes first, with all its versions:
// without it what is left of the chunks can be read by nobody. A bucket that
// keeps the key by a lock of its own gives [ErrLocked]; the scope is hidden then,
// and erased only by a later Erase.
func (s *Store) Erase(ctx context.Context, scope string) error {
	const op = "s3blob.Erase"
	if err := ended(ctx, op); err != nil || !valid(scope) {
		return err
	}
	key := s.keyOf(scope)
	kept, err := s.remove(ctx, key, func(k string) bool { return k == key })
	if err != nil {
		return s.fail(op, err, "the key of scope %q", scope)
	}
	chunks, err := s.remove(ctx, s.chunksOf(scope), func(string) bool { return true })
	if err != nil {
		return s.fail(op, err, "the chunks of scope %q", scope)
	}
	if kept.objects > 0 {
		return fault.New(ErrLocked, op, "the bucket keeps the key of scope %q %s: the scope is hidden, and can be erased only then", scope, kept.end()).
			With("let keys under " + s.key(scopesDir) + " be stored without a default retention or a legal hold")
	}
	s.stays(chunks)
	return nil
}

func (s *Store) stays(k kept) {
	if k.objects > 0 && s.opts.Stays != nil {
		s.opts.Stays(k.objects, k.until)
	}
}

// discard removes chunks of a scope that were stored too late.
func (s *Store) discard(ctx context.Context, scope string, chunks []blob.Chunk) error {
	const op = "s3blob.Put"
	for i := range chunks {
		if chunks[i].Scope != scope {
			continue
		}
		key := s.chunksOf(scope) + chunks[i].ID.String()
		k, err := s.remove(ctx, key, func(name string) bool { return name == key })
		if err != nil {
			return s.fail(op, err, "chunk %s of the erased scope %q", chunks[i].ID, scope)
		}
		s.stays(k)
	}
	return nil
}

// kept is what a lock did not let go of.
type kept struct {
	objects int
	until   time.Time // of the last; zero: a legal hold, which has no end
}

func (k kept) end() string {
	if k.until.IsZero() {
		return "under a legal hold"
	}
	return "until " + k.until.UTC().Format(time.RFC3339)
}

func (k *kept) add(until time.Time) {
	k.objects++
	if until.After(k.until) {
		k.until = until
	}
}

// remove deletes every version of what begins so and is wanted, as far as
// locks allow. What has to stay is hidden behind a delete marker.
func (b *bucket) remove(ctx context.Context, prefix string, want func(key string) bool) (kept, error) {
	if !b.versions {
		return kept{}, b.removePlain(ctx, prefix, want)
	}
	var k kept
	stuck := map[string]bool{} // keys with versions that stay
	pass := func(do func(*s3.ListObjectVersionsOutput) error) error {
		pages := s3.NewListObjectVersionsPaginator(b.s3, &s3.ListObjectVersionsInput{Bucket: &b.Bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := b.versionPage(ctx, pages)
			if err == nil {
				err = do(page)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := pass(func(page *s3.ListObjectVersionsOutput) error {
		var ids []types.ObjectIdentifier
		for _, v := range page.Versions {
			if want(*v.Key) {
				ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
			}
		}
		refused, err := b.delete(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range refused {
			until, err := b.locked(ctx, id)
			if err != nil {
				return err
			}
			k.add(until)
			stuck[*id.Key] = true
		}
		return nil
	})
	if err != nil {
		return k, err
	}
	hidden := map[string]bool{}
	err = pass(func(page *s3.ListObjectVersionsOutput) error {
		var ids []types.ObjectIdentifier
		for _, m := range page.DeleteMarkers {
			switch {
			case !want(*m.Key):
			case stuck[*m.Key]:
				hidden[*m.Key] = hidden[*m.Key] || aws.ToBool(m.IsLatest)
			default:
				ids = append(ids, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
			}
		}
		refused, err := b.delete(ctx, ids)
		if err == nil && len(refused) > 0 {
			err = fault.New(ErrDenied, "s3blob.Erase", "a delete marker of %s may not be removed", *refused[0].Key)
		}
		return err
	})
	if err != nil {
		return k, err
	}
	for key := range stuck {
		if hidden[key] {
			continue
		}
		if err := b.hide(ctx, key); err != nil {
			return k, err
		}
	}
	return k, nil
}

func (*bucket) versionPage(ctx context.Context, pages *s3.ListObjectVersionsPaginator) (*s3.ListObjectVersionsOutput, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	return pages.NextPage(ctx)
}

// hide puts a delete marker in front of the versions of an object.
func (b *bucket) hide(ctx context.Context, key string) error {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	_, err := b.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Bucket, Key: &key})
	return err
}

// removePlain deletes objects of a bucket without versions.
func (b *bucket) removePlain(ctx context.Context, prefix string, want func(key string) bool) error {
	for {
		var ids []types.ObjectIdentifier
		err := b.list(ctx, prefix, func(o types.Object) bool {
			if want(*o.Key) {
				ids = append(ids, types.ObjectIdentifier{Key: o.Key})
			}
			return len(ids) < maxDelete
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		refused, err := b.delete(ctx, ids)
		if err != nil {
			return err
		}
		if len(refused) > 0 {
			return fault.New(ErrDenied, "s3blob.Erase", "object %s may not be deleted", *refused[0].Key)
		}
	}
}

// maxDelete is how many objects one request may delete.
const maxDelete = 1000

// delete deletes objects or versions of them, at most maxDelete, and returns
// those that the service refuses to.
func (b *bucket) delete(ctx context.Context, ids []types.ObjectIdentifier) ([]types.ObjectIdentifier, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	out, err := b.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.Bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
	if err != nil {
		return nil, err
	}
	var refused []types.ObjectIdentifier
	for _, e := range out.Errors {
		switch code := aws.ToString(e.Code); {
		case forbidden(code):
			refused = append(refused, types.ObjectIdentifier{Key: e.Key, VersionId: e.VersionId})
		case code == "NoSuchKey", code == "NoSuchVersion":
		default:
			return nil, fault.New(blob.ErrStore, "s3blob.Erase", "object %s cannot be deleted: %s %s", aws.ToString(e.Key), code, aws.ToString(e.Message))
		}
	}
	return refused, nil
}

// locked returns until when a version that may not be deleted is locked; zero
// is a legal hold. One that has neither may not be deleted for want of a right.
func (b *bucket) locked(ctx context.Context, id types.ObjectIdentifier) (time.Time, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	until, err := b.retention(ctx, *id.Key, id.VersionId)
	if err != nil || until.After(b.opts.Now()) {
		return until, err
	}
	h, err := b.s3.GetObjectLegalHold(ctx, &s3.GetObjectLegalHoldInput{Bucket: &b.Bucket, Key: id.Key, VersionId: id.VersionId})
	if err == nil && h.LegalHold != nil && h.LegalHold.Status == types.ObjectLockLegalHoldStatusOn {
		return time.Time{}, nil
	}
	return time.Time{}, errors.Join(fault.New(ErrDenied, "s3blob.Erase", "object %s may not be deleted, and no lock keeps it: these credentials lack s3:DeleteObjectVersion", *id.Key), err)
}

// retention returns until when a version is locked, or the zero time.
func (b *bucket) retention(ctx context.Context, key string, version *string) (time.Time, error) {
	r, err := b.s3.GetObjectRetention(ctx, &s3.GetObjectRetentionInput{Bucket: &b.Bucket, Key: &key, VersionId: version})
	switch {
	case err == nil && r.Retention != nil && r.Retention.RetainUntilDate != nil:
		return *r.Retention.RetainUntilDate, nil
	case err == nil, is(err, "NoSuchObjectLockConfiguration", "ObjectLockConfigurationNotFoundError", "InvalidRequest", "NotImplemented"), missing(err):
		return time.Time{}, nil
	default:
		return time.Time{}, err
	}
}
