package importer

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Orca's trace, version 0: events.jsonl, one {seq, ts, mono_us, turn, type,
// actor, causes, attrs, payload} per line, beside it manifest.json with the
// digest of the events, and blobs/ with larger payloads under their SHA-256.
// A request is written anew before it is stored, and of an answer's header
// only the type is kept: it is evidence. Unknown types are kept as they are,
// and the last line may be broken (section 2 of its specification).

func isOrca(s *source) bool {
	return s.lines && s.first.has("seq", "mono_us", "type", "actor")
}

func readOrca(s *source, o *Options) (tape, error) {
	const op = "importer.readOrca"
	if err := orcaIntegrity(s, o); err != nil {
		return tape{}, err
	}
	k := newTalk(o)
	at := map[int64]int{} // by seq of a request: its turn
	t := orca{talk: k, o: o}
	for i, v := range s.list {
		e := members(v)
		seq, ok := e.num("seq")
		if !ok || e.str("type") == "" {
			return tape{}, fault.New(ErrMalformed, op, "line %d has no seq or no type", i+1)
		}
		group, part, _ := strings.Cut(e.str("type"), ".")
		payload, err := t.payload(e["payload"])
		if err != nil {
			return tape{}, fault.Wrap(fault.CodeOf(err), op, err, "line %d", i+1)
		}
		kind, class, opens := orcaKind(group)
		switch {
		case opens && (part == "request" || part == "call" || part == "exec"):
			if payload == nil {
				payload = e["attrs"]
			}
			n := k.add(turn{kind: kind, name: orcaName(e, group), class: class, ask: payload, at: e.str("ts"), model: e.obj("attrs").str("model")})
			if k.err == nil {
				at[seq] = n
			}
		case opens && (part == "response" || part == "result"):
			n, ok := orcaCause(e, at)
			if !ok {
				k.say(e.str("type"), e.str("ts"), v)
				continue
			}
			if payload == nil {
				payload = e["attrs"]
			}
			k.turns[n].reply = payload
			a := e.obj("attrs")
			in, _ := a.num("input_tokens")
			out, _ := a.num("output_tokens")
			read, _ := a.num("cache_read_tokens")
			if kind == capture.KindModel {
				k.turns[n].usage = usageOf(in+read, out, read, 0, 0)
			}
		default:
			k.say(e.str("type"), e.str("ts"), v)
		}
	}
	out, err := k.tape("orca/0")
	if err != nil {
		return tape{}, err
	}
	return out, out.label(t.blobs)
}

type orca struct {
	*talk
	o     *Options
	blobs []jsontext.Value // those that are JSON
}

// payload returns the bytes of a payload, from beside the file if it is a
// blob; without that folder a blob's own description stands for it.
func (t *orca) payload(v jsontext.Value) ([]byte, error) {
	const op = "importer.orca"
	id := members(v).str("$blob")
	if id == "" || t.o.Beside == nil {
		return plain(v), nil
	}
	digest, ok := strings.CutPrefix(id, "sha256:")
	if _, err := canon.ParseDigest(digest); !ok || err != nil {
		return nil, fault.New(ErrMalformed, op, "%.80q is no digest", id)
	}
	b, err := t.o.beside("blobs/" + digest[:2] + "/" + digest)
	if err != nil || b == nil {
		return plain(v), err
	}
	if canon.SHA256(b).String() != digest {
		return nil, fault.New(ErrMalformed, op, "the blob %s has other bytes", digest)
	}
	if jsontext.Value(b).IsValid() {
		t.blobs = append(t.blobs, b)
	}
	return b, nil
}

// orcaIntegrity compares the events with the digest in the manifest.
func orcaIntegrity(s *source, o *Options) error {
	b, err := o.beside("manifest.json")
	if err != nil || b == nil {
		return err
	}
	want := members(b).obj("integrity").str("events_sha256")
	if got := canon.SHA256(s.b).String(); want != "" && want != got {
		return fault.New(ErrMalformed, "importer.orcaIntegrity", "the events have the digest %s, their manifest says %.80q", got, want)
	}
	return nil
}

func orcaKind(group string) (kind string, class effect.Class, opens bool) {
	switch group {
	case "model":
		return capture.KindModel, effect.Read, true
	case "tool":
		return kindTool, effect.External, true
	case "mcp":
		return capture.KindMCP, effect.External, true
	case "shell":
		return "exec", effect.External, true
	case "net":
		return capture.KindHTTP, effect.External, true
	default:
		return "", "", false
	}
}

func orcaName(e object, group string) string {
	a := e.obj("attrs")
	if n := a.first("name", "method", "url"); n != "" {
		return n
	}
	if argv := a.list("argv"); len(argv) > 0 {
		s, _ := unquoted(argv[0])
		return s
	}
	return group
}

// orcaCause returns the turn that an event answers.
func orcaCause(e object, at map[int64]int) (int, bool) {
	for _, c := range e.list("causes") {
		if n, err := strconv.ParseInt(string(c), 10, 64); err == nil {
			if i, ok := at[n]; ok {
				return i, true
			}
		}
	}
	return 0, false
}
