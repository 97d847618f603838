// Package ledger is the record: append-only streams of entries that cannot be
// changed unnoticed.
//
// # Entries
//
// An entry is a small header and one body. The header is canonical JSON over
// strings, null and safe integers:
//
//	{"bind":hex,"kind":K,"n":N,"prev":hex|null,"run":R,"size":bytes,"t":RFC 3339,"type":media type,"v":1}
//
//	id   = SHA-256("reprise/entry/v1\n" ‖ header bytes)
//	bind = HMAC-SHA256(salt, body bytes), with a fresh salt of 32 bytes that is kept with the body
//
// The chain therefore runs over commitments, not over contents: somebody
// without the bodies can check the whole chain, and single bodies can be
// disclosed, withheld or erased. What is hashed is what is stored, byte for
// byte; that it is canonical is checked besides, so nothing can hide in a row.
//
// A body is a JSON object of at most [MaxBody] bytes. Four of its members
// mean the same in every kind:
//
//	att    the attachments, {bind, name, scope, size, type} each: bytes of any size, kept by package blob
//	refs   place ids: what names a place in this or another ledger
//	scope  the unit of erasure; left out if it is the run, and in att if it is that of the body
//	data   what the engine says
//
// Place ids differ between two runs that did the same. The comparison form of
// an entry, which replay and diff use, therefore leaves out att, refs and
// scope and takes the attachments as {name, type, bytes} instead; see [Compared].
//
// # Trust
//
// A [Head] is a signed statement about the first N entries: their number, the
// id of the last and the RFC 6962 root over all ids. [Verify] checks a stream
// of entries and heads in one pass and says which [Level] the evidence
// reaches. It runs nothing and calls nobody (T-33, T-35).
//
// # Concurrency
//
// Values of this package are not changed after they are made, except [Tree]
// and [World], which belong to one goroutine.
package ledger
