package server_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/api"
)

// document is what the tests read of the OpenAPI document.
type document struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	OperationID string
	Parameters  []struct {
		Name, In string
		Schema   schema
	}
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema schema }
	}
}

// schema is the part of JSON Schema that the document uses.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Enum       []any
	Minimum    *float64
	Maximum    *float64
	Pattern    string
	MaxLength  *int
	Required   []string
	Properties map[string]schema
	Items      *schema
	// AdditionalProperties is a schema in maps and false in records.
	AdditionalProperties json.RawMessage
}

func (d *document) resolve(s schema) schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.Components.Schemas[name]
	}
	return s
}

// conforms returns where a value is not what the schema says, or nothing.
func (d *document) conforms(s schema, v any, at string) string {
	s = d.resolve(s)
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return at + " is not of the enumeration"
	}
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return at + " is not an object"
		}
		for _, name := range s.Required {
			if _, ok := m[name]; !ok {
				return at + " lacks " + name
			}
		}
		for name, x := range m {
			p, ok := s.Properties[name]
			if !ok {
				if string(s.AdditionalProperties) == "false" {
					return at + " has the unknown member " + name
				}
				continue
			}
			if bad := d.conforms(p, x, at+"/"+name); bad != "" {
				return bad
			}
		}
	case "array":
		list, ok := v.([]any)
		if !ok {
			return at + " is not an array"
		}
		for i, x := range list {
			if bad := d.conforms(*s.Items, x, at+"/"+strconv.Itoa(i)); bad != "" {
				return bad
			}
		}
	case "integer":
		f, ok := v.(float64)
		if !ok || f != float64(int64(f)) {
			return at + " is not an integer"
		}
	case "string":
		if _, ok := v.(string); !ok {
			return at + " is not a string"
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return at + " is not a boolean"
		}
	}
	return ""
}

func load(t testing.TB, text []byte) *document {
	t.Helper()
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestTheCommittedDocumentIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	want, err := os.ReadFile("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.s.OpenAPI(), want) {
		t.Error("api/openapi.json is not what the code declares: run go generate ./api")
	}
	resp, served := r.ask(http.MethodGet, "/openapi.json", nil, nil)
	if !bytes.Equal(served, want) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/vnd.oai.openapi+json") {
		t.Errorf("/openapi.json serves %d bytes of %q", len(served), resp.Header.Get("Content-Type"))
	}
	d := load(t, want)
	if d.OpenAPI != "3.1.0" || len(d.Paths) != 54 {
		t.Errorf("version %s with %d paths", d.OpenAPI, len(d.Paths))
	}
	for path, ops := range d.Paths {
		for method, op := range ops {
			if op.OperationID == "" || len(op.Responses) < 4 {
				t.Errorf("%s %s says too little: %+v", method, path, op)
			}
			for _, name := range pathNames(path) {
				if !slices.ContainsFunc(op.Parameters, func(p struct {
					Name, In string
					Schema   schema
				},
				) bool {
					return p.Name == name && p.In == "path"
				}) {
					t.Errorf("%s %s does not describe {%s}", method, path, name)
				}
			}
		}
	}
}

func pathNames(path string) (out []string) {
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out = append(out, strings.TrimSuffix(name, "}"))
		}
	}
	return out
}

// draw returns a value that is often what the schema asks for and often not.
func (d *document) draw(t *rapid.T, s schema, name string) any {
	s = d.resolve(s)
	if rapid.IntRange(0, 5).Draw(t, name+" junk") == 0 {
		return junk.Draw(t, name)
	}
	switch s.Type {
	case "object":
		m := map[string]any{}
		for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
			if rapid.Bool().Draw(t, p+" there") {
				m[p] = d.draw(t, s.Properties[p], p)
			}
		}
		return m
	case "integer":
		low, high := int64(-2), int64(1<<40)
		if s.Minimum != nil {
			low = int64(*s.Minimum) - 1
		}
		if s.Maximum != nil {
			high = int64(*s.Maximum) + 1
		}
		return rapid.OneOf(rapid.Int64Range(0, 8), rapid.Int64Range(low, high)).Draw(t, name)
	case "boolean":
		return rapid.Bool().Draw(t, name)
	default:
		return rapid.OneOf(
			rapid.SampledFrom([]string{"last", "last~1", "0", "response", "request", strings.Repeat("0", 64)}),
			rapid.String(),
		).Draw(t, name)
	}
}

var junk = rapid.OneOf(
	rapid.Just[any](nil), rapid.Just[any](-1), rapid.Just[any](1e300), rapid.Just[any](""), rapid.Just[any]([]any{map[string]any{"a": nil}}),
	rapid.Just[any](map[string]any{"x": "y"}), rapid.Just[any](strings.Repeat("z", 70000)), rapid.Just[any]("\x00\u2028"), rapid.Just[any]("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"),
)

// text is a value as it stands in an address.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s[:min(len(s), 3000)]
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func TestWhateverIsSentTheAnswerIsADocumentedOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	d := load(t, r.s.OpenAPI())
	bundles := [][]byte{sample(t), export(t, r.store, r.runs[0])}
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(slices.Sorted(maps.Keys(d.Paths))).Draw(t, "path")
		method := rapid.SampledFrom(slices.Sorted(maps.Keys(d.Paths[path]))).Draw(t, "method")
		op := d.Paths[path][method]
		query := url.Values{}
		for _, p := range op.Parameters {
			v := text(d.draw(t, p.Schema, p.Name))
			switch {
			case p.In == "path" && v == "" || v == "." || v == "..":
				return // another route
			case p.In == "path":
				path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(v), 1)
			case p.In == "query" && (p.Name == "run" || rapid.Bool().Draw(t, p.Name+" there")):
				if p.Name == "run" && v == "" {
					v = "last" // the stream of all runs has no end
				}
				query.Set(p.Name, v)
			}
		}
		var body []byte
		if len(op.RequestBody.Content) > 0 {
			body = drawBody(t, d, op, bundles)
		}
		target := path
		if len(query) > 0 {
			target += "?" + query.Encode()
		}
		resp, got := r.ask(strings.ToUpper(method), target, bytes.NewReader(body), func(q *http.Request) {
			q.Header.Set("Content-Type", rapid.SampledFrom([]string{"application/json", "application/json", api.BundleType, "text/plain"}).Draw(t, "content type"))
		})
		said, ok := op.Responses[strconv.Itoa(resp.StatusCode)]
		if !ok || resp.StatusCode >= 500 && !integrity(got) {
			t.Fatalf("%s %s with %.200q = %s %s", method, target, body, resp.Status, got)
		}
		ct := resp.Header.Get("Content-Type")
		content, ok := said.Content[ct]
		if _, any := said.Content["*/*"]; !ok && !any {
			t.Fatalf("%s %s answers %d with %q, which is not documented", method, target, resp.StatusCode, ct)
		}
		if ct != "application/json" && ct != api.ProblemType || !ok {
			return
		}
		var v any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatal(err)
		}
		if bad := d.conforms(content.Schema, v, ""); bad != "" {
			t.Fatalf("%s %s = %s: %s", method, target, got, bad)
		}
	})
}

func drawBody(t *rapid.T, d *document, op operation, bundles [][]byte) []byte {
	c, ok := op.RequestBody.Content["application/json"]
	if ok && rapid.Bool().Draw(t, "of the schema") {
		b, err := json.Marshal(d.draw(t, c.Schema, "body"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := rapid.SampledFrom(bundles).Draw(t, "bundle")
	if rapid.Bool().Draw(t, "changed") {
		b = bytes.Clone(b)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= byte(1 << rapid.IntRange(0, 7).Draw(t, "bit"))
	}
	if rapid.Bool().Draw(t, "cut") {
		b = b[:rapid.IntRange(0, len(b)).Draw(t, "length")]
	}
	return b
}

// integrity reports whether a problem says that what was sent is broken
// evidence: the one class of the caller's doing whose status is a 500.
func integrity(b []byte) bool {
	var p api.Problem
	return json.Unmarshal(b, &p) == nil && p.Class == "integrity"
}
