package trajectories_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// tauRecording is one conversation of an airline's customer with an agent: a
// system prompt, and then a user, and an agent that answers or calls a tool.
type tauRecording struct {
	name   string
	prompt string
	users  []string  // what the customer said, in order
	turns  []tauTurn // the agent's messages, in order
	calls  []tauCall // those of the turns that call a tool
	ended  bool      // by the customer; else by the environment
}

type tauTurn struct {
	message json.RawMessage
	said    int      // messages that came before it, the prompt included
	call    *tauCall // or nil
}

type tauCall struct {
	tool   string
	args   canon.Value
	result string
}

// failed reports whether the tool answered with an error.
func (c *tauCall) failed() bool { return strings.HasPrefix(c.result, "Error") }

// tauRecordings reads all conversations. They lie outside the repository.
func tauRecordings(t *testing.T) []tauRecording {
	t.Helper()
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no folder with real recordings")
	}
	const folder = "traj_tau_bench"
	var out []tauRecording
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), "task_") {
			out = append(out, readTau(t, path))
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("REPRISE_DATA has no folder %s", folder)
	}
	if err != nil || len(out) < 100 {
		t.Fatalf("%s: %d conversations, %v; want 100 at least", folder, len(out), err)
	}
	return out
}

func readTau(t *testing.T, path string) tauRecording {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Traj []json.RawMessage `json:"traj"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	r := tauRecording{name: strings.TrimSuffix(filepath.Base(path), ".json")}
	for i, raw := range file.Traj {
		m, err := canon.Parse(raw)
		if err != nil {
			t.Fatalf("%s: message %d: %v", path, i, err)
		}
		content := m.Get("content").Str()
		switch m.Get("role").Str() {
		case "system":
			r.prompt = content
		case "user":
			r.users = append(r.users, content)
			r.ended = i == len(file.Traj)-1 && strings.Contains(content, "###STOP###")
		case "assistant":
			turn := tauTurn{message: raw, said: i}
			if call := m.Get("tool_calls").At(0).Get("function"); !call.IsZero() {
				args, err := canon.Parse([]byte(call.Get("arguments").Str()))
				if err != nil {
					t.Fatalf("%s: message %d: %v", path, i, err)
				}
				r.calls = append(r.calls, tauCall{tool: call.Get("name").Str(), args: args})
			}
			r.turns = append(r.turns, turn)
		case "tool":
			r.calls[len(r.calls)-1].result = content
		}
	}
	n := 0
	for i := range r.turns {
		if strings.Contains(string(r.turns[i].message), `"tool_calls"`) {
			r.turns[i].call = &r.calls[n]
			n++
		}
	}
	if n != len(r.calls) || len(r.users) == 0 || r.prompt == "" {
		t.Fatalf("%s is no conversation as it is read here", path)
	}
	return r
}

// tauVerdict is what the airline's policy makes of a call.
type tauVerdict string

const (
	tauCommitted tauVerdict = "commit"
	tauApproved  tauVerdict = "commit after an approval"
	tauFailed    tauVerdict = "tool_failed"
	tauRejected  tauVerdict = "rejection policy_denied"
)

// expected says, by other means than the engine's, what becomes of each
// call and which reservations the tools leave behind.
func (r *tauRecording) expected(t *testing.T) (verdicts []tauVerdict, reservations map[string]canon.Value) {
	t.Helper()
	reservations = map[string]canon.Value{}
	for i := range r.calls {
		c := &r.calls[i]
		v := c.airline(reservations[c.args.Get("reservation_id").Str()])
		if c.failed() && v != tauRejected {
			v = tauFailed
		}
		verdicts = append(verdicts, v)
		if v != tauCommitted && v != tauApproved {
			continue
		}
		if out, err := canon.Parse([]byte(c.result)); err == nil && out.Has("reservation_id") {
			reservations[out.Get("reservation_id").Str()] = out
		}
	}
	return verdicts, reservations
}

// airline is the policy bundle once more, in Go.
func (c *tauCall) airline(booking canon.Value) tauVerdict {
	switch c.tool {
	case "update_reservation_flights", "update_reservation_baggages":
		if strings.HasPrefix(c.args.Get("payment_id").Str(), "certificate_") {
			return tauRejected
		}
		if cabin := c.args.Get("cabin").Str(); cabin == "basic_economy" && cabin == booking.Get("cabin").Str() {
			return tauRejected
		}
	case "cancel_reservation":
		recent := booking.Get("created_at").Str() >= "2024-05-14T15:00:00"
		if !recent && booking.Get("cabin").Str() != "business" && booking.Get("insurance").Str() != "yes" {
			return tauApproved
		}
	case "send_certificate":
		amount, _ := c.args.Get("amount").AsInt()
		if amount > 500 {
			return tauRejected
		}
		if amount > 100 {
			return tauApproved
		}
	}
	return tauCommitted
}
