// Package jobs runs and replays jobs over a store: it is what stands between
// the pure engine of jobs and files, keys, agents, people and the network.
//
// A [Job] is what a person writes, in YAML. A [Runner] seals its snapshots with
// the server key, opens the run, calls the agents, and takes to it what the
// council says. [Open] reads what a run has left behind.
//
// # Governance
//
// A [Governance] is the ledger of a tenant in a store, a run that is never
// sealed: who may act, what was asked for, what the council said, what stands
// still. It is a fold of its entries; every act in it is signed. Each replay
// asks there first and reports there at the end.
//
// # Replays
//
// [Service.Replay] is the one way to a replay, from the command line as over
// HTTP. It records a signed REPLAY_REQUEST, also of those who may not; runs the
// engine's replay over what the store holds; appends each step of it to an
// audit run of its own as it comes; and records the REPLAY_RESULT and, if
// something is not what was signed, the halt.
//
// # Agents that run again
//
// What an agent asks of its models and tools crosses the boundary below its own
// call, in the ledger of the job and in the scope [job.OutputScope]: a Go
// function and an agent that is a server do so themselves, a program by the
// recording proxies of package capture, whose addresses it finds in its
// environment. A run of its own for each program would be a second place to
// export, to verify and to erase.
//
// In reexecute the engine makes the call of an agent anew. It must equal the
// recorded one, or else nothing below it could be found. Then the agent runs,
// and what it asks is answered by the journal, or by mocks. A program does so in
// a sandbox: capture gives it a network in which there are only the replaying
// proxies, and a mount namespace keeps it from writing. What could not be had of
// that is in [Replayed.Sandbox] and in the audit.
package jobs
