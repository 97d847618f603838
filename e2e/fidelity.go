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
	// Lacks says of trials that the client is not put through why it is not.
	Lacks map[string]string `json:"lacks,omitempty"`
	// With says what is done to the client that its users do not do.
	With string `json:"with,omitempty"`
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
	// the recorded ones, because the client draws something anew every time,
	// and By are those normalisers.
	Normalised int      `json:"normalised,omitempty"`
	By         []string `json:"by,omitempty"`
	// Why says of a trial that is known not to be exact what is in the way. It
	// is not run then, and has no calls.
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
Agents were not run alone, so that what the recorder changes is not known of them; their one command ran again in the replay. A client of MCP does all in one trial, calls that fail and eight at once included.

A cell holds how many calls the client made in that trial. **A number means exact**, with or without ≈: the recorder changed nothing of what the client printed, every call of the replay was answered from the record and none was missed, and what the client printed to its standard output in the replay was compared with what it printed when it was recorded, and is the same to the byte.

≈ N behind it says how the calls were found, and takes nothing back of that: in N of them the request was not the recorded one to the byte, because the client draws something in it anew every time, such as the id of a session, or names the date or the folder that it runs in. A normaliser, which has a name and a version, leaves that out when requests are compared, and nothing else; the answer is the recorded one. The list under a table names the normalisers that were at work, the report of a replay does so too, ` + "`reprise match rules`" + ` says what each leaves out, and ` + "`reprise match explain`" + ` shows it on a request.
A client of MCP numbers its requests in the order in which they leave; of eight at once, how many have another number than then is not the same each time, so that N is left out.

✗ means that the trial is known not to be exact, – that the client was not put through it; the list under the table says why.

Of Claude Code, Codex and Gemini CLI the session is imported, too, that the agent itself wrote in the trial: it verifies, and has the models, tokens and tools of the calls that were recorded.

| trial | what happens |
|---|---|
| whole | a question, answered whole |
| stream | the same as a stream of events, once at once and once slowly |
| tools | the model wants two tools (an agent: a command), the client runs them and goes on, whole and as a stream |
| 4xx | the provider refuses the request |
| retries | 429 with Retry-After, then 500 and 503, until the client's own retries get an answer |
| concurrent | eight questions at once, half of them as streams (an agent: two more of its kind, which ask at once) |

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
					b.WriteString(" ✗ |")
				}
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
		for _, r := range of {
			r.notes(&b)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// notes writes what the cells of a row cannot say, a line for each.
func (r *Row) notes(b *strings.Builder) {
	var by []string
	for _, c := range r.Cells {
		by = append(by, c.By...)
		if !c.Exact {
			fmt.Fprintf(b, "* ✗ %s, %s: %s\n", r.Client, c.Trial, c.Why)
		}
	}
	if slices.Sort(by); by != nil {
		fmt.Fprintf(b, "* ≈ %s: %s\n", r.Client, strings.Join(slices.Compact(by), ", "))
	}
	if r.With != "" {
		fmt.Fprintf(b, "* %s: %s\n", r.Client, r.With)
	}
	for _, t := range Trials() {
		if why := r.Lacks[t]; why != "" {
			fmt.Fprintf(b, "* – %s, %s: %s\n", r.Client, t, why)
		}
	}
}
