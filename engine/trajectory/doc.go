// Package trajectory is governed execution: an agent whose model may only
// propose, and a ledger from which anyone can check later why each change was
// allowed.
//
// # What an agent may do here
//
// A model emits an [Intent]: a wish, with arguments, and nothing else. A
// [Compiler] holds it against what the agent was allowed: a signed [Writ], the
// tools that exist and their argument schemas, the budget that is left, the
// skill that is bound, the preconditions of the tool and the policies. It
// yields a [Proposal], which is staged, or suspended until a person approves,
// or a [Rejection] with its reason. Only a commit changes the world, and every
// outcome, refusals included, is an entry of the ledger.
//
// A writ can be handed on. A child writ is never wider than its parent
// ([CheckChild]), and a chain of writs ends in a key that the reader trusts
// ([CheckChain]).
//
// # Ids
//
// Intents, proposals, writs and skills are named by their contents: BLAKE3 over
// the canonical bytes of the source document ([ContentID]). They are domain
// ids: equal contents have equal ids in every run, and a nonce tells twins
// apart. Inside JSON an id is 64 hexadecimal digits; with its prefix
// ("commit:") it stands in reports only.
//
// # Numbers
//
// Bodies of the ledger hold integers of at most 2^53-1. What tools take and
// give, and what a writ counts, may be any JSON number; [Lift] makes them fit
// and [Lower] gives them back, token for token.
//
// # Reading order
//
//	number.go         numbers that a body cannot hold
//	decimal.go        and how they are compared
//	id.go             ids of contents and of trajectories
//	budget.go         the four counters of a writ
//	writ.go           writs: what an agent may do, and for how long
//	chain.go          writs that come from writs
//	charter.go        all that a trajectory decides by, as its open holds it
//	intent.go         what the model asks for
//	proposal.go       what the compiler makes of it
//	trace.go          which rules were asked, and what they said
//	rejection.go      why it refuses
//	routing.go        the word of an adviser
//	skill.go          skills, which narrow a writ
//	tool.go           what tools there are, and what they may do
//	builtin.go        those that need no transport
//	schema.go         what arguments they take
//	template.go       values with placeholders
//	policy.go         conditions, and rules made of them
//	policy_parse.go   their wire form
//	bundle.go         policies that are signed, and the set in force
//	projection.go     how an answer becomes a change of the world
//	redact.go         secrets in what tools answer
//	compile.go        the gates, in their order
//	commit.go         what changes the world
//	commit_scan.go    the same, read from its bytes at once
//	machine.go        one trajectory at work
//	think.go          the calls of a model
//	conversation.go   an agent that talks
//	output.go         what tools answered
//	approve.go        proposals that wait for people
//	delegate.go       trajectories that work for another
//	undo.go           commits that are taken back
//	audit.go          what a verifier expects of commits
//	read.go           strict readers of what comes from outside
//	trail_line.go     an entry as an auditor reads it
//	trail.go          all of them, one after another
//	view.go           what can be asked of a machine
package trajectory
