package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// loadOptions is what a client process is told.
type loadOptions struct {
	Addr  string
	Kind  string // small, history, sse, slow or large
	Conns int
	From  int // number of the first request; no two are the same
	Count int // at most so many requests
	For   time.Duration
}

// loadResult is what it says at the end.
type loadResult struct {
	Done    int
	Broken  int // connections that the other side broke off
	Seconds float64
	Median  float64 // seconds until the last byte
	First   float64 // seconds until the first byte of the body, in the median
}

func (r loadResult) perSecond() float64 { return float64(r.Done) / r.Seconds }

func loadRole(_ context.Context, args []string) error {
	var o loadOptions
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return err
	}
	l := &loading{o: o}
	l.next.Store(int64(o.From))
	errs := make([]error, o.Conns)
	began := time.Now()
	l.until = began.Add(o.For)
	var wg sync.WaitGroup
	for i := range o.Conns {
		wg.Go(func() { errs[i] = l.connection(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	slices.Sort(l.total)
	slices.Sort(l.first)
	return json.NewEncoder(os.Stdout).Encode(loadResult{
		Done: len(l.total), Broken: l.broken, Seconds: time.Since(began).Seconds(),
		Median: l.total[len(l.total)/2].Seconds(), First: l.first[len(l.first)/2].Seconds(),
	})
}

// loading is a client: a few connections, and on each one request after the
// other. It does as little as a client can, so that it takes little of the
// machine from what is measured.
type loading struct {
	o     loadOptions
	next  atomic.Int64
	until time.Time

	mu           sync.Mutex
	total, first []time.Duration
	broken       int
}

func (l *loading) connection(i int) error {
	c, err := net.DialTimeout("tcp", l.o.Addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { c.Close() }()
	var make1 requests = newSmall(l.o)
	if l.o.Kind == "history" {
		make1 = newHistory(l.o, i)
	}
	in := bufio.NewReaderSize(c, 64<<10)
	var total, first []time.Duration
	for time.Now().Before(l.until) {
		n := int(l.next.Add(1)) - 1
		if l.o.Count > 0 && n >= l.o.From+l.o.Count {
			break
		}
		began := time.Now()
		if err := c.SetDeadline(began.Add(10 * time.Second)); err != nil {
			return err
		}
		bufs := make1.request(n)
		if _, err := bufs.WriteTo(c); err != nil {
			return err
		}
		begun, err := readAnswer(in)
		if errors.Is(err, io.EOF) && l.breaks() {
			_ = c.Close()
			if c, err = net.DialTimeout("tcp", l.o.Addr, 5*time.Second); err != nil {
				return err
			}
			in.Reset(c)
			continue
		}
		if err != nil {
			return fmt.Errorf("request %d: %w", n, err)
		}
		total, first = append(total, time.Since(began)), append(first, begun.Sub(began))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total, l.first = append(l.total, total...), append(l.first, first...)
	return nil
}

// maxBroken is how many connections may be broken off, as they are now and
// then by a machine under load. They are not what is measured.
const maxBroken = 3

// breaks counts a broken connection, and reports whether that is still few.
func (l *loading) breaks() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken++
	return l.broken <= maxBroken
}

// readAnswer reads one answer to its end and returns when its body began.
func readAnswer(in *bufio.Reader) (begun time.Time, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return begun, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		status := string(line)
		rest := make([]byte, in.Buffered())
		_, _ = io.ReadFull(in, rest)
		return begun, fmt.Errorf("%s%s", status, rest)
	}
	length, chunked := 0, false
	for {
		line, err = in.ReadSlice('\n')
		if err != nil {
			return begun, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return begun, err
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = true
		}
	}
	if !chunked {
		_, err = in.Peek(1)
		begun = time.Now()
		if err == nil {
			_, err = in.Discard(length)
		}
		return begun, err
	}
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return begun, err
		}
		size, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 16, 32)
		if err != nil {
			return begun, err
		}
		if begun.IsZero() {
			begun = time.Now()
		}
		if _, err := in.Discard(int(size) + 2); err != nil || size == 0 {
			return begun, err
		}
	}
}

// requests makes the requests of one connection.
type requests interface {
	request(n int) net.Buffers
}

func head(o loadOptions, length int) []byte {
	return fmt.Appendf(nil, "POST /%s/chat/completions HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nAuthorization: Bearer sk-bench-0123456789abcdef\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", o.Kind, o.Addr, length)
}

// small makes requests of 1 KB that differ in a number.
type small struct {
	raw    []byte
	number []byte // in raw
}

const digits = 10

func newSmall(o loadOptions) *small {
	front := `{"messages":[{"content":"request `
	back := fmt.Sprintf(` %s","role":"user"}],"model":"bench-1","temperature":0}`, strings.ReplaceAll(newWriter(3).text(940), "\n", " "))
	body := front + strings.Repeat("0", digits) + back
	s := &small{raw: append(head(o, len(body)), body...)}
	at := len(s.raw) - len(back) - digits
	s.number = s.raw[at : at+digits]
	return s
}

func (s *small) request(n int) net.Buffers {
	copy(s.number, fmt.Sprintf("%0*d", digits, n))
	return net.Buffers{s.raw}
}

// history makes the requests of agents that send their growing history with
// every turn: a conversation of 46 turns grows from 32 KB to 96 KB, 64 KB in
// the mean. The instructions in front are the same for all conversations,
// everything else is of the one.
type history struct {
	o       loadOptions
	conn    int
	whole   []byte
	ends    []int // of whole, after each turn
	turn    int
	started int
}

const (
	historyTurns = 46
	instructions = 16 << 10
	historyBegin = 32 << 10
	historyStep  = 1400
)

func newHistory(o loadOptions, conn int) *history { return &history{o: o, conn: conn} }

func (h *history) request(int) net.Buffers {
	if h.turn == len(h.ends) {
		h.begin()
	}
	body := h.whole[:h.ends[h.turn]]
	h.turn++
	const tail = `]}`
	return net.Buffers{head(h.o, len(body)+len(tail)), body, []byte(tail)}
}

func (h *history) begin() {
	w := newWriter(uint64(h.o.From)<<24 | uint64(h.conn)<<16 | uint64(h.started) + 99)
	h.started++
	message := func(role string, n int) []byte {
		return fmt.Appendf(nil, `,{"content":%s,"id":%q,"role":%q}`, strconv.Quote(w.text(n)), w.id("msg_"), role)
	}
	h.whole = fmt.Appendf(h.whole[:0], `{"model":"bench-1","messages":[{"content":%s,"role":"system"}`, strconv.Quote(newWriter(4).text(instructions)))
	h.ends, h.turn = h.ends[:0], 0
	for len(h.whole) < historyBegin {
		h.whole = append(append(h.whole, message("assistant", 900)...), message("user", 400)...)
	}
	for range historyTurns {
		h.whole = append(append(h.whole, message("assistant", historyStep*2/3)...), message("tool", historyStep/3)...)
		h.ends = append(h.ends, len(h.whole))
	}
}
