package openthymos_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
	"github.com/reprise-dev/reprise/kernel/fault"
)

type negative struct {
	Name   string
	Config struct {
		Compiler  string  `json:"require_compiler_version"`
		PolicySet *string `json:"require_policy_set_hash"`
		Signer    string  `json:"require_commit_signatures"`
	}
	Upstream string `json:"upstream_result"`
	Strict   string `json:"strict_should"`
	Entries  []json.RawMessage
}

// spec: T-13, T-14, T-15, T-17, T-20, T-21, T-22, T-23, T-24, T-25
// A.5 ledger/replay: replay_rejects_compiler_version_drift, replay_requires_commit_signatures,
// replay_detects_policy_set_drift, replay_rejects_unsigned_when_signatures_required
// A.5 ledger/lib: rejects_mixed_trajectory_ids, rejects_root_relabeled_under_wrong_trajectory,
// rejects_non_root_first_entry, rejects_root_with_nonzero_seq, rejects_root_with_parent_some
// A.5 runtime: replay_rejects_commit_with_empty_compiler_version
// A.5 core/commit: wrong key fails, unsigned errors
func TestEveryNegativeCaseHasBothVerdicts(t *testing.T) {
	t.Parallel()
	const (
		bad    = "invariant violated: "
		commit = "commit commit:"
	)
	anchor := &openthymos.Anchor{Trajectory: id(t, traj), Count: 8, HeadSeq: 7, Root: id(t, rootHash)}
	type verdicts struct {
		compat string     // how OpenThymos words it; empty: it accepts
		code   fault.Code // the first finding of strict; nil: it accepts
		n      int64
		anchor bool // strict finds it if it knows an anchor, and only then
	}
	want := map[string]verdicts{
		"payload_tampered": {
			compat: bad + "hash mismatch at seq 3: claimed dbee34ebbcf471e6ef264bc9e665b0cda20ae19edd9bff1fa66fb6ffd04e8822 vs recomputed ",
			code:   openthymos.ErrHashMismatch, n: 3,
		},
		"parent_mismatch":                    {compat: bad + "parent mismatch", code: openthymos.ErrParentMismatch, n: 4},
		"entry_removed_without_relink":       {compat: bad + "non-contiguous seq: 4 after 2", code: openthymos.ErrParentMismatch, n: 3},
		"missing_root":                       {compat: bad + "first entry must be Root or Branch, found SkillBound", code: openthymos.ErrStart, n: 0},
		"root_with_parent":                   {compat: bad + "first entry must have parent=None", code: openthymos.ErrStart, n: 0},
		"root_nonzero_seq":                   {compat: bad + "first entry must have seq 0, found 7", code: openthymos.ErrStart, n: 0},
		"root_relabelled":                    {compat: bad + "root payload trajectory traj:", code: openthymos.ErrTrajectory, n: 0},
		"mixed_trajectory":                   {compat: bad + "entry at seq ", code: openthymos.ErrTrajectory, n: -2},
		"skill_definition_tampered_resealed": {compat: bad + "skill_bound at seq 1 claims skill:", code: openthymos.ErrSkillID, n: 1},
		"compiler_drift": {
			compat: bad + "compiler version drift at commit commit:1aa1df154c179d188dea2972b8f0f7bf672f79926c0604ee9bc794d3741fc0f6: pinned thymos-compiler/9.9.9 got thymos-compiler/0.0.1",
			code:   openthymos.ErrCompiler, n: 2,
		},
		"policy_drift": {
			compat: bad + "policy-set drift at commit commit:1aa1df154c179d188dea2972b8f0f7bf672f79926c0604ee9bc794d3741fc0f6: pinned deadbeef got 4ab6efcf6c86f83488e18570bc16bb050ac37de307a5b27deb45655b42c84d50",
			code:   openthymos.ErrPolicySet, n: 2,
		},
		"wrong_signer": {
			compat: bad + "commit commit:1aa1df154c179d188dea2972b8f0f7bf672f79926c0604ee9bc794d3741fc0f6 failed signature verification: authority void: bad signature: ",
			code:   openthymos.ErrSignature, n: 2,
		},
		"right_signer":           {},
		"policy_pin_ok":          {},
		"unsigned_when_required": {compat: bad + commit, code: openthymos.ErrUnsigned, n: 1},
		"empty_compiler_version": {compat: bad + commit, code: openthymos.ErrNoCompiler, n: 1},
		"create_collision":       {compat: bad + "create collided on existing resource kv:x", code: openthymos.ErrDelta, n: 1},
		"replace_missing":        {compat: bad + "replace on missing kv:x", code: openthymos.ErrDelta, n: 1},
		"retract_missing":        {compat: bad + "retract on missing kv:x", code: openthymos.ErrDelta, n: 1},
		"cas_conflict":           {compat: "cas conflict on kv:x (expected v2, found v1)", code: openthymos.ErrDelta, n: 1},
		"create_after_retract":   {compat: bad + "create collided on existing resource kv:x", code: openthymos.ErrDelta, n: 1},
		"empty_ledger":           {code: openthymos.ErrEmpty, n: -1},

		"hole_stale_commit_id":                {code: openthymos.ErrCommitID, n: -2},
		"hole_rejection_deleted_and_relinked": {code: openthymos.ErrMisplaced, n: -2},
		"hole_noncommit_entries_swapped":      {code: openthymos.ErrMisplaced, n: -2},
		"hole_tail_truncated":                 {code: openthymos.ErrAnchorMismatch, n: -1, anchor: true},
		"hole_kind_column_disagrees":          {code: openthymos.ErrKind, n: -2},
		"hole_forged_rejection_appended":      {code: openthymos.ErrExpectedHead, n: -1, anchor: true},
	}
	var vectors struct{ Cases []negative }
	readVectors(t, "ledger_negative.json", &vectors)
	if len(vectors.Cases) != 28 || len(want) != 28 {
		t.Fatalf("%d cases and %d verdicts, want 28", len(vectors.Cases), len(want))
	}
	for _, c := range vectors.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w, ok := want[c.Name]
			if !ok {
				t.Fatal("no verdicts for it")
			}
			file := &openthymos.File{}
			for _, e := range c.Entries {
				file.Entries = append(file.Entries, openthymos.Entry{JSON: e})
			}
			opts := &openthymos.Options{Compiler: c.Config.Compiler, PolicySet: c.Config.PolicySet}
			if c.Config.Signer != "" {
				opts.Signer = key(t, c.Config.Signer)
			}
			r := verify(t, file.All(), opts)

			// The vectors say what OpenThymos answers, in part; the table says it whole.
			part, refused := strings.CutPrefix(c.Upstream, "error contains: ")
			if refused != (w.compat != "") || !strings.Contains(r.Compat.Text, part) && refused {
				t.Errorf("the vectors want %q of upstream, compat says %q", c.Upstream, r.Compat.Text)
			}
			if r.Compat.Accepted != (w.compat == "") || !strings.HasPrefix(r.Compat.Text, w.compat) {
				t.Errorf("compat: accepted %v, %q, want %q", r.Compat.Accepted, r.Compat.Text, w.compat)
			}
			if w.anchor {
				if !r.Strict.Accepted {
					t.Errorf("strict refuses without an anchor: %+v", r.Strict.Findings)
				}
				if wantTail := int64(len(c.Entries)) - 6; c.Name == "hole_tail_truncated" && r.Strict.UnsignedTail != wantTail {
					t.Errorf("unsigned tail %d, want %d", r.Strict.UnsignedTail, wantTail)
				}
				if c.Name == "hole_forged_rejection_appended" && r.Strict.UnsignedTail != 1 {
					t.Errorf("unsigned tail %d, want 1", r.Strict.UnsignedTail)
				}
				// An anchor of eight entries stands in both; what was appended needs the head.
				opts.Anchor, opts.Head = anchor, &openthymos.Head{ID: id(t, lastID)}
				strict := verify(t, file.All(), opts).Strict
				if !has(strict.Findings, w.code, w.n) {
					t.Errorf("strict with an anchor and a head: %+v, want %v", strict.Findings, w.code)
				}
				return
			}
			if strict := strings.HasPrefix(c.Strict, "reject"); strict == r.Strict.Accepted {
				t.Errorf("the vectors want %q, strict accepts: %v", c.Strict, r.Strict.Accepted)
			}
			if w.code == nil {
				return
			}
			first := first(r.Strict.Phases)
			if first == nil || first.Code != w.code || w.n != -2 && first.N != w.n {
				t.Errorf("strict finds %+v first, want %v at %d", first, w.code, w.n)
			}
		})
	}
}
