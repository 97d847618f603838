package otel

import (
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// attributes are those of one span, in the order in which they were set. What
// is not known is not set.
type attributes struct {
	names  []string
	values []canon.Value
}

func (a *attributes) set(name, kind string, v canon.Value) {
	a.names = append(a.names, name)
	a.values = append(a.values, canon.Object(canon.M(kind, v)))
}

func (a *attributes) text(name, s string) {
	if s != "" {
		a.set(name, "stringValue", canon.String(s))
	}
}

// number sets an integer. OTLP writes 64 bits as a text.
func (a *attributes) number(name string, n int64) {
	a.set(name, "intValue", canon.String(strconv.FormatInt(n, 10)))
}

func (a *attributes) flag(name string, b bool) { a.set(name, "boolValue", canon.Bool(b)) }

// texts sets a list.
func (a *attributes) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	values := make([]canon.Value, len(list))
	for i, s := range list {
		values[i] = canon.Object(canon.M("stringValue", canon.String(s)))
	}
	a.set(name, "arrayValue", canon.Object(canon.M("values", canon.Array(values...))))
}

// scalar sets what a request says, as the type that it has there.
func (a *attributes) scalar(name string, v canon.Value) {
	if n, ok := v.AsInt(); ok {
		a.number(name, n)
	} else if b, ok := v.AsBool(); ok {
		a.flag(name, b)
	} else if s, ok := v.AsString(); ok {
		a.text(name, s)
	} else if v.Kind() == canon.KindNumber {
		a.set(name, "doubleValue", v)
	}
}

func (a *attributes) value() canon.Value {
	out := make([]canon.Value, len(a.names))
	for i, n := range a.names {
		out[i] = canon.Object(canon.M("key", canon.String(n)), canon.M("value", a.values[i]))
	}
	return canon.Array(out...)
}
