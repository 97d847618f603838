package match

import (
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// drop returns v without what the steps lead to. An element of an array is
// not taken out but set to null, so that the others keep their places.
func drop(v canon.Value, steps []string) (canon.Value, bool) {
	return reach(v, steps, func(canon.Value) (canon.Value, bool) { return canon.Value{}, true })
}

// reach returns v with f of everything that the steps lead to.
func reach(v canon.Value, steps []string, f func(canon.Value) (canon.Value, bool)) (canon.Value, bool) {
	if steps[0] == "**" {
		v, hit := reach(v, steps[1:], f)
		out, deeper := each(v, func(string) bool { return true }, func(x canon.Value) (canon.Value, bool) { return reach(x, steps, f) })
		return out, hit || deeper
	}
	is := func(name string) bool { return name == steps[0] }
	if suffix, ok := strings.CutPrefix(steps[0], "*"); ok {
		is = func(name string) bool { return strings.HasSuffix(name, suffix) }
	}
	if len(steps) == 1 {
		return each(v, is, f)
	}
	return each(v, is, func(x canon.Value) (canon.Value, bool) { return reach(x, steps[1:], f) })
}

// each returns v with f of every child whose name or index is asked for.
func each(v canon.Value, is func(string) bool, f func(canon.Value) (canon.Value, bool)) (canon.Value, bool) {
	any := false
	switch v.Kind() {
	case canon.KindObject:
		members := v.Members()
		for i, m := range members {
			if !is(m.Name) {
				continue
			}
			if x, hit := f(m.Value); hit {
				if !any {
					members = slices.Clone(members)
					any = true
				}
				members[i].Value = x
			}
		}
		if any {
			return canon.Object(members...), true
		}
	case canon.KindArray:
		elems := v.Elems()
		for i, e := range elems {
			if !is(strconv.Itoa(i)) {
				continue
			}
			if x, hit := f(e); hit {
				if !any {
					elems = slices.Clone(elems)
					any = true
				}
				elems[i] = x
			}
		}
		if any {
			return canon.Array(elems...), true
		}
	default:
	}
	return v, false
}
