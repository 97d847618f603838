package client

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// maxEvent bounds a line of a live stream.
const maxEvent = 1 << 20

// Watch yields the entries of a run from number from on as they are appended,
// and ends with its seal. An empty run stands for all runs, from now on; that
// has no end but the context's. A stream that broke off gives an error: go on
// from the entry behind the last one.
func (c *Client) Watch(ctx context.Context, run string, from int64) iter.Seq2[api.EntryEvent, error] {
	return func(yield func(api.EntryEvent, error) bool) {
		q := url.Values{}
		if run != "" {
			q.Set("run", run)
			q.Set("from", strconv.FormatInt(from, 10))
		}
		body, err := c.ask(ctx, http.MethodGet, q, nil, "", "v1", "events")
		if err != nil {
			yield(api.EntryEvent{}, err)
			return
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, maxEvent)
		ended := false
		for lines.Scan() {
			ended = ended || lines.Text() == ": end"
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e api.EntryEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				yield(e, fault.Wrap(ErrAnswer, "client.Watch", err, "an event"))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		err = lines.Err()
		if err == nil && !ended {
			err = fault.New(ErrBroken, "client.Watch", "the stream ended before the run")
		}
		if err != nil {
			yield(api.EntryEvent{}, err)
		}
	}
}
