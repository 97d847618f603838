package trajectories

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrTask means that a task file cannot be read: it is no YAML, or says what
// no task file says. The message has the line; mend it there.
const ErrTask fault.Invalid = "trajectories.bad_task"

// Limits of a file that people write.
const (
	maxFile  = 4 << 20
	maxDepth = 64
)

// node is a place in a file.
type node struct {
	*yaml.Node
	file string
}

// readYAML reads the one document of a file. JSON is YAML too.
func readYAML(path string) (node, error) {
	f, err := os.Open(path)
	if err != nil {
		return node{}, fault.Wrap(ErrTask, "trajectories.read", err, "%s", path)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return node{}, fault.Wrap(ErrTask, "trajectories.read", err, "%s", path)
	}
	return parseYAML(path, b)
}

func parseYAML(path string, b []byte) (node, error) {
	const op = "trajectories.read"
	if len(b) > maxFile {
		return node{}, fault.New(ErrTask, op, "%s has more than %d bytes", path, maxFile)
	}
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	err := d.Decode(&doc)
	if err == nil && !errors.Is(d.Decode(&second), io.EOF) {
		err = errors.New("it has more than one document")
	}
	if err != nil {
		return node{}, fault.Wrap(ErrTask, op, err, "%s", path)
	}
	return node{Node: doc.Content[0], file: path}, nil
}

func (n node) fail(format string, args ...any) error {
	return fault.New(ErrTask, "trajectories.read", "%s:%d: "+format, append([]any{n.file, n.Line}, args...)...)
}

// because adds the line to what a reader of the engine says.
func (n node) because(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(ErrTask, "trajectories.read", "%s:%d: %s", n.file, n.Line, fault.Text(err))
}

func (n node) null() bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// section is a mapping whose names are all known.
type section struct {
	node
	members map[string]node
}

// section reads a mapping. A name that is not among those known, or that
// stands twice, is refused with its line.
func (n node) section(known ...string) (section, error) {
	s := section{node: n, members: map[string]node{}}
	if n.Kind != yaml.MappingNode {
		return s, n.fail("%s where names and values should stand", n.kind())
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := node{n.Content[i], n.file}
		if k.Kind != yaml.ScalarNode || len(known) > 0 && !slices.Contains(known, k.Value) {
			return s, k.fail("%q is not known here; known are %s", k.Value, strings.Join(known, ", "))
		}
		if _, twice := s.members[k.Value]; twice {
			return s, k.fail("%q stands twice", k.Value)
		}
		s.members[k.Value] = node{n.Content[i+1], n.file}
	}
	return s, nil
}

// get returns a member; ok is false if it is not there or null.
func (s section) get(name string) (n node, ok bool) {
	n, ok = s.members[name]
	return n, ok && !n.null()
}

func (n node) kind() string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
		return "a single value"
	}
}

// items returns the elements of a list.
func (n node) items() ([]node, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, n.fail("%s where a list should stand", n.kind())
	}
	out := make([]node, len(n.Content))
	for i, c := range n.Content {
		out[i] = node{c, n.file}
	}
	return out, nil
}

// text reads a text member; a missing one is "".
func (s section) text(name string) (string, error) {
	n, ok := s.get(name)
	if !ok {
		return "", nil
	}
	return n.text()
}

func (n node) text() (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", n.fail("%s where a text should stand", n.kind())
	}
	return n.Value, nil
}

func (s section) texts(name string) ([]string, error) {
	n, ok := s.get(name)
	if !ok {
		return nil, nil
	}
	list, err := n.items()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], err = e.text(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s section) flag(name string) (bool, error) {
	n, ok := s.get(name)
	if !ok {
		return false, nil
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		return false, n.fail("%s is neither true nor false", name)
	}
	return n.Value == "true" || n.Value == "True" || n.Value == "TRUE", nil
}

// count reads a number that is not negative; a missing one is what other says.
func (s section) count(name string, other uint64) (uint64, error) {
	n, ok := s.get(name)
	if !ok {
		return other, nil
	}
	v, err := n.value()
	if err != nil {
		return 0, err
	}
	i, ok := v.AsInt()
	if !ok || i < 0 {
		return 0, n.fail("%s is not a whole number from 0", name)
	}
	return uint64(i), nil
}

// value reads JSON as YAML spells it.
func (s section) value(name string) (canon.Value, error) {
	n, ok := s.get(name)
	if !ok {
		return canon.Value{}, nil
	}
	return n.value()
}

func (n node) value() (canon.Value, error) { return n.valueAt(0) }

func (n node) valueAt(depth int) (canon.Value, error) {
	if depth > maxDepth {
		return canon.Value{}, n.fail("nested deeper than %d", maxDepth)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return n.scalar()
	case yaml.SequenceNode:
		out := make([]canon.Value, len(n.Content))
		for i, c := range n.Content {
			var err error
			if out[i], err = (node{c, n.file}).valueAt(depth + 1); err != nil {
				return canon.Value{}, err
			}
		}
		return canon.Array(out...), nil
	case yaml.MappingNode:
		s, err := n.section()
		if err != nil {
			return canon.Value{}, err
		}
		var out []canon.Member
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			v, err := s.members[name].valueAt(depth + 1)
			if err != nil {
				return canon.Value{}, err
			}
			out = append(out, canon.M(name, v))
		}
		return canon.Object(out...), nil
	default:
		return canon.Value{}, n.fail("anchors and aliases are not taken")
	}
}

func (n node) scalar() (canon.Value, error) {
	switch n.Tag {
	case "!!null":
		return canon.Null(), nil
	case "!!bool":
		return canon.Bool(strings.EqualFold(n.Value, "true")), nil
	case "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			return canon.Value{}, n.fail("%s is no number as JSON spells it; put quotes around a text", n.Value)
		}
		v, err := canon.Number(n.Value)
		return v, n.because(err)
	default:
		return canon.String(n.Value), nil
	}
}
