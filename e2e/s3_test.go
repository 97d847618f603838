package e2e

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	s3Access = "e2e-access"
	s3Secret = "e2e-secret"
)

// startS3 builds and starts a real S3 service with versions and object lock, on
// the loopback and over files of the test.
func startS3(t *testing.T) (endpoint string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "versitygw")
	if err := setUp("go", "build", "-o", program, "github.com/versity/versitygw/cmd/versitygw"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s3.sock")
	for _, d := range []string{"objects", "versions"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-q", "-p", socket, "posix", "--versioning-dir", filepath.Join(dir, "versions"), filepath.Join(dir, "objects"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3Access, "ROOT_SECRET_KEY="+s3Secret)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the service said:\n%s", clip(log.String()))
		}
	})
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("the service does not answer")
		}
	}
	// The service takes no port that is open already, and one that is free now
	// may be taken before it has started: the port is of this process.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go passOn(c, socket)
		}
	}()
	return "http://" + l.Addr().String()
}

// passOn gives what comes over a connection to a socket, and back.
func passOn(c net.Conn, socket string) {
	defer c.Close()
	to, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, c)
		_ = to.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(c, to)
}

// TestS3 runs the suite of package s3blob, which the tests of the module run
// against a stand-in, against a real service; and then a job goes through the
// buckets that it left, from the program that ran it into a store that had
// nothing.
//
// spec: M-98..99
func TestS3(t *testing.T) {
	t.Parallel()
	endpoint := startS3(t)
	suite := exec.CommandContext(t.Context(), "go", "-C", "..", "test", "-count=1", "-run", "^TestS3$", "./store/s3blob")
	suite.Env = append(os.Environ(), "REPRISE_TEST_S3="+endpoint+" "+s3Access+" "+s3Secret)
	if out, err := suite.CombinedOutput(); err != nil {
		t.Fatalf("the suite = %v\n%s", err, clip(string(out)))
	}

	l := newLab(t)
	l.set("AWS_ACCESS_KEY_ID", s3Access)
	l.set("AWS_SECRET_ACCESS_KEY", s3Secret)
	l.set("AWS_REGION", "us-east-1")
	reach := "path-style=1&endpoint=" + url.QueryEscape(endpoint)
	archive := "s3://lockable-bucket/jobs?" + reach
	job := `
seed: s1
input: {query: "what is a kestrel?"}
persist: always
archive: ` + archive + `&lock=compliance&days=1
agents:
  - node: agent:alpha_v1
    script: [{fail: the index is locked}]
  - node: agent:beta_v1
    script: [{text: a small falcon, confidence: 0.9}]
`
	if err := os.WriteFile(filepath.Join(l.dir, "job.yaml"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	r := l.must(0, "job", "run", "job.yaml", "--blobs", "s3://versioned-bucket/contents?"+reach)
	if !strings.Contains(r.stdout, "archived s3://lockable-bucket/jobs/bundles/") || !strings.Contains(r.stdout, "5 snapshots, locked until") {
		t.Errorf("job run says %s, want where the job is archived", r.stdout)
	}
	log := l.must(0, "job", "log", "last").stdout
	if err := os.Rename(filepath.Join(l.dir, ".reprise"), filepath.Join(l.dir, "lost")); err != nil {
		t.Fatal(err)
	}
	l.must(0, "import", archive)
	if again := l.must(0, "job", "log", "last").stdout; again != log {
		t.Errorf("the log of the restored job is\n%s\nwant\n%s", clip(again), clip(log))
	}
	if r := l.must(0, "job", "replay", "last", "--mode", "production"); !strings.HasPrefix(r.stdout, "same · production replay · authoritative") {
		t.Errorf("job replay says %s, want that it is the same", r.stdout)
	}
	l.must(0, "verify", "last")
}
