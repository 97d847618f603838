package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver of the raw store

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// bodies is how many different bodies the writers take turns with.
const bodies = 512

// durable measures what it costs until an entry is durable.
func (b *bench) durable() error {
	ds := make([]ledger.Decision, bodies)
	w := newWriter(2)
	for i := range ds {
		body, err := w.body(i, 1<<10)
		if err != nil {
			return err
		}
		ds[i] = ledger.Decision{Kind: ledger.KindEvent, Body: body}
	}
	if err := b.appendCPU(ds); err != nil {
		return err
	}
	for _, c := range []struct {
		writers int
		bar     float64
	}{{16, 25e3}, {256, 60e3}} {
		if err := b.groupCommit(ds, c.writers, c.bar); err != nil {
			return err
		}
	}
	return nil
}

func sessionConfig(store drive.Store) (drive.Config, error) {
	seed := make([]byte, 32)
	if _, err := rand.Read(seed); err != nil {
		return drive.Config{}, err
	}
	key, err := sign.NewPrivateKey(seed)
	return drive.Config{Store: store, Now: time.Now, Rand: rand.Reader, Signer: key, Holder: "bench"}, err
}

// inSession opens a session, lets writers append n entries in all, each
// waiting until its own is durable, and calls done before it is closed.
func (b *bench) inSession(store drive.Store, ds []ledger.Decision, writers, n int, done func()) error {
	cfg, err := sessionConfig(store)
	if err != nil {
		return err
	}
	s, err := drive.Open(b.ctx, cfg, drive.Opening{Engine: "bench"})
	if err != nil {
		return err
	}
	errs := make([]error, writers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = s.Decide(b.ctx, ds[i%len(ds)])
			}
		})
	}
	wg.Wait()
	done()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return s.Close(b.ctx)
}

// appendCPU measures the processor time of an entry without the store.
func (b *bench) appendCPU(ds []ledger.Decision) error {
	n := 60000
	if b.quick {
		n = 20000
	}
	micros := func(writers int) func() (float64, error) {
		return func() (float64, error) {
			began := cpuTime()
			var used time.Duration
			err := b.inSession(nullStore{}, ds, writers, n, func() { used = cpuTime() - began })
			return used.Seconds() * 1e6 / float64(n), err
		}
	}
	raw := func() (float64, error) {
		began := cpuTime()
		if err := hashing(ds, n); err != nil {
			return 0, err
		}
		return (cpuTime() - began).Seconds() * 1e6 / float64(n), nil
	}
	got, err := interleave(b.rounds, micros(16), raw)
	if err != nil {
		return err
	}
	b.add(row{
		name: "append, CPU of an entry of 1 KB without the store", got: median(got[0]), unit: "µs", bar: atMost(6),
		beside: fmt.Sprintf("encoding the body and its HMAC alone: %.2f µs", median(got[1])),
	})
	return nil
}

// hashing is the part of an append that its format asks for.
func hashing(ds []ledger.Decision, n int) error {
	var salt canon.Salt
	for i := range n {
		body, err := canon.Encode(ds[i%len(ds)].Body, canon.Native)
		if err != nil {
			return err
		}
		d := canon.Bind(&salt, body)
		copy(salt[:], d[:])
	}
	return nil
}

// groupCommit measures durable appends beside the same database doing nothing
// but the inserts.
func (b *bench) groupCommit(ds []ledger.Decision, writers int, limit float64) error {
	n := 500 * writers
	if writers <= 16 {
		n = 1000 * writers
	}
	if b.quick {
		n /= 3
	}
	name := fmt.Sprintf("group-%d", writers)
	inner, err := sqlite.Open(b.ctx, filepath.Join(b.dir, name+".db"), nil)
	if err != nil {
		return err
	}
	defer inner.Close()
	raw, err := openRaw(b.ctx, filepath.Join(b.dir, name+"-raw.db"))
	if err != nil {
		return err
	}
	defer raw.db.Close()
	payload, err := payloads(ds)
	if err != nil {
		return err
	}
	store := &counting{Store: inner}
	groups := []int{writers}
	got, err := interleave(
		b.rounds,
		func() (float64, error) {
			began := time.Now()
			var took time.Duration
			err := b.inSession(store, ds, writers, n, func() { took = time.Since(began) })
			groups = store.take()
			return float64(n) / took.Seconds(), err
		},
		func() (float64, error) {
			began := time.Now()
			done, err := raw.insert(b.ctx, groups, payload)
			return float64(done) / time.Since(began).Seconds(), err
		},
	)
	if err != nil {
		return err
	}
	b.add(row{
		name: fmt.Sprintf("append, durable on SQLite, %d writers", writers), got: median(got[0]), unit: "/s", bar: atLeast(limit),
		beside: fmt.Sprintf("raw INSERTs in the same groups (%d entries in the mean): %s", n/max(1, len(groups)), amount(median(got[1]), "/s")),
	})
	return nil
}

// payloads returns what the raw store stores for each body: as many bytes as
// header, salt and body have.
func payloads(ds []ledger.Decision) ([][]byte, error) {
	out := make([][]byte, len(ds))
	for i := range ds {
		body, err := canon.Encode(ds[i].Body, canon.Native)
		if err != nil {
			return nil, err
		}
		out[i] = make([]byte, 0, len(body)+400)
		for len(out[i]) < 400 {
			out[i] = append(out[i], canon.Hash("payload\n", body, out[i]).String()...)
		}
		out[i] = append(out[i][:400], body...)
	}
	return out, nil
}

// rawStore is a table in the database that the store uses, set up alike.
type rawStore struct {
	db   *sql.DB
	stmt *sql.Stmt
}

func openRaw(ctx context.Context, path string) (*rawStore, error) {
	u := url.URL{Scheme: "file", Path: path}
	db, err := sql.Open("sqlite", u.String()+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_pragma=wal_autocheckpoint(4000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE entries (n INTEGER PRIMARY KEY, data BLOB NOT NULL)"); err != nil {
		return nil, err
	}
	s, err := db.PrepareContext(ctx, "INSERT INTO entries (data) VALUES (?)")
	return &rawStore{db, s}, err
}

// insert stores groups of rows, a transaction each, and returns how many rows
// it stored.
func (r *rawStore) insert(ctx context.Context, groups []int, payload [][]byte) (int, error) {
	done := 0
	for _, n := range groups {
		tx, err := r.db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		stmt := tx.StmtContext(ctx, r.stmt)
		for range n {
			if _, err := stmt.ExecContext(ctx, payload[done%len(payload)]); err != nil {
				return 0, err
			}
			done++
		}
		if err := tx.Commit(); err != nil {
			return 0, err
		}
	}
	return done, nil
}
