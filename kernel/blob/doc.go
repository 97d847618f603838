// Package blob keeps attachments: bytes of any size that belong to a ledger
// entry, cut into chunks so that what repeats is stored once.
//
// A [Writer] takes the bytes of one attachment as a stream and gives back
// three things: chunks to store, a recipe that rebuilds the bytes from them,
// and the commitment to the bytes that the entry's body carries. [Rebuild]
// reads a recipe. Both hold a bounded window in memory, never the whole.
//
// # Chunks
//
// JSON is cut between array members, because an agent sends its growing list
// of messages again with every call; other bytes are cut where their content
// says so, so that an insertion moves no boundary behind it. A chunk's id is
// HMAC-SHA256(scope key, bytes): equal bytes meet only within one scope, and
// an id tells nothing to somebody without the scope's key.
//
// # Recipes
//
// A recipe is a version byte (1) and a list of operations:
//
//	0x00 length bytes          these bytes
//	0x01 length id             a chunk of that length
//	0x02 length id             a chunk that holds further operations, which
//	                           rebuild that many bytes
//
// Lengths are unsigned varints in their shortest form and never zero, ids are
// 32 bytes; the lengths of a list add up to the size that its attachment or
// its operation states. A long recipe is itself cut and stored as chunks
// (0x02), where its content says so: the recipes of two requests that share
// their history share their front too, and storage grows with what is new.
//
// # Scopes
//
// A [Scope] is the unit of de-duplication and of erasure: by default the run,
// else a named data subject. To destroy its key and its chunks is to erase.
package blob
