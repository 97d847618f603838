package main

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"
)

// messages is anthropic-sdk-go.
type messages struct{ c anthropic.Client }

func newMessages() *messages { return &messages{anthropic.NewClient(option.WithMaxRetries(3))} }

func (c *messages) params(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "e2e-1", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))}}
}

func (c *messages) once(ctx context.Context, p anthropic.MessageNewParams, stream bool) (*anthropic.Message, said, error) {
	var m *anthropic.Message
	events := 0
	if stream {
		m = &anthropic.Message{}
		s := c.c.Messages.NewStreaming(ctx, p)
		defer s.Close()
		for s.Next() {
			events++
			if err := m.Accumulate(s.Current()); err != nil {
				return nil, said{}, err
			}
		}
		if err := s.Err(); err != nil {
			return nil, said{}, err
		}
	} else {
		var err error
		if m, err = c.c.Messages.New(ctx, p); err != nil {
			return nil, said{}, err
		}
	}
	out := said{Events: events, Tokens: m.Usage.OutputTokens}
	for _, b := range m.Content {
		out.Text += b.Text
	}
	return m, out, nil
}

func (c *messages) ask(ctx context.Context, text string, stream bool) (any, error) {
	_, s, err := c.once(ctx, c.params(text), stream)
	return s, err
}

func (c *messages) tools(ctx context.Context, stream bool) (any, error) {
	p := c.params("tools")
	for _, name := range names {
		p.Tools = append(p.Tools, anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: schemas()[name]["properties"]}, name))
	}
	m, _, err := c.once(ctx, p, stream)
	if err != nil {
		return nil, err
	}
	var wishes []wish
	var results []anthropic.ContentBlockParamUnion
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			wishes = append(wishes, wish{b.ID, b.Name, string(b.Input)})
			results = append(results, anthropic.NewToolResultBlock(b.ID, result(b.Name), false))
		}
	}
	p.Messages = append(p.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
	_, s, err := c.once(ctx, p, stream)
	s.Wishes = wishes
	return s, err
}

// gemini is Google's genai.
type gemini struct{ c *genai.Client }

func newGemini(ctx context.Context) (*gemini, error) {
	c, err := genai.NewClient(ctx, &genai.ClientConfig{
		Backend:     genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{Attempts: genai.Ptr[int32](4), InitialDelay: genai.Ptr(0.05)}},
	})
	return &gemini{c}, err
}

func (c *gemini) once(ctx context.Context, contents []*genai.Content, tools []*genai.Tool, stream bool) (*genai.Content, said, error) {
	cfg := &genai.GenerateContentConfig{Tools: tools}
	whole, out := &genai.Content{Role: genai.RoleModel}, said{}
	take := func(r *genai.GenerateContentResponse) {
		out.Tokens = int64(r.UsageMetadata.TotalTokenCount)
		for _, p := range r.Candidates[0].Content.Parts {
			out.Text += p.Text
			if p.FunctionCall != nil {
				whole.Parts = append(whole.Parts, p)
			}
		}
	}
	if !stream {
		r, err := c.c.Models.GenerateContent(ctx, "e2e-1", contents, cfg)
		if err != nil {
			return nil, said{}, err
		}
		take(r)
		return whole, out, nil
	}
	for r, err := range c.c.Models.GenerateContentStream(ctx, "e2e-1", contents, cfg) {
		if err != nil {
			return nil, said{}, err
		}
		out.Events++
		take(r)
	}
	return whole, out, nil
}

func (c *gemini) ask(ctx context.Context, text string, stream bool) (any, error) {
	_, s, err := c.once(ctx, genai.Text(text), nil, stream)
	return s, err
}

func (c *gemini) tools(ctx context.Context, stream bool) (any, error) {
	tool := &genai.Tool{}
	for _, name := range names {
		tool.FunctionDeclarations = append(tool.FunctionDeclarations, &genai.FunctionDeclaration{Name: name, ParametersJsonSchema: schemas()[name]})
	}
	contents := genai.Text("tools")
	m, _, err := c.once(ctx, contents, []*genai.Tool{tool}, stream)
	if err != nil {
		return nil, err
	}
	answers := &genai.Content{Role: genai.RoleUser}
	var wishes []wish
	for _, p := range m.Parts {
		arguments, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			return nil, err
		}
		wishes = append(wishes, wish{p.FunctionCall.ID, p.FunctionCall.Name, string(arguments)})
		answers.Parts = append(answers.Parts, genai.NewPartFromFunctionResponse(p.FunctionCall.Name, map[string]any{"said": result(p.FunctionCall.Name)}))
	}
	_, s, err := c.once(ctx, append(contents, m, answers), []*genai.Tool{tool}, stream)
	s.Wishes = wishes
	return s, err
}

// useMCP is the client of MCP's go-sdk against the server at NOTES_BASE_URL.
func useMCP(ctx context.Context) error {
	c := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1.0.0"}, nil)
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Getenv("NOTES_BASE_URL") + "/mcp"}, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	say("server", s.InitializeResult().ServerInfo)
	var offered []string
	for t, err := range s.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		offered = append(offered, t.Name)
	}
	say("tools", offered)
	call := func(name, text string) any {
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]string{"text": text}})
		if err != nil {
			return err.Error()
		}
		return []any{r.IsError, r.StructuredContent, r.Content}
	}
	say("call", call("note", "from Go"))
	say("refused", call("note", "two\nlines"))
	say("unknown", call("nothing", ""))
	got := make([]any, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = call("say", "number "+string(rune('a'+i))) })
	}
	all.Wait()
	say("many", got)
	return nil
}
