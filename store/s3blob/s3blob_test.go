package s3blob_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/store/s3blob"
	"github.com/reprise-dev/reprise/store/s3blob/s3blobtest"
)

// TestS3 runs against a stand-in, or against the service that REPRISE_TEST_S3
// names: its endpoint, access key and secret key, with spaces between. The
// end-to-end tests do so with a real one.
//
// spec: M-98..99
func TestS3(t *testing.T) {
	t.Parallel()
	var s s3blobtest.Service
	if real := strings.Fields(os.Getenv("REPRISE_TEST_S3")); len(real) == 3 {
		s = s3blobtest.Service{Endpoint: real[0], AccessKey: real[1], SecretKey: real[2]}
	} else {
		s = s3blobtest.Start(t)
	}
	s3blobtest.Run(t, s)
}

func TestPlacesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"s3://bucket",
		"s3://bucket/a/prefix",
		"s3://my.bucket-1/p?endpoint=https%3A%2F%2Fs3.example.com%3A9000&path-style=1&region=eu-central-1",
		"s3://bucket/p?days=365&lock=compliance",
		"s3://bucket/p?days=1&lock=governance&profile=prod",
		"s3://bucket?imds=1",
		"s3://bucket?versioning=off",
	} {
		p, err := s3blob.ParsePlace(text)
		if err != nil || p.String() != text {
			t.Errorf("ParsePlace(%q) = %q, %v", text, p, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"bucket", "no place"},
		{"http://bucket", "no place"},
		{"s3:bucket", "no place"},
		{"s3://", "no name of a bucket"},
		{"s3://B", "no name of a bucket"},
		{"s3://key:secret@bucket/p", "credentials"},
		{"s3://bucket/a//b", "prefix"},
		{"s3://bucket/../b", "prefix"},
		{"s3://bucket/a%20b", "prefix"},
		{"s3://bucket/" + strings.Repeat("p", 600), "prefix"},
		{"s3://bucket?lock=compliance", "go together"},
		{"s3://bucket?days=3", "go together"},
		{"s3://bucket?lock=forever&days=3", "lock"},
		{"s3://bucket?lock=compliance&days=0", "days"},
		{"s3://bucket?lock=compliance&days=99999", "days"},
		{"s3://bucket?lock=compliance&days=1&versioning=off", "without versions"},
		{"s3://bucket?endpoint=ftp://x", "endpoint"},
		{"s3://bucket?endpoint=https://u:p@x", "endpoint"},
		{"s3://bucket?endpoint=https://x/path", "endpoint"},
		{"s3://bucket?region=a&region=b", "region"},
		{"s3://bucket?reigon=x", "reigon"},
		{"s3://bucket?path-style=yes", "path-style"},
	} {
		if p, err := s3blob.ParsePlace(c.text); !errors.Is(err, s3blob.ErrPlace) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParsePlace(%q) = %+v, %v, want %v that speaks of %q", c.text, p, err, s3blob.ErrPlace, c.want)
		}
	}
}

func TestAServiceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	_, err := s3blob.Open(t.Context(), "s3://bucket?path-style=1&region=us-east-1&endpoint=http://127.0.0.1:1", &s3blob.Options{AccessKey: "a", SecretKey: "b"})
	if !errors.Is(err, blob.ErrStore) {
		t.Errorf("Open = %v, want %v", err, blob.ErrStore)
	}
}

// TestNothingIsAskedForCredentialsUnlessThePlaceSaysSo cannot run beside others:
// credentials are a matter of the environment.
func TestNothingIsAskedForCredentialsUnlessThePlaceSaysSo(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_EC2_METADATA_DISABLED"} {
		t.Setenv(name, "")
	}
	for _, name := range []string{"HOME", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "none"))
	}
	var asked atomic.Int64
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer metadata.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
	if _, err := s3blob.Open(t.Context(), "s3://bucket?region=us-east-1", nil); !errors.Is(err, s3blob.ErrDenied) || asked.Load() != 0 {
		t.Errorf("Open without credentials = %v after %d questions, want %v after none", err, asked.Load(), s3blob.ErrDenied)
	}
	if _, err := s3blob.Open(t.Context(), "s3://bucket?region=us-east-1&imds=1", nil); !errors.Is(err, s3blob.ErrDenied) || asked.Load() == 0 {
		t.Errorf("Open with imds=1 = %v after %d questions, want %v after some", err, asked.Load(), s3blob.ErrDenied)
	}
}

// TestCredentialsComeFromTheEnvironment cannot run beside others either.
func TestCredentialsComeFromTheEnvironment(t *testing.T) {
	s := s3blobtest.Start(t)
	s.Bucket(t, "bucket", s3blobtest.Versioned)
	t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	x, err := s3blob.Open(t.Context(), s.Place("bucket/p", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}
