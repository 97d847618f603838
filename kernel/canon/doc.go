// Package canon is canonical JSON: immutable values, the closed set of
// profiles in which they become bytes, and the digests over those bytes.
//
// # One form of everything that is hashed
//
// Two parties can only compare digests when the same data always gives the
// same bytes. Every byte that Reprise hashes, signs or compares therefore
// comes from [Append], [Encode] or [Canonicalize], and nothing outside this
// package hashes.
//
// A [Value] is an immutable JSON tree. It keeps numbers as the tokens they
// were written as, so that an integer above 2^53 is never rounded, and it
// keeps the order of members, because one source profile hashes the order of
// declaration. The zero Value is absent, which is not null.
//
// [Parse] reads I-JSON (RFC 7493) strictly: duplicate names, lone surrogates,
// invalid UTF-8, a byte order mark, trailing data, a number that no double can
// hold and nesting beyond [MaxDepth] are refused. Noncharacters such as U+FFFE
// are let through, as every other implementation of RFC 8785 does.
//
// # Profiles
//
// A [Profile] names one exact encoding. [Native] is the form of ledger headers
// and bodies: RFC 8785 without fractions. [JCS] is RFC 8785. [Foreign] is
// RFC 8785 with integers beyond 2^53 kept digit for digit, for requests that
// others wrote. The remaining ones are those of the source documents, held to
// their vectors; they exist to check what other systems made.
//
// A profile never guesses: what it cannot express without loss is an error.
// [Check] answers whether bytes already are canonical. For Native, JCS and
// Foreign it is one pass without allocation, so that verifying a ledger costs
// little more than hashing it.
package canon
