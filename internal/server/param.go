package server

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Optional is a parameter of a query that says something by being there. It is
// exported because huma sees nothing else.
type Optional[T any] struct {
	Value T
	Set   bool
}

// Receiver implements [huma.ParamWrapper].
func (o *Optional[T]) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet implements [huma.ParamReactor].
func (o *Optional[T]) OnParamSet(set bool, _ any) { o.Set = set }

// Schema implements [huma.SchemaProvider].
func (*Optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// or returns the value, or another one where it is absent.
func (o *Optional[T]) or(other T) T {
	if o.Set {
		return o.Value
	}
	return other
}
