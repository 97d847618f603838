package s3blob

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// create writes an object that is not there yet, and reports whether it did:
// one that is there stays as it is. It is durable when create returns.
func (b *bucket) create(ctx context.Context, key string, content []byte, locked bool) (bool, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	in := &s3.PutObjectInput{
		Bucket: &b.Bucket, Key: &key, IfNoneMatch: aws.String("*"), ContentLength: aws.Int64(int64(len(content))),
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumSHA256: aws.String(checksum(canon.SHA256(content))),
	}
	if locked {
		in.ObjectLockMode, in.ObjectLockRetainUntilDate = b.lock()
	}
	var err error
	for range attempts {
		in.Body = bytes.NewReader(content)
		if _, err = b.s3.PutObject(ctx, in); !contested(err) {
			break
		}
	}
	if taken(err) {
		return false, nil
	}
	return err == nil, err
}

func checksum(d canon.Digest) string { return base64.StdEncoding.EncodeToString(d[:]) }

// read returns an object of at most limit bytes. One that is longer is cut
// behind the limit, and whoever asked finds it wrong.
func (b *bucket) read(ctx context.Context, key string, limit int64) ([]byte, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	out, err := b.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(io.LimitReader(out.Body, limit+1))
}

// list calls do for every object that begins so, in the order of the keys.
func (b *bucket) list(ctx context.Context, prefix string, do func(types.Object) bool) error {
	pages := s3.NewListObjectsV2Paginator(b.s3, &s3.ListObjectsV2Input{Bucket: &b.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := b.page(ctx, pages)
		if err != nil {
			return err
		}
		for _, o := range page.Contents {
			if !do(o) {
				return nil
			}
		}
	}
	return nil
}

func (*bucket) page(ctx context.Context, pages *s3.ListObjectsV2Paginator) (*s3.ListObjectsV2Output, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	return pages.NextPage(ctx)
}

// stat returns what is known of an object without reading it.
func (b *bucket) stat(ctx context.Context, key string) (*s3.HeadObjectOutput, error) {
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	return b.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Bucket, Key: &key})
}

// close frees connections.
func (b *bucket) close() { b.http.CloseIdleConnections() }

// forbidden reports whether the service refuses, be it for a lock or for want
// of a right: it says the same of both.
func forbidden(code string) bool {
	return code == "AccessDenied" || code == "ObjectLocked" || code == http.StatusText(http.StatusForbidden)
}

// byteRange asks for a part of an object.
func byteRange(at, size int64) string {
	return "bytes=" + strconv.FormatInt(at, 10) + "-" + strconv.FormatInt(at+size-1, 10)
}
