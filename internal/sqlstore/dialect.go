package sqlstore

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Dialect is how one database differs from another.
type Dialect struct {
	// Name of the database in messages.
	Name string
	// Goose names the database to the migrations.
	Goose goose.Dialect
	// Migrations is the folder of the database below migrations/.
	Migrations fs.FS
	// Begin starts a transaction that no other writer runs beside.
	Begin string
	// Changed is a query whose number is another one after somebody else has
	// committed to the database.
	Changed string
	// Size is a query for the size of the database, in bytes.
	Size string
	// Ahead is called before a transaction that has written so many bytes is
	// committed, by who has the lock for writing; nil: nobody needs to know.
	Ahead func(size int)
	// Scrub are statements to run when something was erased, so that the
	// bytes are gone from the disk too.
	Scrub []string
	// Sparse is a query for whether compacting the database pays, and Compact
	// does it.
	Sparse, Compact string
	// Closing are statements to run when the last work is done.
	Closing []string
}

// migrate brings the tables to the version of this program. Two processes
// may open a new store at the same time: the slower one finds the tables and
// looks again.
func (d *Dialect) migrate(ctx context.Context, db *sql.DB) error {
	var err error
	for range 5 {
		var p *goose.Provider
		if p, err = goose.NewProvider(d.Goose, db, d.Migrations); err != nil {
			return err
		}
		var pending bool
		if pending, err = p.HasPending(ctx); err == nil && !pending {
			return nil
		}
		if _, err = p.Up(ctx); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
	}
	return err
}
