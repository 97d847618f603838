package importer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// labels are what an import says of its exchanges, one word each.
func labels(res *importer.Result) string {
	var out []string
	for _, l := range append(res.Evidence, res.Lacks...) {
		out = append(out, fmt.Sprintf("%s:%d", l.What, l.N))
	}
	return strings.Join(out, " ")
}

func TestEveryFormatIsReadAndLabelled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, format          string
		exchanges, replayable int
		labels                string
		upstreams             string
	}{
		{"go-vcr-1.yaml", "go-vcr/1", 1, 1, "chunks:1 timing:1", "localhost-8787"},
		{"go-vcr-2.yaml", "go-vcr/2", 2, 2, "chunks:2 request.headers:1 response.encoding:1 response.headers:1 timing:2", "openai"},
		{"vcrpy.yaml", "vcrpy/1", 2, 2, "chunks:2 timing:2", "api.example.com"},
		{"vcr.yaml", "vcr", 2, 1, "response.charset_converted:1 chunks:1 timing:1", "anthropic"},
		{"trace.httprr", "httprr/1", 3, 2, "response.length_differs:1 chunks:2 response.encoding:1 timing:2", "gemini localhost-9"},
		{"chrome.har", "har/1.2", 3, 2, "request.body_parsed:1 response.body_decoded:1 chunks:2 request.headers:1 timing:2", "openai"},
		{"nock.json", "nock", 4, 3, "request.body_parsed:1 response.body_parsed:1 chunks:3 request.headers:3 response.headers:1 timing:3", "anthropic localhost-8080"},
		{
			"vcrpy-evidence.yaml", "vcrpy/1", 5, 0,
			"request.body_absent:1 request.body_parsed:1 request.body_reformatted:1 request.length_differs:1 " +
				"response.body_absent:1 response.body_decoded:1 response.body_parsed:1 response.body_reformatted:1 response.length_differs:1",
			"api.example.com",
		},
	} {
		t.Run(tt.file, func(t *testing.T) {
			b := fixture(t, tt.file)
			r := newRig(t)
			res, err := r.run(t, tt.file, b)
			if err != nil {
				t.Fatal(err)
			}
			if res.Format != tt.format || res.Exchanges != tt.exchanges || res.Replayable != tt.replayable || res.Digest != canon.SHA256(b) {
				t.Errorf("Import = %s, %d exchanges, %d replayable, want %s, %d, %d", res.Format, res.Exchanges, res.Replayable, tt.format, tt.exchanges, tt.replayable)
			}
			if got := labels(&res); got != tt.labels {
				t.Errorf("labels = %s\nwant     %s", got, tt.labels)
			}
			var ups []string
			for _, u := range res.Upstreams {
				ups = append(ups, u.Name)
			}
			if got := strings.Join(ups, " "); got != tt.upstreams {
				t.Errorf("upstreams = %s, want %s", got, tt.upstreams)
			}
			r.verify(t, res.Run)
			all := parse(t, b)
			recs := r.entries(t, res.Run)
			r.replay(t, &res).inOrder(all, recs)
			r.replay(t, &res).inParallel(all, recs)
		})
	}
}

func parse(t testing.TB, b []byte) []sent {
	t.Helper()
	_, exchanges, err := importer.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return sentOf(exchanges)
}

func sentOf(exchanges []importer.Parsed) []sent {
	all := make([]sent, len(exchanges))
	for i, x := range exchanges {
		all[i] = sent{x.Method, x.URL, x.Header, x.Body, x.Status, x.Answer, x.Response}
	}
	return all
}

// The open of an imported run names the file, its digest and its format.
func TestOpenNamesTheFile(t *testing.T) {
	t.Parallel()
	b := fixture(t, "vcr.yaml")
	r := newRig(t)
	res, err := r.run(t, "some/vcr.yaml", b)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.cfg.Store.Read(t.Context(), res.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		got := o.Body.Without("refs").String()
		want := `{"data":{"import":{"bytes":` + fmt.Sprint(len(b)) + `,"evidence":{"response.charset_converted":1},"exchanges":2,"file":"some/vcr.yaml","format":"vcr",` +
			`"lacks":{"chunks":1,"timing":1},"replayable":1,"sha256":"` + canon.SHA256(b).String() + `"},` +
			`"normalisers":["volatile-ids@1","realtime-ids@1","gemini-call-ids@1","mcp-meta@1","gemini-processes@1","gemini-skills@1","gemini-listing@1","codex-times@1","result-order@1","claude-agents@1","goose-turns@1","opencode-tasks@1","date-cwd@1","own-run@1","multipart-boundary@1"],` +
			`"upstreams":[{"name":"anthropic","url":"https://api.anthropic.com"}]},"engine":"capture","mode":"import","title":"some/vcr.yaml"}`
		if got != want {
			t.Errorf("open = %s\nwant   %s", got, want)
		}
		break
	}
}

// What a file says beside the bytes is kept with the outcome, and evidence
// keeps what there is.
func TestOutcomesSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res, err := r.run(t, "go-vcr-2.yaml", fixture(t, "go-vcr-2.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	recs := r.entries(t, res.Run)
	if got, want := recs[0].outcome.Data.Get("import").String(), `{"lacks":["request.headers","response.headers","chunks","timing"],"proto":"HTTP/2.0","took":"1.5s"}`; got != want {
		t.Errorf("import = %s, want %s", got, want)
	}
	if got := recs[1].call.String(); strings.Contains(got, "1234567890") || !strings.Contains(got, "{redacted:authorization}") {
		t.Errorf("call = %s, want the key redacted", got)
	}

	res, err = r.run(t, "vcrpy-evidence.yaml", fixture(t, "vcrpy-evidence.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	first := r.entries(t, res.Run)[0]
	if first.outcome.Status != effect.Error || first.outcome.Code != fault.Code(importer.ErrEvidenceOnly) {
		t.Errorf("outcome = %s %v, want an error %s", first.outcome.Status, first.outcome.Code, importer.ErrEvidenceOnly)
	}
	if got, want := string(first.request), `{"model":"small","temperature":0.5,"stop":null}`; got != want {
		t.Errorf("request = %s, want %s", got, want)
	}
	if got, want := string(first.response), `[1,true,"x"]`; got != want {
		t.Errorf("response = %s, want %s", got, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	one := "interactions:\n- request: {method: GET, uri: 'http://h/', body: '', headers: {}}\n  response: {status: {code: 200}, headers: {}, body: {string: x}}\n"
	for _, tt := range []struct {
		name, file string
		o          importer.Options
		want       fault.Code
	}{
		{"nothing", "", importer.Options{}, importer.ErrUnknownFormat},
		{"bytes", "\x00\x01\xff", importer.Options{}, importer.ErrUnknownFormat},
		{"broken YAML", "a: [", importer.Options{}, importer.ErrUnknownFormat},
		{"an agent's configuration", string(fixture(t, "agent.yaml")), importer.Options{}, importer.ErrNotCassette},
		{"a list", "- a\n- b\n", importer.Options{}, importer.ErrNotCassette},
		{"prose", "hello", importer.Options{}, importer.ErrNotCassette},
		{"an empty HAR", `{"log":{"version":"1.2","entries":[]}}`, importer.Options{}, importer.ErrEmpty},
		{"no exchange", "interactions: []\nversion: 1\n", importer.Options{}, importer.ErrEmpty},
		{"no exchange in a trace", "httprr trace v1\n", importer.Options{}, importer.ErrEmpty},
		{"interactions of another kind", "interactions:\n- {kind: message, payload: '{}'}\n", importer.Options{}, importer.ErrNotHTTP},
		{"an address without a host", strings.Replace(one, "http://h/", "h", 1), importer.Options{}, importer.ErrNotHTTP},
		{"a name twice", strings.Replace(one, "body: '',", "body: '', body: x,", 1), importer.Options{}, importer.ErrMalformed},
		{"a status of words", strings.Replace(one, "200", "fine", 1), importer.Options{}, importer.ErrMalformed},
		{"a header with a line end", strings.Replace(one, "headers: {}, body: {", `headers: {a: "x\r\nb: y"}, body: {`, 1), importer.Options{}, importer.ErrMalformed},
		{"broken base64", strings.Replace(one, "string: x", "string: !!binary '*'", 1), importer.Options{}, importer.ErrMalformed},
		{"one level of an alias that holds itself", "interactions: &a\n- request: *a\n  response: *a\n", importer.Options{}, importer.ErrMalformed},
		{"a body that holds itself", strings.Replace(one, "body: '',", "parsed_body: &b [*b],", 1), importer.Options{}, importer.ErrTooLarge},
		{"an alias bomb", bomb(one), importer.Options{}, importer.ErrTooLarge},
		{"much of something else", strings.Repeat("- a\n", 1<<19), importer.Options{}, importer.ErrNotCassette},
		{"another version of traces", "httprr trace v2\n", importer.Options{}, importer.ErrUnknownFormat},
		{"a trace that is cut", "httprr trace v1\n5 5\nabc", importer.Options{}, importer.ErrMalformed},
		{"a trace with bad lengths", "httprr trace v1\n+5 5\nabcdeabcde", importer.Options{}, importer.ErrMalformed},
		{"a trace without HTTP", "httprr trace v1\n5 5\nabcdeabcde", importer.Options{}, importer.ErrMalformed},
		{"a file over the limit", one, importer.Options{MaxBytes: 20}, importer.ErrTooLarge},
		{"exchanges over the limit", one + one[len("interactions:\n"):], importer.Options{MaxExchanges: 1}, importer.ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			_, err := importer.Import(t.Context(), r.cfg, strings.NewReader(tt.file), tt.name, tt.o)
			if !errors.Is(err, tt.want) {
				t.Errorf("Import = %v, want %v", err, tt.want)
			}
			for info, err := range r.cfg.Store.Runs(t.Context()) {
				t.Errorf("a refused file left run %s (%v)", info.Run, err)
			}
		})
	}
}

// bomb makes a parsed body of 10^8 elements out of a few lines.
func bomb(one string) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 8 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	b.WriteString(strings.Replace(one, "body: '',", "parsed_body: *a8,", 1))
	return b.String()
}

// Several documents in one file are one recording.
func TestDocumentsFollowOneAnother(t *testing.T) {
	t.Parallel()
	b := bytes.Join([][]byte{fixture(t, "go-vcr-1.yaml"), fixture(t, "go-vcr-2.yaml")}, nil)
	r := newRig(t)
	res, err := r.run(t, "two", b)
	if err != nil || res.Exchanges != 3 || len(res.Upstreams) != 2 {
		t.Errorf("Import = %d exchanges to %d upstreams, %v, want 3 to 2", res.Exchanges, len(res.Upstreams), err)
	}
}
