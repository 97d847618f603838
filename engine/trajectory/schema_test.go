package trajectory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
)

func schema(t testing.TB, s string) trajectory.Schema {
	t.Helper()
	out, err := trajectory.ParseSchema(parse(t, s))
	if err != nil {
		t.Fatalf("ParseSchema(%s): %v", s, err)
	}
	return out
}

func TestSchemaCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, fits, not, says string }{
		{`{"type":"string"}`, `"a"`, `1`, "the value: it is number, want string"},
		{`{"type":["string","null"]}`, `null`, `false`, "want string or null"},
		{`{"type":"integer"}`, `1.0`, `1.5`, "it is number, want integer"},
		{`{"type":"integer"}`, `{"$number":"1e3"}`, `{"$number":"1e-3"}`, "want integer"},
		{`{"type":"object"}`, `{}`, `{"$number":"0.5"}`, "it is number, want object"},
		{`{"type":"number"}`, `{"$number":"0.5"}`, `{"$number":"half"}`, "it is object, want number"},
		{`{"properties":{"a/b":{"type":"boolean"}}}`, `{"a/b":true,"c":1}`, `{"a/b":1}`, "/a~1b: it is number"},
		{`{"required":["a","b"]}`, `{"a":1,"b":null}`, `{"a":1}`, `member "b" is missing`},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1}`, `{"a":1,"b":1}`, `member "b" is not known`},
		{`{"properties":{"a":true},"additionalProperties":{"type":"string"}}`, `{"a":1,"b":"x"}`, `{"b":1}`, "/b: it is number"},
		{`{"items":{"items":{"minimum":2}}}`, `[[2],[]]`, `[[2],[3,1]]`, "/1/1: 1 does not fit minimum 2"},
		{`{"enum":["a",1,{"x":[1.0]}]}`, `{"x":[1]}`, `2`, "none of the values"},
		{`{"const":{"a":1,"b":2}}`, `{"b":2.0,"a":1}`, `{"a":1}`, "not the value of const"},
		{`{"minimum":0.1}`, `0.1`, `0.09999999999999999999999`, "does not fit minimum 0.1"},
		{`{"maximum":9007199254740993}`, `9007199254740993`, `9007199254740994`, "does not fit maximum"},
		{`{"maximum":{"$number":"0.5"}}`, `{"$number":"0.5"}`, `{"$number":"0.51"}`, "does not fit maximum"},
		{`{"exclusiveMinimum":-1,"exclusiveMaximum":1}`, `0`, `-1`, "exclusiveMinimum"},
		{`{"exclusiveMaximum":0}`, `-0.1`, `-0`, "exclusiveMaximum"},
		{`{"minLength":2,"maxLength":3}`, `"日本語"`, `"日本語x"`, "4 characters, want at most 3"},
		{`{"minLength":2.0}`, `"ab"`, `"a"`, "1 characters, want at least 2"},
		{`{"minItems":1,"maxItems":2}`, `[1]`, `[]`, "0 elements, want at least 1"},
		{`{"maxItems":0}`, `[]`, `[1]`, "want at most 0"},
		{`{"uniqueItems":true}`, `[1,"1",true]`, `[1,{"a":1},1.0]`, "/2: the element stands twice"},
		{`{"pattern":"b+"}`, `"abba"`, `"aca"`, "does not match the pattern"},
		{`{"pattern":"^b+$"}`, `"bb"`, `"abba"`, "does not match the pattern"},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `2`, `3`, "maximum"},
		{`{"anyOf":[{"type":"string"},{"minimum":5}]}`, `5`, `4`, "none of the 2 schemas of anyOf fits"},
		{`{"oneOf":[{"minimum":1},{"maximum":5}]}`, `6`, `3`, "2 schemas of oneOf fit, want one"},
		{`{"oneOf":[{"type":"string"}]}`, `""`, `3`, "none of the 1 schemas of oneOf fits"},
		{`{"properties":{"a":false}}`, `{}`, `{"a":1}`, "/a: the schema allows nothing"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","title":"t","description":"d","default":1,"examples":[],"format":"email","minLength":1}`, `"no mail"`, `""`, "at least 1"},
	} {
		s := schema(t, tt.schema)
		if err := s.Check(parse(t, tt.fits)); err != nil {
			t.Errorf("Check(%s, %s) = %v, want nil", tt.schema, tt.fits, err)
		}
		if err := s.Check(parse(t, tt.not)); !errors.Is(err, trajectory.ErrArguments) || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("Check(%s, %s) = %v, want %v that says %q", tt.schema, tt.not, err, trajectory.ErrArguments, tt.says)
		}
	}
	var none trajectory.Schema
	if err := none.Check(canon.Null()); !errors.Is(err, trajectory.ErrArguments) {
		t.Errorf("the zero Schema accepts null: %v", err)
	}
}

func TestSchemaRefusesWhatItDoesNotHold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, says string }{
		{`1`, "/: it is number"},
		{`{"$ref":"#/x"}`, `/$ref: the keyword "$ref" is not held`},
		{`{"properties":{"a":{"if":{}}}}`, `/properties/a/if: the keyword "if"`},
		{`{"minimun":1}`, `the keyword "minimun"`},
		{`{"patternProperties":{}}`, "is not held"},
		{`{"multipleOf":2}`, "is not held"},
		{`{"items":[{}]}`, "/items: a list of schemas"},
		{`{"items":1}`, "/items: it is number"},
		{`{"type":"text"}`, `"text" is no type`},
		{`{"type":[]}`, "the list is empty"},
		{`{"type":["string","string"]}`, `/type/1: "string" stands twice`},
		{`{"type":7}`, "want a list of strings"},
		{`{"enum":[]}`, "/enum: want a list"},
		{`{"required":"a"}`, "/required: it is string"},
		{`{"properties":[]}`, "/properties: it is array"},
		{`{"minimum":"1"}`, "/minimum: it is string"},
		{`{"exclusiveMinimum":true}`, "/exclusiveMinimum: it is bool"},
		{`{"minLength":-1}`, "/minLength: -1 is no integer from 0"},
		{`{"maxItems":1.5}`, "/maxItems: 1.5 is no integer"},
		{`{"maxLength":1e300}`, "is no integer from 0"},
		{`{"uniqueItems":1}`, "/uniqueItems: it is number"},
		{`{"pattern":"(?=a)"}`, "/pattern: error parsing regexp"},
		{`{"pattern":"` + strings.Repeat("a", 5000) + `"}`, "5000 bytes"},
		{`{"allOf":[]}`, "/allOf: want a list"},
		{`{"anyOf":[{"x":1}]}`, "/anyOf/0/x"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "the draft"},
		{`{"title":1}`, "/title: it is number"},
		{strings.Repeat(`{"items":`, 64) + `{}` + strings.Repeat(`}`, 64), "nest deeper than 64"},
		{`{"allOf":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, "more than 10000 subschemas"},
	} {
		if _, err := trajectory.ParseSchema(parse(t, tt.schema)); !errors.Is(err, trajectory.ErrSchema) || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("ParseSchema(%.80s) = %v, want %v that says %q", tt.schema, err, trajectory.ErrSchema, tt.says)
		}
	}
}

// oracle compiles a schema with another implementation.
func oracle(s string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(s))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is loaded
	if err := c.AddResource("mem:schema", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:schema")
}

func agrees(t interface{ Fatalf(string, ...any) }, s trajectory.Schema, o *jsonschema.Schema, instance string) {
	v, err := canon.Parse([]byte(instance))
	if err != nil {
		t.Fatalf("Parse(%s): %v", instance, err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(instance))
	if err != nil {
		t.Fatalf("UnmarshalJSON(%s): %v", instance, err)
	}
	got, want := s.Check(v), o.Validate(doc)
	if (got == nil) != (want == nil) {
		t.Fatalf("Check(%s, %s) = %v, the oracle says %v", s.Value(), instance, got, want)
	}
}

func anyInstance(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom(strings.Fields(`null true false 0 1 -1 1.0 1.5 2 3 10 1e1 0.1 9007199254740993 "" "a" "ab" "abc" "日本" [] {}`))
	if depth == 0 {
		return leaf
	}
	part := rapid.Deferred(func() *rapid.Generator[string] { return anyInstance(depth - 1) })
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(part, 0, 3), func(l []string) string { return "[" + strings.Join(l, ",") + "]" }),
		rapid.Map(rapid.SliceOfN(part, 0, 3), func(l []string) string {
			for i := range l {
				l[i] = fmt.Sprintf("%q:%s", "abc"[i:i+1], l[i])
			}
			return "{" + strings.Join(l, ",") + "}"
		}))
}

func anySchema(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "boolean") == 0 {
			return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "value")
		}
		leaf := map[string]*rapid.Generator[string]{
			"type":             rapid.SampledFrom(strings.Fields(`"string" "integer" "number" "object" "array" "null" "boolean" ["string","null"] ["integer","array"]`)),
			"enum":             rapid.Map(rapid.SliceOfN(anyInstance(1), 1, 3), func(l []string) string { return "[" + strings.Join(l, ",") + "]" }),
			"const":            anyInstance(2),
			"required":         rapid.SampledFrom([]string{`[]`, `["a"]`, `["a","b"]`}),
			"minimum":          rapid.SampledFrom(strings.Fields("0 1 1.5 1e1 9007199254740993")),
			"maximum":          rapid.SampledFrom(strings.Fields("0 1 1.5 1e1 9007199254740992")),
			"exclusiveMinimum": rapid.SampledFrom(strings.Fields("0 1 1.5")),
			"exclusiveMaximum": rapid.SampledFrom(strings.Fields("1 2 1.5")),
			"minLength":        rapid.SampledFrom(strings.Fields("0 1 2 2.0")),
			"maxLength":        rapid.SampledFrom(strings.Fields("0 1 2")),
			"minItems":         rapid.SampledFrom(strings.Fields("0 1 2")),
			"maxItems":         rapid.SampledFrom(strings.Fields("0 1 2")),
			"uniqueItems":      rapid.SampledFrom(strings.Fields("true false")),
			"pattern":          rapid.SampledFrom([]string{`"a"`, `"^a"`, `"b$"`, `"^[a-c]{2}$"`}),
		}
		names := strings.Fields("type enum const required minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems uniqueItems pattern")
		if depth > 0 {
			part := anySchema(depth - 1)
			list := rapid.Map(rapid.SliceOfN(part, 1, 3), func(l []string) string { return "[" + strings.Join(l, ",") + "]" })
			leaf["items"], leaf["additionalProperties"] = part, part
			leaf["allOf"], leaf["anyOf"], leaf["oneOf"] = list, list, list
			leaf["properties"] = rapid.Map(part, func(s string) string { return `{"a":` + s + `}` })
			names = append(names, strings.Fields("items additionalProperties allOf anyOf oneOf properties")...)
		}
		var members []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID[string]).Draw(t, "keywords") {
			members = append(members, fmt.Sprintf("%q:%s", name, leaf[name].Draw(t, name)))
		}
		return "{" + strings.Join(members, ",") + "}"
	})
}

func TestSchemaAgreesWithAnotherImplementation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := anySchema(2).Draw(t, "schema")
		o, err := oracle(text)
		if err != nil {
			t.Skip("not a schema: ", err) // an enum that lists a value twice
		}
		v, err := canon.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := trajectory.ParseSchema(v)
		if err != nil {
			t.Fatalf("ParseSchema(%s): %v", text, err)
		}
		for range 4 {
			agrees(t, s, o, anyInstance(3).Draw(t, "instance"))
		}
	})
}

// TestSchemaSuite runs what the public suite of JSON Schema says about the
// keywords that are held. What is held is decided by ParseSchema alone, so the
// count says how much of the suite that is.
func TestSchemaSuite(t *testing.T) {
	t.Parallel()
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no folder with real recordings")
	}
	type group struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	held, refused, cases := 0, 0, 0
	err := filepath.WalkDir(filepath.Join(root, "json_schema_suite"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".json" || !strings.Contains(filepath.ToSlash(name), "/tests/draft") || strings.Contains(filepath.ToSlash(name), "/optional/") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var groups []group
		if err := json.Unmarshal(b, &groups); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, g := range groups {
			v, err := canon.Parse(g.Schema)
			if err != nil {
				return err
			}
			s, err := trajectory.ParseSchema(v)
			if err != nil {
				if !errors.Is(err, trajectory.ErrSchema) {
					t.Errorf("%s: %s: ParseSchema = %v, want %v", filepath.Base(name), g.Description, err, trajectory.ErrSchema)
				}
				refused++
				continue
			}
			held++
			for _, c := range g.Tests {
				data, err := canon.Parse(c.Data)
				if err != nil {
					t.Errorf("%s: %s: Parse(%s): %v", filepath.Base(name), c.Description, c.Data, err)
					continue
				}
				cases++
				if err := s.Check(data); (err == nil) != c.Valid {
					t.Errorf("%s: %s: %s: Check(%s, %s) = %v, want valid: %v", filepath.Base(name), g.Description, c.Description, g.Schema, c.Data, err, c.Valid)
				}
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("REPRISE_DATA has no folder json_schema_suite")
	}
	if err != nil || cases == 0 {
		t.Fatalf("%d cases, %v", cases, err)
	}
	t.Logf("%d cases of %d schemas hold; %d schemas are refused", cases, held, refused)
}

func FuzzParseSchema(f *testing.F) {
	f.Add([]byte(`{"type":["object","null"],"properties":{"a":{"minimum":0.5}},"required":["a"],"additionalProperties":false}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"oneOf":[{"pattern":"^a"},{"items":{"enum":[1,{"$number":"1.0"}]},"uniqueItems":true}]}`), []byte(`[1,1.0]`))
	f.Fuzz(func(t *testing.T, b, instance []byte) {
		v, err := canon.Parse(b)
		if err != nil {
			return
		}
		s, err := trajectory.ParseSchema(v)
		if err != nil {
			return
		}
		in, err := canon.Parse(instance)
		if err != nil {
			return
		}
		again, err := trajectory.ParseSchema(s.Value())
		if err != nil {
			t.Fatalf("ParseSchema(%s) a second time: %v", s.Value(), err)
		}
		got := s.Check(in)
		if want := again.Check(in); (got == nil) != (want == nil) {
			t.Fatalf("Check = %v and %v", got, want)
		}
		// Lifted or not, a value fits or does not.
		if lifted, err := trajectory.Lift(in); err == nil {
			if want := s.Check(lifted); (got == nil) != (want == nil) {
				t.Fatalf("Check(%s) = %v, lifted %v", in, got, want)
			}
		}
	})
}
