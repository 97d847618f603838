package match

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Rules is the normalisers made ready for one run. They are not changed, and are
// safe for concurrent use.
type Rules struct {
	setting *redact.Finder // nil if there is nothing to look for
	named   bool           // the date and the working folder are looked for
	own     bool           // and the run
	forms   bool           // the boundaries of forms are left out
	texts   []numbered
	inner   bool // JSON inside strings is made canonical
	byKind  map[string][]rule
	hints   hintSet
}

// rule is one normaliser made ready.
type rule struct {
	id    string
	drops [][]string
	words []wording
	order func(canon.Value) (canon.Value, bool) // puts something in order; may be nil
	hints []uint64                              // for each drop and each wording, and for what is put in order, those that stand in every body that it changes
}

// NewRules makes normalisers ready for a run in a setting.
func NewRules(list []Normaliser, s Setting) (*Rules, error) {
	r := &Rules{byKind: map[string][]rule{}}
	for i := range list {
		n := &list[i]
		if n.ID() == DateCwd {
			r.named = true
			continue
		}
		if n.ID() == OwnRun {
			r.own = true
			continue
		}
		switch n.ID() {
		case MultipartBoundary:
			r.forms = true
			continue
		case UUIDs:
			r.texts = append(r.texts, uuidsRule)
			continue
		case Times:
			r.texts = append(r.texts, timesRule)
			continue
		case JSONStrings:
			r.inner = true
			continue
		}
		one := rule{id: n.ID()}
		for _, ptr := range n.Drop {
			if err := canon.CheckPointer(ptr); err != nil {
				return nil, err
			}
			steps := strings.Split(strings.TrimPrefix(ptr, "/"), "/")
			for i, s := range steps {
				steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
			}
			one.drops = append(one.drops, steps)
			one.hints = append(one.hints, r.hints.add(steps))
		}
		one.words = wordings(n.ID())
		for i := range one.words {
			one.hints = append(one.hints, r.hints.add(append(slices.Clone(one.words[i].steps), one.words[i].ends)))
		}
		switch n.ID() {
		case ResultOrder:
			one.order = inAskedOrder
			for _, steps := range resultSteps() {
				one.hints = append(one.hints, r.hints.add(steps))
			}
		case GeminiSkills:
			one.order = inSkillOrder
			one.hints = append(one.hints, r.hints.add([]string{"functionDeclarations", activateSkill}))
		case GeminiListing:
			one.order = withoutStore
			one.hints = append(one.hints, r.hints.add([]string{"contents", "parts", "text"}))
		}
		r.byKind[n.Kind] = append(r.byKind[n.Kind], one)
	}
	r.setting = r.finder(s)
	return r, nil
}

// Setting returns what finds the texts of the setting, or nil.
func (r *Rules) Setting() *redact.Finder { return r.setting }

// Forms reports whether the boundaries of forms are left out.
func (r *Rules) Forms() bool { return r.forms }

// Whole reports whether a body must be held to be normalised: what stands in
// long texts counts too.
func (r *Rules) Whole() bool { return r.texts != nil || r.inner }

// At returns the same rules in another setting.
func (r *Rules) At(s Setting) *Rules {
	other := *r
	other.setting = r.finder(s)
	return &other
}

// finder returns what is looked for of a setting.
func (r *Rules) finder(s Setting) *redact.Finder {
	if !r.named {
		s = Setting{Run: s.Run}
	}
	if !r.own {
		s.Run = ""
	}
	return s.finder()
}

// Form returns the form of a redacted body that the match key is taken of,
// and the ids of the normalisers that changed something. A body that is not
// JSON keeps its bytes, but for the setting.
func (r *Rules) Form(kind string, body []byte) (form []byte, changed []string) {
	if r.setting != nil {
		var names []string
		body, names = r.setting.Replace(body)
		changed = Settled(names)
	}
	for _, t := range r.texts {
		var some bool
		if body, some = t.replace(body); some {
			changed = append(changed, t.id)
		}
	}
	if r.forms {
		if form, ok := withoutBoundary(body); ok {
			return form, append(changed, MultipartBoundary)
		}
	}
	if !protocol.LooksJSON(body) {
		return body, changed
	}
	form, more, ok := r.JSON(kind, body)
	changed = append(changed, more...)
	if !ok {
		return body, changed
	}
	return form, changed
}

// Settled returns the ids of the normalisers that replaced the texts of these
// names.
func Settled(names []string) (ids []string) {
	if slices.ContainsFunc(names, func(n string) bool { return n != "run" }) {
		ids = append(ids, DateCwd)
	}
	if slices.Contains(names, "run") {
		ids = append(ids, OwnRun)
	}
	return ids
}

// JSON returns the canonical form of JSON without what the rules leave out; ok
// is false if it is none.
func (r *Rules) JSON(kind string, body []byte) (form []byte, changed []string, ok bool) {
	var hinted []rule
	there := r.hints.in(body)
	for _, k := range []string{"", kind} {
		for _, one := range r.byKind[k] {
			if slices.ContainsFunc(one.hints, func(all uint64) bool { return all&^there == 0 }) {
				hinted = append(hinted, one)
			}
		}
	}
	if hinted != nil || r.inner {
		if v, err := canon.Parse(body); err == nil {
			for _, one := range hinted {
				some := false
				for _, steps := range one.drops {
					var hit bool
					v, hit = drop(v, steps)
					some = some || hit
				}
				if one.words != nil {
					v, some = reword(v, one.words)
				}
				if one.order != nil {
					v, some = one.order(v)
				}
				if some {
					changed = append(changed, one.id)
				}
			}
			if r.inner {
				var some bool
				if v, some = inner(v); some {
					changed = append(changed, JSONStrings)
				}
			}
			if out, err := canon.Encode(v, canon.Foreign); err == nil {
				return out, changed, true
			}
		}
	}
	out, err := canon.Canonicalize(body)
	return out, changed, err == nil
}
