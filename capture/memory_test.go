package capture_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// onDisk makes r a rig whose store is a file, so that what the process holds
// is what the recorder holds.
func onDisk(t testing.TB) *rig {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "runs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &rig{t: t, store: store, spool: t.TempDir(), now: time.Now, folder: dir}
}

// live returns what the heap holds.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// watch samples the heap until stop, which returns the most it held. Garbage is
// collected early meanwhile: what is asked is how much is held, not how much a
// collector that is short of time lets lie.
func watch() (stop func() uint64) {
	percent := debug.SetGCPercent(25)
	var most atomic.Uint64
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-over
		debug.SetGCPercent(percent)
		return most.Load()
	}
}

const mb = 1 << 20

// Memory does not grow with how much has passed through a recorder: not with
// the number of streams and not with their length. Every stream has 10 MB;
// there are 100 of them, with -short or the race detector 24. That it holds for
// 1,000 is measured by the bench.
//
// It stands alone, because it looks at the memory of the whole process.
func TestMemoryIsFlatOverStreams(t *testing.T) { //nolint:paralleltest // see above
	streams := 100
	if testing.Short() || racing {
		streams = 24
	}
	const size = 10 * mb
	block := letters()
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", r.URL.RawQuery)
		for sent := 0; sent < size; sent += len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	flatOverStreams(t, onDisk(t), up.URL, streams, size)
}

// Nor does it grow where the streams are compressed and have to be decoded
// while they come, and where a secret comes in their middle.
//
// It stands alone, because it looks at the memory of the whole process.
func TestMemoryIsFlatOverCompressedStreams(t *testing.T) { //nolint:paralleltest // see above
	const streams = 4
	size := 10 * mb
	if testing.Short() || racing {
		size = mb
	}
	var texts []string
	for n, block := 0, letters(); n < size; n += len(block) {
		texts = append(texts, "data: "+string(block)+"\n\n")
	}
	secretly := slices.Clone(texts)
	secretly[len(texts)/2] = "data: " + redacttest.Spelled + "\n\n"
	for _, coding := range []string{"gzip", "zstd", "br"} {
		for name, says := range map[string][]string{"clear": texts, "with a secret": secretly} {
			t.Run(coding+", "+name, func(t *testing.T) {
				list, err := redacttest.CodedParts(coding, says...)
				if err != nil {
					t.Fatal(err)
				}
				var all int
				for _, p := range list {
					all += len(p)
				}
				up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Content-Encoding", coding)
					for _, p := range list {
						if _, err := w.Write(p); err != nil {
							return
						}
						w.(http.Flusher).Flush()
					}
				})
				rig := onDisk(t)
				rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
				flatOverStreams(t, rig, up.URL, streams, int64(all))
			})
		}
	}
}

// letters returns a block of random letters.
func letters() []byte {
	block := make([]byte, 32<<10)
	_, _ = io.ReadFull(rand.Reader, block)
	for i := range block {
		block[i] = 'a' + block[i]%26
	}
	return block
}

// flatOverStreams records so many streams of a size, a few at a time, and
// looks at what the process holds meanwhile and afterwards.
func flatOverStreams(t *testing.T, rig *rig, upstream string, streams int, size int64) {
	t.Helper()
	const conns = 4
	live0 := live()
	p := rig.record(upstream)
	one := client()
	ask := func(n int) {
		resp, err := one.Post(fmt.Sprintf("%s/v1/chat/completions?n=%d", p.url, n), "application/json", http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if got, err := io.Copy(io.Discard, resp.Body); err != nil || got < size {
			t.Errorf("stream %d: %d bytes, %v", n, got, err)
		}
	}
	var held []uint64
	stop := watch()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range conns {
		wg.Go(func() {
			for n := int(next.Add(1)); n <= streams; n = int(next.Add(1)) {
				ask(n)
			}
		})
	}
	wg.Wait()
	peak := stop()
	held = append(held, live())
	p.end()
	t.Logf("%d streams: %d MB before, %d MB at most, %d MB after", streams, live0/mb, peak/mb, held[0]/mb)
	if limit := live0 + 64*mb; peak > limit {
		t.Errorf("the heap held %d MB, want at most %d", peak/mb, limit/mb)
	}
	if limit := live0 + 16*mb; held[0] > limit {
		t.Errorf("the heap holds %d MB afterwards, want at most %d", held[0]/mb, limit/mb)
	}
}

// Large requests are put aside and not held: what the process holds does not
// grow with their size, their number or how many come at a time, neither while
// they are taken nor while their answers are awaited; nor when they come again
// in a replay.
//
// It stands alone, because it looks at the memory of the whole process.
func TestMemoryIsFlatOverLargeRequests(t *testing.T) { //nolint:paralleltest // see above
	conns, size, after := 50, 8*mb, 30
	if testing.Short() || racing {
		conns, size, after = 16, 8*mb, 8
	}
	taken, release := make(chan int64, conns), make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		taken <- n
		<-release
		fmt.Fprint(w, "{}")
	})
	rig := onDisk(t)
	body := append(append([]byte(`{"model":"m","messages":[{"content":"`), bytes.Repeat([]byte("large "), size/6)...), `"}]}`...)
	one := client()
	ask := func(p *taping, n, size int) {
		var in io.Reader = bytes.NewReader(body[:size])
		if n%2 == 1 {
			in = io.MultiReader(in) // of unknown length
		}
		resp, err := one.Post(fmt.Sprintf("%s/v1/chat/completions?n=%d", p.url, n), "application/json", in)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "{}" {
			t.Errorf("request %d: %d %s, %v", n, resp.StatusCode, b, err)
		}
	}
	check := func(what string, before, peak uint64) {
		t.Helper()
		t.Logf("%s: %d MB before, %d MB at most", what, before/mb, peak/mb)
		if limit := before + 64*mb; peak > limit {
			t.Errorf("%s: the heap held %d MB, want at most %d", what, peak/mb, limit/mb)
		}
	}
	all := func(p *taping) {
		var wg sync.WaitGroup
		for n := range conns {
			wg.Go(func() { ask(p, n, len(body)) })
		}
		wg.Wait()
	}

	before := live()
	p := rig.record(up.URL)
	stop := watch()
	done := make(chan struct{})
	go func() { defer close(done); all(p) }()
	for range conns {
		if n := <-taken; n != int64(len(body)) {
			t.Errorf("the upstream got %d bytes, want %d", n, len(body))
		}
	}
	check(fmt.Sprintf("%d requests of %d MB at once", conns, size/mb), before, stop())
	if waiting := live(); waiting > before+16*mb {
		t.Errorf("the heap holds %d MB while answers are awaited, want at most %d", waiting/mb, before/mb+16)
	}
	close(release)
	<-done
	stop = watch()
	for n := range after {
		ask(p, conns+n, len(body)/2)
		<-taken
	}
	check(fmt.Sprintf("%d requests of %d MB one by one", after, size/2/mb), before, stop())
	run := p.end()

	again := rig.replay(run)
	stop = watch()
	all(again)
	check(fmt.Sprintf("%d requests of %d MB in a replay", conns, size/mb), before, stop())
	again.end()
}
