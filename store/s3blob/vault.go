package s3blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Sizes of objects. What fits into one part is written by one request.
const (
	partSize = 8 << 20
	maxParts = 10000
	// MaxObject is the most that a vault takes as one object, in bytes.
	MaxObject = partSize * maxParts
)

// Vault keeps objects for good, each under the digest of its bytes.
type Vault struct{ *bucket }

// Object is an object of a vault.
type Object struct {
	Name   string // DIR/DIGEST.EXT, below the place
	Digest canon.Digest
	Size   int64
	Until  time.Time // when its lock ends; zero: it has none, or it was not looked at
	New    bool      // it was not there before
}

var (
	dirName    = regexp.MustCompile(`^[a-z0-9_-]{1,128}(/[a-z0-9_-]{1,128}){0,3}$`)
	objectName = regexp.MustCompile(`^([a-z0-9_/-]+)/([0-9a-f]{64})(\.[a-z0-9]{1,16})?$`)
)

// OpenVault opens the place, whose bucket must be there.
func OpenVault(ctx context.Context, place string, opts *Options) (*Vault, error) {
	b, err := open(ctx, place, opts)
	if err != nil {
		return nil, err
	}
	return &Vault{b}, nil
}

// ReadVault opens the place for reading: whether the bucket keeps versions is
// not asked, so that the right to read objects is enough.
func ReadVault(ctx context.Context, place string, opts *Options) (*Vault, error) {
	b, err := reach(ctx, place, opts)
	if err != nil {
		return nil, err
	}
	return &Vault{b}, nil
}

// SplitObject splits the text of an object into that of its place and its name
// there. It reports false if the text is that of a place.
func SplitObject(text string) (place, name string, ok bool) {
	p, err := ParsePlace(text)
	if err != nil {
		return "", "", false
	}
	parts := strings.Split(p.Prefix, "/")
	at := len(parts) - 2 // an object that is named from outside is one folder deep
	if at < 0 {
		return "", "", false
	}
	name = strings.Join(parts[at:], "/")
	p.Prefix = strings.Join(parts[:at], "/")
	return p.String(), name, objectName.MatchString(name)
}

// Close frees connections.
func (v *Vault) Close() error {
	v.close()
	return nil
}

// URL returns the text by which an object is found again.
func (v *Vault) URL(o Object) string { return v.object(o.Name) }

// Put stores the content, of that many bytes, in dir under its digest, and
// makes sure that it is locked for as long as the place says. It is whole and
// durable when Put returns. An object that is there is read and compared; one
// whose upload was cut off was not there, and is gone on with.
func (v *Vault) Put(ctx context.Context, dir, ext string, content io.ReaderAt, size int64) (Object, error) {
	const op = "s3blob.Vault.Put"
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(content, 0, min(size, MaxObject+1)))
	if err != nil || n != size {
		return Object{}, fault.New(ErrObject, op, "%d of %d bytes of the object could be read, and at most %d are taken: %v", n, size, int64(MaxObject), err)
	}
	o := Object{Digest: canon.Digest(h.Sum(nil)), Size: size}
	o.Name = dir + "/" + o.Digest.String() + ext
	if !dirName.MatchString(dir) || !objectName.MatchString(o.Name) {
		return Object{}, fault.New(ErrObject, op, "%q is no name of an object", o.Name)
	}
	if err := ended(ctx, op); err != nil {
		return Object{}, err
	}
	if o.New, err = v.write(ctx, o, content); err != nil {
		return Object{}, v.fail(op, err, "object %s", o.Name)
	}
	if o.New && size <= partSize { // an upload that was gone on with has the lock that it began with
		o.Until = v.until(v.opts.Now())
		return o, nil
	}
	if !o.New {
		if err := v.Get(ctx, o.Name, io.Discard); err != nil {
			return Object{}, err
		}
	}
	o.Until, err = v.extend(ctx, o)
	return o, err
}

func (v *Vault) write(ctx context.Context, o Object, content io.ReaderAt) (bool, error) {
	if o.Size > partSize {
		return v.upload(ctx, o, content)
	}
	b := make([]byte, o.Size)
	if _, err := content.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return v.create(ctx, v.key(o.Name), b, true)
}

// extend makes sure that an object is locked for as long as the place says now.
func (v *Vault) extend(ctx context.Context, o Object) (time.Time, error) {
	const op = "s3blob.Vault.Put"
	mode, until := v.lock()
	if until == nil {
		return time.Time{}, nil
	}
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	key := v.key(o.Name)
	now, err := v.retention(ctx, key, nil)
	if err == nil && !now.Before(*until) {
		return now, nil
	}
	if err == nil {
		_, err = v.s3.PutObjectRetention(ctx, &s3.PutObjectRetentionInput{
			Bucket: &v.Bucket, Key: &key,
			Retention: &types.ObjectLockRetention{Mode: types.ObjectLockRetentionMode(mode), RetainUntilDate: until},
		})
	}
	if err != nil {
		return now, v.fail(op, err, "the lock of object %s", o.Name)
	}
	return *until, nil
}

// Get writes an object to w, and afterwards says whether it was the one that
// its name says: what was written is good only if the error is nil.
func (v *Vault) Get(ctx context.Context, name string, w io.Writer) error {
	const op = "s3blob.Vault.Get"
	m := objectName.FindStringSubmatch(name)
	if m == nil {
		return fault.New(ErrObject, op, "%q is no name of an object", name)
	}
	if err := ended(ctx, op); err != nil {
		return err
	}
	key := v.key(name)
	head, err := v.stat(ctx, key)
	if missing(err) {
		return fault.New(ErrNoObject, op, "there is no object %s in %s", name, v.Place)
	}
	if err != nil {
		return v.fail(op, err, "object %s", name)
	}
	size := aws.ToInt64(head.ContentLength)
	if size > MaxObject {
		return fault.New(ErrContent, op, "object %s has %d bytes, more than any has", name, size)
	}
	h := sha256.New()
	for at := int64(0); at < size; at += partSize {
		b, err := v.part(ctx, key, head.ETag, at, min(partSize, size-at))
		if err != nil {
			return v.fail(op, err, "object %s from byte %d on", name, at)
		}
		h.Write(b)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	if got := canon.Digest(h.Sum(nil)).String(); got != m[2] {
		return fault.New(ErrContent, op, "object %s holds other bytes: their digest is %s", name, got)
	}
	return nil
}

// part reads a part of an object, as long as that stays the same.
func (v *Vault) part(ctx context.Context, key string, etag *string, at, size int64) ([]byte, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	out, err := v.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &v.Bucket, Key: &key, IfMatch: etag, Range: aws.String(byteRange(at, size))})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	b, err := io.ReadAll(io.LimitReader(out.Body, size+1))
	if err == nil && int64(len(b)) != size {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// Objects yields what is in dir, in the order of the names.
func (v *Vault) Objects(ctx context.Context, dir string) iter.Seq2[Object, error] {
	const op = "s3blob.Vault.Objects"
	return func(yield func(Object, error) bool) {
		stopped := false
		root := strings.TrimSuffix(v.key(dir+"/"), dir+"/")
		err := v.list(ctx, root+dir+"/", func(x types.Object) bool {
			name := strings.TrimPrefix(*x.Key, root)
			m := objectName.FindStringSubmatch(name)
			if m == nil {
				return true // somebody else's
			}
			d, err := canon.ParseDigest(m[2])
			if err != nil {
				return true
			}
			stopped = !yield(Object{Name: name, Digest: d, Size: aws.ToInt64(x.Size)}, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(Object{}, v.fail(op, err, "listing %s in %s", dir, v.Place))
		}
	}
}

// upload writes an object in parts. Nobody sees any of it before all of it is
// there. An upload of the same content that was cut off is gone on with.
func (v *Vault) upload(ctx context.Context, o Object, content io.ReaderAt) (bool, error) {
	key := v.key(o.Name)
	if _, err := v.stat(ctx, key); !missing(err) {
		return false, err
	}
	id, have, err := v.resume(ctx, key)
	if err == nil && id == "" {
		id, err = v.begin(ctx, key)
	}
	if err != nil {
		return false, err
	}
	var parts []types.CompletedPart
	buf := make([]byte, partSize)
	for at := int64(0); at < o.Size; at += partSize {
		n := int32(len(parts) + 1)
		b := buf[:min(partSize, o.Size-at)]
		if _, err := content.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		sum := checksum(canon.SHA256(b))
		part := types.CompletedPart{PartNumber: aws.Int32(n), ChecksumSHA256: aws.String(sum)}
		if there, ok := have[n]; ok && aws.ToString(there.ChecksumSHA256) == sum {
			part.ETag = there.ETag
		} else if part.ETag, err = v.sendPart(ctx, key, id, n, b, sum); err != nil {
			return false, err
		}
		parts = append(parts, part)
	}
	return v.complete(ctx, key, id, parts)
}

// resume finds an upload of the object that was cut off.
func (v *Vault) resume(ctx context.Context, key string) (string, map[int32]types.Part, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	out, err := v.s3.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &v.Bucket, Prefix: &key})
	if is(err, "NotImplemented", "AccessDenied") {
		return "", nil, nil // then it begins anew
	}
	if err != nil {
		return "", nil, err
	}
	for _, u := range out.Uploads {
		if aws.ToString(u.Key) != key {
			continue
		}
		have := map[int32]types.Part{}
		pages := s3.NewListPartsPaginator(v.s3, &s3.ListPartsInput{Bucket: &v.Bucket, Key: &key, UploadId: u.UploadId})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return "", nil, err
			}
			for _, p := range page.Parts {
				have[aws.ToInt32(p.PartNumber)] = p
			}
		}
		return *u.UploadId, have, nil
	}
	return "", nil, nil
}

func (v *Vault) begin(ctx context.Context, key string) (string, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	in := &s3.CreateMultipartUploadInput{Bucket: &v.Bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumType: types.ChecksumTypeComposite}
	in.ObjectLockMode, in.ObjectLockRetainUntilDate = v.lock()
	out, err := v.s3.CreateMultipartUpload(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.UploadId), nil
}

func (v *Vault) sendPart(ctx context.Context, key, id string, n int32, b []byte, sum string) (*string, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	out, err := v.s3.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &v.Bucket, Key: &key, UploadId: &id, PartNumber: &n, Body: bytes.NewReader(b),
		ContentLength: aws.Int64(int64(len(b))), ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumSHA256: &sum,
	})
	if err != nil {
		return nil, err
	}
	return out.ETag, nil
}

// complete makes an object of its parts. Who finds it done by another, or lost
// the answer to an earlier attempt, finds the object there.
func (v *Vault) complete(ctx context.Context, key, id string, parts []types.CompletedPart) (bool, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	var err error
	for range attempts {
		_, err = v.s3.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &v.Bucket, Key: &key, UploadId: &id, IfNoneMatch: aws.String("*"), ChecksumType: types.ChecksumTypeComposite,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
		if !contested(err) {
			break
		}
	}
	if taken(err) {
		_, err := v.s3.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &v.Bucket, Key: &key, UploadId: &id})
		if missing(err) {
			err = nil
		}
		return false, err
	}
	if status(err) == http.StatusNotFound { // NoSuchUpload
		_, err := v.stat(ctx, key)
		return false, err
	}
	return err == nil, err
}
