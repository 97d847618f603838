// Command mcpserver is an MCP server with a visible side effect: its tool
// note appends a line to a file; say has none. It speaks over stdio, or over streamable
// HTTP with -http; then it prints its address first.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type noteArgs struct {
	Text string `json:"text" jsonschema:"the line to append"`
}

type noteResult struct {
	Lines int `json:"lines" jsonschema:"lines in the file now"`
}

type sayResult struct {
	Said string `json:"said" jsonschema:"the text twice"`
}

func main() {
	file := flag.String("file", "", "the file that notes go to")
	address := flag.String("http", "", "serve streamable HTTP on this address instead of stdio")
	stateless := flag.Bool("stateless", false, "keep no sessions over HTTP")
	flag.Parse()
	if err := run(*file, *address, *stateless); err != nil {
		log.Fatal(err)
	}
}

func run(file, address string, stateless bool) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "note", Description: "append a line to the notes"},
		func(_ context.Context, _ *mcp.CallToolRequest, args noteArgs) (*mcp.CallToolResult, noteResult, error) {
			n, err := note(file, args.Text)
			return nil, noteResult{n}, err
		})
	mcp.AddTool(server, &mcp.Tool{Name: "say", Description: "say it again"},
		func(_ context.Context, _ *mcp.CallToolRequest, args noteArgs) (*mcp.CallToolResult, sayResult, error) {
			return nil, sayResult{args.Text + ", " + args.Text}, nil
		})
	if address == "" {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return http.Serve(l, mux)
}

// note appends a line and returns how many there are.
func note(file, text string) (int, error) {
	if strings.ContainsAny(text, "\n") {
		return 0, fmt.Errorf("a note is one line")
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintln(f, text); err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	all, err := os.ReadFile(file)
	return strings.Count(string(all), "\n"), err
}
