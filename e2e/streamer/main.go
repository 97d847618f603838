// Command streamer is many clients that stream at once, over and over. It
// logs what each got, as it gets it, so that a test can say afterwards what
// was given to a client when the recorder was killed: one JSON line for each
// piece, and one for the end of each answer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

// line is one of the log.
type line struct {
	ID   string
	Data []byte `json:",omitempty"`
	End  string `json:",omitempty"` // "whole" or what went wrong
}

func main() {
	log := flag.String("log", "", "the log")
	clients := flag.Int("clients", 4, "how many at once")
	each := flag.Int("each", 1<<30, "requests of each client")
	again := flag.String("again", "", "ask what stands in this file, an id a line, one after the other")
	flag.Parse()
	if err := run(*log, *clients, *each, *again); err != nil {
		fmt.Fprintln(os.Stderr, "streamer:", err)
		os.Exit(1)
	}
}

func run(name string, clients, each int, again string) error {
	log, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if again != "" {
		ids, err := os.ReadFile(again)
		if err != nil {
			return err
		}
		for id := range strings.Lines(string(ids)) {
			_ = ask(log, strings.TrimSuffix(id, "\n")) // how it ended is in the log
		}
		return log.Close()
	}
	var wg sync.WaitGroup
	failed := make(chan error, clients)
	for c := range clients {
		wg.Go(func() {
			for n := range each {
				if err := ask(log, fmt.Sprintf("client %d asks %d", c, n)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	var all []error
	for err := range failed {
		all = append(all, err)
	}
	return errors.Join(append(all, log.Close())...)
}

// ask makes one request. A line is one write, so that lines of many clients
// never mix and none is torn when this process is killed.
func ask(log io.Writer, id string) error {
	write := func(l line) error {
		b, err := json.Marshal(l)
		if err != nil {
			return err
		}
		_, err = log.Write(append(b, '\n'))
		return err
	}
	body := fmt.Sprintf(`{"model":"e2e-1","stream":true,"messages":[{"role":"user","content":%q}]}`, id)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return errors.Join(err, write(line{ID: id, End: err.Error()}))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return write(line{ID: id, End: resp.Status})
	}
	piece := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(piece)
		if n > 0 {
			if err := write(line{ID: id, Data: piece[:n]}); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return write(line{ID: id, End: "whole"})
		}
		if err != nil {
			return errors.Join(err, write(line{ID: id, End: err.Error()}))
		}
	}
}
