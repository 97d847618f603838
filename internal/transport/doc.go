// Package transport is how something outside is called, as people write it in
// a file and engines name it: a program, an address, a tool of an MCP server.
// [Exec] and [HTTP] read it, [Request.Call] makes of it and of what is to be
// given a call that package live can make, and a [Redactor] keeps the secrets
// that were used out of what comes back.
//
// A transport is an object that a ledger may hold: secrets stand in it by the
// names of environment variables only.
package transport
