package a

import (
	"maps"
	"slices"
)

type table map[string]int

func f(m table) (n int) {
	for range m { // want "map iteration"
		n++
	}
	for range maps.Keys(m) { // want "maps.Keys in pure code without slices.Sorted"
		n++
	}
	_ = slices.Collect(maps.Values(m)) // want "maps.Values"
	_ = maps.Collect(maps.All(m))      // want "maps.All"
	keys := maps.Keys[table]           // want "maps.Keys"
	for range keys(m) {
		n++
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		n += m[k]
	}
	_ = slices.SortedFunc(maps.Values(m), func(a, b int) int { return a - b })
	for _, k := range slices.Sorted(maps.Keys(m)) {
		for range maps.Keys(table{k: 1}) { // want "maps.Keys"
			n++
		}
	}
	return n
}

func g[M ~map[string]int](m M) {
	for range m { // want "map iteration"
	}
}

type admitted interface{ map[string]int | table }

func h[T interface{ admitted }](m T) {
	for range m { // want "map iteration"
	}
}
