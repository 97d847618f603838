package match

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// ResultOrder is the id of the normaliser for what agents do that run several
// tools at once, or other agents: some put the results into the next request in
// the order in which they ended. In the match key they stand in the order in
// which the model asked for them.
const ResultOrder = "result-order@1"

// resultSteps lead, in each protocol, to what names the call that a result is
// of. A request without one of them has no results.
func resultSteps() [][]string {
	return [][]string{
		{"messages", "*", "content", "*", "tool_use_id"}, // Messages
		{"messages", "*", "tool_call_id"},                // chat completions
		{"input", "*", "call_id"},                        // Responses
	}
}

// inAskedOrder returns a request in which results that stand side by side are
// in the order in which a model asked for them, and whether any were not.
func inAskedOrder(v canon.Value) (canon.Value, bool) {
	for _, name := range []string{"messages", "input"} {
		list := v.Get(name)
		if list.Kind() != canon.KindArray {
			continue
		}
		asked := map[string]int{}
		elems, some := list.Elems(), false
		for i, e := range elems {
			content := e.Get("content").Elems()
			note(asked, e, "call_id", "type", "function_call", "custom_tool_call")
			for _, c := range e.Get("tool_calls").Elems() {
				note(asked, c, "id", "type", "function", "custom")
			}
			for _, c := range content {
				note(asked, c, "id", "type", "tool_use")
			}
			if parts, moved := sorted(content, asked); moved {
				if !some {
					elems, some = slices.Clone(elems), true
				}
				elems[i] = e.With("content", canon.Array(parts...))
			}
		}
		if out, moved := sorted(elems, asked); moved {
			elems, some = out, true
		}
		if some {
			return v.With(name, canon.Array(elems...)), true
		}
	}
	return v, false
}

// note takes down the place of a call, if v is one: if its member kind is one
// of those given.
func note(asked map[string]int, v canon.Value, id, kind string, kinds ...string) {
	if at := v.Get(id).Str(); at != "" && slices.Contains(kinds, v.Get(kind).Str()) {
		if _, twice := asked[at]; !twice {
			asked[at] = len(asked)
		}
	}
}

// resultOf returns the id of the call that v is a result of, or nothing.
func resultOf(v canon.Value) string {
	switch v.Get("type").Str() {
	case "tool_result":
		return v.Get("tool_use_id").Str()
	case "function_call_output", "custom_tool_call_output":
		return v.Get("call_id").Str()
	}
	if v.Get("role").Str() == "tool" {
		return v.Get("tool_call_id").Str()
	}
	return ""
}

// cacheMark is the member by which a client says up to where a provider should
// keep a request. It belongs to the place in a list, not to what stands there.
const cacheMark = "cache_control"

// sorted returns a list in which the results of each run of them are in the
// order of their calls. A run with a result of an unknown call, or with two of
// the same, stays as it is.
func sorted(list []canon.Value, asked map[string]int) (out []canon.Value, moved bool) {
	for from := 0; from < len(list); from++ {
		to := from
		var places []int
		for ; to < len(list); to++ {
			place, known := asked[resultOf(list[to])]
			if !known || slices.Contains(places, place) {
				break
			}
			places = append(places, place)
		}
		if !slices.IsSorted(places) {
			if !moved {
				out, moved = slices.Clone(list), true
			}
			arrange(out[from:to], places)
		}
		from = max(from, to-1)
	}
	return out, moved
}

// arrange puts a run of results in the order of their places.
func arrange(run []canon.Value, places []int) {
	marks := make([]canon.Value, len(run))
	at := make(map[int]canon.Value, len(run))
	for i, v := range run {
		marks[i] = v.Get(cacheMark)
		at[places[i]] = v.Without(cacheMark)
	}
	slices.Sort(places)
	for i, p := range places {
		run[i] = at[p]
		if !marks[i].IsZero() {
			run[i] = run[i].With(cacheMark, marks[i])
		}
	}
}
