// Package sqlstore is the store of ledgers and chunks in an SQL database. It
// holds the SQL once; what differs between databases stands in a [Dialect].
//
// # Writing
//
// One writes at a time: the committer, which is a goroutine, or a caller who
// finds nobody at work and is not held up by the hand-over. What is queued
// meanwhile is the committer's next transaction, so that the cost of a durable
// commit is shared by all who wait. Who commits decides in Go, from rows that
// it read in the transaction or knows to be unchanged since, so that one
// refused append spoils no other.
//
// A transaction adds one row to the table journal, which holds all its
// entries and chunks one behind the other. When the journal has grown large,
// it is settled: the entries of a run move into rows of the table segments, the
// chunks of a scope into rows of the table packs, each compressed as a whole;
// the table chunks says where in its pack a chunk lies. Another goroutine
// compresses, so that nobody waits for it, and the committer puts what came of
// it in place, in a transaction that finds the journal to begin as it did. The
// last act of a store that is closed is to settle.
//
// A row for each entry, which is the obvious form, was measured and is three
// to four times slower with many writers: every entry then touches a page of
// its own, in the log of changes, again in the database and again in each
// index. It also takes half as much room again, because small rows compress
// badly and entries of one run, like chunks of one conversation, resemble one
// another.
//
// # What is durable before what
//
//  1. The row of the journal, with statements and scopes of its transaction,
//     is committed and synced. Only then is anything acknowledged.
//  2. Segments, packs and the positions of runs are written in one
//     transaction with the removal of what they replace. A crash leaves
//     either the journal or what it became.
//
// # Reading
//
// Who reads asks the journal first and the settled rows afterwards, and lets
// the latter win: whatever is settled in between is then seen twice and
// dropped once, and nothing is missed. Readers hold no transaction while
// their caller works.
//
// # Other processes
//
// The writer remembers positions and leases from one transaction to the
// next as long as the database says that nobody else has committed to it
// ([Dialect.Changed]), and reads them again in its transaction otherwise.
// Rows of the journal are numbered, and numbers and the keys of packs and
// scopes are never used twice, so that a process can tell what it knows from
// what is new.
package sqlstore
