// Package sqlstore is the store of ledgers and chunks in an SQL database. It
// holds the SQL once; what differs between databases stands in a [Dialect].
package sqlstore
