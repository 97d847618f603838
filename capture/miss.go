package capture

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// miss answers a request that got no answer. It was not forwarded.
func (h *handler) miss(ctx context.Context, w http.ResponseWriter, to route, c *effect.Call, g *large, why error) {
	switch fault.ClassOf(why) {
	case fault.ClassDiverged, fault.ClassIntegrity, fault.ClassDenied:
	default:
		h.broken(w, why)
		return
	}
	h.p.turns.leave()
	more := []canon.Member{canon.M("call", canon.String(to.name))}
	if rec := h.p.o.Record; rec != nil {
		if n, err := rec.near(ctx, h.p.rules, h.p.at.Path(), c, formNow(h.p.rules, c, g)); err == nil && n != nil {
			more = append(more, canon.M("nearest", canon.Object(
				canon.M("entry", canon.Int(n.Record.Call.N)),
				canon.M("name", canon.String(n.Record.Name)),
				canon.M("differences", pointers(n.Where)),
			)))
		}
	}
	problem(w, http.StatusBadRequest, fault.CodeOf(why), why.Error(), more...)
}

func pointers(list []canon.Difference) canon.Value {
	out := make([]canon.Value, len(list))
	for i, d := range list {
		out[i] = canon.Object(
			canon.M("pointer", canon.String(d.Pointer)),
			canon.M("recorded", d.A),
			canon.M("now", d.B),
		)
	}
	return canon.Array(out...)
}

// differences compares a recorded request with one that came now: the route
// first, then the bodies in the form that keys are taken of.
func differences(body canon.Value, c *effect.Call, then, now []byte) []canon.Difference {
	var out []canon.Difference
	recorded := body.Get("data")
	for _, name := range []string{"upstream", "server", "method", "url"} {
		a, b := recorded.Get(name), c.Data.Get(name)
		if !a.Equal(b) {
			out = append(out, canon.Difference{Pointer: "#" + name, A: a, B: b})
		}
	}
	return append(out, replay.Bytes(then, now)...)
}

// closer prefers fewer places of difference. Of as many it prefers those that
// come later, because requests of one agent share their beginning, and of one
// place each the text that has more in common: many prompts differ in one
// string.
func (n *Nearest) closer(b *Nearest) bool {
	if len(n.Where) != len(b.Where) || len(n.Where) == 0 {
		return len(n.Where) < len(b.Where)
	}
	if c := comparePointers(n.Where[0].Pointer, b.Where[0].Pointer); c != 0 {
		return c > 0
	}
	return len(n.Where) == 1 && shared(n.Where[0]) > shared(b.Where[0])
}

// comparePointers orders pointers as text, but numbers in them, which are
// places in arrays, by what they count.
func comparePointers(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, "/")
		y, b, _ = strings.Cut(b, "/")
		n, errX := strconv.Atoi(x)
		m, errY := strconv.Atoi(y)
		c := strings.Compare(x, y)
		if errX == nil && errY == nil {
			c = cmp.Compare(n, m)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// shared returns how many bytes two texts have in common at both ends.
func shared(d canon.Difference) int {
	a, b := []byte(d.A.String()), []byte(d.B.String())
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	k := 0
	for k < len(a) && k < len(b) && a[len(a)-1-k] == b[len(b)-1-k] {
		k++
	}
	return i + k
}

// describe says what differs, for a line of a report.
func describe(n *Nearest) string {
	if n == nil {
		return "nothing like it is recorded"
	}
	if len(n.Where) == 0 {
		return fmt.Sprintf("it equals entry %d, which has answered already", n.Record.Call.N)
	}
	var at []string
	for i, d := range n.Where {
		if i == 3 {
			at = append(at, "…")
			break
		}
		at = append(at, d.Pointer)
	}
	return fmt.Sprintf("nearest is entry %d, which differs at %s", n.Record.Call.N, strings.Join(at, ", "))
}
