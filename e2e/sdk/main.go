// Command sdk puts a Go SDK through scenarios: sdk NAME SCENARIO…, where NAME
// is openai, responses, anthropic, genai, bedrock or mcp. A scenario "stream:X" asks
// for X as a stream, and "many:N" asks N things at once. What came is printed,
// one line for each, so that two runs can be compared.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// client is one SDK. Both methods return what came as plain data.
type client interface {
	ask(ctx context.Context, said string, stream bool) (any, error)
	tools(ctx context.Context, stream bool) (any, error)
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, scenarios []string) error {
	var c client
	switch name {
	case "openai":
		c = newChat()
	case "responses":
		c = newResponses()
	case "anthropic":
		c = newMessages()
	case "genai":
		g, err := newGemini(ctx)
		if err != nil {
			return err
		}
		c = g
	case "bedrock":
		b, err := newBedrock(ctx)
		if err != nil {
			return err
		}
		c = b
	case "mcp":
		return useMCP(ctx)
	default:
		return fmt.Errorf("there is no SDK %q", name)
	}
	for _, s := range scenarios {
		n, many := strings.CutPrefix(s, "many:")
		if !many {
			say(s, one(ctx, c, s))
			continue
		}
		count, err := strconv.Atoi(n)
		if err != nil {
			return err
		}
		got := make([]any, count)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				said := fmt.Sprintf("question %d", i)
				if i%2 == 0 {
					said = "stream:" + said
				}
				got[i] = one(ctx, c, said)
			})
		}
		all.Wait()
		say(s, got)
	}
	return nil
}

func say(scenario string, got any) {
	b, err := json.Marshal(map[string]any{"scenario": scenario, "got": got})
	if err != nil {
		panic(err) // only plain data comes here
	}
	fmt.Println(string(b))
}

// failure is an error as far as it is the same in every run: no addresses.
type failure struct {
	Failed string `json:"failed"`
	Status int    `json:"status"`
}

// one plays one scenario.
func one(ctx context.Context, c client, scenario string) any {
	said, stream := strings.CutPrefix(scenario, "stream:")
	ask := func() (any, error) { return c.ask(ctx, said, stream) }
	if said == "tools" {
		ask = func() (any, error) { return c.tools(ctx, stream) }
	}
	got, err := ask()
	if err != nil {
		return failure{fmt.Sprintf("%T", root(err)), statusOf(err)}
	}
	return got
}

// root returns the innermost error.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// answer of a tool.
func result(name string) string {
	if name == "get_weather" {
		return `{"celsius":-3}`
	}
	return `{"time":"23:10"}`
}

// wish is a call of a tool that a model wants.
type wish struct {
	ID, Name, Arguments string
}

// said is what a model said in the end.
type said struct {
	Text   string `json:"text"`
	Wishes []wish `json:"wishes,omitempty"`
	Events int    `json:"events,omitempty"`
	Tokens int64  `json:"tokens"`
}

// schemas are those of the two tools.
func schemas() map[string]map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]map[string]any{
		"get_weather": {"type": "object", "properties": map[string]any{"city": text, "unit": text}},
		"get_time":    {"type": "object", "properties": map[string]any{"zone": text}},
	}
}

// names are those of the tools, in order.
var names = []string{"get_weather", "get_time"}
