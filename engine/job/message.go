package job

// What a user is told. The texts are those of the document to the letter, with
// its typographic apostrophe (U+2019), and the same in every language and
// version: they are outputs, and a replay compares them.
const (
	SayMemoryMiss      = "I don\u2019t have that information stored yet. If you want, tell me and I\u2019ll remember it."
	SayMemoryWriteFail = "I tried to save that but my memory failed. I might not remember this next time."
	SayModelDown       = "I can\u2019t reach my language engine right now. Try again later."
	SayPrivacyBlocked  = "I can\u2019t store or repeat that kind of sensitive personal information."
	SayAgentTimeout    = "One of my internal modules timed out while trying to fetch the answer. I\u2019ll try a fallback."
	SaySafetyBlock     = "I can\u2019t help with that."
	SayRedaction       = "Some information was removed for safety."
	SayIntegrity       = "I\u2019m temporarily unable to trust my past data; ops team will check."
)

// Say returns what a user is told about an event or error code of that name, if
// the document has words for it.
func Say(name string) (string, bool) {
	switch name {
	case "SEM_NOT_FOUND":
		return SayMemoryMiss, true
	case "MEMORY_WRITE_FAIL", "SEM_WRITE_FAIL":
		return SayMemoryWriteFail, true
	case "LLM_SERVICE_DOWN":
		return SayModelDown, true
	case "PRIVACY_BLOCKED":
		return SayPrivacyBlocked, true
	case "AGENT_TIMEOUT":
		return SayAgentTimeout, true
	case "SAFETY_BLOCK_EVENT":
		return SaySafetyBlock, true
	case "REDACTION_EVENT":
		return SayRedaction, true
	case "INTEGRITY_FAILURE":
		return SayIntegrity, true
	default:
		return "", false
	}
}
