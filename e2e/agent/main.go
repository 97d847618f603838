// Command agent is a small agent as people write them: it talks to a model
// with openai-go, lets it use the tools of an MCP server and one of its own,
// and goes on until the model has no more wishes. Everything it does is
// printed, so that two runs can be compared by their output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openai/openai-go/v3"
)

// maxTurns ends an agent whose model never has enough.
const maxTurns = 20

type agent struct {
	out    *bufio.Writer
	model  openai.Client
	tools  *mcp.ClientSession // nil without a server
	stream bool
	params openai.ChatCompletionNewParams
}

func main() {
	prompt := flag.String("prompt", "take two notes and add 2 and 3", "the task")
	server := flag.String("server", "", "command of an MCP server over stdio")
	endpoint := flag.String("endpoint", "", "address of an MCP server over streamable HTTP")
	stream := flag.Bool("stream", false, "let the model stream")
	exit := flag.Int("exit", 0, "exit status at the end")
	flag.Parse()

	a := &agent{out: bufio.NewWriter(os.Stdout), model: openai.NewClient(), stream: *stream}
	err := a.run(context.Background(), *prompt, *server, *endpoint)
	if err != nil {
		fmt.Fprintln(a.out, "error:", err)
		*exit = 1
	}
	if err := a.out.Flush(); err != nil {
		*exit = 1
	}
	os.Exit(*exit)
}

func (a *agent) run(ctx context.Context, prompt, server, endpoint string) error {
	a.params = openai.ChatCompletionNewParams{
		Model: "e2e-1",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("You keep notes. Use the tools."),
			openai.UserMessage(prompt),
		},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name:        "add",
			Description: openai.String("add two numbers"),
			Parameters: openai.FunctionParameters{
				"type":       "object",
				"properties": map[string]any{"a": map[string]string{"type": "integer"}, "b": map[string]string{"type": "integer"}},
			},
		})},
	}
	if err := a.connect(ctx, server, endpoint); err != nil {
		return err
	}
	if a.tools != nil {
		defer a.tools.Close()
	}
	for range maxTurns {
		message, err := a.ask(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "model: %s\n", message.Content)
		if len(message.ToolCalls) == 0 {
			return nil
		}
		a.params.Messages = append(a.params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			result, err := a.use(ctx, call.Function.Name, call.Function.Arguments)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "tool %s(%s): %s\n", call.Function.Name, call.Function.Arguments, result)
			a.params.Messages = append(a.params.Messages, openai.ToolMessage(result, call.ID))
		}
	}
	return fmt.Errorf("the model has not finished after %d turns", maxTurns)
}

// connect finds the server's tools and offers them to the model.
func (a *agent) connect(ctx context.Context, server, endpoint string) error {
	var transport mcp.Transport
	switch {
	case server != "":
		words := strings.Fields(server)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	case endpoint != "":
		transport = &mcp.StreamableClientTransport{Endpoint: endpoint}
	default:
		return nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	a.tools = session
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return err
		}
		var parameters openai.FunctionParameters
		if err := json.Unmarshal(schema, &parameters); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "offered: %s\n", tool.Name)
		a.params.Tools = append(a.params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: tool.Name, Description: openai.String(tool.Description), Parameters: parameters,
		}))
	}
	return nil
}

func (a *agent) ask(ctx context.Context) (openai.ChatCompletionMessage, error) {
	if !a.stream {
		completion, err := a.model.Chat.Completions.New(ctx, a.params)
		if err != nil {
			return openai.ChatCompletionMessage{}, err
		}
		return completion.Choices[0].Message, nil
	}
	params := a.params
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := a.model.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	events := 0
	for stream.Next() {
		events++
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	fmt.Fprintf(a.out, "events: %d, tokens: %d\n", events, all.Usage.TotalTokens)
	return all.Choices[0].Message, nil
}

// use runs the agent's own tool here and all others on the server.
func (a *agent) use(ctx context.Context, name, arguments string) (string, error) {
	if name == "add" {
		var args struct{ A, B int }
		if err := json.Unmarshal([]byte(arguments), &args); err != nil {
			return "", err
		}
		return fmt.Sprint(args.A + args.B), nil
	}
	if a.tools == nil {
		return "", fmt.Errorf("no server for the tool %s", name)
	}
	result, err := a.tools.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "", err
	}
	if result.IsError {
		return "", fmt.Errorf("the tool %s failed", name)
	}
	text, err := json.Marshal(result.StructuredContent)
	return string(text), err
}
