package job_test

import (
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// What is accepted is written again byte for byte: nothing that is hashed or
// signed has two spellings.
func FuzzParseSnapshot(f *testing.F) {
	b, err := seal(f, job.KindRouter, "seed-0001", `{"a":[0.5,1,"ä",null]}`).Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := job.ParseSnapshot(b)
		if err != nil {
			return
		}
		if again, err := s.Bytes(); s.Profile == canon.MACEFixed9 && (err != nil || string(again) != string(b)) {
			t.Errorf("ParseSnapshot(%s) is written as %s, %v", b, again, err)
		}
	})
}

// The contents of snapshots, and what logs hold about them.
func FuzzParseContents(f *testing.F) {
	tool := agent(f, "b", "0.2")
	tool.Status, tool.StatusReason = job.Offline, "apt"
	s := newScene(f, agent(f, "a", "0.9"), tool)
	s.edges = []job.Edge{{From: "agent:a_v1", To: tool.ID, Required: true}}
	s.config.Intents = []job.Intent{{Action: "save", Terms: []string{"keep"}}}
	s.config.Access = []job.Access{{Action: "save", Roles: []string{"admin"}}}
	e := job.APTEvent{Stamp: job.NewStamp("s", 3, job.AgentTimeout), Seed: "s", Node: "agent:a_v1", Type: job.AgentTimeout}
	for _, v := range []canon.Value{s.input(f).SelfRep.Value(), s.config.Value(), s.ask.Value(), e.Value()} {
		f.Add([]byte(encode(f, v)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Parse(b)
		if err != nil {
			return
		}
		var written []canon.Value
		if x, err := job.ParseSelfRep(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseRouterConfig(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseRouteRequest(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseAPTEvent(v); err == nil {
			written = append(written, x.Value())
		}
		for _, w := range written {
			if got, want := encode(t, w), encode(t, v); got != want {
				t.Errorf("read from %s, it is written as %s", want, got)
			}
		}
	})
}
