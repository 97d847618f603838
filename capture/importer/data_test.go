package importer_test

import (
	"bufio"
	"bytes"
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

// importAndReplay holds for a file that is imported: the run verifies and
// answers its own requests, four at a time and, if asked, one after another.
func importAndReplay(t *testing.T, r *rig, path string, all []sent, c *tally, inOrder bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.run(t, filepath.Base(path), b)
	if err != nil {
		t.Fatal(err)
	}
	c.result(&res)
	r.verify(t, res.Run)
	recs := r.entries(t, res.Run)
	if len(recs) != len(all) || res.Exchanges != len(all) {
		t.Fatalf("Import = %d exchanges, %d of them in the ledger, want %d", res.Exchanges, len(recs), len(all))
	}
	for i := range recs {
		if len(recs[i].outcome.Redacted) > 0 {
			c.add("exchanges: redacted", 1)
		}
	}
	if inOrder {
		r.bundle(t, res.Run)
		r.replay(t, &res).inOrder(all, recs)
	}
	r.replay(t, &res).inParallel(all, recs)
}

// The files of two folders are imported or refused with a reason, and what is
// imported replays byte for byte. What has to come back is read from the files
// by other means than the importer's.
func TestRealRecordingsReplay(t *testing.T) {
	for _, folder := range []struct {
		name   string
		oracle func([]byte) ([]sent, error)
		must   func(path string) bool // be imported
	}{
		{"llm_adk_go_httprr", httprrOracle, func(p string) bool { return filepath.Ext(p) == ".httprr" }},
		{"llm_cagent", goVCROracle, func(p string) bool { return strings.Contains(p, "/cassettes/") }},
	} {
		t.Run(folder.name, func(t *testing.T) {
			c := new(tally)
			for _, path := range data(t, folder.name) {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				r := newRig(t)
				if folder.must(path) {
					t.Run(filepath.Base(path), func(t *testing.T) {
						all, err := folder.oracle(b)
						if err != nil {
							t.Fatal(err)
						}
						importAndReplay(t, r, path, all, c, true)
					})
					continue
				}
				_, err = r.run(t, filepath.Base(path), b)
				if !errors.Is(err, importer.ErrNotCassette) {
					t.Errorf("Import(%s) = %v, want %s", path, err, importer.ErrNotCassette)
				}
				c.add("files: refused: "+fault.CodeOf(err).Error(), 1)
				t.Logf("refused: %s: %v", filepath.Base(path), err)
			}
			c.log(t, folder.name)
		})
	}
}

// The cassettes of four more projects: whatever imports verifies, answers what
// it can, and serves nothing that is evidence only.
func TestRealCassettesImport(t *testing.T) {
	for _, folder := range []string{"llm_openllmetry_py", "llm_otel_contrib", "llm_pydantic_ai", "llm_openinference", "llm_misc"} {
		t.Run(folder, func(t *testing.T) {
			c := new(tally)
			for _, path := range data(t, folder, ".yaml", ".yml") {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = importer.Parse(b)
				if err != nil {
					if fault.ClassOf(err) != fault.ClassInvalid {
						t.Errorf("Import(%s) = %v, want a refusal of class invalid", path, err)
					}
					c.add("files: refused: "+fault.CodeOf(err).Error(), 1)
					continue
				}
				t.Run(filepath.Base(path), func(t *testing.T) { importAndReplay(t, newRig(t), path, parse(t, b), c, false) })
			}
			c.log(t, folder)
		})
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
