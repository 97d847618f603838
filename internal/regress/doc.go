// Package regress turns the comparison of two runs into something to act on:
// which step differs first, in which of its parts, and why ([Explain]), as
// JUnit, annotations, Markdown and a page ([Suite]).
//
// A report of a replay, of a diff and of a test are explained alike. The part
// of a request that changed first is found in the form in which requests are
// matched, in the order in which a model reads: the model, its instructions,
// the tools, and then the conversation. Where that part comes from is looked
// for in what was answered before: a tool result names the call that asked for
// it, and a text that stands in an earlier answer comes from there. What no
// answer holds is the agent's own. This is what the records tell, and no more:
// an agent may have read a file that they do not hold.
package regress
