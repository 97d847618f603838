package protocol

import (
	"net/http"
	"net/url"
	"strings"
)

// Route is what a request asks for, by its method and path.
type Route struct {
	Protocol string // the name of the protocol in which it asks
	// Changes says that the request leaves something behind: a file, a batch.
	Changes bool
}

// routes are the ends of paths that ask a model for something, longest first
// where one ends in another.
var routes = []struct {
	end string
	Route
}{
	{"/messages/count_tokens", Route{Protocol: Anthropic}},
	{"/messages/batches", Route{Protocol: Anthropic, Changes: true}},
	{"/messages", Route{Protocol: Anthropic}},
	{"/complete", Route{Protocol: Anthropic}},

	{":generateContent", Route{Protocol: Gemini}},
	{":streamGenerateContent", Route{Protocol: Gemini}},
	{":countTokens", Route{Protocol: Gemini}},
	{":embedContent", Route{Protocol: Gemini}},
	{":batchEmbedContents", Route{Protocol: Gemini}},
	{":batchGenerateContent", Route{Protocol: Gemini, Changes: true}},
	{":predict", Route{Protocol: Gemini}},
	{":rawPredict", Route{Protocol: Anthropic}}, // Claude on Vertex
	{":streamRawPredict", Route{Protocol: Anthropic}},
	{"/v1beta/interactions", Route{Protocol: Gemini}},

	{"/converse", Route{Protocol: Bedrock}},
	{"/converse-stream", Route{Protocol: Bedrock}},
	{"/invoke", Route{Protocol: Bedrock}},
	{"/invoke-with-response-stream", Route{Protocol: Bedrock}},
	{"/count-tokens", Route{Protocol: Bedrock}},

	{"/api/chat", Route{Protocol: Ollama}},
	{"/api/generate", Route{Protocol: Ollama}},
	{"/api/embed", Route{Protocol: Ollama}},
	{"/api/embeddings", Route{Protocol: Ollama}},

	{"/v1/chat", Route{Protocol: Cohere}},
	{"/v2/chat", Route{Protocol: Cohere}},
	{"/v1/embed", Route{Protocol: Cohere}},
	{"/v2/embed", Route{Protocol: Cohere}},
	{"/v1/generate", Route{Protocol: Cohere}},
	{"/rerank", Route{Protocol: Cohere}},

	{"/responses/compact", Route{Protocol: Responses}},
	{"/responses", Route{Protocol: Responses}},

	{"/fim/completions", Route{Protocol: OpenAI}}, // Mistral
	{"/agents/completions", Route{Protocol: OpenAI}},
	{"/chat/completions", Route{Protocol: OpenAI}},
	{"/completions", Route{Protocol: OpenAI}},
	{"/embeddings", Route{Protocol: OpenAI}},
	{"/moderations", Route{Protocol: OpenAI}},
	{"/images/generations", Route{Protocol: OpenAI}},
	{"/images/edits", Route{Protocol: OpenAI}},
	{"/audio/speech", Route{Protocol: OpenAI}},
	{"/audio/transcriptions", Route{Protocol: OpenAI}},
	{"/audio/translations", Route{Protocol: OpenAI}},
	{"/v1/files", Route{Protocol: OpenAI, Changes: true}},
	{"/v1/batches", Route{Protocol: OpenAI, Changes: true}},
	{"/openai/files", Route{Protocol: OpenAI, Changes: true}}, // Azure
	{"/openai/batches", Route{Protocol: OpenAI, Changes: true}},
}

// Find returns the route of a request; ok is false if it asks no model.
func Find(method, path string) (r Route, ok bool) {
	if method != http.MethodPost {
		return Route{}, false
	}
	for i := range routes {
		if strings.HasSuffix(path, routes[i].end) {
			return routes[i].Route, true
		}
	}
	return Route{}, false
}

// socketEnds are the ends of paths at which models are spoken to over a
// WebSocket and nothing else.
var socketEnds = []string{"/realtime", "BidiGenerateContent"}

// IsSocket reports whether a WebSocket at that path leads to a model.
func IsSocket(path string) bool {
	for _, end := range socketEnds {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	_, ok := Find(http.MethodPost, path)
	return ok
}

// modelIn returns the model that stands in the URL of a request, as Gemini and
// Bedrock have it. A deployment of Azure is no model.
func modelIn(target string) string {
	path, query, _ := strings.Cut(target, "?")
	for _, dir := range []string{"/models/", "/model/"} {
		_, rest, ok := strings.Cut(path, dir)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		if name, err := url.PathUnescape(name); err == nil {
			if i := strings.LastIndexByte(name, ':'); i >= 0 && dir == "/models/" {
				name = name[:i] // :generateContent
			}
			return name
		}
	}
	if !strings.HasSuffix(path, "/realtime") {
		return ""
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return ""
	}
	return values.Get("model")
}
