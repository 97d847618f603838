// Package sign says who vouches for what: Ed25519 keys, signed statements and
// the manifests that list keys.
//
// # Statements
//
// A statement is a DSSE envelope: a JSON payload, its media type and
// signatures over the pre-authentication encoding of both. Envelopes have one
// spelling, so the bytes that are checked are the bytes that are read.
//
// # Keys
//
// A key's id is SHA-256 over its SPKI encoding. Every public key that enters
// from outside is checked once, here: its encoding must be canonical and it
// must not be of small order, because under such a key one signature fits
// many messages. There is no default key.
//
// # Manifests
//
// The root key signs nothing but numbered key manifests, each naming its
// predecessor by digest. A [Keyring] is what a chain of manifests says, seen
// from the root keys that the reader trusts. Roots never come from the
// evidence: a ring that was built without a trusted root checks signatures,
// and a bad one fails, but a good one earns no trust.
//
// MACs are an inside tool: whoever can check one can forge it. No evidence
// for outsiders rests on [MAC].
package sign
