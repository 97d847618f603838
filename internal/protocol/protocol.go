package protocol

import "github.com/reprise-dev/reprise/kernel/canon"

// Names of the protocols.
const (
	OpenAI    = "openai"    // chat completions, completions and embeddings, and all that is compatible
	Responses = "responses" // OpenAI's responses and realtime
	Anthropic = "anthropic" // messages
	Gemini    = "gemini"    // generateContent, and Gemini Live
	Bedrock   = "bedrock"   // converse, and invoke with models that speak no other protocol
	Cohere    = "cohere"
	Ollama    = "ollama"
)

// protocol is one way to speak.
type protocol struct {
	name string
	// speaks reports whether a message of an answer is in this protocol.
	speaks func(canon.Value) bool
	answer func(*Reader, canon.Value)
	// ask reads a request.
	ask func(*Request, canon.Value)
}

// protocols is all of them. The first whose form a message has reads it, so
// those whose marks are unmistakable stand first.
var protocols = []protocol{
	{Gemini, speaksGemini, (*Reader).gemini, askGemini},
	{Responses, speaksResponses, (*Reader).responses, askResponses},
	{Cohere, speaksCohere, (*Reader).cohere, askCohere},
	{Bedrock, speaksBedrock, (*Reader).bedrock, askBedrock},
	{Ollama, speaksOllama, (*Reader).ollama, askOllama},
	{Anthropic, speaksAnthropic, (*Reader).anthropic, askAnthropic},
	{OpenAI, speaksOpenAI, (*Reader).openai, askOpenAI},
}

// SocketMessage names the events of a ledger that hold the messages of a
// WebSocket: the member dir is in for those of the upstream, and op is text or
// binary.
const SocketMessage = "websocket.message"

// LooksJSON reports whether b begins as an object or array of JSON does.
func LooksJSON(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
		case '{', '[':
			return true
		default:
			return false
		}
	}
	return false
}
