package api

import "encoding/json"

// RouteRequest is what the router is asked. It decides from snapshots that the
// store holds, and from nothing else.
type RouteRequest struct {
	JobID         string   `json:"job_id" minLength:"1" maxLength:"256"`
	JobSeed       string   `json:"job_seed" minLength:"1" maxLength:"256"`
	QueryText     string   `json:"query_text" maxLength:"65536"`
	SelfRepID     string   `json:"selfrep_snapshot_id" minLength:"64" maxLength:"64"`
	BrainStateID  string   `json:"brainstate_snapshot_id" minLength:"64" maxLength:"64"`
	RouterID      string   `json:"router_snapshot_id,omitempty" maxLength:"64" doc:"Absent: the one of the job that holds the self representation"`
	PrivacyID     string   `json:"privacy_snapshot_id,omitempty" maxLength:"64" doc:"The rules by which personal data are found in the query. Absent: those of the job that holds the self representation"`
	CandidateList []string `json:"candidate_list,omitempty" nullable:"false" maxItems:"10000" doc:"Absent: the agents that may serve the query"`
	TraceID       string   `json:"trace_id" minLength:"1" maxLength:"256"`
	Roles         []string `json:"roles,omitempty" nullable:"false" maxItems:"1000" doc:"Of who asks"`
	Iteration     int64    `json:"iteration,omitempty" minimum:"0" maximum:"1000000"`
	Dropped       []string `json:"dropped,omitempty" nullable:"false" maxItems:"10000" doc:"Agents that have failed in this job"`
	AttemptsLeft  int64    `json:"attempts_left,omitempty" minimum:"0" maximum:"1000000" doc:"This one included; absent: 1"`
}

// RouteAnswer is a decision of the router with what it follows from, as the
// iteration trace of a job holds both. A refusal is a decision too: its code is
// the member error of the output.
type RouteAnswer struct {
	Input   json.RawMessage `json:"router_input_snapshot"`
	Output  json.RawMessage `json:"router_output"`
	Profile string          `json:"profile" doc:"In which the members above are canonical"`
}

// BrainSnapshotRequest is a brain state that is to be frozen.
type BrainSnapshotRequest struct {
	JobSeed string          `json:"job_seed" minLength:"1" maxLength:"256"`
	Content json.RawMessage `json:"content" doc:"An object {constants, state}. A constant that it lacks is the document's, and is named in the warnings"`
}

// BrainSnapshot is a frozen brain state.
type BrainSnapshot struct {
	ID       string          `json:"brainstate_snapshot_id"`
	Run      string          `json:"run" doc:"The run that holds it"`
	Snapshot json.RawMessage `json:"snapshot" doc:"Content, ids and signature, canonical in its profile"`
	Warnings []string        `json:"warnings" nullable:"false" doc:"Constants that the snapshot lacks"`
}

// TickRequest is one step of a brain state.
type TickRequest struct {
	BrainStateID string          `json:"brainstate_snapshot_id,omitempty" maxLength:"64" doc:"The state to start from, as a snapshot"`
	Content      json.RawMessage `json:"content,omitempty" doc:"The state to start from, as an object {constants, state}; one of the two"`
	Tick         json.RawMessage `json:"tick" doc:"What happened since the last tick: the payload of a BRAINSTATE_TICK"`
}

// TickAnswer is a brain state one step later. Nothing was written.
type TickAnswer struct {
	Content  json.RawMessage `json:"content" doc:"The state behind the tick; create_snapshot takes it as it is"`
	Report   json.RawMessage `json:"report"`
	Profile  string          `json:"profile"`
	Warnings []string        `json:"warnings" nullable:"false"`
}

// BrainQuery names a brain state.
type BrainQuery struct {
	BrainStateID string          `json:"brainstate_snapshot_id,omitempty" maxLength:"64"`
	Content      json.RawMessage `json:"content,omitempty" doc:"An object {constants, state}; one of the two"`
}

// BrainHints is what the brain state tells the router.
type BrainHints struct {
	MaxDepthAllowed int64 `json:"max_depth_allowed"`
	PreferHighAPT   bool  `json:"prefer_high_APT"`
	AllowExplore    bool  `json:"allow_explore"`
}

// JobPage is a page of jobs, newest first.
type JobPage struct {
	Jobs   []Job  `json:"jobs" nullable:"false"`
	Before string `json:"before,omitempty" doc:"Where the next page begins; absent: this is the last"`
}

// Job is a job of the store.
type Job struct {
	Run        string            `json:"run"`
	JobID      string            `json:"job_id"`
	Title      string            `json:"title,omitempty"`
	Seed       string            `json:"job_seed"`
	Tenant     string            `json:"tenant,omitempty"`
	Status     string            `json:"status" doc:"What the seal says; waiting: it is not over"`
	Done       bool              `json:"done"`
	Replayable *bool             `json:"replayable,omitempty" doc:"Absent while the job is not over"`
	Missing    []string          `json:"missing" nullable:"false" doc:"What a replay in production would lack"`
	Snapshots  map[string]string `json:"snapshots" doc:"Ids, by the names of the reflective log"`
}

// JobDetail is a job with what it asks the council for.
type JobDetail struct {
	Job
	Head    string         `json:"head" doc:"Id of the last entry"`
	Pending *PendingAction `json:"pending,omitempty"`
}

// PendingAction is an action that waits for the council.
type PendingAction struct {
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request" doc:"The whole request, as the job holds it"`
	Matter    Matter          `json:"matter" doc:"What a vote must be about"`
	Verbs     []string        `json:"verbs" nullable:"false"`
	Roles     []string        `json:"roles" nullable:"false" doc:"In one of which a vote must be cast"`
}

// JobLog is the reflective log of a job.
type JobLog struct {
	Run string          `json:"run"`
	Log json.RawMessage `json:"log" doc:"Canonical in the profile that it names, with its signature. Nothing is checked here; see replay"`
}

// VoteResult is where a job stands after a vote.
type VoteResult struct {
	Run     string `json:"run"`
	JobID   string `json:"job_id"`
	Status  string `json:"status"`
	Done    bool   `json:"done"`
	Waiting string `json:"waiting_for,omitempty"`
}

// ReplayWish is a replay that is asked for, before it is signed.
type ReplayWish struct {
	Job           string                     `json:"job" minLength:"1" maxLength:"36" doc:"The run of the job: its id, the beginning of one, or last for the newest job"`
	Mode          string                     `json:"mode,omitempty" enum:"audit,reexecute,production" default:"audit"`
	Rerun         []string                   `json:"rerun,omitempty" nullable:"false" maxItems:"1000" doc:"In reexecute: nodes or iterations whose agents run again, all, or none"`
	Mocks         map[string]json.RawMessage `json:"mocks,omitempty" doc:"Outputs that stand in for those that were not kept, by node or iteration. They make the result non-authoritative"`
	ForceContinue bool                       `json:"force_continue,omitempty" doc:"Go on behind divergences, with the votes on the request that approval names"`
	Approval      string                     `json:"approval,omitempty" maxLength:"64" doc:"Id of the request whose votes allow this one"`
	MaxTimeMS     int64                      `json:"max_time_ms,omitempty" minimum:"0" maximum:"86400000" doc:"Lower than the limit of the snapshot"`
	MaxIterations int64                      `json:"max_iterations,omitempty" minimum:"0" maximum:"1000000" doc:"Lower than the limit of the snapshot"`
	DSR           bool                       `json:"dsr,omitempty" doc:"For a data subject: an audit that shows to an admin what is redacted, and records it"`
}

// ReplayMatter is what whoever asks for a replay has to sign.
type ReplayMatter struct {
	Request json.RawMessage `json:"request" doc:"All that is asked for. The matter is bound to the SHA-256 of its canonical bytes"`
	Verb    string          `json:"verb"`
	Matter  Matter          `json:"matter"`
}

// ReplayRequest is a replay that is asked for, signed by who asks.
type ReplayRequest struct {
	ReplayWish
	Act json.RawMessage `json:"act" doc:"The act in its envelope, with the verb replay"`
}

// ReplayReport is what a replay has found.
type ReplayReport struct {
	Mode          string          `json:"mode"`
	Authoritative bool            `json:"authoritative"`
	Because       []string        `json:"non_authoritative_because" nullable:"false"`
	RequestID     string          `json:"request_id" doc:"Of the REPLAY_REQUEST in the governance log"`
	Audit         string          `json:"audit_run" doc:"The run that holds each step of the verification"`
	JobID         string          `json:"job_id"`
	Code          string          `json:"code" doc:"Empty: the replay is equal to the record"`
	FinalAnswer   string          `json:"final_answer"`
	Iterations    int64           `json:"iterations"`
	Steps         int64           `json:"steps"`
	Result        json.RawMessage `json:"result" doc:"The REPLAY_RESULT, canonical in the profile that it names, with the diff of each divergence"`
	Shown         []ShownPII      `json:"shown,omitempty" nullable:"false" doc:"In a replay for a data subject: what was said before it was redacted. Each access is recorded"`
}

// ShownPII is something unredacted.
type ShownPII struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// Governance is where the governance of a tenant stands.
type Governance struct {
	Run      string            `json:"run" doc:"The run that is the governance ledger"`
	LedgerID string            `json:"ledger_id" doc:"What acts must name"`
	Tenant   string            `json:"tenant,omitempty"`
	Head     Ref               `json:"head"`
	Roster   json.RawMessage   `json:"roster"`
	Halts    []Halt            `json:"halts" nullable:"false" doc:"What stands still, oldest first"`
	Requests []GovernedRequest `json:"requests" nullable:"false" doc:"The newest, newest first"`
	// Proposals are of configurations for the jobs of the tenant.
	Proposals []Proposal `json:"proposals" nullable:"false" doc:"The newest, newest first"`
}

// PolicyWish is a configuration that the council is to adopt, before it is
// signed.
type PolicyWish struct {
	Tenant string          `json:"tenant,omitempty" maxLength:"256"`
	Kind   string          `json:"kind" enum:"router,privacy"`
	Config json.RawMessage `json:"config" doc:"An object with the members that the section of that name has in a job file; what it leaves out is as there"`
}

// PolicyMatter is what an act must sign that proposes a configuration.
type PolicyMatter struct {
	Config json.RawMessage `json:"config" doc:"All of what is proposed. The matter is bound to the SHA-256 of its canonical bytes with nine decimals"`
	Verb   string          `json:"verb"`
	Matter Matter          `json:"matter"`
}

// PolicyRequest is a configuration that is proposed, signed by who proposes it.
type PolicyRequest struct {
	PolicyWish
	Act json.RawMessage `json:"act" doc:"The act in its envelope, with the verb propose"`
}

// Proposal is a configuration that somebody wants to be in force.
type Proposal struct {
	ID         string          `json:"proposal_id"`
	Actor      string          `json:"actor"`
	Reason     string          `json:"reason,omitempty"`
	Kind       string          `json:"kind"`
	Config     json.RawMessage `json:"config"`
	ConfigHash string          `json:"config_hash"`
	State      string          `json:"state" doc:"open, granted or denied"`
	InForce    bool            `json:"in_force"`
	Matter     Matter          `json:"matter" doc:"What a vote on it must be about"`
	Votes      []Vote          `json:"votes" nullable:"false"`
}

// GovernedRequest is a replay that somebody asked for.
type GovernedRequest struct {
	ID      string          `json:"request_id"`
	Actor   string          `json:"actor"`
	Refused string          `json:"refused,omitempty" doc:"Why it was not admitted"`
	Request json.RawMessage `json:"request"`
	Done    bool            `json:"done"`
	Code    string          `json:"code" doc:"Of the result; empty: it went well, or is not done"`
	Audit   string          `json:"audit_run,omitempty"`
	Matter  Matter          `json:"matter" doc:"What a vote on it must be about"`
	Votes   int64           `json:"votes"`
}

// Person is somebody who is to be on the roster of a tenant, or not any more.
type Person struct {
	ID    string   `json:"id" minLength:"1" maxLength:"256" doc:"Their name in the ledger"`
	Key   string   `json:"key,omitempty" minLength:"64" maxLength:"64" doc:"Their Ed25519 public key, 64 hexadecimal digits; absent: the one that they have on the roster"`
	Roles []string `json:"roles" nullable:"false" maxItems:"5" enum:"operator,admin,auditor,council,approver" doc:"All that they are from then on; none: they are taken off"`
}

// EnrolMatter is what an admin who enrols somebody has to sign.
type EnrolMatter struct {
	Roster json.RawMessage `json:"roster" doc:"The roster that would be in force. The matter is bound to its digest"`
	Verb   string          `json:"verb"`
	Matter Matter          `json:"matter"`
}

// EnrolRequest is an enrolment, signed by an admin.
type EnrolRequest struct {
	Person
	Act json.RawMessage `json:"act" doc:"The act in its envelope, with the verb enrol"`
}

// Enrolled is the roster that is in force.
type Enrolled struct {
	Roster json.RawMessage `json:"roster"`
	Head   Ref             `json:"head" doc:"The entry that put it in force"`
}

// ClearResult says whether a halt still stands.
type ClearResult struct {
	State string `json:"state" doc:"Of the vote: granted means that FORCE_HALT_CLEAR was appended"`
}
