package s3blobtest

import (
	"cmp"
	"crypto/md5" // of which S3 makes its ETags
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// The credentials of a stand-in.
const (
	AccessKey = "stand-in"
	SecretKey = "stand-in-secret"
)

// Start runs a stand-in for an S3 service in this process, for tests where a
// real one is too heavy. It checks signatures and digests, and keeps versions,
// locks and uploads in parts as the service does; whether it does so rightly is
// held by running the same suite against a real one. It knows no more than the
// suite needs.
func Start(t testing.TB) Service {
	t.Helper()
	s := &server{buckets: map[string]*bucket{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return Service{Endpoint: h.URL, AccessKey: AccessKey, SecretKey: SecretKey}
}

type server struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	drawn   int
}

type bucket struct {
	versioned, lockable bool
	objects             map[string][]*version // the newest is the last
	uploads             map[string]*upload
}

type version struct {
	id       string
	data     []byte
	etag     string
	checksum string
	marker   bool
	mode     string
	until    time.Time
	hold     bool
}

type upload struct {
	key   string
	parts map[int]*version
	mode  string
	until time.Time
}

// refusal is an answer that is none of success.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return r.code }

func refuse(status int, code string) error { return refusal{status, code} }

// call is one request.
type call struct {
	*server
	w      http.ResponseWriter
	r      *http.Request
	q      url.Values
	bucket *bucket
	name   string // of the bucket
	key    string
	body   []byte
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err == nil {
		err = authentic(r, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		err = (&call{server: s, w: w, r: r, q: r.URL.Query(), bucket: s.buckets[name], name: name, key: key, body: body}).serve()
	}
	if err != nil {
		x, ok := err.(refusal) //nolint:errorlint // nothing here wraps it
		if !ok {
			x = refusal{http.StatusBadRequest, err.Error()}
		}
		w.WriteHeader(x.status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", x.code, x.code)
		}
	}
}

// authentic checks the signature of a request and the digests that it states.
func authentic(r *http.Request, body []byte) error {
	sum := sha256.Sum256(body)
	stated := r.Header.Get("X-Amz-Content-Sha256")
	if stated != hex.EncodeToString(sum[:]) {
		return refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch")
	}
	if c := r.Header.Get("X-Amz-Checksum-Sha256"); c != "" && r.Method == http.MethodPut && c != base64.StdEncoding.EncodeToString(sum[:]) {
		return refuse(http.StatusBadRequest, "BadDigest")
	}
	_, signed, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	signed, _, _ = strings.Cut(signed, ",")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return refuse(http.StatusForbidden, "AccessDenied")
	}
	again := r.Clone(r.Context())
	again.Header = http.Header{}
	again.URL.Scheme, again.URL.Host = "http", r.Host
	again.ContentLength = 0
	for name := range strings.SplitSeq(signed, ";") {
		switch name {
		case "host":
		case "content-length":
			again.ContentLength = int64(len(body))
		default:
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	who := aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}
	err = v4.NewSigner().SignHTTP(r.Context(), who, again, stated, "s3", "us-east-1", at, func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err != nil || again.Header.Get("Authorization") != r.Header.Get("Authorization") {
		return refuse(http.StatusForbidden, "SignatureDoesNotMatch")
	}
	return nil
}

func (c *call) serve() error {
	if c.bucket == nil && (c.key != "" || c.r.Method != http.MethodPut || c.r.URL.RawQuery != "") {
		return refuse(http.StatusNotFound, "NoSuchBucket")
	}
	if c.key == "" {
		return c.onBucket()
	}
	return c.onObject()
}

func (c *call) onBucket() error {
	has := c.q.Has
	switch m := c.r.Method; {
	case m == http.MethodPut && has("versioning"):
		c.bucket.versioned = strings.Contains(string(c.body), "<Status>Enabled</Status>")
		return nil
	case m == http.MethodPut:
		lock := c.r.Header.Get("X-Amz-Bucket-Object-Lock-Enabled") == "true"
		c.buckets[c.name] = &bucket{versioned: lock, lockable: lock, objects: map[string][]*version{}, uploads: map[string]*upload{}}
		return nil
	case m == http.MethodGet && has("versioning"):
		status := ""
		if c.bucket.versioned {
			status = "<Status>Enabled</Status>"
		}
		return c.say("<VersioningConfiguration>" + status + "</VersioningConfiguration>")
	case m == http.MethodGet && has("object-lock"):
		if !c.bucket.lockable {
			return refuse(http.StatusNotFound, "ObjectLockConfigurationNotFoundError")
		}
		return c.say("<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>")
	case m == http.MethodGet && has("uploads"):
		var list strings.Builder
		for _, id := range slices.Sorted(maps.Keys(c.bucket.uploads)) {
			if u := c.bucket.uploads[id]; strings.HasPrefix(u.key, c.q.Get("prefix")) {
				fmt.Fprintf(&list, "<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>", u.key, id)
			}
		}
		return c.say("<ListMultipartUploadsResult>" + list.String() + "</ListMultipartUploadsResult>")
	case m == http.MethodGet && has("versions"):
		return c.listVersions()
	case m == http.MethodGet && has("list-type"):
		return c.list()
	case m == http.MethodPost && has("delete"):
		return c.deleteMany()
	default:
		return refuse(http.StatusNotImplemented, "NotImplemented")
	}
}

func (c *call) onObject() error {
	has := c.q.Has
	switch m := c.r.Method; {
	case m == http.MethodPost && has("uploads"):
		c.drawn++
		id := "upload-" + strconv.Itoa(c.drawn)
		u := &upload{key: c.key, parts: map[int]*version{}}
		if err := c.lock(&u.mode, &u.until); err != nil {
			return err
		}
		c.bucket.uploads[id] = u
		return c.say("<InitiateMultipartUploadResult><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>")
	case has("uploadId"):
		return c.onUpload()
	case has("retention"):
		return c.retention()
	case has("legal-hold"):
		return c.legalHold()
	case m == http.MethodPut:
		v := c.newVersion(c.body)
		if err := c.lock(&v.mode, &v.until); err != nil {
			return err
		}
		return c.put(v)
	case m == http.MethodGet, m == http.MethodHead:
		return c.get()
	case m == http.MethodDelete:
		if err := c.delete(c.key, c.q.Get("versionId")); err != nil {
			return err
		}
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	default:
		return refuse(http.StatusNotImplemented, "NotImplemented")
	}
}

func (c *call) say(text string) error {
	_, err := io.WriteString(c.w, xml.Header+text)
	return err
}

func (c *call) newVersion(data []byte) *version {
	c.drawn++
	sum, tag := sha256.Sum256(data), md5.Sum(data)
	return &version{id: "v" + strconv.Itoa(c.drawn), data: data, etag: `"` + hex.EncodeToString(tag[:]) + `"`, checksum: base64.StdEncoding.EncodeToString(sum[:])}
}

// lock reads how what is written is to be locked.
func (c *call) lock(mode *string, until *time.Time) error {
	*mode = c.r.Header.Get("X-Amz-Object-Lock-Mode")
	if *mode == "" {
		return nil
	}
	if !c.bucket.lockable {
		return refuse(http.StatusBadRequest, "InvalidRequest")
	}
	var err error
	*until, err = time.Parse(time.RFC3339, c.r.Header.Get("X-Amz-Object-Lock-Retain-Until-Date"))
	return err
}

func (c *call) put(v *version) error {
	if c.r.Header.Get("If-None-Match") == "*" && c.current(c.key) != nil {
		return refuse(http.StatusPreconditionFailed, "PreconditionFailed")
	}
	if !c.bucket.versioned {
		v.id = "null"
		c.bucket.objects[c.key] = nil
	}
	c.bucket.objects[c.key] = append(c.bucket.objects[c.key], v)
	c.w.Header().Set("ETag", v.etag)
	c.w.Header().Set("X-Amz-Version-Id", v.id)
	return nil
}

// current returns what a key names without a version, or nil.
func (c *call) current(key string) *version {
	vs := c.bucket.objects[key]
	if len(vs) == 0 || vs[len(vs)-1].marker {
		return nil
	}
	return vs[len(vs)-1]
}

// find returns the version that the request is about.
func (c *call) find() (*version, error) {
	if id := c.q.Get("versionId"); id != "" {
		for _, v := range c.bucket.objects[c.key] {
			if v.id == id {
				return v, nil
			}
		}
		return nil, refuse(http.StatusNotFound, "NoSuchVersion")
	}
	if v := c.current(c.key); v != nil {
		return v, nil
	}
	return nil, refuse(http.StatusNotFound, "NoSuchKey")
}

func (c *call) get() error {
	v, err := c.find()
	if err != nil {
		return err
	}
	if m := c.r.Header.Get("If-Match"); m != "" && m != v.etag {
		return refuse(http.StatusPreconditionFailed, "PreconditionFailed")
	}
	data, status := v.data, http.StatusOK
	if spec, ok := strings.CutPrefix(c.r.Header.Get("Range"), "bytes="); ok {
		var from, to int
		if n, err := fmt.Sscanf(spec, "%d-%d", &from, &to); n != 2 || err != nil || from >= len(data) {
			return refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		}
		data, status = data[from:min(to+1, len(data))], http.StatusPartialContent
	} else if c.r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" && v.checksum != "" {
		c.w.Header().Set("X-Amz-Checksum-Sha256", v.checksum)
	}
	c.w.Header().Set("ETag", v.etag)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	_, _ = c.w.Write(data) // who hung up has no use for it
	return nil
}

// delete deletes a version, or hides the object behind a marker.
func (c *call) delete(key, id string) error {
	b := c.bucket
	if id == "" && b.versioned {
		c.drawn++
		b.objects[key] = append(b.objects[key], &version{id: "v" + strconv.Itoa(c.drawn), marker: true})
		return nil
	}
	i := slices.IndexFunc(b.objects[key], func(v *version) bool { return id == "" || v.id == id })
	if i < 0 {
		return nil
	}
	if v := b.objects[key][i]; v.hold || v.until.After(time.Now()) {
		return refuse(http.StatusForbidden, "AccessDenied")
	}
	b.objects[key] = slices.Delete(b.objects[key], i, i+1)
	if len(b.objects[key]) == 0 {
		delete(b.objects, key)
	}
	return nil
}

func (c *call) deleteMany() error {
	var in struct {
		Object []struct{ Key, VersionId string }
	}
	if err := xml.Unmarshal(c.body, &in); err != nil {
		return err
	}
	var out strings.Builder
	for _, o := range in.Object {
		if err := c.delete(o.Key, o.VersionId); err != nil {
			fmt.Fprintf(&out, "<Error><Key>%s</Key><VersionId>%s</VersionId><Code>%s</Code></Error>", o.Key, o.VersionId, err)
		}
	}
	return c.say("<DeleteResult>" + out.String() + "</DeleteResult>")
}

const pageSize = 1000

func (c *call) keys() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.bucket.objects)), func(k string) bool { return !strings.HasPrefix(k, c.q.Get("prefix")) })
}

func (c *call) list() error {
	var out strings.Builder
	n, last, more := 0, "", false
	for _, k := range c.keys() {
		v := c.current(k)
		if v == nil || k <= c.q.Get("continuation-token") {
			continue
		}
		if more = n == pageSize; more {
			break
		}
		n, last = n+1, k
		fmt.Fprintf(&out, "<Contents><Key>%s</Key><Size>%d</Size></Contents>", k, len(v.data))
	}
	if more {
		fmt.Fprintf(&out, "<NextContinuationToken>%s</NextContinuationToken>", last)
	}
	return c.say(fmt.Sprintf("<ListBucketResult><IsTruncated>%v</IsTruncated>%s</ListBucketResult>", more, out.String()))
}

func (c *call) listVersions() error {
	var out strings.Builder
	n, last, more := 0, "", false
	for _, k := range c.keys() {
		if k <= c.q.Get("key-marker") {
			continue
		}
		if more = n >= pageSize; more {
			break
		}
		last = k
		vs := c.bucket.objects[k]
		for i, v := range slices.Backward(vs) {
			n++
			kind := "Version"
			if v.marker {
				kind = "DeleteMarker"
			}
			fmt.Fprintf(&out, "<%s><Key>%s</Key><VersionId>%s</VersionId><IsLatest>%v</IsLatest></%s>", kind, k, v.id, i == len(vs)-1, kind)
		}
	}
	if more {
		fmt.Fprintf(&out, "<NextKeyMarker>%s</NextKeyMarker>", last)
	}
	return c.say(fmt.Sprintf("<ListVersionsResult><IsTruncated>%v</IsTruncated>%s</ListVersionsResult>", more, out.String()))
}

func (c *call) retention() error {
	v, err := c.find()
	if err != nil {
		return err
	}
	if c.r.Method == http.MethodGet {
		if v.mode == "" {
			return refuse(http.StatusNotFound, "NoSuchObjectLockConfiguration")
		}
		return c.say("<Retention><Mode>" + v.mode + "</Mode><RetainUntilDate>" + v.until.UTC().Format(time.RFC3339) + "</RetainUntilDate></Retention>")
	}
	var in struct {
		Mode            string
		RetainUntilDate time.Time
	}
	if err := xml.Unmarshal(c.body, &in); err != nil {
		return err
	}
	if in.RetainUntilDate.Before(v.until) {
		return refuse(http.StatusForbidden, "AccessDenied")
	}
	v.mode, v.until = cmp.Or(in.Mode, v.mode), in.RetainUntilDate
	return nil
}

func (c *call) legalHold() error {
	v, err := c.find()
	if err != nil {
		return err
	}
	if c.r.Method == http.MethodPut {
		v.hold = strings.Contains(string(c.body), "<Status>ON</Status>")
		return nil
	}
	if !v.hold {
		return refuse(http.StatusNotFound, "NoSuchObjectLockConfiguration")
	}
	return c.say("<LegalHold><Status>ON</Status></LegalHold>")
}

func (c *call) onUpload() error {
	id := c.q.Get("uploadId")
	u := c.bucket.uploads[id]
	if u == nil || u.key != c.key {
		return refuse(http.StatusNotFound, "NoSuchUpload")
	}
	switch c.r.Method {
	case http.MethodPut:
		n, err := strconv.Atoi(c.q.Get("partNumber"))
		if err != nil {
			return err
		}
		u.parts[n] = c.newVersion(c.body)
		c.w.Header().Set("ETag", u.parts[n].etag)
		return nil
	case http.MethodGet:
		var out strings.Builder
		for _, n := range slices.Sorted(maps.Keys(u.parts)) {
			p := u.parts[n]
			fmt.Fprintf(&out, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag><ChecksumSHA256>%s</ChecksumSHA256></Part>", n, strings.Trim(p.etag, `"`), p.checksum)
		}
		return c.say("<ListPartsResult><IsTruncated>false</IsTruncated>" + out.String() + "</ListPartsResult>")
	case http.MethodDelete:
		delete(c.bucket.uploads, id)
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	case http.MethodPost:
		var in struct {
			Part []struct {
				PartNumber     int
				ChecksumSHA256 string
			}
		}
		if err := xml.Unmarshal(c.body, &in); err != nil {
			return err
		}
		var data []byte
		for i, p := range in.Part {
			have := u.parts[p.PartNumber]
			if p.PartNumber != i+1 || have == nil || have.checksum != p.ChecksumSHA256 {
				return refuse(http.StatusBadRequest, "InvalidPart")
			}
			data = append(data, have.data...)
		}
		v := c.newVersion(data)
		v.mode, v.until, v.checksum = u.mode, u.until, "" // that of parts is another digest
		if err := c.put(v); err != nil {
			return err
		}
		delete(c.bucket.uploads, id)
		return c.say("<CompleteMultipartUploadResult><ETag>" + strings.Trim(v.etag, `"`) + "</ETag></CompleteMultipartUploadResult>")
	default:
		return refuse(http.StatusNotImplemented, "NotImplemented")
	}
}
