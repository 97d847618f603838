// Package reprise is a flight recorder and replay engine for AI agents.
//
// An agent's own logic can be made deterministic; everything else (a model, a
// tool, the clock, a person's approval) reaches it through one boundary. What
// crosses the boundary is recorded in a ledger that cannot be changed
// unnoticed. Verify, replay and simulate are derived from that record.
//
// The code stands in three rings, and imports only point inward:
//
//   - kernel is pure and shared: errors, canonical bytes, signatures, the
//     ledger, attachments, effects and the replay report.
//   - engine is pure, one folder for each source document.
//   - everything else acts: capture, store, the command line and the server.
package reprise
