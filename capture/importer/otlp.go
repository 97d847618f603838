package importer

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// OTLP/JSON, as exporters and the collector's file exporter write it: {
// resourceSpans: [{scopeSpans: [{spans}]}]}, one object or one per line.

func isOTLP(s *source) bool {
	return s.first.has("resourceSpans")
}

func readOTLP(s *source, o *Options) (tape, error) {
	const op = "importer.readOTLP"
	var spans []span
	for _, v := range s.list {
		for _, r := range members(v).list("resourceSpans") {
			rs := members(r)
			scopes := append(rs.list("scopeSpans"), rs.list("instrumentationLibrarySpans")...)
			for _, c := range scopes {
				for _, raw := range members(c).list("spans") {
					if len(spans) == o.MaxExchanges {
						return tape{}, fault.New(ErrTooLarge, op, "more than %d spans", o.MaxExchanges)
					}
					m := members(raw)
					if m.str("spanId") == "" {
						return tape{}, fault.New(ErrMalformed, op, "a span without an id")
					}
					spans = append(spans, span{
						id: m.str("spanId"), parent: m.str("parentSpanId"), name: m.str("name"), raw: raw,
						start: m.instant("startTimeUnixNano"), end: m.instant("endTimeUnixNano"), attrs: otlpAttributes(m),
					})
				}
			}
		}
	}
	return spanTree(spans, "otlp", o)
}

// otlpAttributes returns the attributes of a span, those of its events added:
// older conventions put messages there.
func otlpAttributes(m object) object {
	out := object{}
	for _, v := range m.list("events") {
		maps.Copy(out, otlpList(members(v).list("attributes")))
	}
	maps.Copy(out, otlpList(m.list("attributes")))
	return out
}

func otlpList(list []jsontext.Value) object {
	out := object{}
	for _, v := range list {
		kv := members(v)
		if value := otlpValue(kv["value"], 0); value != nil {
			out[kv.str("key")] = value
		}
	}
	return out
}

// otlpValue returns a value as JSON.
func otlpValue(v jsontext.Value, depth int) jsontext.Value {
	m := members(v)
	if depth > maxNesting {
		return nil
	}
	for _, name := range []string{"stringValue", "boolValue", "doubleValue", "bytesValue"} {
		if m.has(name) {
			return m[name]
		}
	}
	if m.has("intValue") {
		return jsontext.Value(plain(m["intValue"])) // 64 bits stand in a text
	}
	if a := m.obj("arrayValue"); a != nil {
		out := jsontext.Value{'['}
		for i, e := range a.list("values") {
			if i > 0 {
				out = append(out, ',')
			}
			x := otlpValue(e, depth+1)
			if x == nil {
				x = jsontext.Value("null")
			}
			out = append(out, x...)
		}
		return append(out, ']')
	}
	if a := m.obj("kvlistValue"); a != nil {
		out := jsontext.Value{'{'}
		for i, e := range a.list("values") {
			if i > 0 {
				out = append(out, ',')
			}
			kv := members(e)
			x := otlpValue(kv["value"], depth+1)
			if x == nil {
				x = jsontext.Value("null")
			}
			out = append(append(append(out, quote(nil, kv.str("key"))...), ':'), x...)
		}
		return append(out, '}')
	}
	return nil
}
