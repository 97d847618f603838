package jobs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
)

// TestMain makes the test binary the programs that the tests need, too: an
// agent, and the program that enters a network of its own.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "cell" {
		fmt.Fprintln(os.Stderr, capture.EnterCell())
		os.Exit(126)
	}
	switch os.Getenv("JOBS_TEST_AGENT") {
	case "asks":
		os.Exit(exit(asks()))
	case "serves":
		os.Exit(exit(serves()))
	case "escapes":
		escapes()
		os.Exit(0)
	default:
		if stride() == 1 {
			debug.SetGCPercent(400) // little is held, and much is made
		}
		os.Exit(m.Run())
	}
}

func exit(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// asks is an agent that asks a model and a service where its environment says,
// writes down what they say, and answers with it. What it asks is in prompt.txt
// of its folder, and what it makes of the answer in answer.txt, if they are there.
func asks() error {
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var given struct {
		Query string `json:"query_text"`
	}
	if err := json.Unmarshal(in, &given); err != nil {
		return err
	}
	prompt := given.Query
	if b, err := os.ReadFile("prompt.txt"); err == nil {
		prompt += string(b)
	}
	body, err := json.Marshal(map[string]any{"model": "m", "messages": []any{map[string]string{"role": "user", "content": prompt}}})
	if err != nil {
		return err
	}
	var chat struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := fetch(http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", body, &chat); err != nil {
		return err
	}
	if len(chat.Choices) == 0 {
		return fmt.Errorf("the model says nothing")
	}
	text := chat.Choices[0].Message.Content
	if base := os.Getenv("FIELD_BASE_URL"); base != "" {
		var seen struct{ Where string }
		if err := fetch(http.MethodGet, base+"/sightings", nil, &seen); err != nil {
			return err
		}
		text += " over " + seen.Where
	}
	for _, path := range []string{"notes.txt", os.TempDir() + "/notes.txt"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if b, err := os.ReadFile("notes.txt"); err != nil || string(b) != text {
		return fmt.Errorf("notes.txt holds %q: %w", b, err)
	}
	if b, err := os.ReadFile("answer.txt"); err == nil {
		text += string(b)
	}
	out, err := json.Marshal(map[string]any{"text": text, "confidence": 0.9})
	if err == nil {
		_, err = os.Stdout.Write(out)
	}
	return err
}

func fetch(method, url string, body []byte, to any) error {
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if key := os.Getenv("OPENAI_API_KEY"); key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %s", url, resp.Status, b)
	}
	return json.Unmarshal(b, to)
}

// escapes is an agent that goes past its proxies and writes where it was told.
// It answers the same whatever comes of it.
func escapes() {
	if c, err := net.DialTimeout("tcp", os.Getenv("ESCAPE_TO"), time.Minute); err == nil {
		fmt.Fprint(c, "GET /escaped HTTP/1.0\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
	if f, err := os.OpenFile(os.Getenv("ESCAPE_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString("x")
		_ = f.Close()
	}
	fmt.Print(`{"text":"a small falcon","confidence":0.9}`)
}
