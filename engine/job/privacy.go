package job

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of privacy. What is blocked is refused with [ErrPrivacy], as the router
// refuses it; the user is told [SayPrivacyBlocked].
const (
	// ErrPrivacyRules means that the content of a privacy snapshot is not of its
	// form: a pattern that is none, a category twice. Mend the snapshot.
	ErrPrivacyRules fault.Invalid = "job.bad_privacy"
	// ErrConsent means that a consent is not of its form, or was given for
	// another job. Ask for it again.
	ErrConsent fault.Invalid = "job.bad_consent"
)

// Types of the events about personal data.
const (
	EventFlagged        = "PII_FLAGGED"
	EventRedacted       = "PII_REDACTED"
	EventConsent        = "PII_CONSENT"
	EventConsentRevoked = "PII_CONSENT_REVOKE"
	EventAccess         = "admin_access_event"
)

// ReasonDetected is the redaction_reason of what the detector found.
const ReasonDetected = "PII_DETECTED"

// Sensitivity says what a category of personal data needs to be kept raw.
type Sensitivity string

// The sensitivities.
const (
	HighSensitivity   Sensitivity = "high"   // consent and the council
	MediumSensitivity Sensitivity = "medium" // consent
	LowSensitivity    Sensitivity = "low"    // is kept as a hash without asking, raw with consent
)

func (s Sensitivity) rank() int {
	return slices.Index([]Sensitivity{LowSensitivity, MediumSensitivity, HighSensitivity}, s)
}

// Limits on a privacy snapshot.
const (
	maxCategories = 256
	maxPattern    = 1 << 10
)

// Category is a kind of personal data, and the pattern by which it is found.
type Category struct {
	Type        string // pii_type
	Sensitivity Sensitivity
	Pattern     string // RE2
	Luhn        bool   // what matches counts only if the check digit of its digits is right
	re          *regexp.Regexp
}

// Privacy is the content of a privacy snapshot. It comes from [NewPrivacy] or
// [ParsePrivacy]; the zero Privacy refuses everything.
type Privacy struct {
	categories      []Category   // by type
	safety          []SafetyRule // by id
	unredacted      []string     // roles that may read what is redacted, sorted
	retentionDays   int64
	persistOutputs  bool
	allowPersistent bool
	set             bool // whether these are rules at all
}

// PrivacyRules are the parts of a privacy snapshot beside its categories.
type PrivacyRules struct {
	UnredactedRoles    []string // who may read what is redacted, and is logged for it
	RetentionDays      int64
	PersistOutputs     bool         // persist_external_outputs
	PersistentConsents bool         // whether a consent may outlive its job
	Safety             []SafetyRule // what is not to be said, in any order
}

// NewPrivacy returns the privacy rules of these categories, in any order. It
// refuses with [ErrPrivacyRules].
func NewPrivacy(rules PrivacyRules, categories ...Category) (Privacy, error) {
	elems := make([]canon.Value, 0, len(categories))
	for _, c := range slices.SortedFunc(slices.Values(categories), func(a, b Category) int { return strings.Compare(a.Type, b.Type) }) {
		elems = append(elems, c.value())
	}
	roles := slices.Sorted(slices.Values(rules.UnredactedRoles))
	v := canon.Object(
		canon.M("categories", canon.Array(elems...)),
		canon.M("persist_external_outputs", canon.Bool(rules.PersistOutputs)),
		canon.M("persistent_consents", canon.Bool(rules.PersistentConsents)),
		canon.M("retention_days", canon.Int(rules.RetentionDays)),
		canon.M("unredacted_roles", canon.Strings(roles)),
	)
	if len(rules.Safety) > 0 {
		safety := slices.SortedFunc(slices.Values(rules.Safety), func(a, b SafetyRule) int { return strings.Compare(a.ID, b.ID) })
		v = v.With("safety_rules", canon.ArrayOf(safety, SafetyRule.value))
	}
	return ParsePrivacy(v)
}

// Value returns the content as the snapshot holds it.
func (p Privacy) Value() canon.Value {
	v := canon.Object(
		canon.M("categories", canon.ArrayOf(p.categories, Category.value)),
		canon.M("persist_external_outputs", canon.Bool(p.persistOutputs)),
		canon.M("persistent_consents", canon.Bool(p.allowPersistent)),
		canon.M("retention_days", canon.Int(p.retentionDays)),
		canon.M("unredacted_roles", canon.Strings(p.unredacted)),
	)
	if len(p.safety) == 0 {
		return v
	}
	return v.With("safety_rules", canon.ArrayOf(p.safety, SafetyRule.value))
}

// PersistOutputs reports whether outputs of external systems are to be kept.
func (p Privacy) PersistOutputs() bool { return p.persistOutputs }

func (c Category) value() canon.Value {
	return canon.Object(
		canon.M("luhn", canon.Bool(c.Luhn)),
		canon.M("pattern", canon.String(c.Pattern)),
		canon.M("pii_type", canon.String(c.Type)),
		canon.M("sensitivity", canon.String(string(c.Sensitivity))),
	)
}

// ParsePrivacy reads what [Privacy.Value] writes and nothing else. It refuses
// with [ErrPrivacyRules].
func ParsePrivacy(v canon.Value) (Privacy, error) {
	const op = "job.ParsePrivacy"
	r := newRecord(v, ErrPrivacyRules, op, "privacy", "categories", "persist_external_outputs", "persistent_consents", "retention_days", "safety_rules?", "unredacted_roles")
	p := Privacy{
		unredacted: r.set("unredacted_roles"), retentionDays: r.Count("retention_days", maxCount),
		persistOutputs: r.Bool("persist_external_outputs"), allowPersistent: r.Bool("persistent_consents"),
	}
	list := r.list("categories")
	if len(list) > maxCategories {
		r.Fail("privacy.categories has more than %d elements", maxCategories)
		list = nil
	}
	for i, e := range list {
		c := newRecord(e, ErrPrivacyRules, op, "category", "luhn", "pattern", "pii_type", "sensitivity")
		category := Category{
			Type: c.Name("pii_type"), Pattern: c.Text("pattern", maxPattern), Luhn: c.Bool("luhn"),
			Sensitivity: Sensitivity(c.Word("sensitivity", "high", "medium", "low")),
		}
		if !isKey(category.Type) {
			c.Fail("the type %q is not made of lower-case letters, digits and underscores", category.Type)
		}
		re, err := regexp.Compile(category.Pattern)
		if err != nil {
			c.Take("pattern", fault.New(ErrPrivacyRules, op, "the pattern of %q is not RE2: %s", category.Type, err))
		} else if re.MatchString("") {
			c.Fail("the pattern of %q matches nothing at all", category.Type)
		}
		category.re = re
		if i > 0 && p.categories[i-1].Type >= category.Type {
			c.Fail("the categories are not sorted by type, or %q is there twice", category.Type)
		}
		p.categories = append(p.categories, category)
		r.Take("categories", c.Err)
	}
	if v.Has("safety_rules") {
		p.safety = parseSafety(r)
	}
	if r.Err != nil {
		return Privacy{}, r.Err
	}
	p.set = true
	return p, nil
}

// Finding is a place in a text that holds personal data.
type Finding struct {
	Start, End  int // in bytes
	Type        string
	Sensitivity Sensitivity
}

// Detect returns what the patterns find in a text, from left to right, without
// overlaps: of those that overlap the first one counts, of those that begin at
// one place the longest, then the most sensitive, then by type.
func (p Privacy) Detect(text string) []Finding {
	var all []Finding
	for _, c := range p.categories {
		for _, at := range c.re.FindAllStringIndex(text, -1) {
			if c.Luhn && !luhn(text[at[0]:at[1]]) {
				continue
			}
			all = append(all, Finding{Start: at[0], End: at[1], Type: c.Type, Sensitivity: c.Sensitivity})
		}
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End),
			cmp.Compare(b.Sensitivity.rank(), a.Sensitivity.rank()), strings.Compare(a.Type, b.Type))
	})
	end := 0
	return slices.DeleteFunc(all, func(f Finding) bool {
		if f.Start < end {
			return true
		}
		end = f.End
		return false
	})
}

// luhn reports whether the digits of s end in their check digit.
func luhn(s string) bool {
	sum, double := 0, false
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, double = sum+d, !double
	}
	return sum%10 == 0
}

// PIIHash returns pii_hash: HMAC-SHA256(server key, value ‖ job_seed). It
// names the value to who holds the key, and tells nobody else what it is.
func PIIHash(key []byte, value string, seed det.Seed) string {
	return canon.MAC(key, []byte(value), []byte(seed)).String()
}

// Redaction is what is kept of a redacted value.
type Redaction struct {
	Pointer     string // JSON pointer of the text that held it; in a name, that of its member after the redaction
	Type        string
	Sensitivity Sensitivity
	Hash        string // pii_hash
}

func (r Redaction) value() canon.Value {
	return canon.Object(
		canon.M("pii_hash", canon.String(r.Hash)),
		canon.M("pii_type", canon.String(r.Type)),
		canon.M("pointer", canon.String(r.Pointer)),
		canon.M("redaction_reason", canon.String(ReasonDetected)),
		canon.M("sensitivity", canon.String(string(r.Sensitivity))),
	)
}

// Handling is what became of a value that was to be kept.
type Handling string

// The results, in the words of the document.
const (
	Allowed         Handling = "allowed"          // as it is
	Redacted        Handling = "redacted"         // with stand-ins
	ConsentRequired Handling = "consent_required" // not at all
)

// Handled is the result of [Privacy.Handle].
type Handled struct {
	Status     Handling
	Value      canon.Value // what may be kept; absent if consent is required
	Redactions []Redaction // what was found and is not kept
}

// Event returns the result as the payload of [EventFlagged] holds it: hashes
// and types, never what was found.
func (h Handled) Event() canon.Value {
	return canon.Object(
		canon.M("redactions", canon.ArrayOf(h.Redactions, Redaction.value)),
		canon.M("status", canon.String(string(h.Status))),
	)
}

// Purpose says what a value is to be kept for.
type Purpose struct {
	Key []byte // the server key
	// Hashes stands in for the key where that must not be at hand: the pii_hash
	// of each value that [Privacy.Sensitive] has found. One that is not there
	// has an empty hash; nil: there is a key.
	Hashes   map[string]string
	Seed     det.Seed
	User     string // whose consent counts
	Consents Consents
	Council  bool // whether the council has approved that it is kept raw
	Raw      bool // whether it is of no use redacted
}

// Handle looks through every text of a value, names of members included, before
// it is kept. What its user and, for high sensitivity, the council allow stays
// as it is. The rest is replaced by "[redacted:TYPE:HASH]", or, if the purpose
// needs it raw, the value is refused: then the status is ConsentRequired and
// the error [ErrPrivacy].
func (p Privacy) Handle(v canon.Value, why Purpose) (Handled, error) {
	var h Handled
	if !p.set || len(why.Key) == 0 && why.Hashes == nil {
		return Handled{Status: ConsentRequired}, fault.New(ErrPrivacy, "job.Privacy.Handle", "there are no privacy rules, or no key to hash with")
	}
	redacted := p.redact(v, "", why, &h.Redactions)
	switch {
	case len(h.Redactions) == 0:
		h.Status, h.Value = Allowed, v
		return h, nil
	case why.Raw:
		h.Status = ConsentRequired
		return h, fault.New(ErrPrivacy, "job.Privacy.Handle", "%d places hold personal data that may not be kept as they are, the first of type %s",
			len(h.Redactions), h.Redactions[0].Type)
	}
	h.Status, h.Value = Redacted, redacted
	return h, nil
}

// redact returns v with stand-ins, and adds what they stand for to out.
func (p Privacy) redact(v canon.Value, pointer string, why Purpose, out *[]Redaction) canon.Value {
	switch v.Kind() {
	case canon.KindString:
		return canon.String(p.redactText(v.Str(), pointer, why, out))
	case canon.KindNumber:
		token, _ := v.Token()
		if text := p.redactText(token, pointer, why, out); text != token {
			return canon.String(text)
		}
		return v
	case canon.KindArray:
		elems := slices.Clone(v.Elems())
		for i, e := range elems {
			elems[i] = p.redact(e, pointer+"/"+canon.Int(int64(i)).String(), why, out)
		}
		return canon.Array(elems...)
	case canon.KindObject:
		members := slices.SortedFunc(slices.Values(v.Members()), func(a, b canon.Member) int { return strings.Compare(a.Name, b.Name) })
		for i, m := range members {
			before := len(*out)
			name := p.redactText(m.Name, "", why, out)
			at := string(canon.AppendPointer([]byte(pointer), name))
			for j := before; j < len(*out); j++ {
				(*out)[j].Pointer = at
			}
			members[i] = canon.M(name, p.redact(m.Value, at, why, out))
		}
		return canon.Object(members...)
	default:
		return v
	}
}

func (p Privacy) redactText(text, pointer string, why Purpose, out *[]Redaction) string {
	var b strings.Builder
	end := 0
	for _, f := range p.Detect(text) {
		if why.allows(f) {
			continue
		}
		r := Redaction{Pointer: pointer, Type: f.Type, Sensitivity: f.Sensitivity, Hash: why.hash(text[f.Start:f.End])}
		*out = append(*out, r)
		b.WriteString(text[end:f.Start])
		b.WriteString("[redacted:" + r.Type + ":" + r.Hash + "]")
		end = f.End
	}
	return b.String() + text[end:]
}

// hash returns the pii_hash of a value.
func (why Purpose) hash(value string) string {
	if why.Hashes != nil {
		return why.Hashes[value]
	}
	return PIIHash(why.Key, value, why.Seed)
}

// Sensitive returns the values that [Privacy.Handle] would replace in v, each
// once, sorted: what the server key is asked for.
func (p Privacy) Sensitive(v canon.Value, why Purpose) []string {
	found := map[string]string{}
	p.sensitive(v, why, found)
	return slices.Sorted(maps.Keys(found))
}

func (p Privacy) sensitive(v canon.Value, why Purpose, found map[string]string) {
	text, ok := v.AsString()
	if token, number := v.Token(); number {
		text, ok = token, true
	}
	if ok {
		p.sensitiveText(text, why, found)
	}
	for _, e := range v.Elems() {
		p.sensitive(e, why, found)
	}
	for _, m := range v.Members() {
		p.sensitiveText(m.Name, why, found)
		p.sensitive(m.Value, why, found)
	}
}

func (p Privacy) sensitiveText(text string, why Purpose, found map[string]string) {
	for _, f := range p.Detect(text) {
		if !why.allows(f) {
			found[text[f.Start:f.End]] = ""
		}
	}
}

// allows reports whether a finding may be kept raw.
func (why Purpose) allows(f Finding) bool {
	return why.Consents.Covers(why.User, why.Seed, f.Type) && (f.Sensitivity != HighSensitivity || why.Council)
}
