package upstream

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Dialect is the protocol in which a model is asked.
type Dialect string

// The dialects that [Talk] speaks.
const (
	ChatCompletions Dialect = "chat completions"
	Responses       Dialect = "responses"
	Messages        Dialect = "messages"
	GenerateContent Dialect = "generateContent"
	Bedrock         Dialect = "bedrock"
)

// Question is what a model looks at in a request, whatever its dialect.
type Question struct {
	Dialect Dialect
	Model   string
	Stream  bool
	Said    string // the last text of a person
	Results int    // of tools, so far
	Reports int    // of agents that Codex started, which are no results
	Tools   []string
	Scripts bool // the client's one tool runs scripts, which call its others
}

// Reply is what a model says, whatever the dialect: a text, calls of tools, or
// both.
type Reply struct {
	Text  string
	Calls []ToolCall
}

// dialectOf returns the dialect of a request by its path, and the model and
// whether a stream is wanted where the path says it.
func dialectOf(uri string) (d Dialect, model string, stream bool) {
	path, _, _ := strings.Cut(uri, "?")
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return ChatCompletions, "", false
	case strings.HasSuffix(path, "/responses"):
		return Responses, "", false
	case strings.HasSuffix(path, "/messages"):
		return Messages, "", false
	}
	if _, rest, ok := strings.Cut(path, "/model/"); ok {
		model, verb, _ := strings.Cut(rest, "/")
		if verb == "invoke" || verb == "converse-stream" {
			return Bedrock, model, verb == "converse-stream"
		}
	}
	if _, rest, ok := strings.Cut(path, "/models/"); ok {
		model, verb, _ := strings.Cut(rest, ":")
		if verb == "generateContent" || verb == "streamGenerateContent" {
			return GenerateContent, model, verb == "streamGenerateContent"
		}
	}
	return "", "", false
}

// part is a piece of a message in any dialect.
type part struct {
	Type             string          `json:"type"`
	Text             *string         `json:"text"`
	FunctionResponse json.RawMessage `json:"functionResponse"`  // of generateContent
	Task             string          `json:"encrypted_content"` // of a message of Codex to an agent that it started
}

// ParseQuestion reads a request; it reports whether a model is asked.
func ParseQuestion(r Request) (Question, bool) {
	var q Question
	if q.Dialect, q.Model, q.Stream = dialectOf(r.URI); q.Dialect == "" {
		return q, false
	}
	type message struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Parts   json.RawMessage `json:"parts"`
		Tools   []struct {      // of the type additional_tools: namespaces
			Tools []struct{ Type, Name string } `json:"tools"`
		} `json:"tools"`
	}
	var doc struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		Messages []message       `json:"messages"`
		Contents []message       `json:"contents"`
		Input    json.RawMessage `json:"input"`
		Tools    []struct {
			Name     string                  `json:"name"`
			Function struct{ Name string }   `json:"function"`
			Declared []struct{ Name string } `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if json.Unmarshal(r.Body, &doc) != nil {
		return q, false
	}
	if doc.Model != "" {
		q.Model = doc.Model
	}
	q.Stream = q.Stream || doc.Stream
	for _, t := range doc.Tools {
		for _, name := range []string{t.Name, t.Function.Name} {
			if name != "" {
				q.Tools = append(q.Tools, name)
			}
		}
		for _, f := range t.Declared {
			q.Tools = append(q.Tools, f.Name)
		}
	}
	list := append(doc.Messages, doc.Contents...)
	var input []message
	if json.Unmarshal(doc.Input, &q.Said) != nil && json.Unmarshal(doc.Input, &input) == nil {
		list = append(list, input...)
	}
	for _, m := range list {
		body := m.Content
		if m.Parts != nil {
			body = m.Parts
		}
		for _, space := range m.Tools {
			for _, t := range space.Tools {
				q.Tools = append(q.Tools, t.Name)
				q.Scripts = q.Scripts || t.Type == "custom" && t.Name == "exec"
			}
		}
		if m.Role == "tool" || m.Type == "function_call_output" || m.Type == "custom_tool_call_output" {
			q.Results++
			continue
		}
		if m.Type == "agent_message" {
			q.mail(m.Content)
			continue
		}
		if m.Role != "user" {
			continue
		}
		var parts []part
		var whole string
		if json.Unmarshal(body, &whole) == nil {
			q.hear(whole)
			continue
		}
		if json.Unmarshal(body, &parts) != nil {
			continue
		}
		for _, p := range parts {
			switch {
			case p.Type == "tool_result" || p.FunctionResponse != nil:
				q.Results++
			case p.Text != nil:
				q.hear(*p.Text)
			}
		}
	}
	return q, true
}

// hear notes the text of a person, without what goose says behind it, or in a
// text of its own, of the time and the folder.
func (q *Question) hear(text string) {
	said, _, _ := strings.Cut(text, "<turn-context>\n")
	if said != "" {
		q.Said = strings.TrimSuffix(said, "\n")
	}
}

// Give returns the answer with that reply, in the dialect and the manner that
// the question asks for.
func (q *Question) Give(r Reply) Answer {
	switch q.Dialect {
	case Responses:
		return q.responses(r)
	case Messages:
		return q.messages(r)
	case GenerateContent:
		return q.generateContent(r)
	case Bedrock:
		return q.bedrock(r)
	default:
		return Completion(Chat{Model: q.Model, Stream: q.Stream}, Message{Content: r.Text, ToolCalls: r.Calls})
	}
}

// Fail returns an error as the provider of the dialect words it.
func (q *Question) Fail(status int, kind, says string) Answer {
	switch q.Dialect {
	case Bedrock:
		return failBedrock(status, says)
	case Messages:
		return JSON(status, `{"type":"error","error":{"type":`+encode(kind)+`,"message":`+encode(says)+`},"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}`)
	case GenerateContent:
		return JSON(status, `{"error":{"code":`+encode(status)+`,"message":`+encode(says)+`,"status":`+encode(strings.ToUpper(kind))+`}}`)
	default:
		return JSON(status, `{"error":{"message":`+encode(says)+`,"type":`+encode(kind)+`,"param":null,"code":`+encode(kind)+`}}`)
	}
}

// Talk plays a model that speaks all dialects. What it does depends on the
// last text of a person:
//
//	tools    wishes for get_weather and get_time, and then says what came of it
//	shell    a wish for a command of the agent's, and then says so
//	team     a wish for two of the agent's own agents at once, and then says so
//	bad      400
//	busy     429 with Retry-After, and at the second try an answer
//	down     500 and 503, and at the third try an answer
//	slow     an answer that takes its time
//
// Anything else is repeated, with some words behind.
func Talk(r Request) Answer {
	q, ok := ParseQuestion(r)
	if !ok {
		return aside(r)
	}
	if q.Dialect == Bedrock && !signed(r) {
		return q.Fail(http.StatusForbidden, "", "the signature does not match")
	}
	switch said := strings.TrimSpace(q.Said); said {
	case "tools":
		if q.Results == 0 {
			return q.Give(Reply{Text: "I look.", Calls: []ToolCall{
				Call("call_a", "get_weather", `{"city":"Zürich","unit":"celsius"}`),
				Call("call_b", "get_time", `{"zone":"Europe/Zurich"}`),
			}})
		}
		return q.Give(Reply{Text: "It is cold, and late."})
	case "shell":
		if q.Results == 0 {
			if call, ok := q.shell("echo forty-two"); ok {
				return q.Give(Reply{Calls: []ToolCall{call}})
			}
		}
		return q.Give(Reply{Text: "The shell has said it."})
	case "team":
		if q.Results == 0 {
			if calls := q.team(); calls != nil {
				return q.Give(Reply{Calls: calls})
			}
		}
		if slices.Contains(q.Tools, codexTeam) && q.Reports < 2 {
			return q.Give(Reply{Calls: []ToolCall{collaborate("call_w"+strconv.Itoa(q.Results), "wait_agent", `{"timeout_ms":30000}`)}})
		}
		return q.Give(Reply{Text: "The team has said it."})
	case "bad":
		return q.Fail(http.StatusBadRequest, "invalid_request_error", "the request is not one")
	case "busy":
		if r.Nth == 0 {
			a := q.Fail(http.StatusTooManyRequests, "rate_limit_error", "slow down")
			a.Header.Set("Retry-After", "1")
			a.Header.Set("Retry-After-Ms", "20")
			return a
		}
		return q.Give(Reply{Text: "Now there is time."})
	case "down":
		if r.Nth < 2 {
			a := q.Fail([]int{http.StatusInternalServerError, http.StatusServiceUnavailable}[r.Nth], "api_error", "something is broken")
			a.Header.Set("Retry-After-Ms", "20")
			return a
		}
		return q.Give(Reply{Text: "It is mended."})
	case "slow":
		a := q.Give(Reply{Text: words(StreamWords)})
		a.Pause = 10 * time.Millisecond
		return a
	default:
		text := clip(said) + ": " + words(12)
		if slices.Contains(q.Tools, "complete_task") { // how an agent of Gemini CLI's ends
			return q.Give(Reply{Calls: []ToolCall{Call("call_e", "complete_task", `{"result":{"response":`+encode(text)+`}}`)}})
		}
		return q.Give(Reply{Text: text})
	}
}

// maxEcho bounds what is repeated of a long prompt.
const maxEcho = 80

func clip(s string) string {
	if r := []rune(s); len(r) > maxEcho {
		return string(r[:maxEcho])
	}
	return s
}

// shell returns a call of the tool by which the agent runs commands.
func (q *Question) shell(command string) (ToolCall, bool) {
	if q.Scripts {
		return ToolCall{ID: "call_s", Type: "custom", Function: Function{"exec", "const r = await tools.exec_command({cmd: " + encode(command) + "});\ntext(r.output);"}}, true
	}
	for _, name := range q.Tools {
		switch strings.ToLower(name) {
		case "bash", "run_shell_command", "shell_command":
			return Call("call_s", name, `{"command":`+encode(command)+`,"description":"says a number"}`), true
		case "exec_command":
			return Call("call_s", name, `{"cmd":`+encode(command)+`}`), true
		case "shell":
			if slices.Contains(q.Tools, gooseTeam) {
				return Call("call_s", name, `{"command":`+encode(command)+`}`), true
			}
			return Call("call_s", name, `{"command":["sh","-c",`+encode(command)+`]}`), true
		}
	}
	return ToolCall{}, false
}

// mail notes a message between Codex and an agent that it started: a task, or
// a report.
func (q *Question) mail(content json.RawMessage) {
	var parts []part
	if json.Unmarshal(content, &parts) != nil {
		return
	}
	for _, p := range parts {
		switch {
		case p.Task != "":
			q.hear(p.Task)
		case p.Text != nil && strings.Contains(*p.Text, "FINAL_ANSWER"):
			q.Reports++
		}
	}
}

// gooseTeam is the tool by which goose starts others of its kind.
const gooseTeam = "delegate"

// codexTeam is the tool by which Codex starts others of its kind.
const codexTeam = "spawn_agent"

// collaborate returns a call of one of Codex's tools for its team.
func collaborate(id, name, arguments string) ToolCall {
	c := Call(id, name, arguments)
	c.Space = "collaboration"
	return c
}

// team returns calls of the tool by which the agent starts others of its kind,
// for two of them.
func (q *Question) team() (calls []ToolCall) {
	for i, p := range []string{"question 1", "question 2"} {
		id := "call_t" + strconv.Itoa(i)
		for _, name := range q.Tools {
			switch name {
			case "Agent": // Claude Code
				calls = append(calls, Call(id, name, `{"description":"asks","prompt":`+encode(p)+`,"subagent_type":"general-purpose","run_in_background":false}`))
			case "task": // opencode
				calls = append(calls, Call(id, name, `{"description":"asks","prompt":`+encode(p)+`,"subagent_type":"general"}`))
			case codexTeam:
				// It goes on meanwhile, and reads a report when it comes. Of two
				// that come at once it is not sure which is first.
				task := []string{"question 1", "slow"}[i]
				calls = append(calls, collaborate(id, name, `{"task_name":"asks_`+strconv.Itoa(i)+`","fork_turns":"none","message":`+encode(task)+`}`))
			case gooseTeam:
				calls = append(calls, Call(id, name, `{"instructions":`+encode(p)+`}`))
			case "invoke_agent": // Gemini CLI
				calls = append(calls, Call(id, name, `{"agent_name":"generalist","prompt":`+encode(p)+`}`))
			}
		}
	}
	return calls
}

// aside answers what clients ask beside the model.
func aside(r Request) Answer {
	path, _, _ := strings.Cut(r.URI, "?")
	switch {
	case r.Method == http.MethodHead:
		return Answer{Header: http.Header{}}
	case strings.HasSuffix(path, "/models"):
		return JSON(0, `{"object":"list","data":[{"id":"e2e-1","object":"model","created":1,"owned_by":"e2e"}]}`)
	case strings.HasSuffix(path, "/count_tokens"):
		return JSON(0, `{"input_tokens":14}`)
	case strings.HasSuffix(path, ":countTokens"):
		return JSON(0, `{"totalTokens":14}`)
	default:
		return JSON(http.StatusNotFound, `{"error":{"message":"there is no such route","type":"not_found_error","code":"not_found"}}`)
	}
}

// Patient counts the tries of a question by what was said, and not by equal
// requests: agents draw ids anew for every try.
func Patient(m Model) Model {
	type question struct {
		Dialect
		said    string
		results int
		tools   int
	}
	var mu sync.Mutex
	tries := map[question]int{}
	return func(r Request) Answer {
		if q, ok := ParseQuestion(r); ok {
			mu.Lock()
			k := question{q.Dialect, q.Said, q.Results, len(q.Tools)}
			r.Nth = tries[k]
			tries[k]++
			mu.Unlock()
		}
		return m(r)
	}
}
