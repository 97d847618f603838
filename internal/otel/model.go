package otel

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// model describes a call of a model.
func (e *exporter) model(s *span, c *insight.Call, d, answer *insight.Detail) {
	s.kind = 3
	data := d.Data()
	path := data.Get("url").Str()
	op := operation(path, c.Name)
	request, _ := canon.Parse([]byte(content(d, capture.RequestName)))
	model := request.Get("model").Str()
	if model == "" {
		model = modelOf(path)
	}
	named := model
	if named == "" {
		named = c.Model
	}
	s.name = strings.TrimSpace(op + " " + named)
	s.attrs.text("gen_ai.operation.name", op)
	s.attrs.text("gen_ai.provider.name", provider(data.Get("upstream").Str(), path))
	s.attrs.text("gen_ai.request.model", model)
	if !c.Asked {
		s.attrs.text("gen_ai.response.model", c.Model)
	}
	if h := e.host(data.Get("upstream").Str()); h != nil {
		s.attrs.text("server.address", h.Hostname())
		if port, err := strconv.ParseInt(h.Port(), 10, 64); err == nil {
			s.attrs.number("server.port", port)
		}
	}
	for _, p := range parameters() {
		for _, from := range p.from {
			if v, ok := request.Pointer(from); ok && !v.IsNull() {
				s.attrs.scalar("gen_ai.request."+p.name, v)
				break
			}
		}
	}
	id, reasons := ending(content(answer, capture.ResponseName))
	s.attrs.text("gen_ai.response.id", id)
	s.attrs.texts("gen_ai.response.finish_reasons", reasons)
	if u := c.Usage; u != nil {
		s.attrs.number("gen_ai.usage.input_tokens", u.Input+u.CacheRead+u.CacheWrite)
		s.attrs.number("gen_ai.usage.output_tokens", u.Output+u.Reasoning)
		if u.CacheRead > 0 {
			s.attrs.number("gen_ai.usage.cache_read.input_tokens", u.CacheRead)
		}
		if u.CacheWrite > 0 {
			s.attrs.number("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
		}
	}
	if c.Cost != nil {
		s.attrs.text("reprise.cost_usd", c.Cost.String())
	}
	if e.o.Content {
		if m := input(request); m.Len() > 0 {
			s.attrs.text("gen_ai.input.messages", m.String())
		}
		if m := output(c, reasons); m.Len() > 0 {
			s.attrs.text("gen_ai.output.messages", m.String())
		}
	}
}

// operation names what a request to that path asks for.
func operation(path, name string) string {
	p, _, _ := strings.Cut(path, "?")
	switch {
	case strings.HasSuffix(p, "/embeddings"), strings.Contains(p, ":embedContent"), strings.Contains(p, ":batchEmbedContents"), strings.HasSuffix(p, "/embed"):
		return "embeddings"
	case strings.Contains(p, "enerateContent"), strings.HasPrefix(name, "generateContent"):
		return "generate_content"
	case strings.HasSuffix(p, "/completions") && !strings.HasSuffix(p, "/chat/completions"), strings.HasSuffix(p, "/api/generate"):
		return "text_completion"
	default:
		return "chat"
	}
}

// modelOf returns the model that a path names, as Gemini's and Bedrock's do.
func modelOf(path string) string {
	for _, before := range []string{"/models/", "/model/", "/deployments/"} {
		if _, rest, ok := strings.Cut(path, before); ok {
			m, _, _ := strings.Cut(rest, "/")
			if before == "/models/" {
				m, _, _ = strings.Cut(m, ":")
			}
			if name, err := url.PathUnescape(m); err == nil {
				return strings.ToValidUTF8(name, "\uFFFD")
			}
		}
	}
	return ""
}

// provider returns the name that the conventions have for who answered, or the
// upstream's own.
func provider(upstream, path string) string {
	base, _, _ := strings.Cut(upstream, ".")
	switch {
	case base == "gemini" || strings.Contains(upstream, "generativelanguage"):
		return "gcp.gemini"
	case base == "vertex" || strings.Contains(upstream, "aiplatform"):
		return "gcp.vertex_ai"
	case strings.HasPrefix(base, "bedrock"):
		return "aws.bedrock"
	case strings.HasPrefix(base, "azure"):
		return "azure.ai.openai"
	case base == "mistral":
		return "mistral_ai"
	case base == "xai" || upstream == "api.x.ai":
		return "x_ai"
	case strings.HasSuffix(path, "/messages") && upstream == "":
		return "anthropic"
	default:
		return upstream
	}
}

// host returns the address of an upstream, as the open of the run names it.
func (e *exporter) host(upstream string) *url.URL {
	for _, u := range e.first.Data().Get("upstreams").Elems() {
		if u.Get("name").Str() == upstream && upstream != "" {
			if a, err := url.Parse(u.Get("url").Str()); err == nil {
				return a
			}
		}
	}
	return nil
}

// parameter is a setting of a request, with the places where providers have it.
type parameter struct {
	name string
	from []string // JSON pointers
}

func parameters() []parameter {
	return []parameter{
		{"temperature", []string{"/temperature", "/generationConfig/temperature", "/inferenceConfig/temperature", "/options/temperature"}},
		{"top_p", []string{"/top_p", "/generationConfig/topP", "/inferenceConfig/topP", "/options/top_p"}},
		{"top_k", []string{"/top_k", "/generationConfig/topK", "/options/top_k"}},
		{"max_tokens", []string{"/max_tokens", "/max_completion_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens", "/inferenceConfig/maxTokens", "/options/num_predict"}},
		{"frequency_penalty", []string{"/frequency_penalty"}},
		{"presence_penalty", []string{"/presence_penalty"}},
		{"seed", []string{"/seed", "/generationConfig/seed"}},
		{"choice.count", []string{"/n"}},
	}
}

// ending returns the id that the provider gave an answer, and why it ended; of
// a stream, as its events say it.
func ending(body string) (id string, reasons []string) {
	v, err := canon.Parse([]byte(body))
	if err == nil {
		return firstText(v, "id", "responseId"), finishReasons(v)
	}
	for data := range protocol.Events([]byte(body)) {
		v, err := canon.Parse(data)
		if err != nil {
			continue
		}
		for _, at := range []canon.Value{v, v.Get("message"), v.Get("response")} {
			if id == "" {
				id = firstText(at, "id", "responseId")
			}
		}
		for _, at := range []canon.Value{v, v.Get("delta")} {
			if r := finishReasons(at); len(r) > 0 {
				reasons = r
			}
		}
	}
	return id, reasons
}

func firstText(v canon.Value, names ...string) string {
	for _, n := range names {
		if s := v.Get(n).Str(); s != "" {
			return s
		}
	}
	return ""
}

// finishReasons returns why an answer ended, in the provider's words, one for
// each of its choices.
func finishReasons(v canon.Value) []string {
	var out []string
	for _, list := range []canon.Value{v.Get("choices"), v.Get("candidates")} {
		for _, c := range list.Elems() {
			if r := firstText(c, "finish_reason", "finishReason"); r != "" {
				out = append(out, r)
			}
		}
	}
	if r := firstText(v, "stop_reason", "stopReason", "finish_reason", "done_reason"); r != "" && len(out) == 0 {
		out = append(out, r)
	}
	return out
}
