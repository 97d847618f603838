// Package yamlfile reads files that people write: YAML, strictly. A name that
// is not known, or that stands twice, is refused with its line; anchors,
// aliases and numbers that JSON does not have are too. Whatever is wrong has
// the code of who reads.
package yamlfile

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

// Limits of a file that people write.
const (
	maxFile  = 4 << 20
	maxDepth = 64
)

// Node is a place in a file.
type Node struct {
	*yaml.Node
	file string
	code fault.Invalid
}

// Read reads the one document of a file. JSON is YAML too. It and all that is
// read from the node refuse with the code.
func Read(path string, code fault.Invalid) (Node, error) {
	f, err := os.Open(path)
	if err != nil {
		return Node{}, fault.Wrap(code, "yamlfile.Read", err, "%s", path)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Node{}, fault.Wrap(code, "yamlfile.Read", err, "%s", path)
	}
	return Parse(path, b, code)
}

// Parse is [Read] of bytes; the path is for messages.
func Parse(path string, b []byte, code fault.Invalid) (Node, error) {
	const op = "yamlfile.Read"
	if len(b) > maxFile {
		return Node{}, fault.New(code, op, "%s has more than %d bytes", path, maxFile)
	}
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	err := d.Decode(&doc)
	if err == nil && !errors.Is(d.Decode(&second), io.EOF) {
		err = errors.New("it has more than one document")
	}
	if err != nil {
		return Node{}, fault.Wrap(code, op, err, "%s", path)
	}
	return Node{Node: doc.Content[0], file: path, code: code}, nil
}

// Fail returns an error about this place.
func (n Node) Fail(format string, args ...any) error {
	return fault.New(n.code, "yamlfile.Read", "%s:%d: "+format, append([]any{n.file, n.Line}, args...)...)
}

// Because adds the line to what a reader of the engine says.
func (n Node) Because(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(n.code, "yamlfile.Read", "%s:%d: %s", n.file, n.Line, fault.Text(err))
}

func (n Node) at(c *yaml.Node) Node { return Node{c, n.file, n.code} }

// Null reports whether nothing stands there.
func (n Node) Null() bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// Section is a mapping whose names are all known.
type Section struct {
	Node
	Members map[string]Node
}

// Section reads a mapping. A name that is not among those known, or that
// stands twice, is refused with its line.
func (n Node) Section(known ...string) (Section, error) {
	s := Section{Node: n, Members: map[string]Node{}}
	if n.Kind != yaml.MappingNode {
		return s, n.Fail("%s where names and values should stand", n.kind())
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.at(n.Content[i])
		if k.Kind != yaml.ScalarNode || len(known) > 0 && !slices.Contains(known, k.Value) {
			return s, k.Fail("%q is not known here; known are %s", k.Value, strings.Join(known, ", "))
		}
		if _, twice := s.Members[k.Value]; twice {
			return s, k.Fail("%q stands twice", k.Value)
		}
		s.Members[k.Value] = n.at(n.Content[i+1])
	}
	return s, nil
}

// Get returns a member; ok is false if it is not there or null.
func (s Section) Get(name string) (n Node, ok bool) {
	n, ok = s.Members[name]
	return n, ok && !n.Null()
}

func (n Node) kind() string {
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

// Items returns the elements of a list.
func (n Node) Items() ([]Node, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, n.Fail("%s where a list should stand", n.kind())
	}
	out := make([]Node, len(n.Content))
	for i, c := range n.Content {
		out[i] = n.at(c)
	}
	return out, nil
}

// Text reads a text member; a missing one is "".
func (s Section) Text(name string) (string, error) {
	n, ok := s.Get(name)
	if !ok {
		return "", nil
	}
	return n.Text()
}

// Text reads a single value as it is spelled.
func (n Node) Text() (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", n.Fail("%s where a text should stand", n.kind())
	}
	return n.Value, nil
}

// List reads each element of a list member; a missing one is empty.
func List[T any](s Section, name string, read func(Node) (T, error)) ([]T, error) {
	n, ok := s.Get(name)
	if !ok {
		return nil, nil
	}
	items, err := n.Items()
	if err != nil {
		return nil, err
	}
	out := make([]T, len(items))
	for i, e := range items {
		if out[i], err = read(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Texts reads a list of texts; a missing one is empty.
func (s Section) Texts(name string) ([]string, error) { return List(s, name, Node.Text) }

// Flag reads true or false; a missing one is false.
func (s Section) Flag(name string) (bool, error) {
	n, ok := s.Get(name)
	if !ok {
		return false, nil
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		return false, n.Fail("%s is neither true nor false", name)
	}
	return n.Value == "true" || n.Value == "True" || n.Value == "TRUE", nil
}

// Count reads a number that is not negative; a missing one is what other says.
func (s Section) Count(name string, other uint64) (uint64, error) {
	n, ok := s.Get(name)
	if !ok {
		return other, nil
	}
	v, err := n.JSON()
	if err != nil {
		return 0, err
	}
	i, ok := v.AsInt()
	if !ok || i < 0 {
		return 0, n.Fail("%s is not a whole number from 0", name)
	}
	return uint64(i), nil
}

// JSON reads a member as JSON; a missing one is absent.
func (s Section) JSON(name string) (canon.Value, error) {
	n, ok := s.Get(name)
	if !ok {
		return canon.Value{}, nil
	}
	return n.JSON()
}

// JSON reads JSON as YAML spells it.
func (n Node) JSON() (canon.Value, error) { return n.valueAt(0) }

func (n Node) valueAt(depth int) (canon.Value, error) {
	if depth > maxDepth {
		return canon.Value{}, n.Fail("nested deeper than %d", maxDepth)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return n.scalar()
	case yaml.SequenceNode:
		out := make([]canon.Value, len(n.Content))
		for i, c := range n.Content {
			var err error
			if out[i], err = n.at(c).valueAt(depth + 1); err != nil {
				return canon.Value{}, err
			}
		}
		return canon.Array(out...), nil
	case yaml.MappingNode:
		s, err := n.Section()
		if err != nil {
			return canon.Value{}, err
		}
		var out []canon.Member
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			v, err := s.Members[name].valueAt(depth + 1)
			if err != nil {
				return canon.Value{}, err
			}
			out = append(out, canon.M(name, v))
		}
		return canon.Object(out...), nil
	default:
		return canon.Value{}, n.Fail("anchors and aliases are not taken")
	}
}

func (n Node) scalar() (canon.Value, error) {
	switch n.Tag {
	case "!!null":
		return canon.Null(), nil
	case "!!bool":
		return canon.Bool(strings.EqualFold(n.Value, "true")), nil
	case "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			return canon.Value{}, n.Fail("%s is no number as JSON spells it; put quotes around a text", n.Value)
		}
		v, err := canon.Number(n.Value)
		return v, n.Because(err)
	default:
		return canon.String(n.Value), nil
	}
}

// Has reports whether a member stands there.
func (s Section) Has(name string) bool {
	_, ok := s.Get(name)
	return ok
}

// Alone refuses a section that says more than the one thing.
func (s Section) Alone(name string) error {
	if len(s.Members) != 1 {
		return s.Fail("%s stands alone in its item", name)
	}
	return nil
}
