package job

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// ErrOutput means that what an agent answered is no output of an agent. The
	// agent has failed; mend it.
	ErrOutput fault.Invalid = "job.bad_agent_output"
	// ErrAgentTimeout means that an agent did not answer in time. The job goes on
	// with another; who makes calls answers with this code.
	ErrAgentTimeout fault.Unavailable = "AGENT_TIMEOUT"
	// ErrAgentException means that an agent failed and did not say how.
	ErrAgentException fault.Unavailable = "AGENT_EXCEPTION"
)

const (
	// OutputContent is the name of the content that holds an agent's output: in
	// the outcome of its call as the agent gave it, in the event of type
	// [EventOutput] as it is kept.
	OutputContent = "output"
	// OutputMedia is the media type of an output that is kept.
	OutputMedia = "application/vnd.reprise.job-output.v1+json; profile=mace-fixed9"

	maxOutput   = 2 << 20
	maxRequests = 16
)

// MemoryRequest is what an agent asks to be remembered for good. Whether it is
// says the council.
type MemoryRequest struct {
	Action        string      // sem_put or memory_promote_request
	Key           string      // of the fact
	Value         canon.Value // of sem_put
	Episode       string      // episodic_id, of memory_promote_request
	Justification string
}

// AgentOutput is what an agent answers. Whatever is left out is as if it were
// empty; without a confidence there is none, and without deliverable the text is
// what was asked for.
type AgentOutput struct {
	Text        string
	Confidence  Nano // 0 to 1
	Deliverable bool
	Tokens      int64       // used
	Insert      []NewMemory // into working memory
	Reference   []string    // wm_ids that were of use; those that are gone are passed over
	Requests    []MemoryRequest
	Reads       []MemoryRead // of semantic memory; the agent that is asked next gets the answers
}

// ParseAgentOutput reads the output that an agent gave: an object with the
// members text, confidence, deliverable, tokens_used, wm_inserts, references,
// requests and reads. Numbers are rounded here. It refuses with [ErrOutput].
func ParseAgentOutput(b []byte) (AgentOutput, error) {
	const op = "job.ParseAgentOutput"
	if len(b) > maxOutput {
		return AgentOutput{}, fault.New(ErrOutput, op, "%d bytes; the most is %d", len(b), maxOutput)
	}
	v, err := canon.Parse(b)
	if err == nil {
		v, _, err = fixed(v)
	}
	if err != nil {
		return AgentOutput{}, fault.Wrap(ErrOutput, op, err, "the output is no JSON")
	}
	r := newRecord(v, ErrOutput, op, "the output", "text", "confidence?", "deliverable?", "tokens_used?", "wm_inserts?", "references?", "requests?", "reads?")
	o := AgentOutput{Text: r.Text("text", maxOutput), Deliverable: true}
	if v.Has("confidence") {
		if o.Confidence, err = Quantise(v.Get("confidence")); err != nil || !o.Confidence.Unit() {
			r.Fail("the confidence is no number of 0 to 1")
		}
	}
	if v.Has("deliverable") {
		o.Deliverable = r.Bool("deliverable")
	}
	if v.Has("tokens_used") {
		o.Tokens = r.Count("tokens_used", maxCount)
	}
	if v.Has("references") {
		o.Reference = r.names("references")
	}
	if v.Has("wm_inserts") {
		for _, e := range r.list("wm_inserts") {
			m := newRecord(e, ErrOutput, op, "insert", "ttl_ticks?", "type", "value")
			in := NewMemory{Type: memoryType(m), Value: e.Get("value")}
			if e.Has("ttl_ticks") {
				in.TTL = m.Count("ttl_ticks", maxTicks)
			}
			r.Take("wm_inserts", m.Err)
			o.Insert = append(o.Insert, in)
		}
	}
	if v.Has("requests") {
		for _, e := range r.list("requests") {
			o.Requests = append(o.Requests, readMemoryRequest(r, e))
		}
		if len(o.Requests) > maxRequests {
			r.Fail("more than %d requests", maxRequests)
		}
	}
	if v.Has("reads") {
		for _, e := range r.list("reads") {
			o.Reads = append(o.Reads, readMemoryRead(r, e))
		}
		if len(o.Reads) < 1 || len(o.Reads) > maxReads {
			r.Fail("reads are 1 to %d, or are not there", maxReads)
		}
	}
	return o, r.Err
}

func readMemoryRequest(r record, v canon.Value) MemoryRequest {
	names := []string{"action", "justification", "key", "value"}
	if v.Get("action").Str() == ActionPromote {
		names[3] = "episodic_id"
	}
	f := newRecord(v, ErrOutput, r.Op, "request", names...)
	q := MemoryRequest{
		Action: f.Word("action", ActionPut, ActionPromote), Key: f.Name("key"), Value: v.Get("value"), Justification: f.Text("justification", maxText),
	}
	if q.Action == ActionPromote {
		q.Episode = f.digest("episodic_id")
	}
	r.Take("requests", f.Err)
	return q
}

// Value returns the output in its one form, which [ParseAgentOutput] reads too.
func (o AgentOutput) Value() canon.Value {
	v := canon.Object(
		canon.M("confidence", o.Confidence.Value()),
		canon.M("deliverable", canon.Bool(o.Deliverable)),
		canon.M("references", canon.Strings(o.Reference)),
		canon.M("requests", canon.ArrayOf(o.Requests, func(q MemoryRequest) canon.Value {
			v := canon.Object(canon.M("action", canon.String(q.Action)), canon.M("justification", canon.String(q.Justification)), canon.M("key", canon.String(q.Key)))
			if q.Action == ActionPromote {
				return v.With("episodic_id", canon.String(q.Episode))
			}
			return v.With("value", q.Value)
		})),
		canon.M("text", canon.String(o.Text)),
		canon.M("tokens_used", canon.Int(o.Tokens)),
		canon.M("wm_inserts", canon.ArrayOf(o.Insert, NewMemory.value)))
	if len(o.Reads) == 0 {
		return v
	}
	return v.With("reads", canon.ArrayOf(o.Reads, MemoryRead.value))
}

// parseKept reads an output as it is kept: the canonical bytes of
// [AgentOutput.Value] after redaction.
func parseKept(b []byte) (AgentOutput, error) {
	const op = "job.parseKept"
	if _, err := parseFixed(b, MaxEvent); err != nil {
		return AgentOutput{}, fault.Wrap(ErrOutput, op, err, "these bytes are no output")
	}
	o, err := ParseAgentOutput(b)
	if err != nil {
		return AgentOutput{}, err
	}
	if again, err := canon.Encode(o.Value(), canon.MACEFixed9); err != nil || string(again) != string(b) {
		return AgentOutput{}, fault.New(ErrOutput, op, "the output is not in its one form")
	}
	return o, nil
}

// contentOf returns the content of a name, or nil.
func contentOf(contents []ledger.Content, name string) []byte {
	for _, c := range contents {
		if c.Name == name {
			return c.Bytes
		}
	}
	return nil
}

// texts returns what the privacy rules look at: all that an agent may say
// freely. Ids and counts are not looked at, since hexadecimal digits look like
// numbers of anything.
func (o AgentOutput) texts() canon.Value {
	v := canon.Object(
		canon.M("requests", canon.ArrayOf(o.Requests, func(q MemoryRequest) canon.Value {
			return canon.Object(canon.M("justification", canon.String(q.Justification)), canon.M("key", canon.String(q.Key)), canon.M("value", q.Value))
		})),
		canon.M("text", canon.String(o.Text)),
		canon.M("wm_inserts", canon.ArrayOf(o.Insert, func(m NewMemory) canon.Value { return m.Value })))
	if len(o.Reads) == 0 {
		return v
	}
	return v.With("reads", canon.ArrayOf(o.Reads, func(q MemoryRead) canon.Value { return canon.String(q.Key + q.Prefix) }))
}

// withTexts returns o with what became of [AgentOutput.texts].
func (o AgentOutput) withTexts(v canon.Value) AgentOutput {
	o.Text = v.Get("text").Str()
	inserts, requests := v.Get("wm_inserts"), v.Get("requests")
	o.Insert = append([]NewMemory(nil), o.Insert...)
	for i := range o.Insert {
		o.Insert[i].Value = inserts.At(i)
	}
	o.Requests = append([]MemoryRequest(nil), o.Requests...)
	for i := range o.Requests {
		q := requests.At(i)
		o.Requests[i].Justification, o.Requests[i].Key, o.Requests[i].Value = q.Get("justification").Str(), q.Get("key").Str(), q.Get("value")
	}
	reads := v.Get("reads")
	o.Reads = append([]MemoryRead(nil), o.Reads...)
	for i, q := range o.Reads {
		if text := reads.At(i).Str(); q.Key != "" {
			o.Reads[i].Key = text
		} else {
			o.Reads[i].Prefix = text
		}
	}
	return o
}
