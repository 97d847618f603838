package upstream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Exchange is one recorded request and its answer.
type Exchange struct {
	Method string
	URL    *url.URL // as recorded: the provider's public address
	Header http.Header
	Body   []byte
	Answer Answer
}

// Tape is one file of recordings.
type Tape struct {
	Name      string
	Exchanges []Exchange
}

// Provider returns the name by which the recorder knows the host.
func (x *Exchange) Provider() string {
	switch x.URL.Host {
	case "api.openai.com":
		return "openai"
	case "api.anthropic.com":
		return "anthropic"
	case "api.mistral.ai":
		return "mistral"
	case "generativelanguage.googleapis.com":
		return "gemini"
	default:
		return "other"
	}
}

// Tapes reads the recordings below the folder of real data, in place.
func Tapes(data string) ([]Tape, error) {
	var tapes []Tape
	for _, set := range []struct {
		dir, suffix string
		parse       func([]byte) ([]Exchange, error)
	}{
		{"llm_cagent", ".yaml", cassette},
		{"llm_adk_go_httprr", ".httprr", httprr},
	} {
		root := filepath.Join(data, set.dir)
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != set.suffix {
				return err
			}
			if set.suffix == ".yaml" && !strings.Contains(name, "/cassettes/") {
				return nil // the agents' own configuration
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			exchanges, err := set.parse(text)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rel, err := filepath.Rel(data, name)
			if err != nil {
				return err
			}
			tapes = append(tapes, Tape{rel, exchanges})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return tapes, nil
}

// cassette reads go-vcr's YAML, version 2.
func cassette(text []byte) ([]Exchange, error) {
	var file struct {
		Version      int
		Interactions []struct {
			Request struct {
				Method, URL, Body string
				Headers           http.Header
			}
			Response struct {
				Code    int
				Body    string
				Headers http.Header
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Version != 2 || len(file.Interactions) == 0 {
		return nil, fmt.Errorf("version %d with %d interactions is no cassette", file.Version, len(file.Interactions))
	}
	var out []Exchange
	for i := range file.Interactions {
		in := &file.Interactions[i]
		x, err := exchange(in.Request.Method, in.Request.URL, in.Request.Headers, []byte(in.Request.Body))
		if err != nil {
			return nil, err
		}
		x.Answer = recorded(in.Response.Code, in.Response.Headers, []byte(in.Response.Body))
		out = append(out, x)
	}
	return out, nil
}

// httprr reads Go's "httprr trace v1": lengths, then requests and responses
// as on the wire.
func httprr(text []byte) ([]Exchange, error) {
	rest, ok := bytes.CutPrefix(text, []byte("httprr trace v1\n"))
	if !ok {
		return nil, fmt.Errorf("no trace")
	}
	var out []Exchange
	for len(rest) > 0 {
		var n, m int
		line, tail, _ := bytes.Cut(rest, []byte("\n"))
		if _, err := fmt.Sscanf(string(line), "%d %d", &n, &m); err != nil || n < 0 || m < 0 || n+m > len(tail) {
			return nil, fmt.Errorf("bad lengths %q", line)
		}
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(tail[:n])))
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(tail[n:n+m])), req)
		if err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		x, err := exchange(req.Method, req.URL.String(), req.Header, body)
		if err != nil {
			return nil, err
		}
		x.Answer = recorded(resp.StatusCode, resp.Header, answer)
		out = append(out, x)
		rest = tail[n+m:]
	}
	return out, nil
}

func exchange(method, address string, h http.Header, body []byte) (Exchange, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Exchange{}, err
	}
	h = h.Clone()
	for _, name := range []string{"Content-Length", "Host", "Connection", "Accept-Encoding"} {
		h.Del(name) // the client's own business
	}
	return Exchange{Method: method, URL: u, Header: h, Body: body}, nil
}

// recorded makes an answer, event by event if it is a stream.
func recorded(status int, h http.Header, body []byte) Answer {
	a := Answer{Status: status, Header: h.Clone()}
	if a.Header == nil {
		a.Header = http.Header{}
	}
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Connection"} {
		a.Header.Del(name)
	}
	stream := bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:"))
	if a.Header.Get("Content-Type") == "" {
		a.Header.Set("Content-Type", "application/json")
		if stream {
			a.Header.Set("Content-Type", "text/event-stream; charset=utf-8")
		}
	}
	if !stream {
		a.Parts = [][]byte{body}
		return a
	}
	a.Parts = slices.DeleteFunc(bytes.SplitAfter(body, []byte("\n\n")), func(p []byte) bool { return len(p) == 0 })
	return a
}

// Play answers with what was recorded for an equal request: the n-th answer
// for the n-th request, the last one for all that follow. What is not on the
// tapes gets 404.
func Play(tapes ...Tape) Model {
	type key struct{ method, uri, body string }
	answers := map[key][]Answer{}
	for _, tape := range tapes {
		for i := range tape.Exchanges {
			x := &tape.Exchanges[i]
			k := key{x.Method, x.URL.RequestURI(), string(x.Body)}
			answers[k] = append(answers[k], x.Answer)
		}
	}
	return func(r Request) Answer {
		list := answers[key{r.Method, r.URI, string(r.Body)}]
		if len(list) == 0 {
			return JSON(http.StatusNotFound, `{"error":{"message":"not on the tape"}}`)
		}
		return list[min(r.Nth, len(list)-1)]
	}
}
