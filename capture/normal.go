package capture

import (
	"bytes"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Normaliser is a named and versioned rule for what two requests may differ
// in and still be the same request. Normalisers touch the match key only:
// what is stored, sent and answered stays as it is. A rule once released is
// not changed; a better one gets a new version.
type Normaliser struct {
	Name    string
	Version int64
	Kind    string   // of the calls that it is for; empty: all
	Drop    []string // JSON pointers to what is left out of the key
	Doc     string
}

// ID returns name@version.
func (n *Normaliser) ID() string { return n.Name + "@" + strconv.FormatInt(n.Version, 10) }

// DateCwd is the id of the normaliser that is about texts instead of
// pointers: in the match key {date} stands for the date of the run and {cwd}
// for its working folder, as [Setting] gives them.
const DateCwd = "date-cwd@1"

// OwnRun is the id of the normaliser for the id of the run itself: a prompt
// that lists the working folder names it, because the default store keeps what
// is being recorded there. In the match key {run} stands for it.
const OwnRun = "own-run@1"

// MultipartBoundary is the id of the normaliser for uploads: clients draw the
// line between the parts of a form anew for every request.
const MultipartBoundary = "multipart-boundary@1"

// Normalisers returns the rules that are built in. In their pointers * is any
// member or element, *name any member whose name ends so, and ** any number of
// steps.
func Normalisers() []Normaliser {
	return []Normaliser{
		{
			Name: "volatile-ids", Version: 1, Kind: KindModel,
			Drop: []string{
				"/prompt_cache_key", "/client_metadata", "/metadata/user_id", "/input/*/id",
				"/**/*metadata_passthrough/turn_id", "/**/*metadata_passthrough/create_time",
			},
			Doc: "ids that clients draw anew for every session, and that no answer depends on",
		},
		{
			Name: "realtime-ids", Version: 1, Kind: KindModel,
			Drop: []string{"/event_id", "/item/id"},
			Doc:  "ids that clients of realtime APIs draw for their own messages",
		},
		{
			Name: "gemini-call-ids", Version: 1, Kind: KindModel,
			Drop: []string{"/contents/*/parts/*/functionCall/id", "/contents/*/parts/*/functionResponse/id"},
			Doc:  "ids that clients of Gemini draw for calls to which the model gave none",
		},
		{
			Name: "mcp-meta", Version: 1, Kind: KindMCP,
			Drop: []string{
				"/id", "/params/_meta/progressToken", "/params/_meta/traceparent", "/params/_meta/tracestate",
				"/params/_meta/baggage", "/params/requestId", "/params/progressToken",
			},
			Doc: "JSON-RPC ids and trace context",
		},
		{
			Name: "gemini-processes", Version: 1, Kind: KindModel,
			Doc: "numbers of processes in what Gemini CLI tells its model of a command: Process Group PGID, Background PIDs, moved to background",
		},
		{
			Name: "gemini-skills", Version: 1, Kind: KindModel,
			Doc: "the order in which Gemini CLI lists its skills, which is that in which it got to read their files",
		},
		{
			Name: "gemini-listing", Version: 1, Kind: KindModel,
			Doc: "the folder of the store in the tree of the working folder that Gemini CLI shows its model",
		},
		{
			Name: "codex-times", Version: 1, Kind: KindModel,
			Doc: "how long a command took, and the mark of its output, in what Codex tells its model of it: Wall time, Chunk ID",
		},
		{
			Name: "result-order", Version: 1, Kind: KindModel,
			Doc: "the order in which results of tools that ran at once stand side by side; they are compared in the order in which the model asked for them",
		},
		{
			Name: "claude-agents", Version: 1, Kind: KindModel,
			Doc: "ids of agents that Claude Code starts, and how long they took, in what it tells its model of their reports: agentId, duration_ms",
		},
		{
			Name: "goose-turns", Version: 1, Kind: KindModel,
			Doc: "the time of day that goose puts behind what a person said, and the ids of agents that it starts: current-time, Subagent ID",
		},
		{
			Name: "opencode-tasks", Version: 1, Kind: KindModel,
			Doc: "ids of agents that opencode starts, in what it tells its model of their reports: task id",
		},
		{Name: "date-cwd", Version: 1, Doc: "the date of the run and its working folder, where prompts name them"},
		{Name: "own-run", Version: 1, Doc: "the id of the run itself, where prompts list the folder of the store"},
		{Name: "multipart-boundary", Version: 1, Doc: "the line between the parts of a form, which clients draw anew for every upload"},
	}
}

// Setting is what a run's prompts name of its surroundings. It is recorded in
// the open of the run; matching reads no clock and no folder.
type Setting struct {
	Dates []string // as 2006-01-02; local and UTC, if they differ
	Cwd   string
	Run   string // its id, which needs no record of its own
}

// SettingAt returns the setting at a time in a folder.
func SettingAt(t time.Time, cwd string) Setting {
	local, utc := t.Format(time.DateOnly), t.UTC().Format(time.DateOnly)
	s := Setting{Dates: []string{local}, Cwd: cwd}
	if utc != local {
		s.Dates = append(s.Dates, utc)
	}
	return s
}

// Value returns s as an open entry holds it.
func (s Setting) Value() canon.Value {
	v := canon.Object(canon.M("dates", canon.Strings(s.Dates)))
	if s.Cwd != "" {
		v = v.With("cwd", canon.String(strings.ToValidUTF8(s.Cwd, "\uFFFD")))
	}
	return v
}

// ParseSetting reads what [Setting.Value] gives.
func ParseSetting(v canon.Value) Setting {
	s := Setting{Cwd: v.Get("cwd").Str()}
	for _, d := range v.Get("dates").Elems() {
		s.Dates = append(s.Dates, d.Str())
	}
	return s
}

// dateFormats are how prompts write a date.
var dateFormats = []string{
	"2006-01-02", "2006/01/02", "01/02/2006", "1/2/2006", "02.01.2006", "02/01/2006",
	"January 2, 2006", "Jan 2, 2006", "2 January 2006", "02 January 2006", "2 Jan 2006", "02 Jan 2006",
	"Monday, January 2, 2006", "Monday, 2 January 2006", "Mon Jan 02 2006", "Mon Jan 2 2006", "Mon, 02 Jan 2006", "Monday 2 January 2006",
}

// finder returns the finder of the texts that stand for s, or nil.
func (s Setting) finder() *finder {
	var list []*pattern
	if len(s.Run) > minText {
		list = append(list, &pattern{name: "run", text: s.Run, with: "{run}", alone: true, edge: true})
	}
	for _, d := range s.Dates {
		t, err := time.Parse(time.DateOnly, d)
		if err != nil {
			continue
		}
		for _, f := range dateFormats {
			list = append(list, &pattern{name: "date", text: t.Format(f), with: "{date}", alone: true, edge: true})
		}
	}
	if len(s.Cwd) > minText {
		for _, text := range spellings(s.Cwd) {
			list = append(list, &pattern{name: "cwd", text: text, with: "{cwd}", alone: true, edge: true})
		}
	}
	if list == nil {
		return nil
	}
	return newFinder(list)
}

// rules is the normalisers made ready for one run.
type rules struct {
	setting *finder // nil if there is nothing to look for
	named   bool    // the date and the working folder are looked for
	own     bool    // and the run
	forms   bool    // the boundaries of forms are left out
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

func newRules(list []Normaliser, s Setting) (*rules, error) {
	r := &rules{byKind: map[string][]rule{}}
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

// finder returns what is looked for of a setting.
func (r *rules) finder(s Setting) *finder {
	if !r.named {
		s = Setting{Run: s.Run}
	}
	if !r.own {
		s.Run = ""
	}
	return s.finder()
}

// hintSet is names, each without its first quotation mark, which is
// everywhere. A body in which the steps of a normaliser lead to something has
// all names of the steps.
type hintSet struct {
	texts  []string
	byLast [256]uint64 // by the byte in front of the quotation mark, a bit for each text
}

// add returns the set of the names of steps, a bit for each. What finds no
// bit any more is left out: fewer hints only make a body be looked at.
func (h *hintSet) add(steps []string) (set uint64) {
	for _, s := range steps {
		name := strings.TrimLeft(s, "*")
		if name == "" {
			continue
		}
		at := slices.Index(h.texts, name+`"`)
		if at < 0 {
			if at = len(h.texts); at == 64 {
				continue
			}
			h.texts = append(h.texts, name+`"`)
			h.byLast[name[len(name)-1]] |= 1 << at
		}
		set |= 1 << at
	}
	return set
}

// in returns which hints stand in body. It looks at quotation marks only.
func (h *hintSet) in(body []byte) (set uint64) {
	for i := 1; i < len(body); i++ {
		q := bytes.IndexByte(body[i:], '"')
		if q < 0 {
			break
		}
		i += q
		for rest := h.byLast[body[i-1]] &^ set; rest != 0; rest &= rest - 1 {
			at := bits.TrailingZeros64(rest)
			if t := h.texts[at]; i+1 >= len(t) && string(body[i+1-len(t):i+1]) == t {
				set |= 1 << at
			}
		}
	}
	return set
}

// normal returns the form of a redacted body that the match key is taken of,
// and the ids of the normalisers that changed something. A body that is not
// JSON keeps its bytes, but for the setting.
func (r *rules) normal(kind string, body []byte) (form []byte, changed []string) {
	if r.setting != nil {
		var names []string
		body, names = r.setting.replace(body)
		changed = settled(names)
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
	if !looksJSON(body) {
		return body, changed
	}
	form, more, ok := r.json(kind, body)
	changed = append(changed, more...)
	if !ok {
		return body, changed
	}
	return form, changed
}

// settled returns the ids of the normalisers that replaced the texts of these
// names.
func settled(names []string) (ids []string) {
	if slices.ContainsFunc(names, func(n string) bool { return n != "run" }) {
		ids = append(ids, DateCwd)
	}
	if slices.Contains(names, "run") {
		ids = append(ids, OwnRun)
	}
	return ids
}

// json returns the canonical form of JSON without what the rules leave out; ok
// is false if it is none.
func (r *rules) json(kind string, body []byte) (form []byte, changed []string, ok bool) {
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

// maxBoundary is that of RFC 2046.
const maxBoundary = 70

// withoutBoundary returns a form in which {boundary} stands for the boundary.
// A body that does not begin and end as a form is none.
func withoutBoundary(body []byte) ([]byte, bool) {
	line, ok := boundaryLine(body)
	if !ok || !endsForm(body, line) {
		return nil, false
	}
	return bytes.ReplaceAll(body, line, []byte("--{boundary}")), true
}

// boundaryLine returns the line with which a form begins.
func boundaryLine(body []byte) ([]byte, bool) {
	line, _, ok := bytes.Cut(body[:min(len(body), maxBoundary+4)], []byte("\r\n"))
	return line, ok && len(line) >= 3 && bytes.HasPrefix(line, []byte("--"))
}

// endsForm reports whether b ends as the form with that line.
func endsForm(b, line []byte) bool {
	end := append(append([]byte("\r\n"), line...), "--"...)
	return bytes.HasSuffix(bytes.TrimSuffix(b, []byte("\r\n")), end)
}

func looksJSON(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
		case '{', '[':
			return true
		default:
			return false
		}
	}
	return false
}

// drop returns v without what the steps lead to. An element of an array is
// not taken out but set to null, so that the others keep their places.
func drop(v canon.Value, steps []string) (canon.Value, bool) {
	return reach(v, steps, func(canon.Value) (canon.Value, bool) { return canon.Value{}, true })
}

// reach returns v with f of everything that the steps lead to.
func reach(v canon.Value, steps []string, f func(canon.Value) (canon.Value, bool)) (canon.Value, bool) {
	if steps[0] == "**" {
		v, hit := reach(v, steps[1:], f)
		out, deeper := each(v, func(string) bool { return true }, func(x canon.Value) (canon.Value, bool) { return reach(x, steps, f) })
		return out, hit || deeper
	}
	is := func(name string) bool { return name == steps[0] }
	if suffix, ok := strings.CutPrefix(steps[0], "*"); ok {
		is = func(name string) bool { return strings.HasSuffix(name, suffix) }
	}
	if len(steps) == 1 {
		return each(v, is, f)
	}
	return each(v, is, func(x canon.Value) (canon.Value, bool) { return reach(x, steps[1:], f) })
}

// each returns v with f of every child whose name or index is asked for.
func each(v canon.Value, is func(string) bool, f func(canon.Value) (canon.Value, bool)) (canon.Value, bool) {
	any := false
	switch v.Kind() {
	case canon.KindObject:
		members := v.Members()
		for i, m := range members {
			if !is(m.Name) {
				continue
			}
			if x, hit := f(m.Value); hit {
				if !any {
					members = slices.Clone(members)
					any = true
				}
				members[i].Value = x
			}
		}
		if any {
			return canon.Object(members...), true
		}
	case canon.KindArray:
		elems := v.Elems()
		for i, e := range elems {
			if !is(strconv.Itoa(i)) {
				continue
			}
			if x, hit := f(e); hit {
				if !any {
					elems = slices.Clone(elems)
					any = true
				}
				elems[i] = x
			}
		}
		if any {
			return canon.Array(elems...), true
		}
	default:
	}
	return v, false
}
