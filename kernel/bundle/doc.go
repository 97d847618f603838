// Package bundle is the file that carries ledgers: `.reprise`, for export,
// archive and verification by somebody who has nothing else but a public key.
//
// # Format
//
// A bundle is a magic and then records. A record is a type (1 byte), a length
// (8 bytes, big-endian) and that many bytes. The records stand in one order:
//
//	bundle = magic format run+ end
//	run    = run-id manifest* entry*
//	entry  = chunk* header (body | withheld) (attachment | withheld-attachment)* head*
//
//	type                     bytes
//	1  format                canonical JSON {"runs":[run id, …],"v":1}
//	2  run-id                36 bytes
//	3  manifest              a key manifest in its envelope, oldest first
//	4  chunk                 1 to 65,536 bytes
//	5  header                the entry's claimed id (32 bytes), then its header
//	6  body                  salt (32 bytes), then the body
//	7  withheld              none
//	8  attachment            salt (32 bytes), then pieces
//	9  withheld-attachment   none
//	10 head                  a signed head in its envelope
//	11 end                   SHA-256 of all bytes of the file before this record (32 bytes)
//
// Chunks are numbered through the file, from 0, as they come. The pieces of an
// attachment give its bytes when they are put one behind the other:
//
//	0x00 length bytes     these bytes, at least one
//	0x01 first count      that many chunks, at least one, from number first on
//
// Lengths and numbers are unsigned varints in their shortest form. Bytes never
// follow bytes, and a run of chunks never follows the run that it continues. A
// chunk stands before the first entry that uses it; the chunks before an entry
// are all used by it, and first used in their order. A body that is withheld
// takes its attachments with it. A head stands behind the last entry that it
// covers.
//
// There is no padding, no name, no time and nothing behind the end, so a
// ledger has one bundle: to parse and to write again gives the same bytes.
// Chunk ids, recipes and scope keys of the store stay in the store. Scopes are
// named in the bodies.
//
// # Reading
//
// [Open] reads a file once from end to end, checks its form and its digest and
// remembers where things are: 16 bytes for each chunk, 24 for each head. The
// contents are checked by ledger.Verify over [Bundle.Evidence], which reads
// the file a second time, in order. Damage to the file does not stop it: what
// stands before the damage can be verified, and the verification fails.
//
// Roots of trust never come from a bundle. The manifests of a run say which keys sign;
// whether they are believed is for the reader to say.
package bundle
