package upstream

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Message is one of a chat.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// ToolCall is a model's wish.
type ToolCall struct {
	Index    *int     `json:"index,omitempty"` // in a stream
	ID       string   `json:"id"`
	Type     string   `json:"type"` // function; custom: the arguments are a text
	Function Function `json:"function"`
	Space    string   `json:"-"` // the namespace of the tool, in the dialect of the responses API; may be empty
}

// Function is what is wished for.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Call returns a wish for a tool.
func Call(id, name, arguments string) ToolCall {
	c := ToolCall{ID: id, Type: "function"}
	c.Function.Name, c.Function.Arguments = name, arguments
	return c
}

// Chat is the part of a chat completion request that models look at.
type Chat struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Input json.RawMessage `json:"input"` // of the responses API
}

// ParseChat reads a request; what is no chat gives the zero value.
func ParseChat(body []byte) Chat {
	var c Chat
	if json.Unmarshal(body, &c) != nil {
		return Chat{}
	}
	return c
}

// Count returns how many messages have that role.
func (c *Chat) Count(role string) int {
	n := 0
	for i := range c.Messages {
		if c.Messages[i].Role == role {
			n++
		}
	}
	return n
}

// Last returns the text of the last message.
func (c *Chat) Last() string {
	if len(c.Messages) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(c.Messages[len(c.Messages)-1].Content, &s) != nil {
		return string(c.Messages[len(c.Messages)-1].Content)
	}
	return s
}

const usage = `{"prompt_tokens":41,"completion_tokens":37,"total_tokens":78,"prompt_tokens_details":{"cached_tokens":0}}`

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only plain structs come here
	}
	return string(b)
}

// header returns a provider's header of that media type.
func header(mediaType string) http.Header {
	return http.Header{
		"Content-Type":                 {mediaType},
		"X-Request-Id":                 {"req_0123456789abcdef"},
		"Openai-Version":               {"2020-10-01"},
		"Openai-Processing-Ms":         {"376"},
		"Set-Cookie":                   {"__cf_bm=aaaa; path=/", "_cfuvid=bbbb; path=/"}, // twice, as theirs
		"X-Ratelimit-Remaining-Tokens": {"199958"},
	}
}

// JSON answers with one document.
func JSON(status int, doc string) Answer {
	return Answer{Status: status, Header: header("application/json"), Parts: [][]byte{[]byte(doc)}}
}

// Completion answers a chat, whole or as a stream, as the request asks.
func Completion(c Chat, m Message) Answer {
	m.Role = "assistant"
	finish := "stop"
	if len(m.ToolCalls) > 0 {
		finish = "tool_calls"
	}
	if c.Stream {
		return stream(c, m, finish)
	}
	return JSON(0, fmt.Sprintf("{\n  \"id\": \"chatcmpl-e2e\",\n  \"object\": \"chat.completion\",\n  \"created\": 1765813154,\n  \"model\": %s,\n"+
		"  \"choices\": [{\"index\": 0, \"message\": %s, \"logprobs\": null, \"finish_reason\": %q}],\n  \"usage\": %s\n}\n",
		encode(c.Model), encode(m), finish, usage))
}

// stream cuts a message into events as providers do: the role first, then a
// word at a time, then the reason, the usage and [DONE]; comments between.
func stream(c Chat, m Message, finish string) Answer {
	chunk := func(delta, reason, usage string) []byte {
		choices := "[]"
		if delta != "" {
			choices = fmt.Sprintf(`[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}]`, delta, reason)
		}
		return fmt.Appendf(nil, "data: {\"id\":\"chatcmpl-e2e\",\"object\":\"chat.completion.chunk\",\"created\":1765813154,\"model\":%s,\"choices\":%s,\"usage\":%s}\n\n",
			encode(c.Model), choices, usage)
	}
	parts := [][]byte{[]byte(": OPENROUTER PROCESSING\n\n"), chunk(`{"role":"assistant","content":""}`, "null", "null")}
	for _, word := range strings.SplitAfter(m.Content, " ") {
		if word != "" {
			parts = append(parts, chunk(`{"content":`+encode(word)+`}`, "null", "null"))
		}
	}
	for i, call := range m.ToolCalls {
		arguments := call.Function.Arguments
		call.Index, call.Function.Arguments = &i, ""
		parts = append(parts, chunk(`{"tool_calls":[`+encode(call)+`]}`, "null", "null"))
		for at := 0; at < len(arguments); at += 7 {
			piece := arguments[at:min(at+7, len(arguments))]
			parts = append(parts, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, encode(piece)), "null", "null"))
		}
	}
	parts = append(parts, []byte(": keep-alive\n\n"), chunk("{}", encode(finish), "null"), chunk("", "", usage), []byte("data: [DONE]\n\n"))
	return Answer{Header: header("text/event-stream; charset=utf-8"), Parts: parts}
}

// words is a text of n words.
func words(n int) string {
	list := strings.Fields("the quick brown fox jumps over a lazy dog while seven étranges 狐 watch")
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(list[i%len(list)])
	}
	return b.String()
}

// StreamWords makes a completion of 41 events with data: one with the role,
// 37 words, the reason, the usage and [DONE].
const StreamWords = 37

// responsesStream is a stream of the responses API.
func responsesStream(model string) Answer {
	a := Answer{Header: header("text/event-stream; charset=utf-8")}
	text := words(12)
	seq := 0
	event := func(kind, rest string) {
		a.Parts = append(a.Parts, fmt.Appendf(nil, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, seq, rest))
		seq++
	}
	response := func(status, output string) string {
		return fmt.Sprintf(`"response":{"id":"resp_e2e","object":"response","created_at":1765813154,"status":%q,"model":%s,"output":%s,"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":12,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":21}}`,
			status, encode(model), output)
	}
	event("response.created", response("in_progress", "[]"))
	event("response.in_progress", response("in_progress", "[]"))
	event("response.output_item.added", `"output_index":0,"item":{"id":"msg_e2e","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
	event("response.content_part.added", `"item_id":"msg_e2e","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
	for _, word := range strings.SplitAfter(text, " ") {
		event("response.output_text.delta", `"item_id":"msg_e2e","output_index":0,"content_index":0,"logprobs":[],"delta":`+encode(word))
	}
	part := `{"type":"output_text","annotations":[],"logprobs":[],"text":` + encode(text) + `}`
	item := `{"id":"msg_e2e","type":"message","status":"completed","content":[` + part + `],"role":"assistant"}`
	event("response.output_text.done", `"item_id":"msg_e2e","output_index":0,"content_index":0,"logprobs":[],"text":`+encode(text))
	event("response.content_part.done", `"item_id":"msg_e2e","output_index":0,"content_index":0,"part":`+part)
	event("response.output_item.done", `"output_index":0,"item":`+item)
	event("response.completed", response("completed", "["+item+"]"))
	return a
}

// zip returns the answer as gzip, for a request that takes it.
func zip(r Request, a Answer) Answer {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return a
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, part := range a.Parts {
		_, _ = w.Write(part) // a buffer takes all
		_ = w.Flush()
	}
	_ = w.Close()
	a.Header.Set("Content-Encoding", "gzip")
	a.Parts = [][]byte{b.Bytes()}
	return a
}

// Scenarios answers by the last message: "plain", "tools", "gzip", "bad",
// "busy", "reset", "slow", "trailer"; anything else is echoed. A stream has
// 41 events with data.
func Scenarios(r Request) Answer {
	c := ParseChat(r.Body)
	path, _, _ := strings.Cut(r.URI, "?")
	if strings.HasSuffix(path, "/responses") {
		return responsesStream(c.Model)
	}
	if strings.HasSuffix(path, "/models") {
		return JSON(0, `{"object":"list","data":[{"id":"e2e-1","object":"model","created":1,"owned_by":"e2e"}]}`)
	}
	text := Message{Content: words(StreamWords)}
	switch scenario := c.Last(); scenario {
	case "plain":
		return Completion(c, text)
	case "tools":
		return Completion(c, Message{ToolCalls: []ToolCall{
			Call("call_a", "get_weather", `{"city":"Zürich","unit":"celsius"}`),
			Call("call_b", "get_time", `{"zone":"Europe/Zurich"}`),
		}})
	case "gzip":
		return zip(r, Completion(c, text))
	case "bad":
		return JSON(http.StatusBadRequest, `{"error":{"message":"no such model","type":"invalid_request_error","param":"model","code":"model_not_found"}}`)
	case "busy":
		if r.Nth == 0 {
			a := JSON(http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`)
			a.Header.Set("Retry-After", "1")
			a.Header.Set("Retry-After-Ms", "20")
			return a
		}
		return Completion(c, text)
	case "reset":
		a := Completion(c, text)
		a.Parts = a.Parts[:min(len(a.Parts), 9)]
		a.Reset = true
		return a
	case "slow":
		a := Completion(c, text)
		a.Pause = 15 * time.Millisecond
		return a
	case "trailer":
		a := Completion(c, text)
		a.Trailer = http.Header{"X-Checksum": {"0123"}}
		return a
	default:
		return Completion(c, Message{Content: "echo: " + scenario})
	}
}

// Notes plays a model that takes two notes with the tool of a server and adds
// with a tool of the agent's own. What it does depends on how far the chat is.
func Notes(r Request) Answer {
	c := ParseChat(r.Body)
	switch c.Count("tool") {
	case 0:
		return Completion(c, Message{Content: "I take the first note.", ToolCalls: []ToolCall{Call("call_1", "note", `{"text":"bought milk"}`)}})
	case 1:
		return Completion(c, Message{ToolCalls: []ToolCall{Call("call_2", "add", `{"a":2,"b":3}`)}})
	case 2:
		return Completion(c, Message{Content: "Now the sum.", ToolCalls: []ToolCall{Call("call_3", "note", `{"text":"the sum is 5"}`)}})
	default:
		return Completion(c, Message{Content: "Both notes are taken; the sum is 5."})
	}
}

// History answers every turn of a long conversation with something new.
func History(r Request) Answer {
	c := ParseChat(r.Body)
	return Answer{Header: header("application/json"), Parts: [][]byte{fmt.Appendf(nil, `{"turn":%d,"said":%s}`, c.Count("user"), encode(words(20+c.Count("user")%7)))}}
}

// Own plays a model that only wishes for the agent's own tool.
func Own(r Request) Answer {
	c := ParseChat(r.Body)
	if c.Count("tool") == 0 {
		return Completion(c, Message{ToolCalls: []ToolCall{Call("call_1", "add", `{"a":20,"b":22}`)}})
	}
	return Completion(c, Message{Content: "The sum is " + c.Last() + "."})
}

// Trickle streams the question back in many small pieces, over some ten
// milliseconds, so that something is always under way.
func Trickle(r Request) Answer {
	c := ParseChat(r.Body)
	a := Completion(c, Message{Content: c.Last() + " " + words(11)})
	a.Pause = 3 * time.Millisecond
	return a
}

// EndlessNotes plays a model that takes one note after the other.
func EndlessNotes(r Request) Answer {
	c := ParseChat(r.Body)
	n := c.Count("tool")
	return Completion(c, Message{ToolCalls: []ToolCall{Call(fmt.Sprintf("call_%d", n), "note", fmt.Sprintf(`{"text":"note %d"}`, n))}})
}
