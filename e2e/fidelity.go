package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Row is what was found out about one client: how it fared in each trial, in
// the order of [Trials].
type Row struct {
	Client  string `json:"client"`
	Version string `json:"version"`
	Kind    string `json:"kind"` // Go, npm, other, agent
	Speaks  string `json:"speaks"`
	Cells   []Cell `json:"cells"`
}

// Cell is one trial of one client. Exact says that the recorder changed
// nothing of what the client printed, and that the replay, with the upstream
// stopped, answered every call from the record and let the client print the
// same.
type Cell struct {
	Trial string `json:"trial"`
	Calls int    `json:"calls"`
	Exact bool   `json:"exact"`
	// Normalised are the calls of them that only a normaliser made equal to
	// the recorded ones, because the client draws something anew every time.
	Normalised int `json:"normalised,omitempty"`
	// Why says of a trial that is known not to be exact what is in the way.
	Why string `json:"why,omitempty"`
}

// Trials returns what clients are put through.
func Trials() []string {
	return []string{"whole", "stream", "tools", "4xx", "retries", "concurrent"}
}

// ParseRows reads what [Encode] gives.
func ParseRows(b []byte) ([]Row, error) {
	var doc struct{ Rows []Row }
	err := json.Unmarshal(b, &doc)
	return doc.Rows, err
}

// Encode returns rows as a JSON document, a row a line.
func Encode(rows []Row) ([]byte, error) {
	lines := make([]string, len(rows))
	for i := range rows {
		b, err := json.Marshal(rows[i])
		if err != nil {
			return nil, err
		}
		lines[i] = "    " + string(b)
	}
	return []byte("{\n  \"rows\": [\n" + strings.Join(lines, ",\n") + "\n  ]\n}\n"), nil
}

// Merge puts the rows of a run in the place of those of the same client, and
// sorts all by kind and name.
func Merge(old, fresh []Row) []Row {
	out := slices.Clone(fresh)
	for i := range old {
		if !slices.ContainsFunc(fresh, func(r Row) bool { return r.Client == old[i].Client }) {
			out = append(out, old[i])
		}
	}
	slices.SortFunc(out, func(a, b Row) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.Client, b.Client)
	})
	return out
}

// Page returns docs/fidelity.md.
func Page(rows []Row) string {
	var b strings.Builder
	b.WriteString(`# Fidelity

<!-- Generated from fidelity.json by "make e2e" and "make e2e-clients"; edit e2e/fidelity.go. -->

Each row is a real client. It was run alone, recorded against a provider on the loopback that speaks its protocol, and, with that provider stopped, replayed.
Agents were not run alone; their one command ran again in the replay. A client of MCP does all in one trial, calls that fail and eight at once included.
A cell holds how many calls the client made in that trial. **A plain number means exact**: the recorder changed nothing of what the client printed, every call of the replay was answered from the record and none was missed, and the client printed the same to the byte.
≈ N behind it: so many of the calls are equal to the recorded ones but for what a named normaliser leaves out, such as ids that the client draws anew; the report of the replay says which.
A number with ✗ means that something of this did not hold; – that the client was not put through that trial.

| trial | what happens |
|---|---|
| whole | a question, answered whole |
| stream | the same as a stream of events, once at once and once slowly |
| tools | the model wants two tools (an agent: a command), the client runs them and goes on, whole and as a stream |
| 4xx | the provider refuses the request |
| retries | 429 with Retry-After, then 500 and 503, until the client's own retries get an answer |
| concurrent | eight questions at once, half of them as streams |

`)
	titles := [][2]string{
		{"Go", "SDKs of Go"},
		{"npm", "SDKs of npm"},
		{"other", "Without an SDK"},
		{"agent", "Agents (`make e2e-clients`, where they are installed)"},
	}
	for _, k := range titles {
		var of []Row
		for _, r := range rows {
			if r.Kind == k[0] {
				of = append(of, r)
			}
		}
		if of == nil {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n| client | version | speaks | %s |\n|---|---|---|%s\n", k[1], strings.Join(Trials(), " | "), strings.Repeat("--:|", len(Trials())))
		for _, r := range of {
			fmt.Fprintf(&b, "| %s | %s | %s |", r.Client, r.Version, r.Speaks)
			for _, t := range Trials() {
				i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Trial == t })
				switch {
				case i < 0:
					b.WriteString(" – |")
				case r.Cells[i].Exact && r.Cells[i].Normalised > 0:
					fmt.Fprintf(&b, " %d ≈ %d |", r.Cells[i].Calls, r.Cells[i].Normalised)
				case r.Cells[i].Exact:
					fmt.Fprintf(&b, " %d |", r.Cells[i].Calls)
				default:
					fmt.Fprintf(&b, " %d ✗ |", r.Cells[i].Calls)
				}
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
		for _, r := range of {
			for _, c := range r.Cells {
				if !c.Exact && c.Why != "" {
					fmt.Fprintf(&b, "✗ %s, %s: %s.\n\n", r.Client, c.Trial, c.Why)
				}
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
