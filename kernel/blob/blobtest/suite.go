// Package blobtest is the conformance suite of [blob.Store]. Every backend
// passes [Run]; one that outlives its process passes [RunRestart] too.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Run tests everything that a store promises within one process.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s blob.Store)
	}{
		{"a chunk comes back byte for byte", testRoundTrip},
		{"a scope keeps its first key", testScope},
		{"of many who create a scope all get one key", testScopeRace},
		{"scopes with odd names are kept apart", testScopeNames},
		{"a scope that is none is refused", testBadScope},
		{"what no scope has is not found", testNotFound},
		{"a chunk that is there stays as it is", testDuplicate},
		{"a chunk needs a scope with a key", testNoScope},
		{"chunks over the limit are refused", testTooLarge},
		{"ids are listed in order, each once", testList},
		{"an erased scope is gone, its neighbours are not", testErase},
		{"an erased scope may be made anew", testEraseAndMake},
		{"the caller's memory is its own again", testNoAliasing},
		{"a context that ended stores nothing", testCanceled},
		{"many put and get at the same time", testConcurrent},
		{"an attachment is rebuilt from the store", testAttachment},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

// RunRestart tests that what was acknowledged is there, and what was erased is
// not, after the store was closed and opened again at the same place.
func RunRestart(t *testing.T, open func(t *testing.T, place string) blob.Store, closeStore func(s blob.Store) error) {
	place := t.TempDir()
	s := open(t, place)
	kept, gone := makeScope(t, s, "kept"), makeScope(t, s, "gone")
	chunks := []blob.Chunk{chunk(kept, "a"), chunk(kept, strings.Repeat("b", 5000)), chunk(gone, "c")}
	put(t, s, chunks...)
	reopen := func() {
		t.Helper()
		if err := closeStore(s); err != nil {
			t.Fatalf("Close = %v", err)
		}
		s = open(t, place)
	}
	reopen()
	for _, c := range chunks {
		get(t, s, c)
	}
	if err := s.Erase(t.Context(), gone.ID); err != nil {
		t.Fatalf("Erase = %v", err)
	}
	reopen()
	get(t, s, chunks[0])
	get(t, s, chunks[1])
	absent(t, s, chunks[2])
	if sc, err := s.Scope(t.Context(), kept.ID, nil); err != nil || sc != kept {
		t.Errorf("Scope = %v, %v, want %v", sc, err, kept)
	}
	if _, err := s.Scope(t.Context(), gone.ID, nil); !errors.Is(err, blob.ErrScopeNotFound) {
		t.Errorf("Scope of an erased one = %v, want %v", err, blob.ErrScopeNotFound)
	}
}

func scope(id string) blob.Scope { return blob.Scope{ID: id, Key: canon.SHA256([]byte(id))} }

// makeScope makes a scope whose key follows from its id.
func makeScope(t testing.TB, s blob.Store, id string) blob.Scope {
	t.Helper()
	want := scope(id)
	got, err := s.Scope(t.Context(), id, &want)
	if err != nil || got != want {
		t.Fatalf("Scope(%q) = %v, %v, want %v", id, got, err, want)
	}
	return got
}

func chunk(sc blob.Scope, text string) blob.Chunk {
	return blob.Chunk{Scope: sc.ID, ID: canon.MAC(sc.Key[:], []byte(text)), Bytes: []byte(text)}
}

func put(t testing.TB, s blob.Store, chunks ...blob.Chunk) {
	t.Helper()
	if err := s.Put(t.Context(), chunks); err != nil {
		t.Fatalf("Put of %d chunks = %v", len(chunks), err)
	}
}

func get(t testing.TB, s blob.Store, c blob.Chunk) {
	t.Helper()
	got, err := s.Get(t.Context(), c.Scope, c.ID)
	if err != nil || got == nil || !bytes.Equal(got, c.Bytes) {
		t.Errorf("Get(%q, %s) = %d bytes, %v, want %d bytes", c.Scope, c.ID, len(got), err, len(c.Bytes))
	}
}

func absent(t testing.TB, s blob.Store, c blob.Chunk) {
	t.Helper()
	if b, err := s.Get(t.Context(), c.Scope, c.ID); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Get(%q, %s) = %d bytes, %v, want %v", c.Scope, c.ID, len(b), err, blob.ErrNotFound)
	}
}

func list(t testing.TB, seq iter.Seq2[canon.Digest, error]) (ids []canon.Digest) {
	t.Helper()
	for id, err := range seq {
		if err != nil {
			t.Fatalf("List = %v", err)
		}
		ids = append(ids, id)
	}
	return ids
}

func testRoundTrip(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	rng := rand.New(rand.NewPCG(1, 2))
	var chunks []blob.Chunk
	for _, size := range []int{0, 1, 2, 63, 64, 65, 1000, 4096, 8191, 20000, blob.MaxChunk} {
		random := make([]byte, size)
		for i := range random {
			random[i] = byte(rng.Uint32())
		}
		chunks = append(chunks, chunk(sc, string(random)))
		if size > 0 {
			chunks = append(chunks, chunk(sc, strings.Repeat("text", size/4+1)[:size]))
		}
	}
	put(t, s, chunks...)
	put(t, s)
	for _, c := range chunks {
		get(t, s, c)
	}
}

func testScope(t *testing.T, s blob.Store) {
	if _, err := s.Scope(t.Context(), "s", nil); !errors.Is(err, blob.ErrScopeNotFound) {
		t.Errorf("Scope of none = %v, want %v", err, blob.ErrScopeNotFound)
	}
	first := makeScope(t, s, "s")
	other := blob.Scope{ID: "s", Key: [32]byte{7}}
	for _, create := range []*blob.Scope{nil, &other, &first} {
		if got, err := s.Scope(t.Context(), "s", create); err != nil || got != first {
			t.Errorf("Scope = %v, %v, want the first, %v", got, err, first)
		}
	}
}

func testScopeRace(t *testing.T, s blob.Store) {
	const racers = 16
	got := make([]blob.Scope, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			var err error
			if got[i], err = s.Scope(t.Context(), "s", &blob.Scope{ID: "s", Key: [32]byte{byte(i + 1)}}); err != nil {
				t.Errorf("Scope = %v", err)
			}
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] != got[0] {
			t.Errorf("racer %d got %v, racer 0 got %v", i, got[i], got[0])
		}
	}
}

func testScopeNames(t *testing.T, s blob.Store) {
	names := []string{
		"s", "S", "s ", " s", "s/", "/s", "../s", "..", ".", "s\x00", "\xff", "é", "e\u0301", "*", "[a]", "?", "key", "k%", "s_",
		strings.Repeat("n", blob.MaxScope), strings.Repeat("n", blob.MaxScope-1), strings.Repeat("n", 125), strings.Repeat("n", 126),
	}
	for _, name := range names {
		put(t, s, chunk(makeScope(t, s, name), "of "+name))
	}
	for _, name := range names {
		get(t, s, chunk(scope(name), "of "+name))
		if ids := list(t, s.List(t.Context(), name)); len(ids) != 1 {
			t.Errorf("scope %q has %d chunks, want 1", name, len(ids))
		}
	}
	if err := s.Erase(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names[1:] {
		get(t, s, chunk(scope(name), "of "+name))
	}
}

func testBadScope(t *testing.T, s blob.Store) {
	long := strings.Repeat("n", blob.MaxScope+1)
	for _, c := range []struct {
		id     string
		create blob.Scope
	}{
		{"", scope("")},
		{"s", scope("other")},
		{"s", blob.Scope{ID: "s"}},
		{long, scope(long)},
	} {
		if _, err := s.Scope(t.Context(), c.id, &c.create); fault.ClassOf(err) != fault.ClassInvalid {
			t.Errorf("Scope(%q, %v) = %v, want an error of class invalid", c.id, c.create, err)
		}
	}
}

func testNotFound(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	put(t, s, chunk(sc, "a"))
	absent(t, s, chunk(sc, "b"))
	other := chunk(sc, "a")
	other.Scope = makeScope(t, s, "other").ID
	absent(t, s, other)
	other.Scope = "none"
	absent(t, s, other)
	other.Scope = ""
	absent(t, s, other)
	if ids := list(t, s.List(t.Context(), "none")); len(ids) != 0 {
		t.Errorf("List of no scope = %v", ids)
	}
}

func testDuplicate(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	first := chunk(sc, "first")
	forged := first
	forged.Bytes = []byte("forged")
	put(t, s, first, first)
	put(t, s, forged, chunk(sc, "second"))
	get(t, s, first)
	get(t, s, chunk(sc, "second"))
	if n := len(list(t, s.List(t.Context(), "s"))); n != 2 {
		t.Errorf("%d chunks, want 2", n)
	}
}

func testNoScope(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	err := s.Put(t.Context(), []blob.Chunk{chunk(sc, "a"), chunk(scope("none"), "b")})
	if !errors.Is(err, blob.ErrScopeNotFound) {
		t.Errorf("Put into no scope = %v, want %v", err, blob.ErrScopeNotFound)
	}
	absent(t, s, chunk(sc, "a"))
	absent(t, s, chunk(scope("none"), "b"))
}

func testTooLarge(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	large := chunk(sc, strings.Repeat("x", blob.MaxChunk+1))
	for _, c := range []blob.Chunk{large, {ID: large.ID, Bytes: []byte("x")}} {
		if err := s.Put(t.Context(), []blob.Chunk{chunk(sc, "a"), c}); !errors.Is(err, blob.ErrChunk) {
			t.Errorf("Put = %v, want %v", err, blob.ErrChunk)
		}
	}
	absent(t, s, chunk(sc, "a"))
}

func testList(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	var want []canon.Digest
	for round := range 3 {
		var chunks []blob.Chunk
		for i := range 400 {
			chunks = append(chunks, chunk(sc, fmt.Sprint(round, " ", i, strings.Repeat("x", 700))))
			want = append(want, chunks[i].ID)
		}
		put(t, s, chunks...)
	}
	slices.SortFunc(want, func(a, b canon.Digest) int { return bytes.Compare(a[:], b[:]) })
	if got := list(t, s.List(t.Context(), "s")); !slices.Equal(got, want) {
		t.Errorf("List yields %d ids, want %d in order", len(got), len(want))
	}
	for id, err := range s.List(t.Context(), "s") {
		if err != nil || id != want[0] {
			t.Errorf("List that is stopped yields %s, %v, want %s", id, err, want[0])
		}
		break
	}
}

func testErase(t *testing.T, s blob.Store) {
	a, b := makeScope(t, s, "a"), makeScope(t, s, "b")
	put(t, s, chunk(a, "1"), chunk(a, "2"), chunk(b, "1"))
	get(t, s, chunk(a, "1"))
	for range 2 {
		if err := s.Erase(t.Context(), "a"); err != nil {
			t.Errorf("Erase = %v", err)
		}
	}
	if err := s.Erase(t.Context(), "none"); err != nil {
		t.Errorf("Erase of none = %v", err)
	}
	absent(t, s, chunk(a, "1"))
	absent(t, s, chunk(a, "2"))
	get(t, s, chunk(b, "1"))
	if ids := list(t, s.List(t.Context(), "a")); len(ids) != 0 {
		t.Errorf("List of an erased scope = %v", ids)
	}
	if _, err := s.Scope(t.Context(), "a", nil); !errors.Is(err, blob.ErrScopeNotFound) {
		t.Errorf("Scope of an erased one = %v, want %v", err, blob.ErrScopeNotFound)
	}
	if err := s.Put(t.Context(), []blob.Chunk{chunk(a, "3")}); !errors.Is(err, blob.ErrScopeNotFound) {
		t.Errorf("Put into an erased scope = %v, want %v", err, blob.ErrScopeNotFound)
	}
}

func testEraseAndMake(t *testing.T, s blob.Store) {
	first := makeScope(t, s, "s")
	old := chunk(first, "old")
	put(t, s, old)
	if err := s.Erase(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	next := blob.Scope{ID: "s", Key: [32]byte{9}}
	if got, err := s.Scope(t.Context(), "s", &next); err != nil || got != next {
		t.Fatalf("Scope = %v, %v, want the new key", got, err)
	}
	absent(t, s, old)
	put(t, s, chunk(next, "new"))
	get(t, s, chunk(next, "new"))
	absent(t, s, old)
}

func testNoAliasing(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	c := chunk(sc, strings.Repeat("abc", 100))
	mine := c
	mine.Bytes = bytes.Clone(c.Bytes)
	put(t, s, mine)
	clear(mine.Bytes)
	get(t, s, c)
}

func testCanceled(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Put(ctx, []blob.Chunk{chunk(sc, "a")}); !errors.Is(err, context.Canceled) || !errors.Is(err, blob.ErrStore) {
		t.Errorf("Put with a context that ended = %v, want %v by %v", err, blob.ErrStore, context.Canceled)
	}
	if _, err := s.Get(ctx, sc.ID, chunk(sc, "a").ID); !errors.Is(err, context.Canceled) {
		t.Errorf("Get with a context that ended = %v, want %v", err, context.Canceled)
	}
	if err := s.Erase(ctx, sc.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("Erase with a context that ended = %v, want %v", err, context.Canceled)
	}
	absent(t, s, chunk(sc, "a"))
	if _, err := s.Scope(t.Context(), sc.ID, nil); err != nil {
		t.Errorf("Scope = %v", err)
	}
}

func testConcurrent(t *testing.T, s blob.Store) {
	shared := makeScope(t, s, "shared")
	var wg sync.WaitGroup
	for i := range 16 {
		own := makeScope(t, s, fmt.Sprint("scope ", i))
		wg.Go(func() {
			for k := range 20 {
				mine := []blob.Chunk{chunk(own, fmt.Sprint(k)), chunk(shared, fmt.Sprint("shared ", k)), chunk(shared, fmt.Sprint(i, " ", k))}
				put(t, s, mine...)
				for _, c := range mine {
					get(t, s, c)
				}
			}
		})
	}
	wg.Wait()
	if n := len(list(t, s.List(t.Context(), "shared"))); n != 20+16*20 {
		t.Errorf("%d chunks in the shared scope, want %d", n, 20+16*20)
	}
}

func testAttachment(t *testing.T, s blob.Store) {
	sc := makeScope(t, s, "s")
	var text strings.Builder
	text.WriteString(`{"messages":[`)
	for i := range 500 {
		fmt.Fprintf(&text, `{"n":%d,"content":"%s"},`, i, strings.Repeat("word ", i%300))
	}
	text.WriteString(`null]}`)
	w := blob.NewWriter(sc, canon.Salt{1}, true, func(c blob.Chunk) error { return s.Put(t.Context(), []blob.Chunk{c}) })
	if _, err := w.Write([]byte(text.String())); err != nil {
		t.Fatal(err)
	}
	part, _, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := blob.Rebuild(part, func(id canon.Digest) ([]byte, error) { return s.Get(t.Context(), sc.ID, id) }, &got); err != nil {
		t.Fatalf("Rebuild = %v", err)
	}
	if got.String() != text.String() {
		t.Errorf("Rebuild gives %d bytes, want the %d of the attachment", got.Len(), text.Len())
	}
}
