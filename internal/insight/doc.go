// Package insight reads from a recorded run what people ask of it: which
// models were called, with how many tokens, at what cost, for how long, and
// which tools the answers asked for.
//
// It reads what the providers themselves say, as package protocol knows it,
// and estimates nothing. What it does not know is absent,
// never zero: a call without a usage member has no tokens, a model without a
// listed price no cost, and a sum that lacks a part says so.
package insight
