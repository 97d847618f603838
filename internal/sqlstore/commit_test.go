package sqlstore

import (
	"slices"
	"testing"
)

// Only one writes at a time: a caller who commits by itself, or the committer.
func TestTurns(t *testing.T) {
	t.Parallel()
	var q queue
	q.init()
	if !q.claim() {
		t.Fatal("claim() = false, want true where nobody writes")
	}
	if q.claim() {
		t.Error("claim() = true while somebody writes")
	}
	j := &job{}
	q.push(j)
	got := make(chan []*job)
	go func() { got <- q.next(nil) }()
	select {
	case <-got:
		t.Fatal("next() returned while somebody writes")
	default:
	}
	q.yield()
	if jobs := <-got; !slices.Equal(jobs, []*job{j}) {
		t.Errorf("next() = %v, want the one that was queued meanwhile", jobs)
	}
	if q.claim() {
		t.Error("claim() = true while the committer writes")
	}
	q.push(&job{})
	q.yield()
	if q.claim() {
		t.Error("claim() = true before somebody who has waited longer")
	}
	q.next(nil)
	q.close()
	go func() { got <- q.next(nil) }()
	q.yield()
	if jobs := <-got; jobs != nil {
		t.Errorf("next() = %v of a queue that is closed and empty, want none", jobs)
	}
	if q.claim() {
		t.Error("claim() = true of a closed queue")
	}
}

// The journal takes what was committed here only where it follows what it has:
// the rest is read.
func TestTailTakesWhatFollows(t *testing.T) {
	t.Parallel()
	rows := func(seqs ...int64) (list []row) {
		for _, n := range seqs {
			list = append(list, row{seq: n})
		}
		return list
	}
	for _, c := range []struct {
		name              string
		have, fresh, want []row
	}{
		{"none", rows(4, 5), nil, nil},
		{"next", rows(4, 5), rows(6, 7), rows(6, 7)},
		{"known", rows(4, 5), rows(4, 5, 6), rows(6)},
		{"gap before", rows(4, 5), rows(7, 8), nil},
		{"gap within", rows(4, 5), rows(6, 8), rows(6)},
		{"the first", nil, rows(1, 2), rows(1, 2)},
		{"not the first", nil, rows(2), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tl tail
			tl.reset()
			tl.rows = c.have
			tl.committed(c.fresh)
			same := func(a, b row) bool { return a.seq == b.seq }
			if got := tl.takeFresh(); !slices.EqualFunc(got, c.want, same) {
				t.Errorf("takeFresh() = %v, want %v", got, c.want)
			}
			if got := tl.takeFresh(); got != nil {
				t.Errorf("takeFresh() = %v the second time, want none", got)
			}
		})
	}
}
