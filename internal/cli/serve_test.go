package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/cli"
)

func TestServePrintsItsAddressAndStopsWhenAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	out, printed := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, []string{"reprise", "serve", "--json", "--listen", "127.0.0.1:0", "--store", dir + "/store"},
			strings.NewReader(""), printed, &errs, "REPRISE_CONFIG="+dir+"/config")
		printed.Close()
	}()
	var said struct{ Address, Store string }
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("%v; standard error: %s", err, &errs)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	resp, err := http.Get(said.Address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(said.Address, "http://127.0.0.1:") || !strings.HasPrefix(said.Store, "sqlite:") {
		t.Errorf("serve says %+v and answers %s", said, resp.Status)
	}
	stop()
	if status := <-ended; status != 0 {
		t.Errorf("the status is %d; standard error: %s", status, &errs)
	}
}

func TestServeRefusesAnAddressThatOthersCanReach(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	status := cli.Run(t.Context(), []string{"reprise", "serve", "--listen", ":0", "--store", t.TempDir()}, strings.NewReader(""), &out, &errs)
	if status != 4 || !strings.Contains(errs.String(), "server.remote_address") || !strings.Contains(errs.String(), "--allow-remote") {
		t.Errorf("status %d, %s", status, &errs)
	}
}

// With --record, serve prints where agents are pointed, keeps them apart, and
// has sealed their runs when it ends.
func TestServeRecords(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(model))
	defer up.Close()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	out, printed := io.Pipe()
	var errs bytes.Buffer
	store := []string{"--store", dir + "/store"}
	run := func(ctx context.Context, w io.Writer, args ...string) int {
		return cli.Run(ctx, append(append([]string{"reprise"}, args...), store...), strings.NewReader(""), w, &errs, "REPRISE_CONFIG="+dir+"/config")
	}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, printed, "serve", "--record", "--json", "--listen", "127.0.0.1:0", "--record-listen", "127.0.0.1:0", "--upstream", "openai="+up.URL+"/v1")
		printed.Close()
	}()
	var said struct {
		Recording struct{ Upstreams map[string]string }
	}
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("%v; standard error: %s", err, &errs)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	for _, name := range []string{"one", "two", "one"} {
		r, err := http.NewRequest(http.MethodPost, said.Recording.Upstreams["openai"]+"/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Reprise-Run", name)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("run %s: %s", name, resp.Status)
		}
	}
	stop()
	if status := <-ended; status != 0 {
		t.Errorf("the status is %d; standard error: %s", status, &errs)
	}
	var list bytes.Buffer
	if status := run(t.Context(), &list, "runs"); status != 0 {
		t.Fatalf("runs: status %d, %s", status, &errs)
	}
	for _, want := range []string{`one +2 +sealed`, `two +1 +sealed`} {
		if !regexp.MustCompile(want).Match(list.Bytes()) {
			t.Errorf("runs prints\n%s, want %s", &list, want)
		}
	}
}
