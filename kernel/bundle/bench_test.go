package bundle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// shape is what the entries of a benchmark look like.
type shape struct {
	name       string
	body, size int // of the body and of its one attachment, if any
	entries    int
}

var shapes = []shape{
	{"json-1KB", 1000, 0, 20000},
	{"json-10KB", 10000, 0, 4000},
	{"opaque-1KB", 200, 1000, 20000},
	{"opaque-10KB", 200, 10000, 4000},
}

// long returns a ledger of entries of a shape. Every attachment is another.
func (s shape) long() *bundletest.Ledger {
	l := bundletest.New(s.name)
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), canon.Value{})
	for i := range s.entries {
		var list []canon.Value
		for size := 0; size < s.body-80; size += 75 {
			list = append(list, bundletest.Object(`{"id":%d,"role":"user","text":"a line of text that is %d long"}`, size, i))
		}
		var att []ledger.Content
		if s.size > 0 {
			c := noise("content", s.size)
			copy(c.Bytes, fmt.Sprint(i))
			att = append(att, c)
		}
		l.Append(ledger.KindEvent, canon.Object(canon.M("data", canon.Array(list...)), canon.M("name", canon.String("bench"))), canon.Value{}, att...)
	}
	l.Head(bundletest.Key("head"))
	return l
}

// logical counts and hashes what an entry says: header, body and contents.
func logical(l *bundletest.Ledger) (n int64, contents [][]byte) {
	ev := l.Evidence()
	for i := range l.Entries {
		e := &l.Entries[i]
		var b bytes.Buffer
		b.Write(e.Header)
		b.Write(e.Body)
		for k := range e.Parts {
			if err := ev.Attachment(e, k, &b); err != nil {
				panic(err)
			}
		}
		n += int64(b.Len())
		contents = append(contents, b.Bytes())
	}
	return n, contents
}

func BenchmarkVerify(b *testing.B) {
	for _, s := range shapes {
		l := s.long()
		n, contents := logical(l)
		raw := bundletest.Bundle(bundle.Options{}, l)
		report := func(b *testing.B) {
			b.ReportMetric(float64(len(l.Entries))*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
			b.SetBytes(n)
		}
		run := func(b *testing.B, ev ledger.Evidence) {
			b.Helper()
			ev.Keys = bundletest.Keyring()
			v, err := ledger.Verify(context.Background(), ev)
			if err != nil || v.Failed() {
				b.Fatal(err, v.First())
			}
		}
		b.Run(s.name+"/sha256", func(b *testing.B) {
			for b.Loop() {
				for _, c := range contents {
					_ = sha256.Sum256(c)
				}
			}
			report(b)
		})
		b.Run(s.name+"/memory", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(b, l.Evidence())
			}
			report(b)
		})
		b.Run(s.name+"/bundle", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x, err := bundle.Open(bytes.NewReader(raw), int64(len(raw)))
				if err != nil {
					b.Fatal(err)
				}
				run(b, x.Evidence(l.Run))
			}
			report(b)
		})
	}
}
