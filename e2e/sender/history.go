package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
)

// message is one of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// history is a long conversation: every request repeats all that was said, as
// chats do, and adds about six kilobytes.
func history(turns int, out io.Writer) error {
	chat := struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{Model: "e2e-1", Messages: []message{{"system", prose(0, 4000)}}}
	raw := 0
	for turn := range turns {
		chat.Messages = append(chat.Messages, message{"user", prose(turn+1, 6000)})
		body, err := json.Marshal(chat)
		if err != nil {
			return err
		}
		req, err := http.NewRequest(http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("turn %d: %s: %s", turn, resp.Status, answer)
		}
		raw += len(body) + len(answer)
		chat.Messages = append(chat.Messages, message{"assistant", string(answer)})
	}
	fmt.Fprintf(out, "%d turns, %d bytes\n", turns, raw)
	return nil
}

// prose is a text of n bytes that says something else for every seed.
func prose(seed, n int) string {
	rng := rand.New(rand.NewPCG(uint64(seed), 42))
	var b strings.Builder
	for b.Len() < n {
		for range 2 + rng.IntN(9) {
			b.WriteByte(byte('a' + rng.IntN(26)))
		}
		b.WriteByte(' ')
		if rng.IntN(40) == 0 {
			b.WriteString("\n\"quoted\" ")
		}
	}
	return b.String()[:n]
}
