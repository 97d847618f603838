// Package sqlite keeps ledgers and chunks in one SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver

	"github.com/reprise-dev/reprise/internal/sqlstore"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrUnsafe means that SQLite does not keep what it acknowledges on this
// file: it is not in WAL mode, or does not wait for the disk. Nothing was
// written; put the store on a local file system.
const ErrUnsafe fault.Unavailable = "sqlite.unsafe"

// Options are what may be chosen. A nil *Options chooses the defaults.
type Options struct {
	// Now is the clock that leases run by; nil is time.Now.
	Now func() time.Time
	// Busy is how long a writer waits for one of another process; 0 is ten
	// seconds.
	Busy time.Duration
	// Readers is how many connections read at the same time; 0 is four.
	Readers int
}

// Store is a [ledger.Store] and a blob.Store.
type Store struct{ *sqlstore.Store }

// Open opens the store in the file at path and creates it if it is not there.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	const op = "sqlite.Open"
	if opts == nil {
		opts = &Options{}
	}
	o := *opts
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Busy == 0 {
		o.Busy = 10 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, fault.Wrap(ledger.ErrStore, op, err, "the path %q", path)
	}
	migrations, err := sqlstore.Migrations("sqlite")
	if err != nil {
		return nil, fault.Wrap(fault.ErrUnknown, op, err, "the migrations")
	}
	write, err := connect(ctx, full, &o)
	if err != nil {
		return nil, err
	}
	read, err := sql.Open("sqlite", dsn(full, &o, "_query_only=1"))
	if err != nil {
		return nil, errors.Join(fault.Wrap(ledger.ErrStore, op, err, "opening %s", full), write.Close())
	}
	read.SetMaxOpenConns(o.Readers)
	read.SetMaxIdleConns(o.Readers)
	s, err := sqlstore.Open(ctx, sqlstore.Config{
		Dialect: sqlstore.Dialect{
			Name: "sqlite", Goose: goose.DialectSQLite3, Migrations: migrations,
			Begin:   "BEGIN IMMEDIATE",
			Ahead:   (&ahead{path: full + "-wal"}).room,
			Changed: "PRAGMA data_version",
			Size:    "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
			Scrub:   []string{"PRAGMA wal_checkpoint(TRUNCATE)"},
			Sparse:  "SELECT freelist_count * 16 > page_count AND page_count < 16384 FROM pragma_freelist_count(), pragma_page_count()",
			Compact: "VACUUM",
			Closing: []string{"PRAGMA wal_checkpoint(TRUNCATE)"},
		},
		Write: write, Read: read, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	return &Store{s}, nil
}

// dsn returns the name under which the driver opens the file. Everything in
// it but the path is ours, because a name can run statements.
func dsn(path string, o *Options, more ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	q := append([]string{
		"_busy_timeout=" + strconv.FormatInt(o.Busy.Milliseconds(), 10),
		"_txlock=immediate",
		"_foreign_keys=0",
		"_synchronous=FULL",
		"_pragma=page_size(4096)",
		"_pragma=secure_delete(1)", // what is erased is overwritten
		"_pragma=wal_autocheckpoint(" + strconv.Itoa(logPages) + ")",
		"_pragma=cache_size(-32768)",
	}, more...)
	return u.String() + "?" + strings.Join(q, "&")
}

// connect opens the connection that writes, and checks that what it commits
// is durable.
func connect(ctx context.Context, path string, o *Options) (*sql.DB, error) {
	const op = "sqlite.Open"
	db, err := sql.Open("sqlite", dsn(path, o, "_journal_mode=WAL"))
	if err != nil {
		return nil, fault.Wrap(ledger.ErrStore, op, err, "opening %s", path)
	}
	db.SetMaxOpenConns(1)
	var mode string
	var sync int
	if err = db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&sync)
	}
	const full = 2
	switch {
	case err != nil:
		err = fault.Wrap(ledger.ErrStore, op, err, "opening %s", path)
	case mode != "wal" || sync != full:
		err = fault.New(ErrUnsafe, op, "%s: journal_mode is %s and synchronous is %d; wal and %d are needed", path, mode, sync, full)
	default:
		return db, nil
	}
	return nil, errors.Join(err, db.Close())
}
