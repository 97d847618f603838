package importer_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// data returns the files of a folder of real recordings, which lies outside
// the repository.
func data(t *testing.T, folder string, ext ...string) []string {
	t.Helper()
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no folder with real recordings")
	}
	var out []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && (len(ext) == 0 || slices.Contains(ext, filepath.Ext(path))) {
			out = append(out, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("REPRISE_DATA has no folder %s", folder)
	}
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(out), err)
	}
	return out
}

// tally counts what became of files and exchanges.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what] += n
}

// imported returns how many files were.
func (c *tally) imported() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, files := range c.n {
		if strings.HasPrefix(what, "files: imported") {
			n += files
		}
	}
	return n
}

func (c *tally) result(res *importer.Result) {
	c.add("files: imported from "+res.Format, 1)
	c.add("exchanges: all", res.Exchanges)
	c.add("exchanges: replayable", res.Replayable)
	for _, e := range res.Evidence {
		c.add("exchanges: evidence only: "+e.What, e.N)
	}
	for _, l := range res.Lacks {
		c.add("exchanges: replayable, lacks "+l.What, l.N)
	}
}

func (c *tally) log(t *testing.T, folder string) {
	var lines []string
	for what, n := range c.n {
		about, what, _ := strings.Cut(what, ": ")
		lines = append(lines, fmt.Sprintf("%-10s %5d  %s", about, n, what))
	}
	slices.Sort(lines)
	t.Logf("%s\n%s", folder, strings.Join(lines, "\n"))
}

// oracle reads a file of one format by other means than the importer's.
type oracle func([]byte) ([]sent, error)

// realFolder is a folder with traffic of models and tools.
type realFolder struct {
	name  string
	floor int // of files imported, in percent
	// oracleOf returns what reads a file beside the importer: such a file must
	// be imported, and replays in its order too. Nil: the importer is believed.
	oracleOf func(path string) oracle
}

func (f *realFolder) oracle(path string) oracle {
	if f.oracleOf == nil {
		return nil
	}
	return f.oracleOf(path)
}

// Every file of the folders with traffic of models and tools is imported or
// refused with a code, and the counted list says which. What imports verifies,
// answers what the file holds byte for byte, serves nothing that is evidence
// only, and holds a file of messages whole. Of two folders what has to come
// back is read from the files by other means than the importer's. The floors
// are what was reached when they were set: a change must not go below.
func TestEveryRealFileIsImportedOrRefused(t *testing.T) {
	folders := []realFolder{
		{"llm_adk_go_httprr", 100, func(path string) oracle {
			if filepath.Ext(path) == ".httprr" {
				return httprrOracle
			}
			return nil
		}},
		{"llm_cagent", 71, func(path string) oracle {
			if strings.Contains(path, "/cassettes/") {
				return goVCROracle
			}
			return nil
		}},
		{"llm_misc", 98, nil},
		{"llm_openinference", 99, nil},
		{"llm_openllmetry_js_har", 100, nil},
		{"llm_openllmetry_py", 100, nil},
		{"llm_otel_contrib", 100, nil},
		{"llm_pydantic_ai", 99, nil},
		{"llm_vercel_sse", 100, nil},
		{"mcp_jsonrpc", 51, nil},
		{"traj_tau_bench", 100, nil},
		{"traj_swe_agent", 85, nil},
		{"traj_misc", 96, nil},
		{"otel_genai", 71, nil},
	}
	all, imported := 0, 0 // of llm_* and mcp_*
	for i := range folders {
		folder := &folders[i]
		t.Run(folder.name, func(t *testing.T) {
			c := new(tally)
			files := data(t, folder.name)
			t.Run("files", func(t *testing.T) { // ends when all its parallel tests have
				for _, path := range files {
					t.Run(filepath.Base(path), func(t *testing.T) {
						t.Parallel()
						takeReal(t, path, folder.oracle(path), c)
					})
				}
			})
			c.log(t, folder.name)
			done := c.imported()
			t.Logf("%s: %d of %d files imported", folder.name, done, len(files))
			if done*100 < folder.floor*len(files) {
				t.Errorf("%s: %d of %d files imported, want %d %%", folder.name, done, len(files), folder.floor)
			}
			if strings.HasPrefix(folder.name, "llm_") || strings.HasPrefix(folder.name, "mcp_") {
				all, imported = all+len(files), imported+done
			}
		})
	}
	t.Logf("llm_* and mcp_*: %d of %d files imported", imported, all)
	if imported*100 < 95*all {
		t.Errorf("llm_* and mcp_*: %d of %d files imported, want 95 %%", imported, all)
	}
}

// takeReal imports one file and checks the run, or that it is refused.
func takeReal(t *testing.T, path string, beside oracle, c *tally) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	res, parsed, err := importer.ImportParsed(t.Context(), r.cfg, b, filepath.Base(path))
	if err != nil {
		if beside != nil || fault.ClassOf(err) != fault.ClassInvalid {
			t.Errorf("Import = %v, want a refusal of class invalid, or none", err)
		}
		c.add("files: refused: "+fault.CodeOf(err).Error(), 1)
		t.Logf("refused: %v", err)
		return
	}
	c.result(&res)
	r.verify(t, res.Run)
	if len(parsed) == 0 {
		c.add("messages: beside exchanges", res.Events)
		r.holdsFile(t, res.Run, b)
		r.refusesAll(t, res.Run)
		return
	}
	all := sentOf(parsed)
	if beside != nil {
		if all, err = beside(b); err != nil {
			t.Fatal(err)
		}
	}
	if filepath.Ext(path) == ".har" {
		sameAsHAR(t, b, all)
	}
	recs := r.entries(t, res.Run)
	if len(recs) != len(all) || res.Exchanges != len(all) {
		t.Fatalf("Import = %d exchanges, %d of them in the ledger, want %d", res.Exchanges, len(recs), len(all))
	}
	for i := range recs {
		if len(recs[i].outcome.Redacted) > 0 {
			c.add("exchanges: redacted", 1)
		}
	}
	if beside != nil {
		r.bundle(t, res.Run)
		r.replay(t, &res).inOrder(all, recs)
	}
	r.replay(t, &res).inParallel(all, recs)
}

// sameAsHAR checks what was read of a HAR against the file by other means.
func sameAsHAR(t *testing.T, b []byte, all []sent) {
	t.Helper()
	var f struct {
		Log struct {
			Entries []struct {
				Request struct {
					Method, URL string
					PostData    struct{ Text string }
				}
				Response struct {
					Status  int
					Content struct{ Text, Encoding string }
				}
			}
		}
	}
	if err := json.Unmarshal(b, &f); err != nil || len(f.Log.Entries) != len(all) {
		t.Fatalf("%d entries, %v, of which %d were read", len(f.Log.Entries), err, len(all))
	}
	for i, e := range f.Log.Entries {
		want := []byte(e.Response.Content.Text)
		if e.Response.Content.Encoding == "base64" {
			parts := []string{e.Response.Content.Text}
			if strings.HasPrefix(parts[0], "[") {
				if err := json.Unmarshal(want, &parts); err != nil {
					t.Fatal(err)
				}
			}
			want = nil
			for _, p := range parts {
				part, err := base64.StdEncoding.DecodeString(p)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, part...)
			}
		}
		x := &all[i]
		if x.method != e.Request.Method || x.url != e.Request.URL || string(x.body) != e.Request.PostData.Text || x.status != e.Response.Status || !bytes.Equal(x.response, want) {
			t.Errorf("entry %d was read as %s %s with %d bytes, %d with %d", i, x.method, x.url, len(x.body), x.status, len(x.response))
		}
	}
}

// goVCROracle reads a cassette of go-vcr with nothing but a YAML decoder.
func goVCROracle(b []byte) ([]sent, error) {
	var f struct {
		Interactions []struct {
			Request struct {
				Method, URL, Body string
				Headers           http.Header
			}
			Response struct {
				Code    int
				Body    string
				Headers http.Header
			}
		}
	}
	if err := yaml.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	var out []sent
	for _, i := range f.Interactions {
		out = append(out, sent{
			i.Request.Method, i.Request.URL, i.Request.Headers, []byte(i.Request.Body),
			i.Response.Code, i.Response.Headers, []byte(i.Response.Body),
		})
	}
	return out, nil
}

// httprrOracle reads a trace with net/http.
func httprrOracle(b []byte) ([]sent, error) {
	r := bufio.NewReader(bytes.NewReader(b))
	if line, err := r.ReadString('\n'); err != nil || line != "httprr trace v1\n" {
		return nil, fmt.Errorf("%q: %w", line, err)
	}
	var out []sent
	for {
		var nreq, nresp int64
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if _, err := fmt.Sscanf(line, "%d %d\n", &nreq, &nresp); err != nil {
			return nil, err
		}
		req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(r, nreq)))
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(r, nresp)), req)
		if err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
		out = append(out, sent{req.Method, req.URL.String(), req.Header, body, resp.StatusCode, resp.Header, answer})
	}
}
