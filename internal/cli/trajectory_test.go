package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reprise-dev/reprise/internal/cli"
	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/internal/trajectories/trajectoriestest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store"
)

// The tools and the policy of the stories.
const (
	bookTool   = `{"name":"book","version":"1","effect":"external","args":{"type":"object"},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":5,"usd_millicents":3},"transport":{"kind":"test"},"changes":[{"op":"put","kind":"booking","id":"{args.id}","value":"{args}"}]}`
	refundTool = `{"name":"refund","version":"1","effect":"irreversible","args":{"type":"object"},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":5,"usd_millicents":3},"transport":{"kind":"test"}}`
	deskPolicy = `{"name":"desk","version":"2","rules":[
		{"name":"no refunds","when":{"field":"intent.target","op":"eq","value":"refund"},"decision":{"kind":"deny","reason":"refunds are not made here"}},
		{"name":"ask first","when":{"field":"intent.target","op":"eq","value":"book"},"decision":{"kind":"require_approval","channel":"desk","reason":"a booking costs money"}}]}`
)

// makeTrajectory makes one of these in the store of the script:
//
//	desk       two commits, one of them approved by ann; a refusal by policy, and one by bob
//	waiting    a proposal that waits for an approval
//	delegating a delegate that commits
//	branch     desk, and a branch behind its first commit; $RUN is the branch
func makeTrajectory(t *testing.T, ts *testscript.TestScript, story string) {
	r, run := told(t, ts.MkAbs(".reprise"), story)
	id, err := r.Charter.Trajectory()
	ts.Check(err)
	ts.Setenv("RUN", string(run))
	ts.Setenv("SIGNER", hex.EncodeToString(r.Charter.Signer.Raw()))
	ts.Setenv("POLICIES", r.Charter.Policies.Hash().String())
	ts.Setenv("TRAJECTORY", id.String())
}

// told makes the run of a story in the store of a folder.
func told(t *testing.T, dir, story string) (*trajectoriestest.Rig, ledger.RunID) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(context.Background(), "sqlite:"+filepath.Join(dir, "reprise.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := trajectoriestest.New(t, trajectoriestest.Tool{Declaration: bookTool}, trajectoriestest.Tool{Declaration: refundTool})
	r.Store = s
	r.Policy(deskPolicy)
	var run ledger.RunID
	switch story {
	case "waiting":
		r.Propose("worker", "book", `{"id":"B1"}`)
		run, _ = r.Run()
	case "delegating":
		r.Propose("worker", "delegate", `{"task":"look it up","tools":["kv_set"]}`)
		r.Propose("worker/1", "kv_set", `{"key":"found","value":true}`)
		run, _ = r.Run()
	case "desk", "branch":
		r.Propose("worker", "kv_set", `{"key":"customer","value":{"name":"Ola","points":12.5}}`)
		r.Propose("worker", "refund", `{"id":"R1"}`)
		r.Propose("worker", "book", `{"id":"B1"}`)
		r.Propose("worker", "book", `{"id":"B2"}`)
		run, _ = r.Run()
		r.Answer(run, "ann", govern.Approve, "it is within the limit")
		r.Answer(run, "bob", govern.Deny, "one is enough")
		if story == "branch" {
			r.Script["worker"] = nil
			run, _ = r.Branch(run, r.Entry(run, trajectoriestest.Kind(ledger.KindCommit, "")), "what if it stopped here")
		}
	default:
		t.Fatalf("there is no story %q", story)
	}
	return r, run
}

// run runs the program on the store of a folder.
func run(t *testing.T, dir string, args ...string) (status int, stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"reprise", "--store", dir}, args...)
	status = cli.Run(context.Background(), args, strings.NewReader(""), &out, &errs, "REPRISE_CONFIG="+filepath.Join(dir, "config"))
	if errs.Len() > 0 {
		t.Logf("%s", errs.String())
	}
	return status, out.String()
}

// spec: T-44, T-45, T-46
func TestAuditIsForPeopleAndReplayForPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, id := told(t, dir, "desk")
	status, trail := run(t, dir, "audit", string(id))
	if lines := strings.Split(trail, "\n"); status != 0 || !strings.HasPrefix(lines[0], "audit "+string(id)+": verified") || !strings.Contains(trail, "approved by ann (approver)") {
		t.Errorf("audit = %d\n%s\nwant the trail of what was done and who approved it", status, trail)
	}
	status, doc := run(t, dir, "replay", string(id), "--verify", "--fold-world", "--policy-trace", "--json")
	v, err := canon.Parse([]byte(doc))
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	d := v.Get("detail")
	if status != 0 || v.Get("verdict").Str() != "verified" || d.Get("world").Len() != 2 || d.Get("commits").At(1).Get("policy_trace").Get("rules_evaluated").Len() != 3 {
		t.Errorf("replay = %d\n%s\nwant the verdict, the world and the rules", status, doc)
	}
}

// TestEveryEntryIsALine holds the trail to what it promises, over runs with
// all kinds of entries: a line for each, and no kind by its raw name.
func TestEveryEntryIsALine(t *testing.T) {
	t.Parallel()
	for story, want := range map[string]int{"desk": 45, "waiting": 7, "delegating": -1, "branch": -1} {
		dir := t.TempDir()
		_, id := told(t, dir, story)
		status, trail := run(t, dir, "audit", string(id), "--all")
		n := 0
		for line := range strings.SplitSeq(trail, "\n") {
			if strings.HasPrefix(line, " ") && strings.Contains(line, "#") {
				n++
			}
		}
		if status != 0 || want > 0 && n != want || n == 0 {
			t.Errorf("%s: status %d, %d lines, want %d\n%s", story, status, n, want, trail)
		}
		for _, raw := range []string{"pending_approval", "skill_bound", "UNKNOWN", "DECISION", "VOTE"} {
			if strings.Contains(trail, raw) {
				t.Errorf("%s: the trail says %s\n%s", story, raw, trail)
			}
		}
	}
}

// edit changes bytes of a file behind everybody's back.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if len(args[1]) != len(args[2]) || !bytes.Contains(b, []byte(args[1])) {
		ts.Fatalf("%q is not in %s, or not as long as %q", args[1], args[0], args[2])
	}
	ts.Check(os.WriteFile(path, bytes.ReplaceAll(b, []byte(args[1]), []byte(args[2])), 0o600))
}

// tamper changes bytes of the entries in an SQLite store, past everything that
// would notice.
func tamper(ts *testscript.TestScript, _ bool, args []string) {
	if len(args[0]) != len(args[1]) {
		ts.Fatalf("%q is not as long as %q", args[0], args[1])
	}
	pack, err := packed.New()
	ts.Check(err)
	defer pack.Close()
	db, err := sql.Open("sqlite", ts.MkAbs(".reprise/reprise.db"))
	ts.Check(err)
	defer db.Close()
	ctx := context.Background()
	rows, err := db.QueryContext(ctx, "SELECT place, data FROM segments")
	ts.Check(err)
	defer rows.Close()
	changed := map[int64][]byte{}
	for rows.Next() {
		var place int64
		var data []byte
		ts.Check(rows.Scan(&place, &data))
		plain, err := pack.Unpack(data, packed.MaxUnpacked)
		ts.Check(err)
		if bytes.Contains(plain, []byte(args[0])) {
			changed[place] = pack.Pack(bytes.Replace(plain, []byte(args[0]), []byte(args[1]), 1))
		}
	}
	ts.Check(rows.Err())
	if len(changed) == 0 {
		ts.Fatalf("no entry holds %q", args[0])
	}
	for place, data := range changed {
		_, err := db.ExecContext(ctx, "UPDATE segments SET data = ? WHERE place = ?", data, place)
		ts.Check(err)
	}
}
