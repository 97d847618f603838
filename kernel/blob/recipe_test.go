package blob

import (
	"bytes"
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
)

func TestHostileRecipesAreRefused(t *testing.T) {
	t.Parallel()
	id := canon.Digest{1}
	nest := func(length int64, n int) []byte {
		var ops []op
		for range n {
			ops = append(ops, op{kind: opRecipe, length: length, id: id})
		}
		return appendOps(nil, ops)
	}
	recipe := func(ops []byte) []byte { return append([]byte{recipeVersion}, ops...) }
	opens := 0
	for _, c := range []struct {
		name   string
		recipe []byte
		size   int64
		chunk  []byte
		want   error
	}{
		{"none", nil, 0, nil, ErrRecipe},
		{"of another version", []byte{9}, 0, nil, ErrRecipe},
		{"with an unknown operation", recipe([]byte{3, 1, 1}), 1, nil, ErrRecipe},
		{"that ends in a length", recipe([]byte{opBytes, 0x80}), 1, nil, ErrRecipe},
		{"that ends in its bytes", recipe([]byte{opBytes, 5, 'x'}), 5, nil, ErrRecipe},
		{"that ends in an id", recipe([]byte{opChunk, 5, 1, 2}), 5, nil, ErrRecipe},
		{"with an operation of no length", recipe(nest(0, 1)), 0, nil, ErrRecipe},
		{"with a length in another spelling", recipe([]byte{opBytes, 0x81, 0, 'x'}), 1, nil, ErrRecipe},
		{"with a length beyond all", recipe(appendOps(nil, []op{{kind: opChunk, length: -1}})), 1, nil, ErrRecipe},
		{"that gives too much", recipe(nest(3, 2)), 5, nil, ErrSize},
		{"that gives too little", recipe(nest(3, 1)), 5, nil, ErrSize},
		{"whose chunk has another length", recipe(appendOps(nil, []op{{kind: opChunk, length: 2, id: id}})), 2, []byte("abc"), ErrSize},
		{"whose nested recipe gives too little", recipe(nest(3, 1)), 3, []byte{opBytes, 1, 'x'}, ErrSize},
		{"that nests in itself", recipe(nest(1<<40, 1)), 1 << 40, nest(1<<40, 1), ErrRecipe},
		{"that nests in itself twice", recipe(nest(1<<40, 1)), 1 << 40, nest(1<<39, 2), ErrSize},
	} {
		opens = 0
		get := func(canon.Digest) ([]byte, error) {
			opens++
			return c.chunk, nil
		}
		part := Part{Size: c.size, Recipe: c.recipe}
		var out bytes.Buffer
		if err := Rebuild(part, get, &out); !errors.Is(err, c.want) {
			t.Errorf("Rebuild of a recipe %s = %v, want %v", c.name, err, c.want)
		}
		last := error(nil)
		for _, err := range IDs(part, get) {
			last = err
		}
		for _, err := range Pieces(part, get) {
			if err != nil && last == nil && !errors.Is(err, c.want) {
				t.Errorf("Pieces of a recipe %s = %v, want %v", c.name, err, c.want)
			}
		}
		if opens > 3*(maxDepth+1) {
			t.Errorf("a recipe %s was opened %d times", c.name, opens)
		}
	}
}

// FuzzRecipe reads any bytes as a recipe: no panic, no more output than was
// stated, and what is accepted has one spelling.
func FuzzRecipe(f *testing.F) {
	f.Add([]byte{opBytes, 1, 'x'}, int64(1), []byte{opBytes, 1, 'y'})
	f.Add(appendOps(nil, []op{{kind: opRecipe, length: 2}, {kind: opChunk, length: 2}}), int64(4), []byte{opBytes, 1, 'y'})
	f.Fuzz(func(t *testing.T, ops []byte, size int64, chunk []byte) {
		if size > 1<<20 {
			return
		}
		var out bytes.Buffer
		part := Part{Size: size, Recipe: append([]byte{recipeVersion}, ops...)}
		err := Rebuild(part, func(canon.Digest) ([]byte, error) { return chunk, nil }, &out)
		if int64(out.Len()) > max(size, 0) || err == nil && int64(out.Len()) != size {
			t.Fatalf("Rebuild gives %d bytes of %d, and %v", out.Len(), size, err)
		}
		if checkOps(ops, size) != nil {
			return
		}
		var again []op
		for rest := ops; len(rest) > 0; {
			o, next, err := nextOp(rest)
			if err != nil {
				t.Fatal(err)
			}
			again, rest = append(again, o), next
		}
		if b := appendOps(nil, again); !bytes.Equal(b, ops) {
			t.Fatalf("%x is read as %x", ops, b)
		}
	})
}
