// Package importer turns recordings of other tools into runs.
//
// A file holds either exchanges over HTTP or messages:
//
//	exchanges     cassettes of VCR, vcrpy and go-vcr; Go's httprr; HAR; nock
//	traces        OTLP/JSON, spans of OpenTelemetry's SDKs, OpenInference and the AI SDK, Langfuse, Orca 0
//	sessions      Claude Code and its SDK, Codex, Gemini CLI, OpenHands, OpenAI's Agents SDK, Google's ADK
//	trajectories  tau-bench, SWE-agent, lists of chat messages
//	messages      MCP, WebSocket and gRPC cassettes, answers of models without their requests
//
// Every recorded exchange becomes a call and an outcome, with the same bodies,
// match keys and redactions as if the recording proxy had seen it, in a new run
// that is sealed. The replaying proxy then answers from it.
//
// # What is replayable
//
// An exchange is replayable if the file holds the bytes of its request body
// and of its response body as they were sent. Everything else that the file
// does not hold is listed as a [Lack]: the exchange is replayed as far as it
// was recorded. Header fields and the status are such a lack, and so are the
// boundaries of the chunks and their times, which none of them keeps.
//
// An exchange whose body bytes are not in the file is evidence: it is recorded
// with what the file has, its outcome is an error with the code
// [ErrEvidenceOnly] and names each [Reason], and no replay serves it. What the
// file says decides, never a guess in its favour:
//
//   - a body that was parsed and written anew, or that is missing;
//   - a body whose length is not the one that the headers declare;
//   - a response that was decoded although its headers still name the encoding;
//   - a text that was in another charset than the file;
//   - JSON that a vcrpy serializer laid out as an indented block, unless the
//     declared length proves that it was sent so.
//
// Go's HTTP client takes off a gzip encoding that it asked for itself, before
// go-vcr or httprr see the response. Such a response is replayed as the
// program got it, and response.encoding is among its lacks.
//
// # What is evidence
//
// Messages are never replayable ([MessagesOnly]): nobody knows the bytes that
// carried them. The file itself, its secrets taken out, is the content of the
// first event ([EventFile]), so that the run holds whatever the readers pass
// over. Then come its steps in the order of the file: an answer of a model or
// the use of a tool is a call with its outcome, under the call that encloses it
// where the file has a tree; everything else that was said is an event
// ([EventMessage]). The outcome repeats the model, the tokens and the tools that
// the file names, so that a run can be shown and counted like a recorded one.
package importer
