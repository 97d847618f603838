// Package a does only what pure code may do.
package a

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"
)

type Store interface {
	Read(ctx context.Context, from uint64) iter.Seq2[string, error]
}

func Print(w io.Writer, m map[string]time.Time) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if _, err := fmt.Fprintf(w, "%s %s\n", k, m[k].UTC().Format(time.RFC3339)); err != nil {
			return err
		}
	}
	clear(m)
	return nil
}
