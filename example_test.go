package reprise_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// An agent that asks a model twice is recorded, the record is verified, and
// the agent runs again with the model switched off.
func Example() {
	questions := 0
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		questions++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"answer":"number %d"}`, questions)
	}))
	agent := func(ctx context.Context, s *reprise.Session) error {
		for _, q := range []string{"who?", "why?"} {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, model.URL+"/v1/chat/completions", strings.NewReader(`{"ask":"`+q+`"}`))
			if err != nil {
				return err
			}
			resp, err := s.Client().Do(req)
			if err != nil {
				return err
			}
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				return err
			}
			fmt.Printf("%s %s\n", q, answer)
		}
		return nil
	}

	dir, err := os.MkdirTemp("", "reprise-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	r, err := reprise.Open(ctx, "sqlite:"+filepath.Join(dir, "reprise.db"), &reprise.Options{Keys: filepath.Join(dir, "keys")})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	run, err := r.Record(ctx, reprise.RecordOptions{Title: "two questions"}, agent)
	if err != nil {
		log.Fatal(err)
	}
	report, err := r.Verify(ctx, string(run), ledger.LevelSigned)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("verify:", report.Verdict)

	model.Close()
	report, err = r.Replay(ctx, string(run), nil, agent)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("replay: %s, the model was asked %d times\n", report.Verdict, questions)
	// Output:
	// who? {"answer":"number 1"}
	// why? {"answer":"number 2"}
	// verify: verified
	// who? {"answer":"number 1"}
	// why? {"answer":"number 2"}
	// replay: same, the model was asked 2 times
}
