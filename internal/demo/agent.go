package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Agent is the sample agent. It knows nothing of any recorder: it asks the
// model at BaseURL, and starts its MCP server with Server, as any agent does.
type Agent struct {
	BaseURL string   // as OPENAI_BASE_URL gives it
	Key     string   // its credential at the model
	Server  []string // the command of its MCP server
	Polite  bool     // with another system prompt: the change that a replay finds
	Out     io.Writer
}

// Key is the sample agent's credential. It is the same wherever the agent runs,
// because a call is answered only to the credential that it was recorded with.
const Key = "sk-demo-0123456789abcdef"

// maxTurns bounds the conversation.
const maxTurns = 8

// Run answers one customer.
func (a *Agent) Run(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "demo-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, a.Server[0], a.Server[1:]...)}, nil)
	if err != nil {
		return fmt.Errorf("starting the MCP server: %w", err)
	}
	defer session.Close()
	tools, err := tools(ctx, session)
	if err != nil {
		return err
	}
	system := "You answer customers of a small shop."
	if a.Polite {
		system = "You answer customers of a small shop, very politely."
	}
	talk := []chatMessage{
		{Role: "system", Content: system},
		{Role: "user", Content: "Ada asks where her refund of 12.50 EUR is. Write to her."},
	}
	for range maxTurns {
		reply, err := a.ask(ctx, chatRequest{Model: modelName, Stream: true, Messages: talk, Tools: tools, StreamOptions: &streamOptions{IncludeUsage: true}})
		if err != nil {
			return err
		}
		talk = append(talk, reply)
		if len(reply.ToolCalls) == 0 {
			_, err := fmt.Fprintln(a.Out, "agent: "+reply.Content)
			return err
		}
		for _, c := range reply.ToolCalls {
			result, err := call(ctx, session, c)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "agent: called %s, which says %q\n", c.Function.Name, result)
			talk = append(talk, chatMessage{Role: "tool", ToolCallID: c.ID, Content: result})
		}
	}
	return errors.New("the model does not come to an end")
}

func tools(ctx context.Context, s *mcp.ClientSession) ([]chatTool, error) {
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("listing tools: %w", err)
	}
	var out []chatTool
	for _, t := range list.Tools {
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, err
		}
		c := chatTool{Type: "function"}
		c.Function.Name, c.Function.Description, c.Function.Parameters = t.Name, t.Description, schema
		out = append(out, c)
	}
	return out, nil
}

func call(ctx context.Context, s *mcp.ClientSession, c toolCall) (string, error) {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	if err != nil {
		return "", fmt.Errorf("calling %s: %w", c.Function.Name, err)
	}
	var text []string
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			text = append(text, t.Text)
		}
	}
	return strings.Join(text, "\n"), nil
}

// ask sends one request and puts the streamed answer together.
func (a *Agent) ask(ctx context.Context, req chatRequest) (chatMessage, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return chatMessage{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(a.BaseURL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return chatMessage{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.Key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return chatMessage{}, fmt.Errorf("asking the model: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var problem struct {
			Detail string `json:"detail"`
		}
		_ = json.NewDecoder(io.LimitReader(resp.Body, maxRequest)).Decode(&problem) // the status says enough
		return chatMessage{}, fmt.Errorf("the model answered %s: %s", resp.Status, problem.Detail)
	}
	return assemble(resp.Body)
}

func assemble(r io.Reader) (chatMessage, error) {
	msg := chatMessage{Role: "assistant"}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return msg, nil
		}
		var chunk struct {
			Choices []struct {
				Delta chatMessage `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return msg, fmt.Errorf("reading the model's answer: %w", err)
		}
		for _, c := range chunk.Choices {
			msg.add(c.Delta)
		}
	}
	if err := lines.Err(); err != nil {
		return msg, fmt.Errorf("reading the model's answer: %w", err)
	}
	return msg, errors.New("the model's answer broke off")
}

func (m *chatMessage) add(delta chatMessage) {
	m.Content += delta.Content
	for _, part := range delta.ToolCalls {
		for len(m.ToolCalls) <= part.Index && part.Index < maxTurns {
			m.ToolCalls = append(m.ToolCalls, toolCall{Index: len(m.ToolCalls)})
		}
		if part.Index >= len(m.ToolCalls) {
			continue
		}
		c := &m.ToolCalls[part.Index]
		if part.ID != "" {
			c.ID, c.Type, c.Function.Name = part.ID, part.Type, part.Function.Name
		}
		c.Function.Arguments += part.Function.Arguments
	}
}
