package cli

import (
	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
)

// shimCommand stands in an agent's list of MCP servers in place of the server
// itself. It is hidden: the help of record says how to use it.
func (a *app) shimCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mcp-shim -- SERVER…", Short: "Pass a stdio MCP server's messages through the recorder", Hidden: true,
		Long: `Stands in an agent's list of MCP servers in place of a server that speaks over
standard input and output: what the two say to each other goes through the
recorder that started the agent. In a replay the server is not started.`,
		Example: example("reprise mcp-shim -- npx -y @modelcontextprotocol/server-filesystem ."),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, server, err := agentCommand(cmd, args, 0)
			if err != nil {
				return err
			}
			a.status = exitRecorder
			status, err := capture.Shim(cmd.Context(), capture.ShimOptions{
				Recorder: a.lookup(capture.RecorderVar), Command: server, Env: a.env,
				Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr,
			})
			if err != nil {
				return a.recordFailed(err)
			}
			a.status = status
			return nil
		},
	}
}
