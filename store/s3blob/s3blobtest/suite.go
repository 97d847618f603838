// Package s3blobtest holds package s3blob against a service: a stand-in in this
// process ([Start]), or a real one.
package s3blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/blob/blobtest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/store/s3blob"
)

// Service is a service that speaks S3.
type Service struct{ Endpoint, AccessKey, SecretKey string }

// Client speaks to the service as somebody else would.
func (s Service) Client() *s3.Client {
	who := aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey}
	return s3.New(s3.Options{
		BaseEndpoint: &s.Endpoint, UsePathStyle: true, Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return who, nil }),
	})
}

// The kinds of buckets.
const (
	Plain     = "plain"
	Versioned = "versioned"
	Lockable  = "lockable"
)

// Bucket makes a bucket of that kind.
func (s Service) Bucket(t testing.TB, name, kind string) {
	t.Helper()
	c := s.Client()
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name, ObjectLockEnabledForBucket: aws.Bool(kind == Lockable)}); err != nil {
		t.Fatal(err)
	}
	if kind == Plain {
		return
	}
	_, err := c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Place returns the text of a place of the service.
func (s Service) Place(bucketAndPrefix, more string) string {
	return "s3://" + bucketAndPrefix + "?path-style=1&region=us-east-1&endpoint=" + url.QueryEscape(s.Endpoint) + more
}

// Options returns those that hold the credentials of the service.
func (s Service) Options() *s3blob.Options {
	return &s3blob.Options{AccessKey: s.AccessKey, SecretKey: s.SecretKey}
}

// locked asks for the shortest lock that there is.
const locked = "&lock=compliance&days=1"

// Run tests everything that the package promises of the service.
func Run(t *testing.T, s Service) {
	s.Bucket(t, "plain-bucket", Plain)
	s.Bucket(t, "versioned-bucket", Versioned)
	s.Bucket(t, "lockable-bucket", Lockable)
	var n atomic.Int64
	fresh := func(t *testing.T, bucket, more string) string {
		return s.Place(fmt.Sprintf("%s/tests/%d", bucket, n.Add(1)), more)
	}
	t.Run("chunks", func(t *testing.T) {
		t.Parallel()
		blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, s, fresh(t, "lockable-bucket", locked)) })
	})
	for name, at := range map[string]string{
		"chunks stay in a bucket with versions":    fresh(t, "versioned-bucket", ""),
		"chunks stay in a bucket without versions": fresh(t, "plain-bucket", "&versioning=off"),
		"chunks stay under a lock":                 fresh(t, "lockable-bucket", locked),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobtest.RunRestart(t,
				func(t *testing.T, _ string) blob.Store { return open(t, s, at) },
				func(x blob.Store) error { return x.(*s3blob.Store).Close() })
		})
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T, s Service, place func(bucket, more string) string)
	}{
		{"a bucket that does not keep what is written is refused", testOpen},
		{"a lock keeps chunks from being deleted and overwritten", testLock},
		{"what is erased under a lock can be read by nobody", testErase},
		{"a scope whose key is locked is hidden and not erased", testKeyLocked},
		{"without a lock nothing of an erased scope stays", testEraseAll},
		{"chunks that were changed in the bucket are found", testChanged},
		{"a vault names objects by their content", testVault},
		{"the lock of an object is extended, never shortened", testExtend},
		{"an object that was changed in the bucket is found", testVaultChanged},
		{"a large object is there as a whole or not at all", testParts},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, s, func(bucket, more string) string { return fresh(t, bucket, more) })
		})
	}
}

func open(t *testing.T, s Service, place string) *s3blob.Store {
	t.Helper()
	x, err := s3blob.Open(t.Context(), place, s.Options())
	if err != nil {
		t.Fatalf("Open(%q) = %v", place, err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func vault(t *testing.T, s Service, place string, opts *s3blob.Options) *s3blob.Vault {
	t.Helper()
	v, err := s3blob.OpenVault(t.Context(), place, opts)
	if err != nil {
		t.Fatalf("OpenVault(%q) = %v", place, err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func testOpen(t *testing.T, s Service, place func(bucket, more string) string) {
	other := s.Options()
	other.SecretKey = "another"
	for _, c := range []struct {
		place string
		opts  *s3blob.Options
		want  error
	}{
		{place("plain-bucket", ""), s.Options(), s3blob.ErrNotVersioned},
		{place("versioned-bucket", locked), s.Options(), s3blob.ErrNoLock},
		{place("no-such-bucket", ""), s.Options(), s3blob.ErrNoBucket},
		{place("versioned-bucket", ""), other, s3blob.ErrDenied},
	} {
		if x, err := s3blob.Open(t.Context(), c.place, c.opts); !errors.Is(err, c.want) || x != nil {
			t.Errorf("Open(%q) = %v, want %v", c.place, err, c.want)
		}
	}
}

// filled makes a scope with chunks.
func filled(t *testing.T, x blob.Store) (blob.Scope, []blob.Chunk) {
	t.Helper()
	sc := blob.Scope{ID: "a person", Key: [32]byte{1, 2, 3}}
	if _, err := x.Scope(t.Context(), sc.ID, &sc); err != nil {
		t.Fatal(err)
	}
	var chunks []blob.Chunk
	for _, text := range []string{"one", "two", strings.Repeat("three ", 2000)} {
		chunks = append(chunks, blob.Chunk{Scope: sc.ID, ID: canon.MAC(sc.Key[:], []byte(text)), Bytes: []byte(text)})
	}
	if err := x.Put(t.Context(), chunks); err != nil {
		t.Fatal(err)
	}
	return sc, chunks
}

// versions lists everything that is stored at a place, delete markers too.
func versions(t *testing.T, s Service, place string) (list []types.ObjectVersion, markers []types.DeleteMarkerEntry) {
	t.Helper()
	p, err := s3blob.ParsePlace(place)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Client().ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &p.Bucket, Prefix: aws.String(p.Prefix + "/")})
	if err != nil {
		t.Fatal(err)
	}
	return out.Versions, out.DeleteMarkers
}

func bucketOf(t *testing.T, place string) *string {
	t.Helper()
	p, err := s3blob.ParsePlace(place)
	if err != nil {
		t.Fatal(err)
	}
	return &p.Bucket
}

func testLock(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("lockable-bucket", locked)
	x := open(t, s, at)
	_, chunks := filled(t, x)
	list, _ := versions(t, s, at)
	c, tried := s.Client(), 0
	for _, v := range list {
		if strings.HasSuffix(*v.Key, "/key") {
			continue
		}
		tried++
		if _, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucketOf(t, at), Key: v.Key, VersionId: v.VersionId}); err == nil {
			t.Errorf("version %s of %s was deleted", *v.VersionId, *v.Key)
		}
		if _, err := c.PutObjectRetention(t.Context(), &s3.PutObjectRetentionInput{
			Bucket: bucketOf(t, at), Key: v.Key, VersionId: v.VersionId,
			Retention: &types.ObjectLockRetention{Mode: types.ObjectLockRetentionModeCompliance, RetainUntilDate: aws.Time(time.Now().Add(time.Minute))},
		}); err == nil {
			t.Errorf("the lock of %s was shortened", *v.Key)
		}
	}
	if tried != len(chunks) {
		t.Errorf("%d versions of chunks are stored, want %d", tried, len(chunks))
	}
	forged := slices.Clone(chunks)
	forged[0].Bytes = []byte("forged")
	if err := x.Put(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	for _, want := range chunks {
		if b, err := x.Get(t.Context(), want.Scope, want.ID); err != nil || !bytes.Equal(b, want.Bytes) {
			t.Errorf("Get(%s) = %d bytes, %v, want the %d that were locked", want.ID, len(b), err, len(want.Bytes))
		}
	}
	if again, _ := versions(t, s, at); len(again) != len(list) {
		t.Errorf("%d versions after chunks were put again, want %d", len(again), len(list))
	}
}

func testErase(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("lockable-bucket", locked)
	opts := s.Options()
	var objects int
	var until time.Time
	opts.Stays = func(n int, end time.Time) { objects, until = n, end }
	x, err := s3blob.Open(t.Context(), at, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	sc, chunks := filled(t, x)
	if err := x.Erase(t.Context(), sc.ID); err != nil {
		t.Fatalf("Erase = %v", err)
	}
	if in := time.Until(until); objects != len(chunks) || in < 23*time.Hour || in > 25*time.Hour {
		t.Errorf("Erase leaves %d objects until %v, want %d for a day", objects, until, len(chunks))
	}
	if _, err := x.Get(t.Context(), sc.ID, chunks[0].ID); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Get of an erased chunk = %v, want %v", err, blob.ErrNotFound)
	}
	list, _ := versions(t, s, at)
	for _, v := range list {
		if strings.HasSuffix(*v.Key, "/key") {
			t.Errorf("a version of the key of an erased scope is still there: %s", *v.Key)
			continue
		}
		for _, c := range chunks {
			if b := get(t, s, at, *v.Key, v.VersionId); bytes.Contains(b, c.Bytes[:3]) {
				t.Errorf("%s holds what was erased, as it was", *v.Key)
			}
		}
	}
}

func get(t *testing.T, s Service, place, key string, version *string) []byte {
	t.Helper()
	out, err := s.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucketOf(t, place), Key: &key, VersionId: version})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	b, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testKeyLocked(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("lockable-bucket", locked)
	x := open(t, s, at)
	sc, _ := filled(t, x)
	list, _ := versions(t, s, at)
	key := list[slices.IndexFunc(list, func(v types.ObjectVersion) bool { return strings.HasSuffix(*v.Key, "/key") })]
	hold := func(status types.ObjectLockLegalHoldStatus) {
		t.Helper()
		_, err := s.Client().PutObjectLegalHold(t.Context(), &s3.PutObjectLegalHoldInput{
			Bucket: bucketOf(t, at), Key: key.Key, VersionId: key.VersionId, LegalHold: &types.ObjectLockLegalHold{Status: status},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hold(types.ObjectLockLegalHoldStatusOn)
	for range 2 {
		if err := x.Erase(t.Context(), sc.ID); !errors.Is(err, s3blob.ErrLocked) || !strings.Contains(err.Error(), "legal hold") {
			t.Errorf("Erase = %v, want %v for a legal hold", err, s3blob.ErrLocked)
		}
		if _, err := x.Scope(t.Context(), sc.ID, nil); !errors.Is(err, blob.ErrScopeNotFound) {
			t.Errorf("Scope = %v, want it hidden", err)
		}
	}
	hold(types.ObjectLockLegalHoldStatusOff)
	if err := x.Erase(t.Context(), sc.ID); err != nil {
		t.Errorf("Erase after the hold = %v", err)
	}
}

func testEraseAll(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("versioned-bucket", "")
	x := open(t, s, at)
	sc, _ := filled(t, x)
	for range 2 {
		if err := x.Erase(t.Context(), sc.ID); err != nil {
			t.Fatalf("Erase = %v", err)
		}
	}
	if list, markers := versions(t, s, at); len(list)+len(markers) != 0 {
		t.Errorf("%d versions and %d delete markers are left", len(list), len(markers))
	}
}

func testChanged(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("versioned-bucket", "")
	x := open(t, s, at)
	sc, chunks := filled(t, x)
	list, _ := versions(t, s, at)
	var keys []string
	for _, v := range list {
		if !strings.HasSuffix(*v.Key, "/key") {
			keys = append(keys, *v.Key)
		}
	}
	whole := get(t, s, at, keys[0], nil)
	for name, b := range map[string][]byte{
		"nothing": {}, "a byte flipped": append(slices.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1),
		"cut": whole[:len(whole)-1], "another chunk": get(t, s, at, keys[1], nil), "much": make([]byte, 1<<20),
	} {
		if _, err := s.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucketOf(t, at), Key: &keys[0], Body: bytes.NewReader(b)}); err != nil {
			t.Fatal(err)
		}
		id := keys[0][strings.LastIndex(keys[0], "/")+1:]
		i := slices.IndexFunc(chunks, func(c blob.Chunk) bool { return c.ID.String() == id })
		if got, err := x.Get(t.Context(), sc.ID, chunks[i].ID); !errors.Is(err, s3blob.ErrContent) {
			t.Errorf("Get of a chunk that is now %s = %d bytes, %v, want %v", name, len(got), err, s3blob.ErrContent)
		}
	}
}

func put(t *testing.T, v *s3blob.Vault, b []byte) s3blob.Object {
	t.Helper()
	o, err := v.Put(t.Context(), "bundles", ".reprise", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("Put of %d bytes = %v", len(b), err)
	}
	return o
}

func testVault(t *testing.T, s Service, place func(bucket, more string) string) {
	for _, at := range []string{place("lockable-bucket", locked), place("versioned-bucket", ""), s.Place("versioned-bucket", "")} {
		v := vault(t, s, at, s.Options())
		var names []string
		for _, text := range []string{"", "a", strings.Repeat("bundle", 1000)} {
			b := []byte(text + at)
			o := put(t, v, b)
			if want := "bundles/" + canon.SHA256(b).String() + ".reprise"; o.Name != want || !o.New || o.Size != int64(len(b)) {
				t.Errorf("Put = %+v, want a new object %s", o, want)
			}
			if again := put(t, v, b); again.New || again.Name != o.Name {
				t.Errorf("Put again = %+v, want the same object", again)
			}
			names = append(names, o.Name)
			from, name, ok := s3blob.SplitObject(v.URL(o))
			if !ok || name != o.Name {
				t.Fatalf("SplitObject(%q) = %q, %q, %v", v.URL(o), from, name, ok)
			}
			r, err := s3blob.ReadVault(t.Context(), from, s.Options())
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := r.Get(t.Context(), name, &got); err != nil || !bytes.Equal(got.Bytes(), b) {
				t.Errorf("Get = %d bytes, %v, want %d", got.Len(), err, len(b))
			}
			_ = r.Close()
		}
		var listed []string
		for o, err := range v.Objects(t.Context(), "bundles") {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, o.Name)
		}
		if slices.Sort(names); !slices.Equal(listed, names) {
			t.Errorf("Objects = %q, want %q", listed, names)
		}
		none := "bundles/" + strings.Repeat("0", 64) + ".reprise"
		if err := v.Get(t.Context(), none, io.Discard); !errors.Is(err, s3blob.ErrNoObject) {
			t.Errorf("Get of none = %v, want %v", err, s3blob.ErrNoObject)
		}
		if err := v.Get(t.Context(), "bundles/x", io.Discard); !errors.Is(err, s3blob.ErrObject) {
			t.Errorf("Get of no name = %v, want %v", err, s3blob.ErrObject)
		}
	}
}

func testExtend(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("lockable-bucket", "")
	b := []byte("a bundle")
	for _, c := range []struct {
		more string
		want int // days
	}{{"", 0}, {"&lock=governance&days=2", 2}, {"&lock=governance&days=1", 2}, {"&lock=governance&days=3", 3}} {
		o := put(t, vault(t, s, at+c.more, s.Options()), b)
		if days := time.Until(o.Until).Hours() / 24; c.want > 0 && (days < float64(c.want)-0.1 || days > float64(c.want)+0.1) || c.want == 0 && !o.Until.IsZero() {
			t.Errorf("Put with %q = locked until %v, want for %d days", c.more, o.Until, c.want)
		}
	}
}

func testVaultChanged(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("versioned-bucket", "")
	v := vault(t, s, at, s.Options())
	b := []byte("a bundle")
	o := put(t, v, b)
	p, err := s3blob.ParsePlace(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"a bundlE", "", "a bundle and more"} {
		if _, err := s.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &p.Bucket, Key: aws.String(p.Prefix + "/" + o.Name), Body: strings.NewReader(other)}); err != nil {
			t.Fatal(err)
		}
		if err := v.Get(t.Context(), o.Name, io.Discard); !errors.Is(err, s3blob.ErrContent) {
			t.Errorf("Get of %q = %v, want %v", other, err, s3blob.ErrContent)
		}
		if _, err := v.Put(t.Context(), "bundles", ".reprise", bytes.NewReader(b), int64(len(b))); !errors.Is(err, s3blob.ErrContent) {
			t.Errorf("Put where %q stands = %v, want %v", other, err, s3blob.ErrContent)
		}
	}
}

// cut is a content that cannot be read from some byte on, as if the process
// had been killed there.
type cut struct {
	*bytes.Reader
	from int64
	on   bool
}

func (c *cut) ReadAt(p []byte, at int64) (int, error) {
	if c.on && at+int64(len(p)) > c.from {
		return 0, errors.New("cut off")
	}
	return c.Reader.ReadAt(p, at)
}

func (c *cut) hashed() { c.on = true }

func testParts(t *testing.T, s Service, place func(bucket, more string) string) {
	at := place("lockable-bucket", locked)
	b := make([]byte, 18<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	opts := s.Options()
	content := &cut{Reader: bytes.NewReader(b), from: 16 << 20}
	// The clock is read first when the upload begins: by then all was hashed.
	opts.Now = func() time.Time { content.hashed(); return time.Now() }
	v := vault(t, s, at, opts)
	if _, err := v.Put(t.Context(), "bundles", ".reprise", content, int64(len(b))); err == nil {
		t.Fatal("Put of a content that is cut off succeeded")
	}
	for o, err := range v.Objects(t.Context(), "bundles") {
		t.Errorf("an object that was cut off is there: %+v, %v", o, err)
	}
	if list, _ := versions(t, s, at); len(list) != 0 {
		t.Errorf("%d versions of an object that was cut off are there", len(list))
	}
	o := put(t, v, b)
	if !o.New || time.Until(o.Until) < 23*time.Hour {
		t.Errorf("Put = %+v, want a new object that is locked for a day", o)
	}
	var got bytes.Buffer
	if err := v.Get(t.Context(), o.Name, &got); err != nil || !bytes.Equal(got.Bytes(), b) {
		t.Errorf("Get = %d bytes, %v, want the %d of the object", got.Len(), err, len(b))
	}
	if again := put(t, v, b); again.New {
		t.Errorf("Put again = %+v, want the same object", again)
	}
	p, err := s3blob.ParsePlace(at)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Client().ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &p.Bucket, Prefix: aws.String(p.Prefix + "/")})
	if err != nil || len(out.Uploads) != 0 {
		t.Errorf("%d uploads are left, %v, want the one that was cut off to be done", len(out.Uploads), err)
	}
}
