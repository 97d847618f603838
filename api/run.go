package api

import "encoding/json"

// Run is one run in a list.
type Run struct {
	ID        string `json:"id" doc:"The run's id, a UUID of version 7" example:"019aa5c2-8d3e-7c41-9a57-2f6b1d0e4c33"`
	Engine    string `json:"engine,omitempty" doc:"What made the run: capture for a foreign program"`
	Mode      string `json:"mode,omitempty" doc:"record, replay, branch, or a mode of the engine"`
	Title     string `json:"title,omitempty"`
	Opened    string `json:"opened,omitempty" doc:"When the first entry was written, as the recorder says"`
	Ended     string `json:"ended,omitempty" doc:"When the last entry was written, as the recorder says"`
	Entries   int64  `json:"entries" doc:"Number of entries"`
	Head      string `json:"head" doc:"Id of the last entry"`
	Calls     int64  `json:"calls" doc:"Number of calls, those under other calls included"`
	Sealed    bool   `json:"sealed" doc:"Whether the run has ended; one that has not may grow"`
	Status    string `json:"status,omitempty" doc:"What the seal says of the end"`
	AgentExit *int64 `json:"agent_exit,omitempty" doc:"Exit status of the agent's process, where one ran and ended"`
	Duration  *int64 `json:"duration_ms,omitempty" doc:"Milliseconds between the first and the last entry"`
	Source    *Ref   `json:"source,omitempty" doc:"The entry that a branch or a replay stands on"`
}

// RunDetail is one run with what its first and last entry say.
type RunDetail struct {
	Run
	OpenData json.RawMessage `json:"open_data,omitempty" doc:"What the open says beside, as JSON"`
	SealData json.RawMessage `json:"seal_data,omitempty" doc:"What the seal says beside, as JSON"`
}

// RunPage is a page of runs, newest first.
type RunPage struct {
	Runs []Run  `json:"runs" nullable:"false"`
	Next string `json:"next,omitempty" doc:"The value of before that gives the next page; absent on the last"`
}

// Ref names an entry of a run.
type Ref struct {
	Run string `json:"run"`
	N   int64  `json:"n"`
	ID  string `json:"id"`
}

// Entry is one entry as it is stored.
type Entry struct {
	N           int64           `json:"n" doc:"Number of the entry, from 0"`
	ID          string          `json:"id" doc:"Digest of the header"`
	Prev        string          `json:"prev,omitempty" doc:"Id of the entry before; absent in the first"`
	Kind        string          `json:"kind" example:"call"`
	Type        string          `json:"type" doc:"Media type of the body"`
	Size        int64           `json:"size" doc:"Bytes of the body"`
	Bind        string          `json:"bind" doc:"Commitment of the header to the body"`
	T           string          `json:"t,omitempty" doc:"When it was written, as the recorder says"`
	Scope       string          `json:"scope" doc:"Unit of erasure of the body"`
	Body        json.RawMessage `json:"body,omitempty" doc:"The body, as JSON; absent if it was erased or withheld"`
	Attachments []Attachment    `json:"attachments" nullable:"false"`
}

// Attachment is what an entry says of one attachment.
type Attachment struct {
	Name  string `json:"name" example:"response"`
	Type  string `json:"type" doc:"Media type, as it was recorded"`
	Size  int64  `json:"size" doc:"Bytes"`
	Bind  string `json:"bind" doc:"Commitment of the entry to the bytes"`
	Scope string `json:"scope" doc:"Unit of erasure"`
	Here  bool   `json:"here" doc:"Whether the store has the bytes"`
}

// EntryPage is a page of entries, in order.
type EntryPage struct {
	Run     string  `json:"run"`
	Entries []Entry `json:"entries" nullable:"false"`
	Next    *int64  `json:"next,omitempty" doc:"The value of from that gives the next page; absent on the last"`
}

// Head is a signed statement about the first entries of a run. Whether the
// signature holds is for verify to say.
type Head struct {
	Count    int64           `json:"count" doc:"How many entries it covers"`
	Last     string          `json:"last" doc:"Id of the last of them"`
	Root     string          `json:"root" doc:"RFC 6962 root over their ids"`
	T        string          `json:"t,omitempty" doc:"When it was signed, as the signer says"`
	Envelope json.RawMessage `json:"envelope" doc:"The DSSE envelope as it is stored"`
}

// HeadList is all signed heads of a run, by count.
type HeadList struct {
	Run   string `json:"run"`
	Heads []Head `json:"heads" nullable:"false"`
}

// Keys is what is public of the user's keys.
type Keys struct {
	Root      string            `json:"root" doc:"The root key, in PEM form, for others to pin"`
	RootID    string            `json:"root_id"`
	Keys      []Key             `json:"keys" nullable:"false" doc:"The keys of the last manifest"`
	Manifests []json.RawMessage `json:"manifests" nullable:"false" doc:"The chain of key manifests in their envelopes, oldest first"`
}

// Key is a key that signs heads.
type Key struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	State string `json:"state" enum:"active,retired,revoked"`
}

// Imported says what became of one run of a bundle.
type Imported struct {
	Run        string `json:"run"`
	NewEntries int64  `json:"new_entries" doc:"Entries that were not in the store; 0: it was all there"`
}

// ImportResult is what an import did, in the order of the bundle.
type ImportResult struct {
	Runs []Imported `json:"runs" nullable:"false"`
}

// Health is the answer of the probes.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

// EntryEvent says that an entry was appended. It holds no content.
type EntryEvent struct {
	Run    string `json:"run"`
	N      int64  `json:"n"`
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty" doc:"Of the call, decision or event"`
	Status string `json:"status,omitempty" doc:"Of an outcome or a seal"`
	T      string `json:"t,omitempty"`
}
