// Package demo is the sample that `reprise demo` records: an agent, the model
// that it talks to and the MCP server whose tool it calls. All three are real
// as far as the recorder can tell: they are processes that speak HTTP and MCP.
// They need no key and no network.
//
// The agent answers a customer. The model has it call the tool send_mail,
// which appends a line to an outbox file: the side effect that must not happen
// a second time in a replay.
package demo
