package openthymos

import "github.com/reprise-dev/reprise/kernel/canon"

// The kinds of entries. An entry's payload names the same word as its type.
const (
	kindRoot       = "root"
	kindCommit     = "commit"
	kindRejection  = "rejection"
	kindPending    = "pending_approval"
	kindDelegation = "delegation"
	kindBranch     = "branch"
	kindSkill      = "skill_bound"
)

// rustName returns how OpenThymos prints a kind in its messages, or "" of an
// unknown one.
func rustName(kind string) string {
	switch kind {
	case kindRoot:
		return "Root"
	case kindCommit:
		return "Commit"
	case kindRejection:
		return "Rejection"
	case kindPending:
		return "PendingApproval"
	case kindDelegation:
		return "Delegation"
	case kindBranch:
		return "Branch"
	case kindSkill:
		return "SkillBound"
	default:
		return ""
	}
}

func record(members ...member) *form { return &form{kind: recordForm, members: members} }
func list(elem *form) *form          { return &form{kind: listForm, elem: elem} }
func option(elem *form) *form        { return &form{kind: optionForm, elem: elem} }

func union(tag string, variants ...variant) *form {
	return &form{kind: unionForm, tag: tag, variants: variants}
}

func has(name string, f *form) member { return member{name: name, form: f} }
func may(name string, f *form) member { return member{name: name, form: option(f), omit: true} }
func defaulted(name string, f *form, v canon.Value) member {
	return member{name: name, form: f, def: v}
}

func of(name string, members ...member) variant { return variant{name: name, members: members} }

// payloadForm returns the form of a payload: the union of the seven kinds.
func payloadForm() *form {
	var (
		free  = &form{kind: anyForm}
		text  = &form{kind: textForm}
		count = &form{kind: countForm}
		yes   = &form{kind: boolForm}
		id    = &form{kind: idForm}
		empty = canon.String("")
		none  = canon.Array()
	)
	budget := record(has("tokens", count), has("tool_calls", count), has("wall_clock_ms", count), has("usd_millicents", count))
	trace := record(
		has("rules_evaluated", list(text)),
		has("decision", union("kind",
			of("permit"),
			of("deny", has("detail", text)),
			of("require_approval", has("detail", record(has("channel", text), has("reason", text)))),
		)),
	)
	routing := record(
		has("decision_hash", text), has("selected", text), has("alternatives", list(text)),
		has("confidence_bps", count), has("reason_codes", list(text)),
		has("latency_estimate_ms", count), has("cost_estimate_millicents", count),
		may("fallback_hint", record(has("provider", text), may("model", text), has("reason", text))),
	)
	delta := list(union("op",
		of("create", has("kind", text), has("id", text), has("value", free)),
		of("replace", has("kind", text), has("id", text), has("expected_version", count), has("value", free)),
		of("retract", has("kind", text), has("id", text), has("expected_version", count), has("reason", text)),
	))
	commit := record(
		has("parent", list(id)),
		has("trajectory_id", id), has("proposal_id", id), has("intent_id", id), has("writ_id", id),
		has("seq", count),
		has("delta", delta),
		has("observations", list(record(has("tool", text), has("output", free), has("latency_ms", count)))),
		has("policy_trace", trace),
		has("compiler_version", text),
		defaulted("policy_set_hash", text, empty),
		has("budget_cost", budget),
		may("compensates", id),
		may("routing_evidence", routing),
		has("signature", option(text)),
	)
	proposal := record(
		has("id", id),
		has("body", record(
			has("intent_id", id), has("writ_id", id),
			has("plan", record(has("tool", text), has("args", free))),
			has("policy_trace", trace),
			has("status", union("kind",
				of("staged"),
				of("suspended", has("channel", text), has("reason", text)),
				of("rejected", has("reason", text)),
			)),
		)),
		may("routing_evidence", routing),
	)
	skill := record(
		has("name", text), has("version", count),
		defaulted("title", text, empty),
		has("instructions", text),
		defaulted("tools", list(record(has("tool", text))), none),
		has("ceiling", record(has("read", yes), has("write", yes), has("external", yes), has("irreversible", yes))),
		has("budget_cap", option(budget)),
		defaulted("params", list(record(
			has("key", text), defaulted("description", text, empty), has("default", text), defaulted("values", list(text), none),
		)), none),
		defaulted("model_hint", record(has("provider", option(text)), has("model", option(text))), canon.Object()),
	)
	refused := func(kind string) variant { return of(kind, has("detail", text)) }
	return union("type",
		of(kindRoot, has("trajectory_id", id), has("note", text)),
		of(kindCommit, has("id", id), has("body", commit)),
		of(kindRejection, has("intent_id", id), has("reason", union("kind",
			refused("authority_void"), refused("policy_denied"), refused("budget_exhausted"),
			refused("precondition_failed"), refused("unknown_tool"),
			of("type_mismatch", has("detail", record(has("tool", text), has("detail", text)))),
		))),
		of(kindPending, has("proposal", proposal), has("channel", text), has("reason", text)),
		of(kindDelegation, has("child_trajectory_id", id), has("task", text), has("final_answer", option(text))),
		of(kindBranch, has("source_trajectory_id", id), has("source_commit_id", id), has("note", text)),
		of(kindSkill, has("skill_id", id), has("skill", skill), has("params", list(&form{kind: pairForm}))),
	)
}

// entryForm returns the form of an entry around its payload.
func entryForm() *form {
	id := &form{kind: idForm}
	return record(
		has("id", id), has("trajectory_id", id), has("parent", option(id)),
		has("seq", &form{kind: countForm}), has("kind", &form{kind: textForm}),
		has("payload", &form{kind: laterForm}),
		may("created_at", &form{kind: countForm}), // of GET /audit/entries; no hash covers it
	)
}
