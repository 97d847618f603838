// Package protocol knows how the providers of models speak: which requests ask
// a model for something, and what these and their answers say of the model,
// the messages, the tools and the tokens.
//
// There is one file for each protocol, and a table of them all. A protocol is
// told by the form of its messages, not by the host: OpenRouter, Azure and
// every server that is compatible with another speak that one's. Answers come
// whole, as server-sent events, as lines or an array of JSON, or in the binary
// event streams of AWS.
//
// Nothing is estimated. What an answer does not say is absent, never zero, and
// what is not recognised is left out.
package protocol
