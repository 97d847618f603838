package main

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// nullStore takes everything and keeps nothing: what is measured over it is
// the path to a store without the store.
type nullStore struct{}

func (nullStore) Acquire(_ context.Context, run ledger.RunID, _ string, _ time.Duration) (ledger.Lease, error) {
	return ledger.Lease{Run: run, Token: 1}, nil
}

func (nullStore) Append(context.Context, *ledger.Batch) error { return nil }

func (nullStore) At(context.Context, ledger.RunID) (ledger.Position, error) {
	return ledger.Position{}, nil
}

func (nullStore) Read(context.Context, ledger.RunID, int64) iter.Seq2[*ledger.Entry, error] {
	return func(func(*ledger.Entry, error) bool) {}
}

func (nullStore) Statements(context.Context, ledger.RunID, string) iter.Seq2[ledger.Statement, error] {
	return func(func(ledger.Statement, error) bool) {}
}

func (nullStore) Runs(context.Context) iter.Seq2[ledger.RunInfo, error] {
	return func(func(ledger.RunInfo, error) bool) {}
}

func (nullStore) RunsOf(context.Context, string) iter.Seq2[ledger.RunInfo, error] {
	return func(func(ledger.RunInfo, error) bool) {}
}

func (nullStore) Scope(_ context.Context, _ string, create *blob.Scope) (blob.Scope, error) {
	return *create, nil
}

func (nullStore) Put(context.Context, []blob.Chunk) error { return nil }

func (nullStore) Get(context.Context, string, canon.Digest) ([]byte, error) { return nil, nil }

func (nullStore) List(context.Context, string) iter.Seq2[canon.Digest, error] {
	return func(func(canon.Digest, error) bool) {}
}

func (nullStore) Erase(context.Context, string) error { return nil }

// counting notes the sizes of the groups that are appended.
type counting struct {
	drive.Store
	mu     sync.Mutex
	groups []int // entries of each append
}

// Append implements [ledger.Store].
func (c *counting) Append(ctx context.Context, b *ledger.Batch) error {
	if len(b.Entries) > 0 {
		c.mu.Lock()
		c.groups = append(c.groups, len(b.Entries))
		c.mu.Unlock()
	}
	return c.Store.Append(ctx, b)
}

// take returns the sizes noted since the last call.
func (c *counting) take() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.groups
	c.groups = nil
	return out
}
