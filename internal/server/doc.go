// Package server is the HTTP API of "reprise serve": the runs of one store to
// list, read, verify, compare, export and import, and its trajectories and jobs
// to begin, govern and replay.
//
// The routes are declared in code, and the OpenAPI 3.1 document is made from
// them: what the document says is what the server checks. The types are those
// of package api. Further routes are added through [Options.Register].
//
// # Errors
//
// Every error is a problem document (RFC 9457) with the code and class of
// package fault; the status follows from the class alone. But for the name of a
// run, nothing that a client sent is repeated in one, since a request may hold
// prompts and keys.
//
// # Who may ask
//
// There are no users yet: whoever can connect may read everything. The server
// is therefore meant for the loopback, and [Listen] refuses any other address
// unless it is asked for. A browser on the same machine is kept out too: the
// Host of a request must be a loopback name, so that no name of somebody
// else's can be bound to this address; what changes something must come from
// the same origin; no answer allows another origin to read it; and recorded
// bytes, which anybody may have written, are sent as downloads that no browser
// renders.
//
// # Limits
//
// Headers, bodies, bundles, pages, live streams and times are bounded; see
// [Options]. A stream that cannot be completed as it was recorded is broken
// off, so that no client takes a part for the whole.
package server
