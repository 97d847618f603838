package upstream

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// RealData returns the folder of real recordings.
func realData(t *testing.T) string {
	t.Helper()
	data := os.Getenv("REPRISE_DATA")
	if data == "" {
		t.Skip("REPRISE_DATA is not set")
	}
	if _, err := os.Stat(data); err != nil {
		t.Skipf("no real recordings: %v", err)
	}
	return data
}

func TestTapesPlayWhatWasRecorded(t *testing.T) {
	t.Parallel()
	tapes, err := Tapes(realData(t))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, tape := range tapes {
		t.Run(tape.Name, func(t *testing.T) {
			s := Start(t, Play(tape))
			for _, x := range tape.Exchanges {
				status, body := send(t, s, x.Method, x.URL.RequestURI(), x.Body)
				if want := x.Answer.Body(); status != max(x.Answer.Status, 200) || !bytes.Equal(body, want) {
					t.Errorf("%s %s = %d with %d bytes, want %d with %d", x.Method, x.URL, status, len(body), x.Answer.Status, len(want))
				}
				n++
			}
		})
	}
	if n < 30 {
		t.Errorf("%d exchanges were played, want at least 30", n)
	}
}

func TestStreamHas41Events(t *testing.T) {
	t.Parallel()
	s := Start(t, Scenarios)
	_, body := send(t, s, "POST", "/v1/chat/completions", []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"plain"}]}`))
	if got := bytes.Count(body, []byte("data: ")); got != 41 {
		t.Errorf("events = %d, want 41", got)
	}
	for _, want := range []string{": keep-alive\n\n", `"usage":{"prompt_tokens":41`, "data: [DONE]\n\n"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the stream has no %q", want)
		}
	}
	if got := len(s.Requests()); got != 1 {
		t.Errorf("requests = %d, want 1", got)
	}
}

func send(t *testing.T, s *Server, method, uri string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+uri, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, got
}
