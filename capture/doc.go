// Package capture records what an agent in any language says to its models
// and tools, and answers it from the record later. The agent is not changed:
// it is given the addresses of proxies in its environment.
//
// # Recording
//
// Each upstream has a loopback listener, so that paths, base URLs and what
// clients do with them stay as they are. A [Proxy] passes requests and answers
// on byte for byte, with all headers but those of the connection, chunk
// boundaries, trailers and the way an answer ends. Request and answer are one
// exchange of the session:
//
//	call     class, kind (model, mcp, http), name, data {headers, method, upstream, url}, content "request"
//	outcome  status, data {headers, status, transfer, trailers, broke}, contents "response" and "timing"
//
// A request is read whole and is in the ledger before it is sent on; a call
// that may change something is durable before. A part of an answer is staged
// before the client gets it. The last byte of an answer, or the end of its
// chunked coding, is given to the client only when the outcome is durable: a
// client that has an answer can rely on the record of it.
//
// # Replaying
//
// Whether a call is made or answered from a record is decided by the sources
// of the session, call by call; the proxy is the same. A recorded answer is
// the same to the byte, also in how it breaks off. A call that is not in the
// record gets problem+json with status 400, the nearest recorded call and
// where that differs. It is never passed on and never given another's answer.
// [Proxy.ReplayReport] says how the whole run compares.
//
// # WebSockets
//
// The request for a socket is the call, and how the socket closes its outcome.
// Each message is an event of the call,
//
//	event    name "websocket.message", refs {call}, data {after, dir, frames, op, redacted, seq}, content "message"
//
// and is passed on when it is staged. [Sockets] says which sockets are refused
// first, so that clients fall back to HTTP. In a replay the upstream's
// messages come again when everything has come that the client had said
// before; a message of the client that is not the recorded one closes the
// socket.
//
// # Matching
//
// The match key is a digest of the upstream's name, the method, the path and
// query, and the normal form of the body: JSON in its canonical form, after
// [Normalisers], which are named, versioned and reported. Headers are not in
// the key. Two requests with one key are told apart by their order.
//
// # Secrets
//
// A [Redactor] replaces secrets before anything is stored, in requests and in
// answers, across the parts in which these come. A client always gets the
// original. Keys are compared in redacted form; a keyed fingerprint of the
// caller's credential, in the call's cred, keeps a recording made with one
// credential from answering for another.
//
// BUG: a body with a content coding is stored as it came; secrets within it
// are found only if the coding is gzip, deflate or zstd and the body is not
// streamed. A secret that a model spells over several events of a stream is
// not found, because no event holds it.
//
// BUG: frames that carry no message (pings and pongs) are passed on and not
// recorded, and what is offered to compress messages is taken out of the
// handshake. A branch does not go on in the middle of a socket: one that is
// not closed in the history is asked for anew.
//
// # Within another run
//
// [RunWithin] puts the proxies around a program whose calls belong to a run that
// somebody else writes, such as an agent of a job: they stand under the call
// that the program is, and their contents in the scope of that boundary.
//
// # Stdio servers
//
// A server of the Model Context Protocol that an agent starts itself is
// started through [Shim], a process that only carries lines between agent,
// server and recorder. In a replay the server is not started, and what it
// said of its own accord is said again in its place.
package capture
