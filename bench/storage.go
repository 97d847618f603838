package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// The conversation whose record is weighed: each turn adds turnBytes and
// sends everything again, so that 100 turns are 34.5 MB on the wire.
const (
	turnBytes   = 6830
	answerBytes = 700
)

// conversation is one agent that talks to a model.
type conversation struct {
	w      *writer
	body   []byte
	unique int // bytes that were said for the first time
}

func newConversation() *conversation {
	return &conversation{w: newWriter(11), body: []byte(`{"model":"bench-1","messages":[{"role":"system","content":"Answer."}`)}
}

// turn returns the next request and its answer. The answer is part of the
// requests that follow.
func (c *conversation) turn() (request, answer []byte) {
	user := fmt.Appendf(nil, `,{"role":"tool","tool_call_id":%q,"content":%q}`, c.w.id("call_"), c.w.text(turnBytes-answerBytes-150))
	c.body = append(c.body, user...)
	request = append(bytes.Clone(c.body), `]}`...)
	said := fmt.Appendf(nil, `{"role":"assistant","content":%q}`, c.w.text(answerBytes))
	answer = fmt.Appendf(nil, `{"id":%q,"object":"chat.completion","choices":[{"index":0,"message":%s}]}`, c.w.id("chatcmpl-"), said)
	c.body = append(append(c.body, ','), said...)
	c.unique += len(user) + len(answer)
	return request, answer
}

// storage weighs what a conversation leaves on the disk.
func (b *bench) storage() error {
	const turns, more = 100, 400
	small, raw, limit, err := b.weigh(turns)
	if err != nil {
		return err
	}
	vcr, err := b.weighVCR(turns)
	if err != nil {
		return err
	}
	b.add(row{
		name: fmt.Sprintf("disk, %d turns that repeat their history", turns), got: small, unit: "MB", bar: atMost(1),
		beside: fmt.Sprintf("raw %.1f MB; zstd of what is new in them %.2f MB; go-vcr 4.0.7 %.1f MB", raw, limit, vcr),
	})
	large, raw, limit, err := b.weigh(more)
	if err != nil {
		return err
	}
	b.add(row{
		name: fmt.Sprintf("disk, %d turns, in multiples of %d turns", more, turns), got: large / small, bar: atMost(4.5),
		beside: fmt.Sprintf("%.2f MB; raw %.1f MB; zstd of what is new in them %.2f MB", large, raw, limit),
	})
	return nil
}

// weigh records turns and returns the size of the store after it is closed,
// that of everything sent, and that of what was new in it when a compressor
// sees nothing else; all in MB.
func (b *bench) weigh(turns int) (stored, raw, limit float64, err error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("storage-%d", turns))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, 0, 0, err
	}
	store, err := sqlite.Open(b.ctx, filepath.Join(dir, "store.db"), nil)
	if err != nil {
		return 0, 0, 0, err
	}
	sent, fresh, err := b.converse(store, turns)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := store.Close(); err != nil {
		return 0, 0, 0, err
	}
	size, err := folder(dir)
	if err != nil {
		return 0, 0, 0, err
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		return 0, 0, 0, err
	}
	return size, float64(sent) / 1e6, float64(len(enc.EncodeAll(fresh, nil))) / 1e6, nil
}

// converse records turns. It returns how many bytes were sent and received,
// and those of them that were new.
func (b *bench) converse(store drive.Store, turns int) (sent int, fresh []byte, err error) {
	cfg, err := sessionConfig(store)
	if err != nil {
		return 0, nil, err
	}
	s, err := drive.Open(b.ctx, cfg, drive.Opening{Engine: "bench"})
	if err != nil {
		return 0, nil, err
	}
	c := newConversation()
	const typ = "application/json"
	for range turns {
		before := len(c.body)
		request, answer := c.turn()
		sent += len(request) + len(answer)
		fresh = append(append(fresh, request[before:]...), answer...)
		x, err := s.Begin(b.ctx, effect.Call{
			Kind: "model", Name: "chat", Class: effect.Read,
			Contents: []ledger.Content{{Name: "request", Type: typ, Bytes: request}},
		})
		if err != nil {
			return 0, nil, err
		}
		err = x.End(b.ctx, effect.Outcome{Status: effect.OK, Contents: []ledger.Content{{Name: "response", Type: typ, Bytes: answer}}})
		if err != nil {
			return 0, nil, err
		}
	}
	return sent, fresh, s.Seal(b.ctx, "ok", canon.Value{}, nil)
}

// weighVCR returns the size of go-vcr's cassette of the same turns, in MB.
func (b *bench) weighVCR(turns int) (float64, error) {
	dir := filepath.Join(b.dir, "storage-vcr")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	next := &scripted{}
	rec, err := recorder.New(filepath.Join(dir, "cassette"), recorder.WithMode(recorder.ModeRecordOnly), recorder.WithRealTransport(next))
	if err != nil {
		return 0, err
	}
	c := newConversation()
	for range turns {
		var request []byte
		request, next.answer = c.turn()
		r, err := http.NewRequestWithContext(b.ctx, http.MethodPost, "http://127.0.0.1/v1/chat/completions", bytes.NewReader(request))
		if err != nil {
			return 0, err
		}
		resp, err := rec.RoundTrip(r)
		if err != nil {
			return 0, err
		}
		_ = resp.Body.Close()
	}
	if err := rec.Stop(); err != nil {
		return 0, err
	}
	return folder(dir)
}

// scripted answers without a network.
type scripted struct{ answer []byte }

// RoundTrip implements [http.RoundTripper].
func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(s.answer)),
		ContentLength: int64(len(s.answer)), Request: r,
	}, nil
}

// folder returns the size of the files in a folder, in MB.
func folder(dir string) (float64, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return float64(n) / 1e6, nil
}
