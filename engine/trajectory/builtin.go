package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
)

// builtinKind is the transport of a tool that reads and writes the world.
const builtinKind = "world"

// builtins are the declarations of the built-in tools.
const builtins = `[
 {"name":"kv_get","version":"1","description":"Read a value that was stored under a key.","effect":"read",
  "args":{"type":"object","properties":{"key":{"type":"string","minLength":1,"maxLength":256}},"required":["key"],"additionalProperties":false},
  "estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},
  "transport":{"kind":"world","read":"kv"}},
 {"name":"kv_set","version":"1","description":"Store a value under a key.","effect":"write",
  "args":{"type":"object","properties":{"key":{"type":"string","minLength":1,"maxLength":256},"value":{}},"required":["key","value"],"additionalProperties":false},
  "estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},
  "changes":[{"op":"put","kind":"kv","id":"{args.key}","value":"{args.value}"}],"undo":"inverse",
  "transport":{"kind":"world"}},
 {"name":"kv_del","version":"1","description":"Remove what is stored under a key.","effect":"write",
  "args":{"type":"object","properties":{"key":{"type":"string","minLength":1,"maxLength":256}},"required":["key"],"additionalProperties":false},
  "estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},
  "changes":[{"op":"retract","kind":"kv","id":"{args.key}"}],"undo":"inverse",
  "transport":{"kind":"world"}},
 {"name":"memory_store","version":"1","description":"Keep something for later, under a key.","effect":"write",
  "args":{"type":"object","properties":{"key":{"type":"string","minLength":1,"maxLength":256},"value":{}},"required":["key","value"],"additionalProperties":false},
  "estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},
  "changes":[{"op":"put","kind":"memory","id":"{args.key}","value":"{args.value}"}],"undo":"inverse",
  "transport":{"kind":"world"}},
 {"name":"delegate","version":"1","description":"Hand a task to an agent of its own, which has at most half of what is left of the budget. It gives back an answer.","effect":"read",
  "args":{"type":"object","properties":{"task":{"type":"string","minLength":1,"maxLength":10000},"tools":{"type":"array","items":{"type":"string","minLength":1,"maxLength":256},"minItems":1,"maxItems":256}},"required":["task"],"additionalProperties":false},
  "estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},
  "transport":{"kind":"trajectory"}}
]`

// Builtins returns the built-in tools. Who makes a charter takes those that it
// wants to offer.
func Builtins() []Tool {
	v, err := canon.Parse([]byte(builtins))
	if err != nil {
		panic("trajectory: " + err.Error()) // a constant
	}
	r, err := ParseRegistry(v)
	if err != nil {
		panic("trajectory: " + err.Error())
	}
	return r.All()
}

// Builtin reports whether t does what it does in the world alone.
func (t *Tool) Builtin() bool { return t.Transport.Get("kind").Str() == builtinKind }

// Answer is what a built-in tool answers: what is there under the key that it
// reads, or the arguments that it wrote, both lifted.
func (t *Tool) Answer(args canon.Value, w WorldView) canon.Value {
	kind := t.Transport.Get("read").Str()
	if kind == "" {
		return args
	}
	key := args.Get("key").Str()
	version, value, ok := w.Find(kind, key)
	if !ok {
		return canon.Object(canon.M("key", canon.String(key)), canon.M("found", canon.Bool(false)))
	}
	return canon.Object(canon.M("key", canon.String(key)), canon.M("found", canon.Bool(true)),
		canon.M("value", value), canon.M("version", canon.Int(version)))
}
