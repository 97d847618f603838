package protocol_test

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/protocol"
)

// states finds what an answer states of tokens, without knowing its protocol.
var states = regexp.MustCompile(`"(prompt_tokens|completion_tokens|input_tokens|output_tokens|promptTokenCount|candidatesTokenCount|inputTokens|outputTokens|prompt_eval_count|eval_count|total_input_tokens)"\s*:\s*\d`)

// Answers that others recorded without their requests: HAR files, and streams
// whose events stand one in a line.
func TestTokensOfRecordedAnswersAreFound(t *testing.T) {
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no folder with real recordings")
	}
	for folder, read := range map[string]func(string, []byte) []answer{
		"llm_vercel_sse":         lines,
		"llm_openllmetry_js_har": har,
	} {
		t.Run(folder, func(t *testing.T) {
			dir := filepath.Join(root, folder)
			if _, err := os.Stat(dir); err != nil {
				t.Skipf("REPRISE_DATA has no folder %s", folder)
			}
			var stated, found int
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for _, a := range read(path, b) {
					if !states.Match(a.body) {
						continue
					}
					stated++
					if got := protocol.Read(protocol.Origin{URL: a.url, Type: a.typ}, a.body); got.Usage != nil {
						found++
					} else {
						t.Logf("not found: %s %s (%s)", strings.TrimPrefix(path, dir), a.url, got.Protocol)
					}
				}
				return nil
			})
			t.Logf("tokens found in %d of %d answers that state them", found, stated)
			if err != nil || stated == 0 || found*100 < stated*95 {
				t.Errorf("tokens are found in %d of %d answers, %v; want 95 percent", found, stated, err)
			}
		})
	}
}

type answer struct {
	url, typ string
	body     []byte
}

func lines(path string, b []byte) []answer {
	switch filepath.Ext(path) {
	case ".json", ".txt":
		return []answer{{body: b}}
	default:
		return nil
	}
}

func har(_ string, b []byte) (out []answer) {
	var file struct {
		Log struct {
			Entries []struct {
				Request  struct{ URL string }
				Response struct {
					Content struct{ MimeType, Text, Encoding string }
				}
			}
		}
	}
	if json.Unmarshal(b, &file) != nil {
		return nil
	}
	for _, e := range file.Log.Entries {
		c := e.Response.Content
		body := []byte(c.Text)
		if c.Encoding == "base64" {
			body, _ = base64.StdEncoding.DecodeString(c.Text)
		}
		out = append(out, answer{e.Request.URL, c.MimeType, body})
	}
	return out
}
