package match

import (
	"strings"
	"time"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/canon"
)

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
func (s Setting) finder() *redact.Finder {
	var list []*redact.Pattern
	if len(s.Run) > redact.MinText {
		list = append(list, &redact.Pattern{Name: "run", Text: s.Run, With: "{run}", Alone: true, Edge: true})
	}
	for _, d := range s.Dates {
		t, err := time.Parse(time.DateOnly, d)
		if err != nil {
			continue
		}
		for _, f := range dateFormats {
			list = append(list, &redact.Pattern{Name: "date", Text: t.Format(f), With: "{date}", Alone: true, Edge: true})
		}
	}
	if len(s.Cwd) > redact.MinText {
		for _, text := range redact.Spellings(s.Cwd) {
			list = append(list, &redact.Pattern{Name: "cwd", Text: text, With: "{cwd}", Alone: true, Edge: true})
		}
	}
	if list == nil {
		return nil
	}
	return redact.NewFinder(list)
}
