package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// proxies measures the recording and the replaying proxy beside no proxy and
// a bare one. Everything in the way of a request is a process of its own.
func (b *bench) proxies() error {
	up, err := b.start("_upstream")
	if err != nil {
		return err
	}
	defer up.drop()
	bare, err := b.start("_bare", up.addr)
	if err != nil {
		return err
	}
	defer bare.drop()
	p := &proxying{bench: b, up: up.addr, bare: bare.addr}
	for _, w := range []struct {
		kind, name string
		bar        float64
	}{
		{"small", "record at 1 KB, share of a bare proxy", 0.4},
		{"history", "record at 64 KB of growing history, share of a bare proxy", 0.25},
		{"sse", fmt.Sprintf("record %d streamed events, share of a bare proxy", events), 0.6},
	} {
		if err := p.throughput(w.kind, w.name, w.bar); err != nil {
			return err
		}
	}
	if err := p.replay(); err != nil {
		return err
	}
	if err := p.vcr(); err != nil {
		return err
	}
	if err := p.latency(); err != nil {
		return err
	}
	return p.memory()
}

// proxying is what the rows of the proxies share.
type proxying struct {
	*bench
	up, bare string
	recorded []span // of the small requests
	run      string
}

// span is a range of request numbers.
type span struct{ from, count int }

func (p *proxying) period() time.Duration {
	if p.quick {
		return 300 * time.Millisecond
	}
	return 700 * time.Millisecond
}

const connections = 16

// recorder starts a recording proxy with a store of its own.
func (p *proxying) recorder(name string) (*child, error) {
	return p.start("_record", p.storePath(name), p.spool(), p.up)
}

func (p *proxying) storePath(name string) string { return filepath.Join(p.dir, name+".db") }

func (p *proxying) spool() string { return filepath.Join(p.dir, "spool") }

// at returns a measurement of requests a second through an address. The
// numbers of requests go on from round to round.
func (p *proxying) at(addr, kind string, spans *[]span) func() (float64, error) {
	from := 0
	return func() (float64, error) {
		r, err := p.load(loadOptions{Addr: addr, Kind: kind, Conns: connections, From: from, For: p.period()})
		if spans != nil {
			*spans = append(*spans, span{from, r.Done})
		}
		from += r.Done
		return r.perSecond(), err
	}
}

func (p *proxying) throughput(kind, name string, limit float64) error {
	rec, err := p.recorder(kind)
	if err != nil {
		return err
	}
	defer rec.drop()
	var spans []span
	direct, bare, ours := p.at(p.up, kind, nil), p.at(p.bare, kind, nil), p.at(rec.addr, kind, &spans)
	for _, warm := range []func() (float64, error){direct, bare, ours} {
		if _, err := warm(); err != nil {
			return err
		}
	}
	got, err := interleave(p.rounds, direct, bare, ours)
	if err != nil {
		return err
	}
	p.add(row{
		name: name, got: ratio(got[2], got[1]), bar: atLeast(limit),
		beside: fmt.Sprintf("%s; bare proxy %s, direct %s", amount(median(got[2]), "/s"), amount(median(got[1]), "/s"), amount(median(got[0]), "/s")),
	})
	text, err := rec.end()
	if kind == "small" {
		p.run, _, _ = strings.Cut(text, " ")
		p.recorded = spans
	}
	return err
}

// replay measures answers out of the record, each recorded call once.
func (p *proxying) replay() error {
	rep, err := p.start("_replay", p.storePath("small"), p.spool(), p.run)
	if err != nil {
		return err
	}
	defer rep.drop()
	next := 1 // the first span warmed up
	ours := func() (float64, error) {
		s := p.recorded[next]
		next++
		r, err := p.load(loadOptions{Addr: rep.addr, Kind: "small", Conns: connections, From: s.from, Count: s.count, For: time.Minute})
		return r.perSecond(), err
	}
	got, err := interleave(p.rounds, p.at(p.bare, "small", nil), ours)
	if err != nil {
		return err
	}
	p.add(row{
		name: "replay at 1 KB, share of a bare proxy", got: ratio(got[1], got[0]), bar: atLeast(1),
		beside: fmt.Sprintf("%s; bare proxy %s", amount(median(got[1]), "/s"), amount(median(got[0]), "/s")),
	})
	text, err := rep.end()
	if err == nil && !strings.HasSuffix(text, " 0") {
		return fmt.Errorf("the replay missed: %q", text)
	}
	return err
}

// vcr measures go-vcr in the same place: behind a bare proxy. Its cassettes
// are searched from the front and written at the end, so the number of
// requests is small.
func (p *proxying) vcr() error {
	const requests = 1000
	var record, replay, stop []float64
	for i := range min(p.rounds, 3) {
		cassette := filepath.Join(p.dir, fmt.Sprintf("vcr-%d", i))
		for _, mode := range []string{"record", "replay"} {
			c, err := p.start("_vcr", mode, cassette, p.up)
			if err != nil {
				return err
			}
			r, err := p.load(loadOptions{Addr: c.addr, Kind: "small", Conns: connections, Count: requests, For: time.Minute})
			if err != nil {
				c.drop()
				return err
			}
			began := time.Now()
			if _, err := c.end(); err != nil {
				return err
			}
			if mode == "replay" {
				replay = append(replay, r.perSecond())
				continue
			}
			stop = append(stop, time.Since(began).Seconds()*1e6/requests)
			record = append(record, float64(requests)/(r.Seconds+time.Since(began).Seconds()))
		}
	}
	p.add(row{
		name: "peer: go-vcr 4.0.7 records 1 KB behind a bare proxy", got: median(record), unit: "/s",
		beside: fmt.Sprintf("nothing is durable until the end, which takes %.0f µs a request", median(stop)),
	})
	p.add(row{
		name: "peer: go-vcr 4.0.7 replays 1 KB behind a bare proxy", got: median(replay), unit: "/s",
		beside: fmt.Sprintf("of %d requests; it slows down with their number", requests),
	})
	return nil
}

// latency measures what a proxy adds to one connection.
func (p *proxying) latency() error {
	rec, err := p.recorder("latency")
	if err != nil {
		return err
	}
	defer rec.drop()
	least, err := p.start("_durable", p.up, p.dir)
	if err != nil {
		return err
	}
	defer least.drop()
	from := 0
	millis := func(o loadOptions, of func(loadResult) float64) func() (float64, error) {
		return func() (float64, error) {
			o.From = from
			r, err := p.load(o)
			from += r.Done
			return of(r) * 1e3, err
		}
	}
	one := func(addr string) func() (float64, error) {
		return millis(loadOptions{Addr: addr, Kind: "small", Conns: 1, For: p.period() / 2}, func(r loadResult) float64 { return r.Median })
	}
	slow := func(addr string) func() (float64, error) {
		return millis(loadOptions{Addr: addr, Kind: "slow", Conns: 4, Count: 4, For: time.Minute}, func(r loadResult) float64 { return r.First })
	}
	got, err := interleave(p.rounds, one(p.up), one(p.bare), one(rec.addr), p.fsync, one(least.addr))
	if err != nil {
		return err
	}
	added := make([]float64, len(got[0]))
	for i := range added {
		added[i] = got[2][i] - got[0][i]
	}
	// What an fsync costs where it comes once a request, and not one behind
	// the other: what it adds to a proxy that does nothing else.
	sync := median(got[4]) - median(got[1])
	limit := atMost(0.25 + sync)
	limit.text = fmt.Sprintf("0.25 ms + fsync = %.2f ms", limit.value)
	p.add(row{
		name: "record, added to the median at one connection", got: median(added), unit: "ms", bar: limit,
		beside: fmt.Sprintf("median direct %.2f ms, bare proxy %.2f ms, a bare proxy that makes a page durable %.2f ms, recording %.2f ms; an fsync %.2f ms by that, %.2f ms behind another", median(got[0]), median(got[1]), median(got[4]), median(got[2]), sync, median(got[3])),
	})
	got, err = interleave(min(p.rounds, 3), slow(p.up), slow(p.bare), slow(rec.addr))
	if err != nil {
		return err
	}
	p.add(row{
		name: "record, first byte of a stream of 1 s, after direct", got: median(got[2]) - median(got[0]), unit: "ms", bar: atMost(5),
		beside: fmt.Sprintf("direct %.2f ms, bare proxy %.2f ms, recording %.2f ms", median(got[0]), median(got[1]), median(got[2])),
	})
	return nil
}

// fsync returns what it takes, in the median, to add a page to a file and
// make it durable, in milliseconds.
func (p *proxying) fsync() (float64, error) {
	f, err := os.Create(filepath.Join(p.dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var list []time.Duration
	page := make([]byte, pageBytes)
	for range 200 {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		list = append(list, time.Since(began))
	}
	slices.Sort(list)
	return list[len(list)/2].Seconds() * 1e3, nil
}
