package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// largeStream is the length of a stream that is large.
const largeStream = 10 << 20

// large answers with a stream of so many bytes.
func large(w http.ResponseWriter, _ *http.Request) {
	part := []byte("data: " + strings.Repeat("x", 32<<10-8) + "\n\n")
	w.Header().Set("Content-Type", "text/event-stream")
	for sent := 0; sent < largeStream; sent += len(part) {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// memory measures whether a recorder needs more when more has passed through
// it: 1,000 streams of 10 MB, beside the first hundred of them.
func (p *proxying) memory() error {
	streams := 1000
	if p.quick {
		streams = 100
	}
	rec, err := p.recorder("memory")
	if err != nil {
		return err
	}
	defer rec.drop()
	const conns = 4
	first := streams / 10
	if _, err := p.load(loadOptions{Addr: rec.addr, Kind: "large", Conns: conns, Count: first, For: time.Hour}); err != nil {
		return err
	}
	early, err := peak(rec.cmd.Process.Pid)
	if err != nil {
		return nil //nolint:nilerr // only Linux says what another process has needed
	}
	r, err := p.load(loadOptions{Addr: rec.addr, Kind: "large", Conns: conns, From: first, Count: streams - first, For: time.Hour})
	if err != nil {
		return err
	}
	late, err := peak(rec.cmd.Process.Pid)
	if err != nil {
		return err
	}
	p.add(row{
		name: fmt.Sprintf("record %d streams of 10 MB, memory beyond that of the first %d", streams, first), got: late - early, unit: "MB", bar: atMost(24),
		beside: fmt.Sprintf("%.0f MB at most, the whole process; %.0f MB/s", late, r.perSecond()*largeStream/(1<<20)),
	})
	return nil
}

// peak returns the most memory that a process has had, in MB.
func peak(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	f := strings.Fields(rest)
	if !ok || len(f) == 0 {
		return 0, os.ErrNotExist
	}
	kb, err := strconv.ParseFloat(f[0], 64)
	return kb / 1024, err
}
