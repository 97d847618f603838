// Command reprise records what an AI agent does, proves the record and replays
// it.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/reprise-dev/reprise/internal/cli"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// A recorder keeps a few megabytes alive and throws away as much in
		// milliseconds: collecting a fifth as often is a tenth less work.
		debug.SetGCPercent(400)
	}
	os.Exit(cli.Run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()...))
}
