package blob_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// kept is what a writer gave: the part, its commitment and its chunks.
type kept struct {
	part   blob.Part
	bind   canon.Digest
	order  []canon.Digest
	chunks map[canon.Digest][]byte
}

var testScope = blob.Scope{ID: "s", Key: [32]byte{1}}

// write writes data in pieces of the sizes given, again and again.
func write(t rapid.TB, isJSON bool, data []byte, sizes ...int) *kept {
	k := &kept{chunks: map[canon.Digest][]byte{}}
	w := blob.NewWriter(testScope, canon.Salt{7}, isJSON, func(c blob.Chunk) error {
		if len(c.Bytes) == 0 || len(c.Bytes) > blob.MaxChunk || c.Scope != testScope.ID {
			t.Fatalf("a chunk of %d bytes in scope %q", len(c.Bytes), c.Scope)
		}
		if c.ID != canon.MAC(testScope.Key[:], c.Bytes) {
			t.Fatalf("the id of a chunk is not that of its bytes")
		}
		k.order = append(k.order, c.ID)
		k.chunks[c.ID] = bytes.Clone(c.Bytes)
		return nil
	})
	for i, rest := 0, data; len(rest) > 0; i++ {
		n := len(rest)
		if len(sizes) > 0 {
			n = min(n, sizes[i%len(sizes)])
		}
		if got, err := w.Write(rest[:n]); got != n || err != nil {
			t.Fatalf("Write of %d bytes = %d, %v", n, got, err)
		}
		rest = rest[n:]
	}
	var err error
	if k.part, k.bind, err = w.Close(); err != nil {
		t.Fatalf("Close = %v", err)
	}
	return k
}

func (k *kept) get(id canon.Digest) ([]byte, error) {
	if b, ok := k.chunks[id]; ok {
		return b, nil
	}
	return nil, blob.ErrNotFound
}

func (k *kept) rebuild(t rapid.TB) []byte {
	var out bytes.Buffer
	if err := blob.Rebuild(k.part, k.get, &out); err != nil {
		t.Fatalf("Rebuild = %v", err)
	}
	return out.Bytes()
}

// stored returns how many bytes of chunks k has that old has not.
func (k *kept) stored(old *kept) (n int) {
	for id, b := range k.chunks {
		if old == nil || old.chunks[id] == nil {
			n += len(b)
		}
	}
	return n + len(k.part.Recipe)
}

// jsonText draws JSON of any shape, and of many sizes.
func jsonText(t *rapid.T) []byte {
	var b strings.Builder
	var value func(depth int)
	value = func(depth int) {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth > 5 && kind > 3 {
			kind = 0
		}
		switch kind {
		case 0:
			fmt.Fprint(&b, rapid.IntRange(-9, 1e9).Draw(t, "number"))
		case 1, 2:
			fmt.Fprintf(&b, "%q", rapid.StringMatching(`[a-z\\"\[\]{},: ]{0,40}`).Draw(t, "text"))
		case 3:
			fmt.Fprintf(&b, "%q", strings.Repeat("long \"text\" ", 1<<rapid.IntRange(0, 13).Draw(t, "long")))
		default:
			n := rapid.IntRange(0, 12).Draw(t, "members")
			open, end := "[", "]"
			if kind == 5 {
				open, end = "{", "}"
			}
			b.WriteString(open)
			for i := range n {
				if i > 0 {
					b.WriteString(", ")
				}
				if kind == 5 {
					fmt.Fprintf(&b, `"k%d": `, i)
				}
				value(depth + 1)
			}
			b.WriteString(end)
		}
	}
	value(0)
	return []byte(b.String())
}

// anyBytes draws JSON, JSON that is cut off, and other bytes.
func anyBytes(t *rapid.T) []byte {
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		return jsonText(t)
	case 1:
		b := jsonText(t)
		return b[rapid.IntRange(0, len(b)).Draw(t, "from"):]
	case 2:
		seed := rapid.Uint64().Draw(t, "seed")
		b := make([]byte, rapid.IntRange(0, 200_000).Draw(t, "size"))
		rng := rand.New(rand.NewPCG(seed, 1))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	default:
		return rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "bytes")
	}
}

func TestRebuildGivesWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data, isJSON := anyBytes(t), rapid.Bool().Draw(t, "json")
		k := write(t, isJSON, data, 4096)
		if got := k.rebuild(t); !bytes.Equal(got, data) {
			t.Fatalf("rebuilt are %d bytes, written %d", len(got), len(data))
		}
		if salt := (canon.Salt{7}); k.bind != canon.Bind(&salt, data) || k.part.Size != int64(len(data)) {
			t.Fatalf("commitment or size are not those of the bytes")
		}
	})
}

func TestChunksDoNotDependOnHowBytesArrive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data, isJSON := anyBytes(t), rapid.Bool().Draw(t, "json")
		whole := write(t, isJSON, data)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 70_000), 1, 20).Draw(t, "sizes")
		if rapid.Bool().Draw(t, "small") {
			sizes = rapid.SliceOfN(rapid.IntRange(1, 40), 1, 20).Draw(t, "sizes")
		}
		split := write(t, isJSON, data, sizes...)
		if !slices.Equal(split.order, whole.order) || !bytes.Equal(split.part.Recipe, whole.part.Recipe) || split.bind != whole.bind {
			t.Fatalf("written in pieces of %v the attachment has %d chunks, written whole %d, or another recipe", sizes, len(split.order), len(whole.order))
		}
	})
}

func TestIDsAndPiecesNameAllThatRebuildNeeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := write(t, rapid.Bool().Draw(t, "json"), anyBytes(t))
		var asked, named []canon.Digest
		get := func(id canon.Digest) ([]byte, error) {
			asked = append(asked, id)
			return k.get(id)
		}
		var out bytes.Buffer
		if err := blob.Rebuild(k.part, get, &out); err != nil {
			t.Fatal(err)
		}
		for id, err := range blob.IDs(k.part, k.get) {
			if err != nil {
				t.Fatal(err)
			}
			named = append(named, id)
		}
		if !slices.Equal(asked, named) {
			t.Fatalf("Rebuild asks for %d chunks, IDs names %d", len(asked), len(named))
		}
		var pieces []byte
		for p, err := range blob.Pieces(k.part, k.get) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Literal == nil {
				p.Literal = k.chunks[p.ID]
			}
			pieces = append(pieces, p.Literal...)
		}
		if !bytes.Equal(pieces, out.Bytes()) {
			t.Fatalf("Pieces give %d bytes, Rebuild %d", len(pieces), out.Len())
		}
	})
}

func history(messages int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[`)
	for i := range messages {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":"%d %s"}`, i, strings.Repeat(fmt.Sprint(rng.Uint64(), " "), 20+rng.IntN(120)))
	}
	b.WriteString(`],"tools":[{"name":"one","description":"` + strings.Repeat("a tool ", 300) + `"}]}`)
	return []byte(b.String())
}

func TestGrowingHistoryStoresWhatIsNew(t *testing.T) {
	t.Parallel()
	before := write(t, true, history(300))
	after := write(t, true, history(303))
	grown := len(history(303)) - len(history(300))
	if n := after.stored(before); n > grown+6000 {
		t.Errorf("three messages of %d bytes more store %d bytes, want little more", grown, n)
	}
	// What stands in front of the messages does not move their boundaries.
	changed := write(t, true, []byte(`{"user":"somebody","model":"another model",`+string(history(300))[len(`{"model":"m",`):]))
	if n := changed.stored(before); n > 4000 {
		t.Errorf("another head stores %d bytes of %d, want little", n, len(history(300)))
	}
}

func TestAnInsertionMovesNoBoundaryBehindIt(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	before := write(t, false, data)
	for _, at := range []int{0, 1, len(data) / 3, len(data) - 1} {
		after := write(t, false, slices.Concat(data[:at], []byte("inserted"), data[at:]))
		if n := after.stored(before); n > 3*blob.MaxChunk/2 {
			t.Errorf("an insertion at %d stores %d bytes anew of %d", at, n, len(data))
		}
	}
}

func TestAFailureToEmitEndsTheWriting(t *testing.T) {
	t.Parallel()
	failed := errors.New("no room")
	w := blob.NewWriter(testScope, canon.Salt{}, false, func(blob.Chunk) error { return failed })
	_, err := w.Write(make([]byte, 1<<20))
	if !errors.Is(err, failed) {
		t.Errorf("Write = %v, want %v", err, failed)
	}
}

func TestInlineIsWhatAWriterGives(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, blob.InlineMax} {
		data := []byte(strings.Repeat("x", n))
		part, bind := blob.Inline(testScope.ID, canon.Salt{7}, data)
		k := write(t, true, data)
		if bind != k.bind || part.Size != k.part.Size || !bytes.Equal(part.Recipe, k.part.Recipe) || len(k.chunks) != 0 {
			t.Errorf("Inline of %d bytes = %v, a writer gives %v", n, part, k.part)
		}
	}
}
