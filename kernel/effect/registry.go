package effect

import (
	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrUnknownCallable means that nothing of that name and version is
// registered. Register it, or name one that is.
const ErrUnknownCallable fault.NotFound = "effect.unknown_callable"

// ErrDuplicateCallable means that a name and version were registered twice.
const ErrDuplicateCallable fault.Conflict = "effect.duplicate_callable"

// Callable describes something that can be called, by name and version.
type Callable struct {
	Name    string
	Version string
	Kind    string // of the calls that it becomes
	Class   Class
	Schema  canon.Value // JSON Schema of its arguments, or absent
	Price   budget.Pico // for one call, beside what usage costs
}

// Registry is a set of callables. It is filled once and then only read.
type Registry struct {
	byName map[string]Callable
	order  []string
}

// NewRegistry returns a registry of these callables.
func NewRegistry(list ...Callable) (*Registry, error) {
	r := &Registry{byName: map[string]Callable{}}
	for _, c := range list {
		id := c.Name + "@" + c.Version
		if _, ok := r.byName[id]; ok {
			return nil, fault.New(ErrDuplicateCallable, "effect.NewRegistry", "%s is registered twice", id)
		}
		r.byName[id] = c
		r.order = append(r.order, id)
	}
	return r, nil
}

// Find returns the callable of that name and version. There is no nearest
// version: what is not registered is not found.
func (r *Registry) Find(name, version string) (Callable, error) {
	c, ok := r.byName[name+"@"+version]
	if !ok {
		return Callable{}, fault.New(ErrUnknownCallable, "effect.Registry", "%s in version %q is not registered", name, version)
	}
	return c, nil
}

// All returns the callables in the order of registration.
func (r *Registry) All() []Callable {
	out := make([]Callable, len(r.order))
	for i, id := range r.order {
		out[i] = r.byName[id]
	}
	return out
}
