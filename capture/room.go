package capture

import (
	"context"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Room bounds the memory in which requests stand that must be held to be
// matched. A large request is put aside, encrypted, and of its JSON only what
// stands beside the long texts is held; where that is much too, or a
// normaliser needs it whole, the request waits until there is room for it, and
// gives the room back when it is matched.
//
// Room is safe for concurrent use; proxies may share one.
type Room struct {
	mu      sync.Mutex
	free    int64
	all     int64
	waiting []waiting // first come, first served, or a large one would wait forever
}

type waiting struct {
	n     int64
	ready chan struct{}
}

// DefaultRoom is the room where options give none.
const DefaultRoom = 256 << 20

// NewRoom returns room for so many bytes.
func NewRoom(bytes int64) *Room { return &Room{free: bytes, all: bytes} }

// take waits for n bytes; more than there are at all are all.
func (r *Room) take(ctx context.Context, n int64) (int64, error) {
	r.mu.Lock()
	n = min(n, r.all)
	if len(r.waiting) == 0 && n <= r.free {
		r.free -= n
		r.mu.Unlock()
		return n, nil
	}
	w := waiting{n, make(chan struct{})}
	r.waiting = append(r.waiting, w)
	r.mu.Unlock()
	select {
	case <-w.ready:
		return n, nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.waiting, func(x waiting) bool { return x.ready == w.ready }); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	} else {
		r.free += n // it was given meanwhile
	}
	r.serve()
	return 0, fault.Wrap(ErrBody, "capture.readBody", context.Cause(ctx), "gave up before there was room for the request")
}

// give gives n bytes back.
func (r *Room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	r.serve()
}

// serve lets those go on for whom there is room. Lock held.
func (r *Room) serve() {
	for len(r.waiting) > 0 && r.waiting[0].n <= r.free {
		r.free -= r.waiting[0].n
		close(r.waiting[0].ready)
		r.waiting = r.waiting[1:]
	}
}
