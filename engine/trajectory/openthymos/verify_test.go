package openthymos_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	keyA     = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
	keyB     = "2543b92ff1095511476adc8369db6ddc933665a11978dda1404ee1066ca9559d"
	compiler = "thymos-compiler/0.0.1"
	lastID   = "377673d06e562af388fa4f1ab1c689265bf3b00d5065cac8a5632215f0bff622"
	rootHash = "d3599337f0ccd073e2de34857b6d6e547a33907b08245e87d1b024df915fb116"
	traj     = "07dd9e14c279439a7b17476e02202aaec24af634367a4c039a62f79c3ce10003"
)

// readVectors reads a file of testdata into out.
func readVectors(t testing.TB, name string, out any) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, name), out); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func key(t testing.TB, text string) sign.PublicKey {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	k, err := sign.ParseKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func id(t testing.TB, text string) canon.Digest {
	t.Helper()
	d, err := canon.ParseDigest(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ledgerOf reads the entries of an export.
func ledgerOf(t testing.TB, b []byte) *openthymos.File {
	t.Helper()
	f, err := openthymos.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func verify(t testing.TB, entries iter.Seq2[openthymos.Entry, error], opts *openthymos.Options) *openthymos.Report {
	t.Helper()
	r, err := openthymos.Verify(entries, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// valid is the whole ledger of the vectors.
func valid(t testing.TB) *openthymos.File { return ledgerOf(t, readFile(t, "ledger_valid.json")) }

type report struct {
	TrajectoryID     string   `json:"trajectory_id"`
	EntriesSeen      int64    `json:"entries_seen"`
	CommitsReplayed  int64    `json:"commits_replayed"`
	HeadCommit       string   `json:"head_commit"`
	HeadSeq          uint64   `json:"head_seq"`
	CompilerVersions []string `json:"compiler_versions_seen"`
}

func reportOf(s *openthymos.Summary) report {
	return report{s.TrajectoryID, s.EntriesSeen, s.CommitsReplayed, s.HeadCommit, s.HeadSeq, s.CompilerVersionsSeen}
}

type resource struct {
	Kind       string          `json:"kind"`
	ID         string          `json:"id"`
	Version    uint64          `json:"version"`
	Value      json.RawMessage `json:"value"`
	Retracted  bool            `json:"retracted"`
	LastCommit string          `json:"last_commit"`
}

func compareWorld(t *testing.T, name string, got []openthymos.Resource, want []resource) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d resources, want %d", name, len(got), len(want))
	}
	for i, w := range want {
		value, err := canon.Parse(w.Value)
		if err != nil {
			t.Fatal(err)
		}
		g := got[i]
		if g.Kind != w.Kind || g.ID != w.ID || g.Version != w.Version || g.Retracted != w.Retracted || g.LastCommit.String() != w.LastCommit || !g.Value.Equal(value) {
			t.Errorf("%s: resource %d = %+v, want %+v", name, i, g, w)
		}
	}
}

// spec: T-04, T-05, T-06, T-07, T-08, T-09, T-10, T-11, T-12, T-13, T-14, T-15, T-18, T-19
// A.5 ledger/replay: replay_rebuilds_world, replay_pinned_to_current_passes, replay_requires_commit_signatures
// A.5 ledger/lib: root_and_commit_append, skill_bound_appends_and_self_verifies_on_replay, post_rfc_…deserializes_cleanly
// A.5 core/commit: signed verifies, signed id self-consistent
func TestWholeLedgerVerifies(t *testing.T) {
	t.Parallel()
	var want struct {
		Expected struct {
			Report    report
			HTTPExtra struct {
				Branches         int `json:"branches"`
				Delegations      int `json:"delegations"`
				PendingApprovals int `json:"pending_approvals"`
				Rejected         int `json:"rejected_proposals"`
				Resources        int `json:"resources"`
			} `json:"http_extra"`
			World     []resource `json:"world_resources"`
			PolicySet string     `json:"policy_set_hash"`
		}
		Signer string `json:"signer_pubkey"`
	}
	readVectors(t, "ledger_valid.json", &want)
	r := verify(t, valid(t).All(), &openthymos.Options{
		Compiler: compiler, Signer: key(t, want.Signer), PolicySet: &want.Expected.PolicySet,
		Head: &openthymos.Head{ID: id(t, lastID)}, Anchor: &openthymos.Anchor{Trajectory: id(t, traj), Count: 8, HeadSeq: 7, Root: id(t, rootHash)},
	})
	for _, v := range []struct {
		name string
		*openthymos.Verdict
	}{{"compat", &r.Compat}, {"strict", &r.Strict}} {
		if !v.Accepted || v.Text != "" || v.Total != 0 {
			t.Fatalf("%s: accepted %v, %q, %+v", v.name, v.Accepted, v.Text, v.Findings)
		}
		if diff := cmp.Diff(want.Expected.Report, reportOf(&v.Summary)); diff != "" {
			t.Errorf("%s: report (-want +got):\n%s", v.name, diff)
		}
		s, extra := v.Summary, want.Expected.HTTPExtra
		if s.Branches != extra.Branches || s.Delegations != extra.Delegations || s.PendingApprovals != extra.PendingApprovals || s.RejectedProposals != extra.Rejected || s.Resources != extra.Resources {
			t.Errorf("%s: summary %+v, want %+v", v.name, s, extra)
		}
		calls := []openthymos.ToolCall{
			{Seq: 2, CommitID: "commit:1aa1df154c179d188dea2972b8f0f7bf672f79926c0604ee9bc794d3741fc0f6", Tool: "kv_set", LatencyMS: 3},
			{Seq: 5, CommitID: "commit:481b212e996485204a9bfa2718362725f996d9ebd73ece664a0b1d493a37938d", Tool: "kv_set", LatencyMS: 3},
			{Seq: 7, CommitID: "commit:2ea98767cabadee15f70aa8a9ba19d3ab8eca1744eaf3a96e1c663a91a8eba38", Tool: "kv_set", LatencyMS: 3},
		}
		if diff := cmp.Diff(calls, s.ToolCalls); diff != "" {
			t.Errorf("%s: tool calls (-want +got):\n%s", v.name, diff)
		}
		compareWorld(t, v.name, v.World, want.Expected.World)
	}
	if r.Strict.Uncovered != 0 || r.Strict.UnsignedTail != 0 {
		t.Errorf("uncovered %d, unsigned tail %d, want none: there is an anchor", r.Strict.Uncovered, r.Strict.UnsignedTail)
	}
	names := make([]string, len(r.Strict.Phases))
	for i, p := range r.Strict.Phases {
		if names[i] = p.Name; p.Checked == 0 && p.Name != ledger.PhaseLog && p.Name != ledger.PhaseWorld {
			t.Errorf("phase %q checked nothing", p.Name)
		}
	}
	if !slices.Equal(names, ledger.Phases()) {
		t.Errorf("phases = %q, want %q", names, ledger.Phases())
	}
}

// A ledger without an anchor is not covered as a whole, and strict says so.
func TestStrictCountsWhatNothingCovers(t *testing.T) {
	t.Parallel()
	r := verify(t, valid(t).All(), &openthymos.Options{Signer: key(t, keyA)})
	// Commits 2, 5 and 7 are signed and name 1, 4 and 6: root and rejection remain.
	if !r.Strict.Accepted || r.Strict.Uncovered != 2 || r.Strict.UnsignedTail != 0 {
		t.Errorf("accepted %v, uncovered %d, tail %d, want true, 2, 0", r.Strict.Accepted, r.Strict.Uncovered, r.Strict.UnsignedTail)
	}
	r = verify(t, valid(t).All(), nil)
	if !r.Strict.Accepted || r.Strict.Uncovered != 8 || r.Strict.UnsignedTail != 8 {
		t.Errorf("without a key: accepted %v, uncovered %d, tail %d, want true, 8, 8", r.Strict.Accepted, r.Strict.Uncovered, r.Strict.UnsignedTail)
	}
	if !strings.Contains(strings.Join(r.Strict.Remarks, "\n"), "3 commits carry a signature, and no key was given") {
		t.Errorf("remarks = %q", r.Strict.Remarks)
	}
}

func TestReportListsWhatTheCountsStandFor(t *testing.T) {
	t.Parallel()
	s := verify(t, valid(t).All(), nil).Strict.Summary
	if len(s.Rejections) != 1 || s.Rejections[0].Kind != "authority_void" || s.Rejections[0].Detail.Str() != "writ does not authorize tool 'shell'" {
		t.Errorf("rejections = %+v", s.Rejections)
	}
	const proposal = "proposal:41020e45bc72e668334de9690cf35ab600cbbd173c13bc1bf9d9877a5aea472e"
	if len(s.Approvals) != 1 || s.Approvals[0].ProposalID != proposal || s.Approvals[0].Plan.Get("tool").Str() != "kv_set" || s.Approvals[0].Trace.Get("decision").Get("kind").Str() != "require_approval" {
		t.Errorf("approvals = %+v", s.Approvals)
	}
	if len(s.Commits) != 3 || s.Commits[1].ProposalID != proposal || s.Commits[2].Compensates != s.Commits[1].ID {
		t.Errorf("commits = %+v", s.Commits)
	}
	if len(s.Children) != 1 || s.Children[0].TrajectoryID != "traj:9d35965bab662f58a5a14ab5b093772ab9befe813db142a69c1d7d4ad7608f9c" {
		t.Errorf("children = %+v", s.Children)
	}
}

// A.5 ledger/lib: accepts_branch_as_first_entry
func TestBranchBeginsWithTheWorldOfItsSource(t *testing.T) {
	t.Parallel()
	var want struct {
		Error string     `json:"expected_upstream_replay_error"`
		World []resource `json:"expected_world_with_source_fold"`
	}
	readVectors(t, "ledger_branch.json", &want)
	branch := ledgerOf(t, readFile(t, "ledger_branch.json"))

	r := verify(t, branch.All(), &openthymos.Options{Signer: key(t, keyA), Source: valid(t).All()})
	if r.Compat.Accepted || r.Compat.Text != want.Error {
		t.Errorf("compat: %v, %q, want %q", r.Compat.Accepted, r.Compat.Text, want.Error)
	}
	if !r.Strict.Accepted {
		t.Fatalf("strict refuses: %+v", r.Strict.Findings)
	}
	compareWorld(t, "strict", r.Strict.World, want.World)

	for _, test := range []struct {
		name   string
		source iter.Seq2[openthymos.Entry, error]
		code   fault.Code
		text   string
	}{
		{"no source", nil, openthymos.ErrSourceMissing, "give the source too"},
		{"another trajectory", branch.All(), openthymos.ErrSource, "openthymos.source_missing"},
		{"the commit is not there", slice(valid(t).Entries[:2]), openthymos.ErrSource, "no such commit"},
		{"a broken source", slice(slices.Delete(slices.Clone(valid(t).Entries), 1, 2)), openthymos.ErrSource, "openthymos.parent_mismatch"},
	} {
		r := verify(t, branch.All(), &openthymos.Options{Source: test.source})
		f := r.Strict.Findings
		if len(f) != 1 || f[0].Code != test.code || !strings.Contains(f[0].Msg, test.text) || f[0].N != 0 {
			t.Errorf("%s: findings %+v, want %v with %q", test.name, f, test.code, test.text)
		}
	}
}

func slice(entries []openthymos.Entry) iter.Seq2[openthymos.Entry, error] {
	return (&openthymos.File{Entries: entries}).All()
}

// spec: T-16
func TestObservedWorldIsCompared(t *testing.T) {
	t.Parallel()
	const (
		good = `{"resources":[{"kind":"kv","id":"greeting","version":2,"value":{"n":2,"text":"hallo"}}]}`
		// GET /world of OpenThymos shows what was retracted as if it were alive.
		upstream = `{"resources":[{"kind":"kv","id":"greeting","version":2,"value":{"n":2,"text":"hallo"}},{"kind":"kv","id":"k","version":2,"value":"v"}]}`
	)
	whole := valid(t)
	rebuilt := verify(t, whole.All(), nil).Strict
	for _, test := range []struct {
		name, world, where string
	}{
		{"what is alive", good, ""},
		{"with what was retracted, marked", strings.Replace(upstream, `"value":"v"`, `"value":"v","retracted":true`, 1), ""},
		{"as OpenThymos shows it", upstream, "kv:k"},
		{"another value", strings.Replace(good, "hallo", "hello", 1), "kv:greeting"},
		{"another version", strings.Replace(good, `"version":2`, `"version":3`, 1), "kv:greeting"},
		{"one more", strings.Replace(upstream, `"id":"k"`, `"id":"z"`, 1), "kv:z"},
		{"nothing", `[]`, "kv:greeting"},
		{"its hash", `"` + rebuilt.Summary.FinalWorldHash + `"`, ""},
		{"the hash of the empty world", `"f4cfe8821990755fea8de29b9ce6d107875717dea5f2886aa59f779d651544a8"`, "world"},
	} {
		v, err := canon.Parse([]byte(test.world))
		if err != nil {
			t.Fatal(err)
		}
		world, err := openthymos.ParseObservation(v)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		r := verify(t, whole.All(), &openthymos.Options{World: world})
		if r.Compat.Text != "serialization failure: key must be a string" {
			t.Errorf("%s: compat says %q", test.name, r.Compat.Text)
		}
		switch f := r.Strict.Findings; {
		case test.where == "" && len(f) > 0:
			t.Errorf("%s: refused: %+v", test.name, f)
		case test.where != "" && (len(f) != 1 || f[0].Code != openthymos.ErrWorldMismatch || f[0].Where != test.where):
			t.Errorf("%s: findings %+v, want one at %s", test.name, f, test.where)
		}
	}

	// The empty world is the only one of which OpenThymos has a hash.
	root := slice(whole.Entries[:1])
	empty := id(t, "f4cfe8821990755fea8de29b9ce6d107875717dea5f2886aa59f779d651544a8")
	r := verify(t, root, &openthymos.Options{World: &openthymos.Observation{Hash: empty}})
	if !r.Compat.Accepted || !r.Strict.Accepted || r.Compat.Summary.FinalWorldHash != empty.String() || r.Strict.Summary.FinalWorldHash != empty.String() {
		t.Errorf("empty world: %+v, %+v", r.Compat, r.Strict)
	}
	r = verify(t, root, &openthymos.Options{World: &openthymos.Observation{Hash: id(t, lastID)}})
	if !strings.HasPrefix(r.Compat.Text, "invariant violated: world divergence after replay: rebuilt 0 resources ("+empty.String()) || r.Strict.Accepted {
		t.Errorf("another world than the empty one: compat %q, strict %v", r.Compat.Text, r.Strict.Accepted)
	}
}

// A.5 ledger/anchor: anchor_round_trips_and_detects_divergence, empty_ledger_root_is_zero
func TestAnchorFixesALedger(t *testing.T) {
	t.Parallel()
	var want struct {
		Expected struct {
			Anchors []struct {
				Count int `json:"entry_count"`
				Root  string
			} `json:"merkle_anchors_by_prefix"`
		}
		Entries []struct{ ID string }
	}
	readVectors(t, "ledger_valid.json", &want)
	if len(want.Expected.Anchors) != 9 {
		t.Fatalf("%d anchors, want 9", len(want.Expected.Anchors))
	}
	ids := make([]canon.Digest, len(want.Entries))
	for i, e := range want.Entries {
		ids[i] = id(t, e.ID)
	}
	whole := valid(t)
	for _, a := range want.Expected.Anchors {
		if got := openthymos.MerkleRoot(ids[:a.Count]).String(); got != a.Root {
			t.Errorf("MerkleRoot of %d ids = %s, want %s", a.Count, got, a.Root)
		}
		anchor := openthymos.NewAnchor(id(t, traj), ids[:a.Count])
		again, err := openthymos.ParseAnchor(anchor.Value())
		if err != nil || *again != anchor {
			t.Errorf("ParseAnchor(%v) = %v, %v", &anchor, again, err)
		}
		r := verify(t, whole.All(), &openthymos.Options{Anchor: &anchor})
		// Strict takes an anchor of a beginning: a ledger may grow.
		if !r.Strict.Accepted || r.Strict.Uncovered != int64(8-a.Count) {
			t.Errorf("strict with the anchor of %d: %+v, uncovered %d", a.Count, r.Strict.Findings, r.Strict.Uncovered)
		}
		if text := "invariant violated: anchor mismatch: published root " + a.Root; r.Compat.Accepted != (a.Count == 8) || a.Count < 8 && !strings.HasPrefix(r.Compat.Text, text) {
			t.Errorf("compat with the anchor of %d: %v %q", a.Count, r.Compat.Accepted, r.Compat.Text)
		}
		for n := range a.Count {
			r := verify(t, slice(whole.Entries[:n]), &openthymos.Options{Anchor: &anchor})
			if !slices.ContainsFunc(r.Strict.Findings, func(f openthymos.Finding) bool { return f.Code == openthymos.ErrAnchorMismatch }) {
				t.Errorf("strict takes %d entries under the anchor of %d", n, a.Count)
			}
		}
	}
	other := openthymos.NewAnchor(id(t, lastID), ids)
	if r := verify(t, whole.All(), &openthymos.Options{Anchor: &other}); r.Strict.Accepted || !r.Compat.Accepted {
		t.Errorf("an anchor of another trajectory: strict %v, compat %v, want false, true", r.Strict.Accepted, r.Compat.Accepted)
	}
	// The last id twice gives the root of once; the count tells them apart.
	twice := openthymos.NewAnchor(id(t, traj), append(slices.Clone(ids[:7]), ids[6]))
	if twice.Root != openthymos.MerkleRoot(ids[:7]) {
		t.Fatal("the root no longer has the weakness that this test is about")
	}
	if r := verify(t, slice(whole.Entries[:7]), &openthymos.Options{Anchor: &twice}); r.Strict.Accepted || r.Compat.Accepted {
		t.Errorf("seven entries pass for eight: strict %v, compat %v", r.Strict.Accepted, r.Compat.Accepted)
	}
}

func TestExpectedHead(t *testing.T) {
	t.Parallel()
	whole := valid(t)
	third := id(t, "c75722d4170020b886ad7cd19f63afc8850d975babc4b08b2373eb30c13833fc")
	for _, test := range []struct {
		name    string
		entries int
		head    openthymos.Head
		ok      bool
	}{
		{"the last entry", 8, openthymos.Head{ID: id(t, lastID)}, true},
		{"cut off", 7, openthymos.Head{ID: id(t, lastID)}, false},
		{"it has grown, and no count is given", 8, openthymos.Head{ID: third}, false},
		{"it has grown since", 8, openthymos.Head{Count: 3, ID: third}, true},
		{"another place", 8, openthymos.Head{Count: 4, ID: third}, false},
		{"shorter than the head", 2, openthymos.Head{Count: 3, ID: third}, false},
	} {
		r := verify(t, slice(whole.Entries[:test.entries]), &openthymos.Options{Head: &test.head})
		if r.Strict.Accepted != test.ok || !r.Compat.Accepted {
			t.Errorf("%s: strict %v, want %v; compat %v", test.name, r.Strict.Accepted, test.ok, r.Compat.Accepted)
		}
		if f := r.Strict.Findings; !test.ok && (len(f) != 1 || f[0].Code != openthymos.ErrExpectedHead) {
			t.Errorf("%s: findings %+v", test.name, f)
		}
	}
}

func TestVerifyGivesTheSameBytesTwice(t *testing.T) {
	t.Parallel()
	first := verify(t, valid(t).All(), nil)
	second := verify(t, valid(t).All(), nil)
	if a, b := first.Value().String(), second.Value().String(); a != b {
		t.Errorf("two verifications differ:\n%s\n%s", a, b)
	}
}

func TestVerifyReturnsWhatIsNoDamage(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk does not answer")
	_, err := openthymos.Verify(func(yield func(openthymos.Entry, error) bool) { yield(openthymos.Entry{}, broken) }, nil)
	if !errors.Is(err, broken) {
		t.Errorf("Verify = %v, want %v", err, broken)
	}
}

func has(findings []openthymos.Finding, code fault.Code, n int64) bool {
	return slices.ContainsFunc(findings, func(f openthymos.Finding) bool { return f.Code == code && f.N == n })
}

func first(phases []ledger.Phase) *ledger.Finding { return ledger.First(phases) }
