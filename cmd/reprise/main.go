// Command reprise records what an AI agent does, proves the record and replays
// it.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/reprise-dev/reprise/internal/cli"
)

// memory is how much may be in use before garbage is collected more often. It
// is no bound: what is needed is kept.
const memory = 256 << 20

func main() {
	if os.Getenv("GOGC") == "" {
		// A recorder keeps a few megabytes alive and throws away as much in
		// milliseconds: collecting a fifth as often is a tenth less work.
		debug.SetGCPercent(400)
		if os.Getenv("GOMEMLIMIT") == "" {
			// Where answers are long that would be hundreds of megabytes of what
			// is no longer used: beyond this much it is collected as it comes.
			debug.SetMemoryLimit(memory)
		}
	}
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == 1 {
		// Who waits for the disk keeps the only turn for as long, and nobody
		// adds to what the next commit shares.
		runtime.GOMAXPROCS(2)
	}
	os.Exit(cli.Run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()...))
}
