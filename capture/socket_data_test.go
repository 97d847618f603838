package capture_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/coder/websocket"
	"go.yaml.in/yaml/v3"

	"github.com/reprise-dev/reprise/internal/insight"
)

// spoken is a recorded message of a socket.
type spoken struct {
	sent bool
	text []byte
}

// conversation reads the messages of a recorded socket; nil if the file has
// none.
func conversation(b []byte) []spoken {
	var file struct {
		Interactions []struct {
			Kind, Direction string
			Data            any
		}
	}
	if yaml.Unmarshal(b, &file) != nil {
		return nil
	}
	var out []spoken
	for _, m := range file.Interactions {
		text, err := json.Marshal(m.Data)
		if m.Kind != "message" || err != nil || m.Data == nil {
			continue
		}
		out = append(out, spoken{m.Direction == "sent", text})
	}
	return out
}

// hold plays one part of a conversation and reports whether all that the other
// side says is what it said then.
func hold(t *testing.T, c *websocket.Conn, list []spoken, client bool) bool {
	t.Helper()
	c.SetReadLimit(-1)
	for i, m := range list {
		if m.sent == client {
			if err := c.Write(t.Context(), websocket.MessageText, m.text); err != nil {
				t.Errorf("message %d cannot be said: %v", i, err)
				return false
			}
			continue
		}
		_, got, err := c.Read(t.Context())
		if err != nil || string(got) != string(m.text) {
			t.Errorf("message %d = %.200q, %v; want %.200q", i, got, err, m.text)
			return false
		}
	}
	return true
}

var stateUsage = regexp.MustCompile(`"(output_tokens|responseTokenCount)":[1-9]`)

// TestRealSocketsAreReplayed lets a client and an upstream say what those of
// real realtime sessions said, through the recorder, and then the client
// alone.
func TestRealSocketsAreReplayed(t *testing.T) {
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no folder with real recordings")
	}
	var sockets, messages, stated, found int
	err := filepath.WalkDir(filepath.Join(root, "llm_pydantic_ai"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path)))) != "realtime" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		list := conversation(b)
		if len(list) == 0 {
			return nil
		}
		sockets++
		messages += len(list)
		up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.CloseNow() }()
			if hold(t, c, list, false) {
				_, _, _ = c.Read(r.Context()) // until the client closes
			}
		})
		rig := newRig(t)
		talk := func(p *taping) {
			c, g := dial(t, p.url, "/v1/realtime")
			if g.err != nil {
				t.Fatal(g.err)
			}
			defer func() { _ = c.CloseNow() }()
			if !hold(t, c, list, true) {
				t.Errorf("%s", path)
			}
			_ = c.Close(websocket.StatusNormalClosure, "")
		}
		live := rig.record(up.URL)
		talk(live)
		run := live.end()
		up.Close()
		again := rig.replay(run)
		talk(again)
		again.end()
		report, err := again.p.ReplayReport(t.Context(), rig.store)
		if err != nil || report.Total != 0 {
			t.Errorf("%s: %v, %v", path, report.Divergences, err)
		}
		says := false
		for _, m := range list {
			says = says || !m.sent && stateUsage.Match(m.text)
		}
		if !says {
			return nil
		}
		stated++
		prices, err := insight.Prices(nil)
		if err != nil {
			return err
		}
		for c, err := range insight.Calls(t.Context(), rig.store, run, prices) {
			if err != nil {
				return err
			}
			if c.Usage != nil && c.Usage.Output > 0 {
				found++
			} else {
				t.Logf("no tokens are found in %s: %s", path, c.Value())
			}
		}
		return nil
	})
	t.Logf("%d sockets with %d messages replayed; tokens found in %d of %d that state them", sockets, messages, found, stated)
	if err != nil || sockets == 0 || found*100 < stated*95 {
		t.Errorf("%d sockets, tokens found in %d of %d, %v", sockets, found, stated, err)
	}
}
