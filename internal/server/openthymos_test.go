package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/api"
)

// foreign is a ledger that the upstream system made, as its audit exports it,
// with the key that signed its commits.
type foreign struct {
	Entries []json.RawMessage `json:"entries"`
}

const foreignVectors = "../../engine/trajectory/openthymos/testdata/"

func (r *rig) verifyForeign(body []byte, query url.Values) api.ForeignReport {
	r.t.Helper()
	return read[api.ForeignReport](r, http.MethodPost, "/v1/openthymos/verify?"+query.Encode(), string(body))
}

func upstream(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(foreignVectors + name)
	if err != nil {
		t.Fatal(err)
	}
	var f foreign
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	b, err = json.Marshal(f.Entries)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestALedgerOfOpenThymosGetsTwoVerdicts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	valid := upstream(t, "ledger_valid.json")
	got := r.verifyForeign(valid, nil)
	if !got.Strict.Accepted || len(got.Strict.Findings) != 0 || got.Strict.Uncovered == nil || len(got.Strict.Report) == 0 {
		t.Fatalf("a sound ledger: %+v", got.Strict)
	}
	var sum struct {
		Head    string `json:"head_commit"`
		Entries int64  `json:"entries_seen"`
	}
	if err := json.Unmarshal(got.Strict.Report, &sum); err != nil || sum.Entries == 0 || sum.Head == "" {
		t.Errorf("its report is %s", got.Strict.Report)
	}
	if got := r.verifyForeign(valid, url.Values{"compiler": {"another"}}); got.Strict.Accepted || got.Compat.Accepted || got.Strict.Findings[0].Code != "openthymos.compiler_drift" {
		t.Errorf("under another compiler: %+v", got.Strict.Findings)
	}
	if got := r.verifyForeign(valid, url.Values{"policy_set": {strings.Repeat("0", 64)}}); got.Strict.Accepted || got.Strict.Findings[0].Code != "openthymos.policy_drift" {
		t.Errorf("under another policy set: %+v", got.Strict.Findings)
	}
	if got := r.verifyForeign(valid, url.Values{"expect_head": {strings.Repeat("0", 64)}}); got.Strict.Accepted || got.Strict.Findings[0].Code != "openthymos.expected_head" {
		t.Errorf("with another head: %+v", got.Strict.Findings)
	}
	broken := bytes.Replace(valid, []byte(`"seq":1,`), []byte(`"seq":9,`), 1)
	if bytes.Equal(broken, valid) {
		t.Fatal("nothing was changed")
	}
	if got := r.verifyForeign(broken, nil); got.Strict.Accepted || got.Strict.FindingsTotal == 0 {
		t.Errorf("a changed ledger: %+v", got.Strict)
	}
}

func TestWhatIsNoLedgerOfOpenThymosIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	const path = "/v1/openthymos/verify"
	for name, x := range map[string]struct{ query, body, code string }{
		"text":           {"", "hello", "openthymos.not_a_ledger"},
		"nothing":        {"", "", "openthymos.not_a_ledger"},
		"a bad key":      {"?signer=00zz", "[]", "server.bad_request"},
		"a weak key":     {"?signer=" + strings.Repeat("0", 64), "[]", "sign.bad_key"},
		"a bad head":     {"?expect_head=0:" + strings.Repeat("0", 64), "[]", "server.bad_request"},
		"a bad world":    {"?world=xy", "[]", "server.bad_request"},
		"a bad anchor":   {"?anchor=%7B", "[]", "server.bad_request"},
		"half an anchor": {"?anchor=%7B%7D", "[]", "openthymos.bad_anchor"},
	} {
		resp, b := r.ask(http.MethodPost, path+x.query, strings.NewReader(x.body), nil)
		var p api.Problem
		if err := json.Unmarshal(b, &p); err != nil || p.Code != x.code {
			t.Errorf("%s = %s %s, want %s", name, resp.Status, b, x.code)
		}
	}
	resp, b := r.ask(http.MethodPost, path, bytes.NewReader(make([]byte, 64<<20+1)), nil)
	r.wantProblem(resp, b, http.StatusBadRequest, "server.too_large")
}
