// Command sender is the plainest client: it sends the requests of a file and
// prints each answer whole. The file holds one request a line, as JSON, and
// is read from stdin; addresses come from the variables that clients honour.
// With -turns it holds a long conversation instead.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// request is one line of the input.
type request struct {
	Base   string // the variable that holds the upstream's address
	Method string
	Path   string // behind the address
	Header http.Header
	Body   []byte
}

func main() {
	turns := flag.Int("turns", 0, "hold a conversation of so many turns")
	flag.Parse()
	if err := run(*turns); err != nil {
		fmt.Fprintln(os.Stderr, "sender:", err)
		os.Exit(1)
	}
}

func run(turns int) error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if turns > 0 {
		return history(turns, out)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var r request
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			if err := r.send(out); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *request) send(out io.Writer) error {
	base := os.Getenv(r.Base)
	if base == "" {
		return fmt.Errorf("%s is not set", r.Base)
	}
	req, err := http.NewRequest(r.Method, strings.TrimSuffix(base, "/")+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Fprintf(out, "%d %s %d %x %v\n", resp.StatusCode, resp.Header.Get("Content-Type"), len(body), sha256.Sum256(body), err)
	return nil
}
