package trajectory

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// The contents in which tools of the different transports answer, in the order
// in which they are looked for.
var outputNames = [...]string{"output", "result", "response", "stdout"}

// readOutput returns what a tool answered: JSON as such, other text as a
// string, other bytes as their size and digest. Failed says why the answer is
// an error in the words of its transport: a program's exit status, an HTTP
// status, an MCP error.
func readOutput(o *effect.Outcome) (output canon.Value, failed string) {
	if n, ok := o.Data.Get("exit").AsInt(); ok && n != 0 {
		return output, fmt.Sprintf("exit status %d%s", n, tail(o, "stderr"))
	}
	if n, ok := o.Data.Get("status").AsInt(); ok && n >= 400 {
		return output, fmt.Sprintf("HTTP status %d%s", n, tail(o, "response"))
	}
	if bad, _ := o.Data.Get("is_error").AsBool(); bad {
		return output, "the tool says that it failed" + tail(o, "result")
	}
	for _, name := range outputNames {
		i := slices.IndexFunc(o.Contents, func(c ledger.Content) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		b := o.Contents[i].Bytes
		if v, err := canon.Parse(b); err == nil {
			return v, ""
		}
		if utf8.Valid(b) {
			return canon.String(string(b)), ""
		}
		return canon.Object(
			canon.M("blake3", canon.String(canon.BLAKE3(b).String())),
			canon.M("size", canon.Int(int64(len(b)))),
		), ""
	}
	return o.Data.Get("output").OrNull(), ""
}

// tail returns the beginning of a content, to say why a tool failed.
func tail(o *effect.Outcome, name string) string {
	for _, c := range o.Contents {
		if c.Name == name && len(c.Bytes) > 0 && utf8.Valid(c.Bytes) {
			return ": " + cut(string(c.Bytes), 512)
		}
	}
	return ""
}

func latencyOf(o *effect.Outcome) uint64 {
	if ms, ok := o.Data.Get("latency_ms").AsInt(); ok && ms > 0 {
		return uint64(ms)
	}
	return 0
}
