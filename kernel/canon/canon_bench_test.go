package canon_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// body returns canonical JSON of about so many bytes, shaped like the body of
// an outcome.
func body(size int) []byte {
	var calls []canon.Value
	for i := 0; ; i++ {
		v := canon.Object(
			canon.M("calls", canon.Array(calls...)),
			canon.M("kind", canon.String("outcome")),
			canon.M("status", canon.String("ok")),
			canon.M("usage", canon.Object(canon.M("input", canon.Int(1200)), canon.M("output", canon.Int(345)))),
		)
		b, err := canon.Encode(v, canon.Native)
		if err != nil {
			panic(err)
		}
		if len(b) >= size {
			return b
		}
		calls = append(calls, canon.Object(
			canon.M("arguments", canon.Object(canon.M("path", canon.String("/srv/data/report.txt")), canon.M("limit", canon.Int(int64(i))))),
			canon.M("id", canon.String(fmt.Sprintf("call_%08d", i))),
			canon.M("result", canon.String("The quick brown fox jumps over the lazy dog.\n"+strings.Repeat("Lorem ipsum dolor sit amet. ", 3))),
			canon.M("tool", canon.String("read_file")),
		))
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{200, 1 << 10, 10 << 10, 64 << 10} {
		data := body(size)
		b.Run(fmt.Sprintf("native/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := canon.Check(data, canon.Native); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("jsontext/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				v := jsontext.Value(bytes.Clone(data))
				if err := v.Canonicalize(); err != nil || !bytes.Equal(v, data) {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCanonicalize(b *testing.B) {
	v, err := canon.Parse(body(64 << 10))
	if err != nil {
		b.Fatal(err)
	}
	// Members out of order, and spaces, as clients send them.
	data := []byte(strings.ReplaceAll(shuffled(v).String(), `,"`, `, "`))
	b.Run("reprise", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := canon.Canonicalize(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("jsontext", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			v := jsontext.Value(bytes.Clone(data))
			if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// shuffled returns v with the members of every object in reverse.
func shuffled(v canon.Value) canon.Value {
	switch v.Kind() {
	case canon.KindArray:
		var elems []canon.Value
		for _, e := range v.Elems() {
			elems = append(elems, shuffled(e))
		}
		return canon.Array(elems...)
	case canon.KindObject:
		var members []canon.Member
		for _, m := range v.Members() {
			members = append([]canon.Member{canon.M(m.Name, shuffled(m.Value))}, members...)
		}
		return canon.Object(members...)
	default:
		return v
	}
}

func BenchmarkParse(b *testing.B) {
	data := body(1 << 10)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canon.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	v, err := canon.Parse(body(1 << 10))
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = canon.Append(buf[:0], v, canon.Native); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDigest(b *testing.B) {
	for _, size := range []int{300, 1 << 10, 10 << 10} {
		data := body(size)
		var salt canon.Salt
		binder := canon.NewBinder(&salt)
		for _, c := range []struct {
			name string
			f    func() canon.Digest
		}{
			{"SHA256", func() canon.Digest { return canon.SHA256(data) }},
			{"Hash", func() canon.Digest { return canon.Hash("reprise/entry/v1\n", data) }},
			{"Bind", func() canon.Digest { return canon.Bind(&salt, data) }},
			{"Binder", func() canon.Digest { binder.Reset(&salt); _, _ = binder.Write(data); return binder.Sum() }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, size), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					c.f()
				}
			})
		}
	}
}
