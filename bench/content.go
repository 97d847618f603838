package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// writer makes text that looks like what agents send: words of a language
// that has no more structure than their frequencies, so that nothing shrinks
// better than real text does.
type writer struct {
	r     *rand.Rand
	words []string
}

func newWriter(seed uint64) *writer {
	w := &writer{r: rand.New(rand.NewPCG(seed, 7))}
	vocabulary := rand.New(rand.NewPCG(1, 2)) // the same for every writer
	for range 4000 {
		n := 2 + vocabulary.IntN(9)
		b := make([]byte, n)
		for i := range b {
			b[i] = "etaoinshrdlucmfwypvbgkjqxz"[min(vocabulary.IntN(26), vocabulary.IntN(26))]
		}
		w.words = append(w.words, string(b))
	}
	return w
}

// text returns about n bytes of words.
func (w *writer) text(n int) string {
	var b strings.Builder
	b.Grow(n + 16)
	for b.Len() < n {
		u := w.r.Float64()
		b.WriteString(w.words[int(u*u*u*float64(len(w.words)))])
		switch w.r.IntN(14) {
		case 0:
			b.WriteString(".\n")
		case 1:
			b.WriteString(", ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()[:n]
}

// id returns an id as providers draw them.
func (w *writer) id(prefix string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 24)
	for i := range b {
		b[i] = letters[w.r.IntN(len(letters))]
	}
	return prefix + string(b)
}

// body returns the body of an event of about size bytes: some members of
// every type, the rest text.
func (w *writer) body(i, size int) (canon.Value, error) {
	build := func(text string) canon.Value {
		return canon.Object(
			canon.M("data", canon.Object(
				canon.M("arguments", canon.Object(canon.M("limit", canon.Int(int64(i))), canon.M("path", canon.String("/srv/data/report.txt")))),
				canon.M("cached", canon.Bool(i%3 == 0)),
				canon.M("id", canon.String(w.id("call_"))),
				canon.M("index", canon.Int(int64(i))),
				canon.M("parent", canon.Null()),
				canon.M("tags", canon.Array(canon.String("agent"), canon.String("naïve"), canon.String("tool"))),
				canon.M("text", canon.String(text)),
				canon.M("usage", canon.Object(canon.M("input", canon.Int(int64(1000+i%500))), canon.M("output", canon.Int(int64(i%700))))),
			)),
			canon.M("name", canon.String("tool.result")),
		)
	}
	bare, err := canon.Encode(build(""), canon.Native)
	if err != nil {
		return canon.Value{}, err
	}
	if len(bare) > size {
		return canon.Value{}, fmt.Errorf("a body needs at least %d bytes", len(bare))
	}
	text := w.text(size - len(bare))
	return build(text[:len(text)-strings.Count(text, "\n")]), nil
}
