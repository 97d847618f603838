package api

import "encoding/json"

// Trajectory is where a governed run stands, folded from its record.
type Trajectory struct {
	Run             string            `json:"run"`
	TrajectoryID    string            `json:"trajectory_id" doc:"The trajectory's own id, which derives from its writ"`
	Task            string            `json:"task"`
	State           string            `json:"state" enum:"done,waiting,halted,at_work,failed" doc:"at_work: it has something to do; its process does it, or was killed and has to resume it"`
	WaitingFor      string            `json:"waiting_for,omitempty" doc:"What it waits for, for people"`
	Error           string            `json:"error,omitempty" doc:"Why it cannot go on"`
	Sealed          bool              `json:"sealed" doc:"Whether the run has ended"`
	Status          string            `json:"status,omitempty" doc:"What the seal says of the end"`
	Entries         int64             `json:"entries"`
	Head            string            `json:"head" doc:"Id of the last entry"`
	Commits         int64             `json:"commits" doc:"Commits, those of the source of a branch included"`
	HeadCommit      string            `json:"head_commit,omitempty" doc:"Id of the last commit; absent before the first"`
	CompilerVersion string            `json:"compiler_version"`
	PolicySetHash   string            `json:"policy_set_hash"`
	Signer          string            `json:"signer" doc:"The key that signs commits, in hex"`
	Agents          []TrajectoryAgent `json:"agents" nullable:"false"`
	Pending         int64             `json:"pending" doc:"How many proposals wait for people"`
	Halts           []Halt            `json:"halts" nullable:"false" doc:"What stands still, oldest first"`
}

// TrajectoryAgent is one author of intents.
type TrajectoryAgent struct {
	Name    string `json:"name"`
	Writ    string `json:"writ" doc:"Id of its writ"`
	Outside bool   `json:"outside" doc:"Whether its intents come from outside"`
	Phase   string `json:"phase" doc:"What it does, for people"`
	Status  string `json:"status,omitempty" doc:"How it ended"`
	Steps   int64  `json:"steps"`
	Spent   Budget `json:"spent" doc:"Of its writ, what hangs below it included"`
	Awaits  string `json:"awaits,omitempty" doc:"The trajectory of the delegate that will report"`
}

// Budget is the four counters of a writ.
type Budget struct {
	Tokens        uint64 `json:"tokens"`
	ToolCalls     uint64 `json:"tool_calls"`
	WallClockMS   uint64 `json:"wall_clock_ms"`
	USDMillicents uint64 `json:"usd_millicents"`
}

// Halt is a reason for which a trajectory stands still.
type Halt struct {
	Seq     int64  `json:"seq"`
	Subject string `json:"subject"`
	Cause   string `json:"cause" doc:"The code of it"`
	Reason  string `json:"reason"`
	Actor   string `json:"actor,omitempty" doc:"Who stopped it; absent: a rule"`
	Matter  Matter `json:"matter" doc:"What an act must be about to clear it"`
}

// Matter is the exact thing that an act decides.
type Matter struct {
	Ledger  string `json:"ledger" doc:"The trajectory id"`
	Subject string `json:"subject" doc:"What is decided on: a proposal, a writ, a halt, a commit"`
	Bound   string `json:"bound" doc:"Digest of everything that was shown to who decides"`
}

// PendingList is the proposals that wait for people, in the order of their
// agents.
type PendingList struct {
	Run     string            `json:"run"`
	Pending []PendingApproval `json:"pending" nullable:"false"`
}

// PendingApproval is a proposal that waits.
type PendingApproval struct {
	Agent      string          `json:"agent"`
	Channel    string          `json:"channel"`
	Reason     string          `json:"reason"`
	ProposalID string          `json:"proposal_id"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args" doc:"The exact arguments of the call"`
	Proposal   json.RawMessage `json:"proposal" doc:"The whole proposal with its policy trace, as the ledger holds it"`
	Matter     Matter          `json:"matter" doc:"What an answer must be about"`
	Quorums    []Quorum        `json:"quorums" nullable:"false" doc:"All of them must be granted"`
	Votes      []Vote          `json:"votes" nullable:"false" doc:"The last word of each actor"`
}

// Quorum is how many must act, in which roles, by which rule.
type Quorum struct {
	Need  int64    `json:"need"`
	Roles []string `json:"roles" nullable:"false"`
	Rule  string   `json:"rule"`
}

// Vote is what an actor said about a proposal.
type Vote struct {
	Actor string `json:"actor"`
	Role  string `json:"role"`
	Verb  string `json:"verb"`
	Act   string `json:"act" doc:"Digest of the signed act"`
}

// World is what the commits of a trajectory add up to.
type World struct {
	Run       string     `json:"run"`
	At        int64      `json:"at" doc:"The last entry that is part of it"`
	Commits   int64      `json:"commits"`
	Hash      string     `json:"hash,omitempty" doc:"Digest of the world; absent if values are"`
	Absent    int64      `json:"absent" doc:"Of how many resources the value was erased or withheld"`
	Resources []Resource `json:"resources" nullable:"false" doc:"What is alive, by kind and id"`
}

// Resource is one thing of a world.
type Resource struct {
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Version int64           `json:"version"`
	Value   json.RawMessage `json:"value,omitempty" doc:"Absent if it was erased or withheld"`
}

// Trail is a page of the human trail of a trajectory, in order.
type Trail struct {
	Run          string       `json:"run"`
	Verification *Report      `json:"verification,omitempty" doc:"What a verification of the whole run found, every decision derived again; absent if it was not asked for"`
	Entries      []TrailEntry `json:"entries" nullable:"false"`
	Count        int64        `json:"count" doc:"How many entries this page has"`
	Next         *int64       `json:"next,omitempty" doc:"The value of from that gives the next page; absent on the last"`
}

// TrailEntry is one entry of a trail.
type TrailEntry struct {
	ID           string          `json:"id" doc:"Digest of the header"`
	TrajectoryID string          `json:"trajectory_id"`
	Seq          int64           `json:"seq" doc:"Number of the entry"`
	Parent       string          `json:"parent,omitempty" doc:"Id of the entry before; absent in the first"`
	Kind         string          `json:"kind"`
	Label        string          `json:"label" doc:"What it is to somebody who reads the trail" example:"COMMIT"`
	Technical    bool            `json:"technical" doc:"A call, an outcome or a step between"`
	CreatedAt    string          `json:"created_at,omitempty" doc:"When it was written, as the recorder says"`
	Line         json.RawMessage `json:"line" doc:"Who did what, under which rules, approved by whom, and whether the signatures were verified"`
	Payload      json.RawMessage `json:"payload,omitempty" doc:"The body; absent if it was erased or withheld"`
}

// DelegationList is what a trajectory handed on.
type DelegationList struct {
	Run         string       `json:"run"`
	Delegations []Delegation `json:"delegations" nullable:"false"`
}

// Delegation is work that was handed to a trajectory of its own.
type Delegation struct {
	Run          string `json:"run" doc:"The run that handed it on; of a branch it may be the source"`
	N            int64  `json:"n" doc:"Entry of the delegation"`
	Name         string `json:"name" doc:"Of the delegate"`
	Task         string `json:"task"`
	TrajectoryID string `json:"trajectory_id" doc:"The child's"`
	ProposalID   string `json:"proposal_id"`
	Writ         string `json:"writ" doc:"Id of the writ that the child has"`
	Child        *Ref   `json:"child,omitempty" doc:"Last entry of the child's run that the parent names; absent until it does"`
	Status       string `json:"status,omitempty" doc:"How the delegate ended; absent until it did"`
}

// ForeignReport is what is to be said of a ledger of OpenThymos: what that
// system itself says, and what may be believed.
type ForeignReport struct {
	Compat  ForeignVerdict `json:"compat" doc:"What OpenThymos says, holes included"`
	Strict  ForeignVerdict `json:"strict" doc:"What may be believed; this is the verdict"`
	Ignored []string       `json:"ignored" nullable:"false" doc:"Members of the file that say nothing about the ledger"`
}

// ForeignVerdict is one of the two.
type ForeignVerdict struct {
	Accepted      bool             `json:"accepted"`
	Error         string           `json:"error,omitempty" doc:"Of compat: the error, word for word"`
	Phases        []Phase          `json:"phases" nullable:"false"`
	Findings      []ForeignFinding `json:"findings" nullable:"false" doc:"The first hundred; compat ends at the first"`
	FindingsTotal int64            `json:"findings_total"`
	Remarks       []string         `json:"remarks" nullable:"false"`
	UnsignedTail  *int64           `json:"unsigned_tail,omitempty" doc:"Of strict: entries behind the last commit that the pinned key signed"`
	Uncovered     *int64           `json:"uncovered,omitempty" doc:"Of strict: entries that neither a signature nor an anchor nor the expected head covers"`
	Report        json.RawMessage  `json:"report,omitempty" doc:"What the ledger says: commits, rejections, approvals, tool calls, children. Of compat only if it accepts"`
	World         json.RawMessage  `json:"world,omitempty" doc:"The resources, retracted ones included"`
}

// ForeignFinding is one failure of a check.
type ForeignFinding struct {
	Code     string  `json:"code"`
	Phase    string  `json:"phase"`
	N        *int64  `json:"n,omitempty" doc:"Place of the entry in the file, from 0"`
	Seq      *uint64 `json:"seq,omitempty" doc:"As the entry says"`
	Entry    string  `json:"entry,omitempty" doc:"Id of the entry, as it says"`
	Where    string  `json:"where,omitempty"`
	Expected string  `json:"expected,omitempty"`
	Found    string  `json:"found,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// TrajectoryStart is a trajectory to begin.
type TrajectoryStart struct {
	Task   json.RawMessage `json:"task" doc:"What a task file says, as JSON. Paths in it are relative to the folder that the server was started in"`
	Tools  json.RawMessage `json:"tools,omitempty" doc:"Further tools: a list as in a task file, or an object with one"`
	Model  string          `json:"model,omitempty" maxLength:"2048" doc:"Address of the model that answers instead of the task's"`
	KeyEnv string          `json:"key_env,omitempty" maxLength:"256" doc:"With model: the variable of the server's environment that holds its key"`
	Script json.RawMessage `json:"script,omitempty" doc:"Answers instead of a model, as in a script file"`
}

// Taken says that something was recorded.
type Taken struct {
	Run     string `json:"run"`
	Last    Ref    `json:"last" doc:"The last entry then; what follows is in the events of the run"`
	Working bool   `json:"working" doc:"Whether this server goes on with the trajectory. Else it is for who started it: reprise trajectory resume"`
}

// SignedAct is what somebody says about a trajectory. The server holds no key
// of theirs.
type SignedAct struct {
	Act json.RawMessage `json:"act" doc:"The act in its envelope, signed by an actor of the trajectory's roster"`
}

// IntentRequest is what an agent outside wants.
type IntentRequest struct {
	Agent           string          `json:"agent,omitempty" maxLength:"256" doc:"Who proposes; it may be left out where one agent proposes from outside"`
	Kind            string          `json:"kind,omitempty" enum:"plan,act,query,delegate,memory_promote,reconcile" doc:"Absent: what the tool stands for"`
	Tool            string          `json:"tool" minLength:"1" maxLength:"256"`
	Args            json.RawMessage `json:"args,omitempty"`
	Rationale       string          `json:"rationale,omitempty" maxLength:"16384"`
	RoutingEvidence json.RawMessage `json:"routing_evidence,omitempty" doc:"The word of an adviser, for the record"`
	ParentCommit    string          `json:"parent_commit,omitempty" pattern:"^[0-9a-f]{64}$" doc:"The commit that it was thought up on; absent: the last one"`
	Nonce           string          `json:"nonce,omitempty" pattern:"^[0-9a-f]{32}$" doc:"The same contents with the same nonce and parent_commit are the same intent, and are done once. Absent: one is drawn"`
}

// MessageRequest tells a conversational agent more.
type MessageRequest struct {
	Agent string `json:"agent,omitempty" maxLength:"256" doc:"It may be left out where one waits for a message"`
	From  string `json:"from,omitempty" maxLength:"256" doc:"Who speaks; absent: user"`
	Text  string `json:"text" minLength:"1" maxLength:"40000"`
}

// FinishRequest says that an agent outside is done.
type FinishRequest struct {
	Agent  string          `json:"agent,omitempty" maxLength:"256" doc:"It may be left out where there is one"`
	Answer json.RawMessage `json:"answer,omitempty" doc:"What came of it"`
}

// BranchRequest is where a trajectory is left.
type BranchRequest struct {
	At   int64  `json:"at" minimum:"0" maximum:"9007199254740991" doc:"The last entry that the branch shares"`
	Note string `json:"note,omitempty" maxLength:"4096"`
}

// RoutedSubmit is one action on a trajectory of its own.
type RoutedSubmit struct {
	Tool            string          `json:"tool" minLength:"1" maxLength:"256"`
	Args            json.RawMessage `json:"args,omitempty"`
	Rationale       string          `json:"rationale,omitempty" maxLength:"16384"`
	RoutingEvidence json.RawMessage `json:"routing_evidence,omitempty" doc:"The word of an adviser, for the record"`
}
