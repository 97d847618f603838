package demo_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/reprise-dev/reprise/internal/demo"
)

// TestMain makes the test binary the MCP server of the sample, too.
func TestMain(m *testing.M) {
	if outbox := os.Getenv("DEMO_OUTBOX"); outbox != "" {
		if err := demo.Tool(context.Background(), outbox); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAgentAsksTheModelAndSendsOneMail(t *testing.T) {
	model := httptest.NewServer(demo.Model{})
	defer model.Close()
	outbox := filepath.Join(t.TempDir(), "outbox.txt")
	t.Setenv("DEMO_OUTBOX", outbox)
	var out bytes.Buffer
	a := demo.Agent{BaseURL: model.URL + "/v1", Server: []string{os.Args[0]}, Out: &out}
	if err := a.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "agent: called send_mail, which says \"sent to ada@example.org\"\n" +
		"agent: Done. I wrote to Ada: her refund of 12.50 EUR is on its way.\n"
	if out.String() != want {
		t.Errorf("agent said %q, want %q", out.String(), want)
	}
	b, err := os.ReadFile(outbox)
	if err != nil || string(b) != "to ada@example.org: Your refund of 12.50 EUR\n" {
		t.Errorf("outbox = %q, %v; want one mail", b, err)
	}
}
