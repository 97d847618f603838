package demo

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mail is the argument of the tool.
type mail struct {
	To      string `json:"to" jsonschema:"the address"`
	Subject string `json:"subject" jsonschema:"the subject line"`
}

// Tool is an MCP server on standard input and output with one tool,
// send_mail. To send is to append a line to the outbox file.
func Tool(ctx context.Context, outbox string) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "demo-mail", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "send_mail", Description: "Sends a mail at once. It cannot be taken back."},
		func(_ context.Context, _ *mcp.CallToolRequest, m mail) (*mcp.CallToolResult, any, error) {
			f, err := os.OpenFile(outbox, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, nil, err
			}
			if _, err = fmt.Fprintf(f, "to %s: %s\n", m.To, m.Subject); err == nil {
				err = f.Close()
			}
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sent to " + m.To}}}, nil, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}
