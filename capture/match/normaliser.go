package match

import (
	"strconv"
)

// Normaliser is a named and versioned rule for what two requests may differ
// in and still be the same request. Normalisers touch the match key only:
// what is stored, sent and answered stays as it is. A rule once released is
// not changed; a better one gets a new version.
type Normaliser struct {
	Name    string
	Version int64
	Kind    string   // of the calls that it is for; empty: all
	Drop    []string // JSON pointers to what is left out of the key
	Doc     string
}

// Kinds of calls that normalisers are for.
const (
	KindModel = "model" // a model provider
	KindMCP   = "mcp"   // a server of the Model Context Protocol
)

// ID returns name@version.
func (n *Normaliser) ID() string { return n.Name + "@" + strconv.FormatInt(n.Version, 10) }

// DateCwd is the id of the normaliser that is about texts instead of
// pointers: in the match key {date} stands for the date of the run and {cwd}
// for its working folder, as [Setting] gives them.
const DateCwd = "date-cwd@1"

// OwnRun is the id of the normaliser for the id of the run itself: a prompt
// that lists the working folder names it, because the default store keeps what
// is being recorded there. In the match key {run} stands for it.
const OwnRun = "own-run@1"

// MultipartBoundary is the id of the normaliser for uploads: clients draw the
// line between the parts of a form anew for every request.
const MultipartBoundary = "multipart-boundary@1"

// Normalisers returns the rules that are built in. In their pointers * is any
// member or element, *name any member whose name ends so, and ** any number of
// steps.
func Normalisers() []Normaliser {
	return []Normaliser{
		{
			Name: "volatile-ids", Version: 1, Kind: KindModel,
			Drop: []string{
				"/prompt_cache_key", "/client_metadata", "/metadata/user_id", "/input/*/id",
				"/**/*metadata_passthrough/turn_id", "/**/*metadata_passthrough/create_time",
			},
			Doc: "ids that clients draw anew for every session, and that no answer depends on",
		},
		{
			Name: "realtime-ids", Version: 1, Kind: KindModel,
			Drop: []string{"/event_id", "/item/id"},
			Doc:  "ids that clients of realtime APIs draw for their own messages",
		},
		{
			Name: "gemini-call-ids", Version: 1, Kind: KindModel,
			Drop: []string{"/contents/*/parts/*/functionCall/id", "/contents/*/parts/*/functionResponse/id"},
			Doc:  "ids that clients of Gemini draw for calls to which the model gave none",
		},
		{
			Name: "mcp-meta", Version: 1, Kind: KindMCP,
			Drop: []string{
				"/id", "/params/_meta/progressToken", "/params/_meta/traceparent", "/params/_meta/tracestate",
				"/params/_meta/baggage", "/params/requestId", "/params/progressToken",
			},
			Doc: "JSON-RPC ids and trace context",
		},
		{
			Name: "gemini-processes", Version: 1, Kind: KindModel,
			Doc: "numbers of processes in what Gemini CLI tells its model of a command: Process Group PGID, Background PIDs, moved to background",
		},
		{
			Name: "gemini-skills", Version: 1, Kind: KindModel,
			Doc: "the order in which Gemini CLI lists its skills, which is that in which it got to read their files",
		},
		{
			Name: "gemini-listing", Version: 1, Kind: KindModel,
			Doc: "the folder of the store in the tree of the working folder that Gemini CLI shows its model",
		},
		{
			Name: "codex-times", Version: 1, Kind: KindModel,
			Doc: "how long a command took, and the mark of its output, in what Codex tells its model of it: Wall time, Chunk ID",
		},
		{
			Name: "result-order", Version: 1, Kind: KindModel,
			Doc: "the order in which results of tools that ran at once stand side by side; they are compared in the order in which the model asked for them",
		},
		{
			Name: "claude-agents", Version: 1, Kind: KindModel,
			Doc: "ids of agents that Claude Code starts, and how long they took, in what it tells its model of their reports: agentId, duration_ms",
		},
		{
			Name: "goose-turns", Version: 1, Kind: KindModel,
			Doc: "the time of day that goose puts behind what a person said, and the ids of agents that it starts: current-time, Subagent ID",
		},
		{
			Name: "opencode-tasks", Version: 1, Kind: KindModel,
			Doc: "ids of agents that opencode starts, in what it tells its model of their reports: task id",
		},
		{Name: "date-cwd", Version: 1, Doc: "the date of the run and its working folder, where prompts name them"},
		{Name: "own-run", Version: 1, Doc: "the id of the run itself, where prompts list the folder of the store"},
		{Name: "multipart-boundary", Version: 1, Doc: "the line between the parts of a form, which clients draw anew for every upload"},
	}
}

// ContentCoding is the id under which a report says that two requests are the
// same only behind their content coding.
const ContentCoding = "content-coding@1"
