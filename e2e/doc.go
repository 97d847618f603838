// Package e2e holds the built reprise binary against real clients: the SDKs
// of npm and Go, curl, agents that call a model and MCP servers, a browser,
// an S3 service, and SIGKILL. What real clients keep of their exactness is written to
// docs/fidelity.md. Nothing here leaves the loopback. Package upstream plays the
// providers; agent, mcpserver, sender and streamer are the programs that are
// recorded.
package e2e
