package trajectories_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// tauLine is an entry as two runs under different policies can be compared:
// without the ids, which cover the policies.
type tauLine struct {
	kind string // of what happened
	tool string // of an intent and what becomes of it
	text string
}

// story returns the run as lines.
func (x *tauRun) story() []tauLine {
	x.t.Helper()
	var out []tauLine
	tool := ""
	reader := drive.NewReader(x.store, x.run)
	for o := range x.entries() {
		line := tauLine{kind: string(o.Kind)}
		name, data := o.Body.Get("name").Str(), o.Data()
		switch o.Kind {
		case ledger.KindCall:
			line.kind = "call " + name
			if name == "commit" { // asks for a signature of what has ids
				break
			}
			contents, err := reader.Contents(x.t.Context(), o)
			if err != nil {
				x.t.Fatal(err)
			}
			for _, c := range contents {
				line.text += string(c.Bytes)
			}
		case ledger.KindDecision:
			line.kind = name
			switch name {
			case trajectory.NameIntent:
				tool = data.Get("body").Get("target").Str()
				line.tool, line.text = tool, data.Get("body").Get("args").String()
			case trajectory.NameToolFailed:
				line.tool, line.text = tool, data.Get("message").Str()
			case trajectory.NameAnswer:
				line.text = data.String()
			}
		case ledger.KindRejection:
			line.tool, line.text = tool, data.Get("reason").Get("kind").Str()
		case ledger.KindCommit:
			body := data.Get("body")
			line.tool, line.text = tool, body.Get("observations").String()+o.Body.Get("delta").String()
		case ledger.KindPendingApproval:
			line.tool, line.text = tool, data.Get("channel").Str()
		case ledger.KindEvent, ledger.KindResult:
			line.text = name + data.Without("spent").String()
		default:
		}
		out = append(out, line)
	}
	return out
}

// verdictsOf returns what became of each intent.
func verdictsOf(story []tauLine) []tauVerdict {
	var out []tauVerdict
	asked := false
	for _, l := range story {
		v := tauVerdict(l.kind)
		switch v {
		case "pending_approval":
			asked = true
			continue
		case "commit":
			if asked {
				v = tauApproved
			}
		case "rejection":
			v += tauVerdict(" " + l.text)
		case tauFailed:
		default:
			continue
		}
		asked = false
		out = append(out, v)
	}
	return out
}

// tauTally counts over all conversations.
type tauTally struct {
	mu sync.Mutex
	n  map[string]int64
}

func (c *tauTally) add(what string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int64{}
	}
	c.n[what] += n
}

func (c *tauTally) log(t *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(c.n)) {
		t.Logf("%6d  %s", c.n[what], what)
	}
}

// Every recorded conversation runs again under the airline's policy, is
// verified, and gives the same when it is replayed. Each tool call is an
// intent, and becomes a commit, a rejection or a failure; the world holds the
// bookings as the tools left them.
func TestRecordedConversationsBecomeTrajectories(t *testing.T) {
	a, all, c := newAirline(t), tauRecordings(t), new(tauTally)
	t.Run("each", func(t *testing.T) {
		for i := range all {
			r := &all[i]
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				x := a.have(t, r)
				sum := x.check()
				want, reservations := r.expected(t)
				got := verdictsOf(x.story())
				if !slices.Equal(got, want) {
					t.Errorf("the calls become %q, want %q", got, want)
				}
				if x.users != len(r.users) {
					t.Errorf("%d of the customer's %d messages were said", x.users, len(r.users))
				}
				failed := int64(0)
				for _, v := range got {
					if v == tauFailed {
						failed++
					}
				}
				if n := sum.Commits + sum.Rejections + failed; n != int64(len(r.calls)) {
					t.Errorf("%d commits, %d rejections and %d failures of tools make %d; there are %d calls", sum.Commits, sum.Rejections, failed, n, len(r.calls))
				}
				x.checkWorld(reservations)
				c.add("trajectories", 1)
				c.add("entries", sum.Entries)
				c.add("intents", int64(len(r.calls)))
				c.add("intents: committed", sum.Commits)
				c.add("intents: rejected", sum.Rejections)
				c.add("intents: failed in the tool", failed)
				c.add("approvals", int64(x.asked))
				c.add("messages of customers", int64(len(r.users)))
				c.add("reservations in the worlds", int64(len(reservations)))
			})
		}
	})
	c.log(t)
	if c.n["trajectories"] < 100 || c.n["intents: rejected"] == 0 || c.n["approvals"] == 0 || c.n["intents: failed in the tool"] == 0 {
		t.Errorf("there are too few conversations, or none of a sort: %v", c.n)
	}
}

// checkWorld compares the bookings of the world with those that tools gave.
func (x *tauRun) checkWorld(want map[string]canon.Value) {
	x.t.Helper()
	alive := map[string]bool{}
	for _, it := range x.world.Items() {
		if it.Kind != "reservation" {
			continue
		}
		alive[it.ID] = true
		lifted, err := trajectory.Lift(want[it.ID])
		if err != nil {
			x.t.Fatal(err)
		}
		b, err := canon.Encode(lifted, canon.Native)
		if err != nil {
			x.t.Fatal(err)
		}
		stands := b
		if it.Attached {
			w := ledger.NewWorldValue()
			_, _ = w.Write(b)
			d := w.Sum()
			stands = canon.AppendString(nil, d.String())
		}
		if string(it.Value) != string(stands) {
			x.t.Errorf("reservation %s is %s, want %s", it.ID, it.Value, stands)
		}
	}
	if len(alive) != len(want) {
		x.t.Errorf("the world has %d reservations, want %d", len(alive), len(want))
	}
}

// A second policy, which forbids one tool, makes rejections of exactly the
// intents for it. Until the first of them nothing is different.
func TestPolicyThatForbidsAToolRejectsItsIntents(t *testing.T) {
	const forbidden = "update_reservation_flights"
	a, all, c := newAirline(t), tauRecordings(t), new(tauTally)
	t.Run("each", func(t *testing.T) {
		for i := range all {
			r := &all[i]
			concerned := slices.ContainsFunc(r.calls, func(c tauCall) bool { return c.tool == forbidden })
			if !concerned && i%8 > 0 {
				continue // some in which nothing is forbidden are enough
			}
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				free, bound := a.have(t, r), a.have(t, r, "no-changes-today.json")
				sum := bound.check()
				was, is := free.story(), bound.story()
				first := slices.IndexFunc(is, func(l tauLine) bool { return l.kind == string(ledger.KindRejection) && l.tool == forbidden })
				if first < 0 {
					first = len(is)
					if len(was) != len(is) {
						t.Errorf("nothing is forbidden, and there are %d entries instead of %d", len(is), len(was))
					}
				}
				for i := range first {
					if was[i] != is[i] {
						t.Fatalf("entry %d, before anything is forbidden, is %q, was %q", i, is[i], was[i])
					}
				}
				before, after := verdictsOf(was), verdictsOf(is)
				if len(before) != len(r.calls) || len(after) != len(r.calls) {
					t.Fatalf("%d intents without the policy and %d with it; there are %d calls", len(before), len(after), len(r.calls))
				}
				for i := range r.calls {
					want := before[i]
					if r.calls[i].tool == forbidden {
						want = tauRejected
						c.add("intents that are forbidden", 1)
					} else if strings.HasPrefix(string(want), "commit") && strings.HasPrefix(string(after[i]), "commit") {
						continue // another booking may need an approval, or need none
					}
					if after[i] != want {
						t.Errorf("call %d, of %s, becomes %q, want %q", i, r.calls[i].tool, after[i], want)
					}
				}
				c.add("rejections", sum.Rejections)
			})
		}
	})
	c.log(t)
	if c.n["intents that are forbidden"] == 0 || c.n["rejections"] < c.n["intents that are forbidden"] {
		t.Errorf("too little was forbidden: %v", c.n)
	}
}
