package redact

import "strings"

// placeholder reports whether a credential is one that stands where nobody
// needs one, or where a recorder took the real one out: "REDACTED",
// "not-needed", "test_api_key", "xxxx". Such a word is no secret, and to take
// it out of every body would spoil what was said.
func placeholder(value string) bool {
	words := strings.FieldsFunc(strings.ToLower(value), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for _, w := range words {
		if !placeholderWords[w] && strings.Trim(w, w[:1]) != "" {
			return false
		}
	}
	return true
}

// placeholderWords are what placeholders are made of, besides one character
// over and over.
var placeholderWords = map[string]bool{
	"redacted": true, "filtered": true, "scrubbed": true, "removed": true, "masked": true, "hidden": true, "sanitized": true,
	"dummy": true, "fake": true, "mock": true, "mocked": true, "test": true, "testing": true, "example": true, "sample": true, "placeholder": true,
	"no": true, "not": true, "none": true, "needed": true, "required": true, "empty": true, "unused": true, "anything": true,
	"your": true, "my": true, "here": true, "api": true, "key": true, "apikey": true, "token": true, "bearer": true, "sk": true,
	"openai": true, "anthropic": true, "azure": true, "gemini": true, "google": true, "mistral": true, "groq": true, "cohere": true,
	"ollama": true, "vllm": true, "lm": true, "studio": true, "local": true, "localhost": true,
}
