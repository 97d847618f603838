package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// body1K is the data of a body of about 1 KB, as JSON of an agent's call.
func body1K() canon.Value {
	text := newSession(3)
	return canon.Object(
		canon.M("data", canon.Object(
			canon.M("arguments", canon.String(text.prose(60))),
			canon.M("method", canon.String("POST")),
			canon.M("path", canon.String("src/"+text.pick()+".go")),
			canon.M("result", canon.String(text.code(12))),
		)),
		canon.M("name", canon.String("step")),
	)
}

func prepare(b testing.TB, run ledger.RunID, kind ledger.Kind, body canon.Value, n int) ledger.Prepared {
	p, err := ledger.Prepare(ledger.Draft{Run: run, Kind: kind, Body: body, T: "2026-11-21T10:00:00.000001Z", Salt: canon.Salt{byte(n), byte(n >> 8)}})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkAppend has many writers that append one entry of 1 KB at a time,
// each to its own run, and wait until it is durable.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := benchStore(b)
			data := body1K()
			ws := make([]*ledgertest.Writer, writers)
			for i := range ws {
				ws[i] = ledgertest.NewWriter(b, s)
				ws[i].Append(b, s, "open")
			}
			b.ResetTimer()
			var wg sync.WaitGroup
			for i, w := range ws {
				n := b.N / writers
				if i < b.N%writers {
					n++
				}
				wg.Go(func() {
					p := prepare(b, w.Lease.Run, ledger.KindEvent, data, i)
					for range n {
						e, at := w.At.Next(w.Lease.Run, p)
						if err := s.Append(context.Background(), &ledger.Batch{Lease: w.Lease, At: w.At, Entries: []ledger.Entry{e}}); err != nil {
							b.Error(err)
							return
						}
						w.At = at
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// BenchmarkRaw is the limit to compare with: one connection that inserts the
// same bytes, a row for each entry, in transactions of as many as there are
// writers.
func BenchmarkRaw(b *testing.B) {
	for _, group := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+"?_journal_mode=WAL&_synchronous=FULL&_pragma=wal_autocheckpoint(4000)")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			if _, err := db.ExecContext(b.Context(), "CREATE TABLE entries (run INTEGER, n INTEGER, id BLOB, header BLOB, salt BLOB, body BLOB, PRIMARY KEY (run, n)) WITHOUT ROWID"); err != nil {
				b.Fatal(err)
			}
			var at ledger.Position
			run := ledgertest.NewRun(b)
			e, _ := at.Next(run, prepare(b, run, ledger.KindEvent, body1K(), 1))
			b.ResetTimer()
			for n := 0; n < b.N; {
				if err := insertGroup(b.Context(), db, n, group, &e); err != nil {
					b.Fatal(err)
				}
				n += group
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

func insertGroup(ctx context.Context, db *sql.DB, n, group int, e *ledger.Entry) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)")
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	defer stmt.Close()
	for i := range group {
		if _, err := stmt.ExecContext(ctx, i, n, e.ID[:], e.Header, e.Salt[:], e.Body); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func benchStore(b *testing.B) *sqlite.Store {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// fill appends so many entries of 1 KB to a new run.
func fill(b *testing.B, s *sqlite.Store, entries int) ledger.RunID {
	w := ledgertest.NewWriter(b, s)
	w.Append(b, s, "open")
	data := body1K()
	for left := entries - 1; left > 0; {
		batch := &ledger.Batch{Lease: w.Lease, At: w.At}
		for range min(left, 500) {
			e, at := w.At.Next(w.Lease.Run, prepare(b, w.Lease.Run, ledger.KindEvent, data, left))
			w.At = at
			batch.Entries = append(batch.Entries, e)
			left--
		}
		if err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	return w.Lease.Run
}

// BenchmarkRead streams a run of 1 KB entries.
func BenchmarkRead(b *testing.B) {
	s := benchStore(b)
	const entries = 20000
	run := fill(b, s, entries)
	b.ResetTimer()
	for range b.N {
		n := 0
		for _, err := range s.Read(b.Context(), run, 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != entries {
			b.Fatalf("%d entries, want %d", n, entries)
		}
	}
	b.ReportMetric(float64(b.N)*entries/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkVerify verifies the same run from the store.
func BenchmarkVerify(b *testing.B) {
	s := benchStore(b)
	const entries = 20000
	run := fill(b, s, entries)
	b.ResetTimer()
	for range b.N {
		res, err := ledger.Verify(b.Context(), ledger.Evidence{Run: run, Entries: s.Read(b.Context(), run, 0)})
		if err != nil || res.Failed() {
			b.Fatal(res, err)
		}
	}
	b.ReportMetric(float64(b.N)*entries/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkOpen opens a store and closes it again.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	for range b.N {
		s, err := sqlite.Open(b.Context(), path, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
