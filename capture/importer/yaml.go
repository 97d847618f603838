package importer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// loader reads YAML as trees, and answers for their size. Aliases are
// followed, because PyYAML writes one wherever an object was used twice; what
// is taken through them counts again, so that a small file cannot become a
// large one.
type loader struct {
	budget int64 // bytes and nodes that may still be taken
}

// maxNesting is how deep a tree is followed.
const maxNesting = 64

// errNested and errBudget are what a walk ends with.
var (
	errNested = fault.New(ErrTooLarge, "importer.yaml", "nested deeper than %d, or an alias that holds itself", maxNesting)
	errBudget = fault.New(ErrTooLarge, "importer.yaml", "aliases blow the file up")
)

// documents parses all documents of b.
func documents(b []byte, limit int) ([]*yaml.Node, error) {
	const op = "importer.documents"
	var out []*yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fault.Wrap(ErrUnknownFormat, op, err, "no YAML")
		}
		if len(out) == limit {
			return nil, fault.New(ErrTooLarge, op, "more than %d documents", limit)
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			out = append(out, n.Content[0])
		}
	}
}

// follow returns what an alias stands for, and counts the node.
func (l *loader) follow(n *yaml.Node) (*yaml.Node, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if l.budget -= int64(len(n.Value)) + int64(len(n.Content)) + 1; l.budget < 0 {
		return nil, errBudget
	}
	return n, nil
}

// tree is a mapping, by name. A member is used up when it is taken, so that
// what nobody asked for can be named.
type tree map[string]*yaml.Node

// mapping returns the members of n. A name that stands twice is refused:
// which one counts is undefined.
func (l *loader) mapping(n *yaml.Node) (tree, error) {
	const op = "importer.mapping"
	n, err := l.follow(n)
	if err != nil {
		return nil, err
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return tree{}, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, fault.New(ErrMalformed, op, "line %d: a %s where a mapping should stand", n.Line, kindName(n))
	}
	t := make(tree, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, err := l.follow(n.Content[i])
		if err != nil {
			return nil, err
		}
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return nil, fault.New(ErrMalformed, op, "line %d: a name that is no text", k.Line)
		}
		if t[k.Value] != nil {
			return nil, fault.New(ErrMalformed, op, "line %d: the name %.40q stands twice", k.Line, k.Value)
		}
		t[k.Value] = n.Content[i+1]
	}
	return t, nil
}

// take returns a member and removes it.
func (t tree) take(name string) (*yaml.Node, bool) {
	n, ok := t[name]
	delete(t, name)
	return n, ok
}

// sequence returns the elements of n; none if it is null.
func (l *loader) sequence(n *yaml.Node) ([]*yaml.Node, error) {
	n, err := l.follow(n)
	if err != nil {
		return nil, err
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil, nil
	case n.Kind != yaml.SequenceNode:
		return nil, fault.New(ErrMalformed, "importer.sequence", "line %d: a %s where a sequence should stand", n.Line, kindName(n))
	}
	return n.Content, nil
}

// scalar returns the bytes of n: as they stand, whatever type YAML would see
// in them, and decoded if they are marked as binary. Null gives nil.
func (l *loader) scalar(n *yaml.Node) ([]byte, *yaml.Node, error) {
	const op = "importer.scalar"
	n, err := l.follow(n)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		return nil, n, fault.New(ErrMalformed, op, "line %d: a %s where text should stand", n.Line, kindName(n))
	case n.Tag == "!!null":
		return nil, n, nil
	case n.Tag == "!!binary" || n.Tag == "!binary":
		b, err := decode64(n.Value)
		return b, n, fault.Wrap(ErrMalformed, op, err, "line %d: bytes", n.Line)
	default:
		return []byte(n.Value), n, nil
	}
}

// text returns the member of that name, empty if it is missing.
func (l *loader) text(t tree, name string) (string, error) {
	n, ok := t.take(name)
	if !ok {
		return "", nil
	}
	b, _, err := l.scalar(n)
	return string(b), err
}

// decode64 reads base64 with line breaks, as YAML and Ruby write it.
func decode64(s string) ([]byte, error) {
	s = strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\r' || r == '\t' {
			return -1
		}
		return r
	}, s)
	return base64.StdEncoding.Strict().DecodeString(s)
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "sequence"
	default:
		return "scalar"
	}
}

// json writes n as JSON, for bodies that were parsed and whose bytes are lost.
// Names stay in their order; numbers that JSON does not know become text.
func (l *loader) json(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	if depth > maxNesting {
		return nil, errNested
	}
	n, err := l.follow(n)
	if err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			name, _, err := l.scalar(n.Content[i])
			if err != nil {
				return nil, err
			}
			dst = append(quote(dst, string(name)), ':')
			if dst, err = l.json(dst, n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, e := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = l.json(dst, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	default:
		return jsonScalar(dst, n), nil
	}
}
