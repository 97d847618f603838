package capture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrChange means that what is to be changed in requests cannot be read. It is
// a JSON pointer, an equals sign and a value.
const ErrChange fault.Invalid = "capture.bad_change"

// Change is one thing that a branch changes in the requests to models that it
// makes. The ledger has the request as the agent made it, and in the member
// set of the call's data what was changed before it was sent.
type Change struct {
	Pointer string      // of the place in the request's JSON
	Value   canon.Value // what is put there
	Model   string      // instead of both: asks this model, wherever the request names one
}

// ParseChange reads POINTER=VALUE. A value that is no JSON is a text.
func ParseChange(s string) (Change, error) {
	ptr, raw, ok := strings.Cut(s, "=")
	if !ok || ptr == "" || canon.CheckPointer(ptr) != nil {
		return Change{}, fault.New(ErrChange, "capture.ParseChange", "%q is not POINTER=VALUE with a JSON pointer, as in /temperature=0", s)
	}
	v, err := canon.Parse([]byte(raw))
	if err != nil {
		v = canon.String(strings.ToValidUTF8(raw, "\uFFFD"))
	}
	return Change{Pointer: ptr, Value: v}, nil
}

// String returns c as reports say it.
func (c *Change) String() string {
	if c.Model != "" {
		return "model=" + c.Model
	}
	return c.Pointer + "=" + c.Value.String()
}

func changesValue(list []Change) canon.Value {
	out := make([]canon.Value, len(list))
	for i := range list {
		if list[i].Model != "" {
			out[i] = canon.Object(canon.M("model", canon.String(list[i].Model)))
		} else {
			out[i] = canon.Object(canon.M("pointer", canon.String(list[i].Pointer)), canon.M("value", list[i].Value))
		}
	}
	return canon.Array(out...)
}

// changed is one request with the changes made.
type changed struct {
	path string // empty: as it was
	body []byte // nil: as it was
	list []canon.Value
	did  []bool // for each change
}

// change returns what is changed in a request, or nil if nothing is to be.
func (h *handler) change(ctx context.Context, r *http.Request, to route, b *body) (*changed, error) {
	set := h.p.o.Set
	if len(set) == 0 || to.kind != KindModel || to.upgrade != "" {
		return nil, nil
	}
	ch := &changed{did: make([]bool, len(set))}
	body, err := b.memory(ctx)
	if err != nil {
		return nil, err
	}
	plain := body
	if coding := r.Header.Get("Content-Encoding"); coding != "" {
		p, err := codings.Decode(coding, body, h.p.o.MaxWhole)
		if err != nil {
			return ch, nil //nolint:nilerr // what cannot be read is left as it is
		}
		plain = p
	}
	doc, err := canon.Parse(plain)
	isJSON := err == nil && doc.Kind() == canon.KindObject
	touched := false
	for i := range set {
		c := &set[i]
		ptr, value := c.Pointer, c.Value
		if c.Model != "" {
			if path, was, ok := otherModel(r.URL.EscapedPath(), c.Model); ok {
				ch.path, ch.did[i] = path, true
				ch.list = append(ch.list, h.noted("model", canon.String(was), canon.String(c.Model)))
				continue
			}
			ptr, value = "/model", canon.String(c.Model)
			if !doc.Has("model") {
				continue
			}
		}
		if !isJSON {
			continue
		}
		was, _ := doc.Pointer(ptr)
		next, ok := put(doc, steps(ptr), value)
		if !ok {
			continue
		}
		doc, touched, ch.did[i] = next, true, true
		ch.list = append(ch.list, h.noted(ptr, was, value))
	}
	if touched {
		ch.body = []byte(doc.String())
	}
	return ch, nil
}

// maxNoted bounds a value that the call's data repeats: the request has it in
// full.
const maxNoted = 2 << 10

// noted says one change, without secrets.
func (h *handler) noted(where string, was, now canon.Value) canon.Value {
	v := canon.Object(canon.M("pointer", canon.String(where)))
	for _, m := range []canon.Member{canon.M("was", was), canon.M("now", now)} {
		if m.Value.IsZero() {
			continue
		}
		text := h.p.o.Redactor.Text(m.Value.String())
		if len(text) > maxNoted {
			text = strings.ToValidUTF8(text[:maxNoted], "") + "…"
		}
		v = v.With(m.Name, canon.String(text))
	}
	return v
}

// note says in the data of a call what is changed.
func (c *changed) note(data canon.Value) canon.Value {
	if len(c.list) == 0 {
		return data
	}
	data = data.With("set", canon.Array(c.list...))
	if c.path != "" {
		data = data.With("sent_to", canon.String(c.path))
	}
	return data
}

// apply changes the request that is sent.
func (c *changed) apply(out *http.Request) {
	if c.path != "" {
		if p, err := url.PathUnescape(c.path); err == nil {
			out.URL.Path, out.URL.RawPath = p, c.path
		}
	}
	if c.body == nil {
		return
	}
	if out.Body != nil {
		_ = out.Body.Close() // lets go of the request as it came
	}
	out.Body = io.NopCloser(bytes.NewReader(c.body))
	out.ContentLength = int64(len(c.body))
	delete(out.Header, "Content-Encoding")
	delete(out.Header, "Content-Md5")
	delete(out.Header, "Content-Digest")
	if out.Header["Content-Length"] != nil {
		out.Header["Content-Length"] = []string{strconv.Itoa(len(c.body))}
	}
}

// reader returns a reader of the request as it is sent.
func (c *changed) reader(b *body) io.Reader {
	switch {
	case c != nil && c.body != nil:
		return bytes.NewReader(c.body)
	case b.large != nil:
		return b.reader()
	default:
		return bytes.NewReader(b.b)
	}
}

// otherModel returns a path that names another model, where paths name one.
func otherModel(path, model string) (changed, was string, ok bool) {
	for _, dir := range []string{"/models/", "/model/", "/deployments/"} {
		i := strings.Index(path, dir)
		if i < 0 {
			continue
		}
		i += len(dir)
		n := strings.IndexByte(path[i:], '/')
		if dir == "/models/" {
			n = strings.LastIndexByte(path[i:], ':') // :generateContent
		}
		if n <= 0 {
			continue
		}
		return path[:i] + url.PathEscape(model) + path[i+n:], path[i : i+n], true
	}
	return "", "", false
}

func steps(ptr string) []string {
	if ptr == "" {
		return nil
	}
	out := strings.Split(ptr[1:], "/")
	for i, s := range out {
		out[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return out
}

// put returns v with another value at a place. Only the last step may lead to
// nothing yet: a member of an object, or what is behind the end of an array.
func put(v canon.Value, steps []string, value canon.Value) (canon.Value, bool) {
	if len(steps) == 0 {
		return value, true
	}
	last := len(steps) == 1
	switch v.Kind() {
	case canon.KindObject:
		if !last && !v.Has(steps[0]) {
			return v, false
		}
		next, ok := put(v.Get(steps[0]), steps[1:], value)
		if !ok {
			return v, false
		}
		return v.With(steps[0], next), true
	case canon.KindArray:
		elems := append([]canon.Value(nil), v.Elems()...)
		if last && steps[0] == "-" {
			return canon.Array(append(elems, value)...), true
		}
		i, err := strconv.Atoi(steps[0])
		if err != nil || i < 0 || i >= len(elems) || strconv.Itoa(i) != steps[0] {
			return v, false
		}
		next, ok := put(elems[i], steps[1:], value)
		if !ok {
			return v, false
		}
		elems[i] = next
		return canon.Array(elems...), true
	default:
		return v, false
	}
}

// changes counts the requests in which something was changed.
type changes struct {
	mu   sync.Mutex
	did  []int64
	seen int64
}

func (c *changes) made(ch *changed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.did == nil {
		c.did = make([]int64, len(ch.did))
	}
	c.seen++
	for i, did := range ch.did {
		if did {
			c.did[i]++
		}
	}
}

// changed says what became of the changes, a line for each.
func (p *Proxy) changed() []string {
	p.sets.mu.Lock()
	defer p.sets.mu.Unlock()
	out := make([]string, len(p.o.Set))
	for i := range p.o.Set {
		var n int64
		if p.sets.did != nil {
			n = p.sets.did[i]
		}
		out[i] = fmt.Sprintf("changed: %s in %d of %d requests to models behind the branch", p.o.Redactor.Text(p.o.Set[i].String()), n, p.sets.seen)
	}
	return out
}
