package blob_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// request64K is a request of an agent: some messages with text, code and JSON
// inside strings.
func request64K() []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[`)
	for i := 0; b.Len() < 64<<10; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		text := strings.Repeat(fmt.Sprintf("line %d of a tool's \"output\"\n\tfunc f() { return %d }\n", i, i*i), 12)
		fmt.Fprintf(&b, `{"role":"tool","content":%q,"usage":{"in":%d,"out":[1,2,3]}}`, text, i)
	}
	b.WriteString(`],"stream":true}`)
	return []byte(b.String())
}

func benchWriter(b *testing.B, isJSON bool, data []byte) {
	scope := blob.Scope{ID: "s", Key: [32]byte{1}}
	w := blob.NewWriter(scope, canon.Salt{}, isJSON, discard)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		w.Reset(scope, canon.Salt{}, isJSON, discard)
		if _, err := w.Write(data); err != nil {
			b.Fatal(err)
		}
		if _, _, err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func discard(blob.Chunk) error { return nil }

func BenchmarkWriterJSON(b *testing.B) { benchWriter(b, true, request64K()) }

func BenchmarkWriterContent(b *testing.B) { benchWriter(b, false, request64K()) }

// BenchmarkSHA256 is the limit: the writer hashes every byte twice, for the
// commitment and for the chunk's id.
func BenchmarkSHA256(b *testing.B) {
	data := request64K()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		sha256.Sum256(data)
	}
}

func BenchmarkRebuild(b *testing.B) {
	data := request64K()
	scope := blob.Scope{ID: "s", Key: [32]byte{1}}
	chunks := map[canon.Digest][]byte{}
	w := blob.NewWriter(scope, canon.Salt{}, true, func(c blob.Chunk) error {
		chunks[c.ID] = bytes.Clone(c.Bytes)
		return nil
	})
	if _, err := w.Write(data); err != nil {
		b.Fatal(err)
	}
	part, _, err := w.Close()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := blob.Rebuild(part, func(id canon.Digest) ([]byte, error) { return chunks[id], nil }, &out); err != nil {
			b.Fatal(err)
		}
	}
}
