// Package redact takes secrets out of what is stored: of requests, answers and
// messages, whole or in parts, with or without a coding. Whoever sent them and
// whoever they are for never gets another byte than what came.
//
// A [Redactor] knows the secrets of an environment ([EnvSecrets]), learns the
// credentials that pass by in headers and queries, and finds others by their
// labels. It looks for each in every spelling in which it may stand: in JSON as
// different writers escape it, in a query, in base64. [StandIn] is what is
// stored in the place of one.
//
// What it says of a body is a [Body]; bytes that come in parts go through a
// [Cleaner], which holds back what may be the beginning of a secret. Where
// messages stream, a model may spell a secret over many of them, a few letters
// in each: [Messages] looks at the texts of one field of all messages as one.
// A compressed answer is looked at as it comes, and a [Clearing] says how many
// of its bytes tell nothing that may be a secret.
//
// Read pattern.go and find.go first: a [Finder] is what all of it rests on, and
// it serves whoever looks for other texts than secrets too.
package redact
