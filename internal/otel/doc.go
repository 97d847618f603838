// Package otel writes recorded runs as spans of OpenTelemetry, for the tools
// that read those: OTLP in its JSON form, one request of the protocol on one
// line, as the collector's file exporter writes and its receivers read it.
//
// # What becomes what
//
// A run is a trace, whose id is that of the run without its dashes. The run
// itself is the span "invoke_agent TITLE"; each call is a span under it, or
// under the call that encloses it, with the semantic conventions for
// generative AI:
//
//	a model     chat MODEL (text_completion, embeddings, generate_content), kind client
//	a tool      execute_tool NAME
//	MCP         its method, and execute_tool for tools/call
//	HTTP        its method, kind client
//
// The id of a span is the beginning of the id of the call's entry, and
// reprise.entry.id has all of it: who has the span finds the evidence, and can
// verify it. A span proves nothing itself.
//
// Messages are left out unless asked for, as the conventions have it. What a
// provider did not say is absent, never zero. Secrets were taken out when the
// run was recorded.
package otel
