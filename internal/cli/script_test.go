package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/cli"
	"github.com/reprise-dev/reprise/store/s3blob/s3blobtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"reprise": func() {
			os.Exit(cli.Run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()...))
		},
		"agent": func() { os.Exit(agent()) },
		"codex": func() { os.Exit(codex()) },
		"goose": func() { os.Exit(goose()) },
		"aider": func() { os.Exit(aider()) },
	})
}

// TestScripts runs the stories of testdata/script, one a file. Beside reprise
// there are
//
//	agent [QUESTION]       an agent that asks the model at OPENAI_BASE_URL, runs a tool of its own
//	                       (its result is TOOL) and asks again; EXIT is its status
//	                       (with BESIDE, a URL, it also goes there past the recorder, and ends with 9 if that answers)
//	codex exec             an agent that, as Codex, has its address from -c openai_base_url and no variable
//	goose run -t hi        one that, as goose, adds its path to OPENAI_HOST, from the environment or else its config.yaml
//	aider --message hi     one that, as aider, prefers --openai-api-base to .aider.conf.yml, and that to OPENAI_API_BASE
//	[cell]                 an agent can have a network of its own here
//	upstream stop          stops the model; nothing answers at its address any more
//	flip FILE OFFSET       changes one bit
//	json [NAME=VALUE…]     standard output of the last command is one JSON document with these members
//	member NAME PATH       keeps a member of that document in $NAME
//	status N COMMAND…      runs a command, which must end with that exit status
//	trajectory STORY       makes a trajectory in the store, and keeps its run, its signer, its policy set and its
//	                       trajectory id in $RUN, $SIGNER, $POLICIES and $TRAJECTORY
//	misroute               writes the newest job a second time, with another decision in its log and every signature right
//	tamper FROM TO         changes bytes of the entries in the store; both are of one length
//	bucket NAME KIND       makes a bucket (plain, versioned, lockable) at the S3 service of the test, which $S3 names as
//	                       the settings of a place
//	subst FILE             puts the values of variables into a file
//	edit FILE FROM TO      changes bytes of a file, as often as they are there; both are of one length
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(cond string) (bool, error) {
			path, err := exec.LookPath("reprise") // as the scripts find it
			if cond != "cell" || err != nil {
				return false, errors.Join(fmt.Errorf("there is no condition %q", cond), err)
			}
			return capture.TryCell(t.Context(), []string{path, "cell"}) == nil, nil
		},
		Setup: func(e *testscript.Env) error {
			s := httptest.NewServer(http.HandlerFunc(model))
			e.Defer(s.Close)
			e.Values["upstream"] = s
			e.Setenv("OPENAI_BASE_URL", s.URL+"/v1")
			e.Setenv("OPENAI_API_KEY", "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				return err
			}
			e.Setenv("EXAMPLES", examples)
			e.Setenv("REPRISE_CONFIG", filepath.Join(e.WorkDir, "config"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"upstream": stopUpstream,
			"flip":     flip,
			"json":     isJSON,
			"member":   member,
			"misroute": misroute,
			"status":   status,
			"edit":     edit,
			"tamper":   tamper,
			"subst": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
			},
			"bucket": func(ts *testscript.TestScript, _ bool, args []string) { bucket(t, ts, args) },
			"trajectory": func(ts *testscript.TestScript, _ bool, args []string) {
				makeTrajectory(t, ts, args[0])
			},
		},
	})
}

func bucket(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: bucket NAME KIND")
	}
	s := s3blobtest.Service{Endpoint: ts.Getenv("S3_ENDPOINT"), AccessKey: s3blobtest.AccessKey, SecretKey: s3blobtest.SecretKey}
	if s.Endpoint == "" {
		s = s3blobtest.Start(t)
		ts.Setenv("S3_ENDPOINT", s.Endpoint)
		ts.Setenv("S3", "path-style=1&endpoint="+url.QueryEscape(s.Endpoint))
		ts.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
		ts.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
		ts.Setenv("AWS_REGION", "us-east-1")
	}
	s.Bucket(t, args[0], args[1])
}

func stopUpstream(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || args[0] != "stop" {
		ts.Fatalf("usage: upstream stop")
	}
	s, ok := ts.Value("upstream").(*httptest.Server)
	if !ok {
		ts.Fatalf("there is no upstream")
	}
	s.Close()
}

func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	b[at%len(b)] ^= 1
	ts.Check(os.WriteFile(path, b, 0o600))
}

// status runs a command and compares its exit status: status 3 reprise ….
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		if _, scanErr := fmt.Sscanf(err.Error(), "exit status %d", &got); scanErr != nil {
			ts.Fatalf("%v", err)
		}
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func isJSON(ts *testscript.TestScript, _ bool, args []string) {
	v := document(ts)
	for _, a := range args {
		path, want, _ := strings.Cut(a, "=")
		if got := fmt.Sprint(find(ts, v, path)); got != want {
			ts.Fatalf("%s = %s, want %s", path, got, want)
		}
	}
}

// document reads the last standard output, which must be one JSON document.
func document(ts *testscript.TestScript) (v any) {
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	ts.Check(d.Decode(&v))
	if _, err := d.Token(); err != io.EOF {
		ts.Fatalf("standard output holds more than one JSON document")
	}
	return v
}

func find(ts *testscript.TestScript, v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i, err := strconv.Atoi(name)
			ts.Check(err)
			if i >= len(x) {
				ts.Fatalf("%s: %d elements", path, len(x))
			}
			v = x[i]
		}
	}
	return v
}

func member(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], fmt.Sprint(find(ts, document(ts), args[1])))
}

// chat is what both the model and the agent read and write.
type chat struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream,omitempty"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Tool    string `json:"tool_call_id,omitempty"`
}

// codex asks the model at the address that an option gives it.
func codex() int {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("codex-cli 0.0.1")
		return 0
	}
	address := "http://127.0.0.1:1/v1"
	for i, a := range os.Args[1:] {
		if v, ok := strings.CutPrefix(a, "openai_base_url="); ok && os.Args[i] == "-c" {
			address, _ = strconv.Unquote(v)
		}
	}
	return standIn(address)
}

// goose asks the model at the host of its settings.
func goose() int {
	host := os.Getenv("OPENAI_HOST")
	if host == "" {
		host = inFile(filepath.Join(os.Getenv("HOME"), ".config", "goose", "config.yaml"), "OPENAI_HOST: ")
	}
	return standIn(strings.TrimSuffix(host, "/") + "/v1")
}

// aider asks the model at the strongest of the addresses that it knows.
func aider() int {
	for i, a := range os.Args {
		if a == "--openai-api-base" {
			return standIn(os.Args[i+1])
		}
	}
	if address := inFile(".aider.conf.yml", "openai-api-base: "); address != "" {
		return standIn(address)
	}
	return standIn(os.Getenv("OPENAI_API_BASE"))
}

// inFile returns what stands behind a name in a file.
func inFile(path, name string) string {
	text, _ := os.ReadFile(path) // of no file: nothing
	_, value, _ := strings.Cut(string(text), name)
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// standIn asks the model at an address the last of its arguments.
func standIn(address string) int {
	body, status, err := post(address, chat{Model: "gpt-4o-mini", Messages: []message{{Role: "user", Content: os.Args[len(os.Args)-1]}}})
	if err != nil || status != http.StatusOK {
		fmt.Fprintln(os.Stderr, os.Args[0]+":", status, err)
		return 1
	}
	_, _ = os.Stdout.Write(body)
	return 0
}

// model plays a model that asks for the tool weather, and then says what the
// tool said. A stream comes in four parts.
func model(w http.ResponseWriter, r *http.Request) {
	var q chat
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "no such route", http.StatusNotFound)
		return
	}
	last := q.Messages[len(q.Messages)-1]
	if last.Role != "tool" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1000,"completion_tokens":20,"total_tokens":1020}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range []string{"It is ", last.Content, "."} {
		fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-4o-mini-2024-07-18\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", word)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(2 * time.Millisecond)
	}
	fmt.Fprint(w, "data: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-4o-mini-2024-07-18\",\"choices\":[],\"usage\":{\"prompt_tokens\":1050,\"completion_tokens\":8}}\n\ndata: [DONE]\n\n")
}

// agent asks, runs its tool, asks again and prints what the model said, byte
// for byte.
func agent() int {
	question := "What is the weather in Oslo?"
	if len(os.Args) > 1 {
		question = os.Args[1]
	}
	q := chat{Model: "gpt-4o-mini", Messages: []message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: question}}}
	for range 2 {
		body, status, err := ask(q)
		if err != nil || status != http.StatusOK {
			fmt.Fprintln(os.Stderr, "agent:", status, err, string(body))
			return 1
		}
		_, _ = os.Stdout.Write(body)
		fmt.Println()
		result := os.Getenv("TOOL")
		if result == "" {
			result = "-3 C"
		}
		q.Messages = append(q.Messages, message{Role: "tool", Content: result, Tool: "call_1"})
		q.Stream = true
	}
	if beside := os.Getenv("BESIDE"); beside != "" {
		if _, status, err := post(beside, q); err == nil && status == http.StatusOK {
			return 9
		}
	}
	n, _ := strconv.Atoi(os.Getenv("EXIT"))
	return n
}

func ask(q chat) ([]byte, int, error) { return post(os.Getenv("OPENAI_BASE_URL"), q) }

func post(address string, q chat) ([]byte, int, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return nil, 0, err
	}
	r, err := http.NewRequest(http.MethodPost, address+"/chat/completions", bytes.NewReader(b))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return body, res.StatusCode, err
}
