package api

import "encoding/json"

// VerifyRequest says what is asked of a verification. Every member may be
// absent.
type VerifyRequest struct {
	Level      *int64    `json:"level,omitempty" minimum:"0" maximum:"3" doc:"The level asked for: 0 chain, 1 signed, 2 logged, 3 witnessed. Absent: 1 where a trusted root key is at hand, else 0"`
	ExpectHead *Position `json:"expect_head,omitempty" doc:"A place that the run must contain, kept from an earlier head"`
	Trust      string    `json:"trust,omitempty" maxLength:"65536" doc:"Root keys to trust instead of the user's own, in PEM form"`
	Partial    bool      `json:"partial,omitempty" doc:"Take contents that the store does not have as withheld, not as lost"`
}

// Position is a place in a ledger.
type Position struct {
	Count int64  `json:"count" minimum:"1" maximum:"9007199254740991" doc:"How many entries there are"`
	Last  string `json:"last" pattern:"^[0-9a-f]{64}$" doc:"Id of the last of them"`
}

// Report is what verify, replay and diff found.
type Report struct {
	Verb             string           `json:"verb" enum:"verify,replay,simulate,diff"`
	Mode             string           `json:"mode,omitempty"`
	Verdict          string           `json:"verdict" enum:"verified,same,diverged,partial,below,failed"`
	Authoritative    bool             `json:"authoritative"`
	ExitStatus       int              `json:"exit_status" doc:"With which the command that reports this ends"`
	Run              string           `json:"run,omitempty"`
	Other            string           `json:"other,omitempty"`
	Level            *int64           `json:"level,omitempty" doc:"The level that the evidence reaches"`
	Asked            *int64           `json:"asked,omitempty" doc:"The level that was asked for"`
	Counts           map[string]int64 `json:"counts" nullable:"false"`
	Phases           []Phase          `json:"phases" nullable:"false"`
	Divergences      []Divergence     `json:"divergences" nullable:"false" doc:"The first hundred"`
	DivergencesTotal int64            `json:"divergences_total"`
	Sentence         string           `json:"sentence,omitempty" doc:"What a comparison comes to, in a line"`
	Remarks          []string         `json:"remarks" nullable:"false"`
	Detail           json.RawMessage  `json:"detail,omitempty" doc:"What the engine of the run reports besides, and what is delegated"`
}

// Phase is what one phase of a verification found.
type Phase struct {
	Name    string   `json:"name"`
	Checked int64    `json:"checked"`
	Failed  int64    `json:"failed"`
	First   *Finding `json:"first,omitempty" doc:"The first failure"`
}

// Finding is a failure of a check.
type Finding struct {
	Code     string `json:"code"`
	N        *int64 `json:"n,omitempty" doc:"The entry"`
	Where    string `json:"where,omitempty"`
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
	Message  string `json:"message,omitempty"`
}

// Divergence is one difference between a record and what came now.
type Divergence struct {
	Kind        string       `json:"kind" enum:"missing,extra,different"`
	What        string       `json:"what"`
	Name        string       `json:"name,omitempty"`
	Step        int64        `json:"step"`
	Recorded    *int64       `json:"recorded,omitempty" doc:"Entry in the record"`
	Run         string       `json:"run,omitempty" doc:"Whose entry that is, where it is not of the run itself"`
	Now         *int64       `json:"now,omitempty" doc:"Entry in the other run"`
	Nearest     *int64       `json:"nearest,omitempty" doc:"The recorded call that an extra one most likely stands for"`
	Follows     bool         `json:"follows" doc:"It comes after the first divergence, and most likely because of it"`
	Differences []Difference `json:"differences" nullable:"false"`
	Message     string       `json:"message,omitempty"`
	Effect      string       `json:"effect,omitempty" doc:"In which of its parts the step shows the difference"`
	Cause       *Cause       `json:"cause,omitempty" doc:"Of the first divergence: why the runs differ"`
}

// Cause is why two runs differ, as far as their records tell.
type Cause struct {
	Text      string          `json:"text"`
	Part      string          `json:"part,omitempty" doc:"The part of the request that changed first"`
	Pointer   string          `json:"pointer,omitempty"`
	About     string          `json:"about,omitempty" doc:"What that part is"`
	Origin    string          `json:"origin" enum:"agent,tool,answer,server"`
	Recorded  json.RawMessage `json:"recorded,omitempty"`
	Now       json.RawMessage `json:"now,omitempty"`
	Step      int64           `json:"step,omitempty" doc:"The earlier step that the part goes back to"`
	StepName  string          `json:"step_name,omitempty"`
	StepEntry *int64          `json:"step_entry,omitempty" doc:"The entry of its answer"`
	StepRun   string          `json:"step_run,omitempty"`
}

// Difference is one place where two values differ.
type Difference struct {
	Pointer  string          `json:"pointer"`
	Recorded json.RawMessage `json:"recorded,omitempty"`
	Now      json.RawMessage `json:"now,omitempty"`
}
