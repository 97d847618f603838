// Openapi writes the OpenAPI document of the server, as its code declares it,
// to openapi.json in the working folder.
package main

import (
	"fmt"
	"os"

	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/store/memory"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run() error {
	s, err := server.New(memory.New(nil), nil)
	if err != nil {
		return err
	}
	return os.WriteFile("openapi.json", s.OpenAPI(), 0o644)
}
