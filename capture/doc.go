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
//	outcome  status, data {headers, informational, status, transfer, trailers, broke, reset}, contents "response" and "timing"
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
// and is passed on when it is staged, or waits because a secret may begin in it.
// [Sockets] says which sockets are refused
// first, so that clients fall back to HTTP. In a replay the upstream's
// messages come again when everything has come that the client had said
// before; a message of the client that is not the recorded one closes the
// socket.
//
// # Matching
//
// The match key is a digest of the upstream's name, the method, the path and
// query, and the normal form of the body: JSON in its canonical form, after
// [match.Normalisers], which are named, versioned and reported. Headers are not in
// the key. Two requests with one key are told apart by their order.
//
// # Secrets
//
// A [redact.Redactor] replaces secrets before anything is stored, in requests and in
// answers, across the parts in which these come. A client always gets the
// original. Keys are compared in redacted form; a keyed fingerprint of the
// caller's credential, in the call's cred, keeps a recording made with one
// credential from answering for another.
//
// A secret that a model spells over many messages of a stream is found, because
// the texts of one field of all messages are looked at as one; a message in
// which a secret may begin is held back from the record, never from the client.
// Bodies with a content coding are looked at behind it, and coded anew if a
// secret is in there. A compressed answer that streams is decoded as it comes,
// and recorded as far as its bytes tell nothing that may be a secret; when one
// is found the record stops, and begins anew when the answer has ended. What
// was taken out is named in redacted: such a body is
// not byte for byte the one that came. A coding behind which nobody could look
// is named in unscanned.
//
// Messages of a WebSocket are looked at in the same way, each direction by
// itself. One that waits keeps those behind it out of the record too, because
// the record has their order: if the recorder is killed, these are lost. What
// waits for no more than what may follow the first three letters of a secret
// goes into the record when its text has ended or when 64 messages wait.
//
// BUG: an answer that streams with several content codings, one behind the
// other, is recorded when it has ended: if the recorder is killed before, the
// record has none of its bytes.
//
// # Large requests
//
// A request of more than 1 MB is not held in memory. It could not stand in the
// spool either, because its secrets would be on the disk. So it is put aside in
// a scratch file, encrypted with a key that only this process has (see
// internal/scratch), and read from there three times: to be matched, to be
// stored without its secrets, and to be sent. Of its JSON only what stands
// beside long texts is held, so that the normalisers see it; the key is the one
// that it would have in memory. Where too much stands beside, or a normaliser
// needs the whole, [Options] bound it: [ErrWhole].
//
// # Pings
//
// Pings and pongs of a socket are recorded with the time at which they came,
//
//	event    name "websocket.control", refs {call}, data {after, before, dir, op}, content "message"
//
// as evidence that a side was there. Those of the upstream come again in a
// replay. When a client sends its own is left to its clock: they are answered
// when they come, and their absence is no divergence.
//
// BUG: what is offered to compress messages of a socket is taken out of the
// handshake. A branch does not go on in the middle of a socket: one that is
// not closed in the history is asked for anew.
//
// # Stdio servers
//
// A server of the Model Context Protocol that an agent starts itself is
// started through [Shim], a process that only carries lines between agent,
// server and recorder. In a replay the server is not started, and what it
// said of its own accord is said again in its place.
package capture
