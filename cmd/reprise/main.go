// Command reprise records what an AI agent does, proves the record and replays
// it.
package main

import (
	"context"
	"os"

	"github.com/reprise-dev/reprise/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()...))
}
