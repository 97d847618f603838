package capture

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/internal/scratch"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Coded codes a body.
func Coded(coding string, b []byte) ([]byte, error) { return codings.Encode(coding, b, true) }

// PlainOf decodes a body.
func PlainOf(coding string, b []byte) ([]byte, bool) {
	plain, err := codings.Decode(coding, b, DefaultMaxWhole)
	return plain, err == nil
}

// StepAndForm returns what rules make of a body one by one, and together.
func StepAndForm(list []match.Normaliser, s match.Setting, kind, body string) (string, string, error) {
	q := Request{Kind: kind, Body: []byte(body), Setting: s}
	_, form, err := step(list, q)
	if err != nil {
		return "", "", err
	}
	r, err := match.NewRules(list, s)
	if err != nil {
		return "", "", err
	}
	whole, _ := r.Form(kind, []byte(body))
	last, _ := (&match.Rules{}).Form(kind, form) // canonical, as every form is in the end
	return string(last), string(whole), nil
}

// Redirected returns what would be started with listeners at :1, :2, …: the
// upstreams that the program has beside the variables, and the command line
// with what is set. Of a file of the run stands NAME:content.
func Redirected(command, env, flags []string, dir string) (ups, start []string, err error) {
	o := RunOptions{Command: command, Env: env, Upstreams: flags, Dir: dir}
	r, at, err := o.planRedirect()
	if r == nil || err != nil {
		return nil, command, err
	}
	addr := map[string]string{}
	for i := range r.upstreams {
		addr[r.upstreams[i].Name] = ":" + strconv.Itoa(i+1)
		ups = append(ups, r.upstreams[i].Name+"="+r.upstreams[i].Address())
	}
	argv, set, remove, err := r.apply(command, at, env, addr)
	if err != nil {
		return nil, nil, err
	}
	defer remove()
	start = argv
	for _, kv := range set {
		if slices.Contains(env, kv) {
			continue
		}
		if name, path, _ := strings.Cut(kv, "="); name == r.fileVar {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			kv = name + ":" + string(text)
		}
		start = append(start, kv)
	}
	return ups, start, nil
}

// Taken is what becomes of a request.
type Taken struct {
	Form   canon.Digest // of what the key is taken of
	Norms  []string
	Stored []byte
	Names  []string
	Blind  bool
	Left   int // bytes that were held of it
}

// TakeHeld takes a request as one that is held.
func TakeHeld(list []match.Normaliser, s match.Setting, red *redact.Redactor, kind, coding string, body []byte) (Taken, error) {
	r, err := match.NewRules(list, s)
	if err != nil {
		return Taken{}, err
	}
	safe, err := red.Request(coding, body, DefaultMaxWhole)
	if err != nil {
		return Taken{}, err
	}
	form, norms := r.Form(kind, safe.Plain)
	return Taken{Form: canon.SHA256(form), Norms: norms, Stored: safe.Stored, Names: safe.Names, Blind: safe.Blind}, nil
}

// TakeLarge takes a request as one that is not held, of which at most so many
// bytes may be held.
func TakeLarge(list []match.Normaliser, s match.Setting, red *redact.Redactor, kind, coding string, body []byte, whole int64, dir string) (t Taken, err error) {
	r, err := match.NewRules(list, s)
	if err != nil {
		return t, err
	}
	fresh := func() (*scratch.File, error) { return scratch.Create(dir, rand.Reader) }
	g := &large{fresh: fresh, room: NewRoom(whole), whole: whole}
	if g.file, err = fresh(); err != nil {
		return t, err
	}
	defer g.file.Close()
	defer g.drop()
	if _, err := g.file.Write(body); err != nil {
		return t, err
	}
	if err := g.read(context.Background(), coding, red, r, DefaultMaxRequest); err != nil {
		return t, err
	}
	t.Left = len(g.left)
	if t.Form, t.Norms, err = g.form(r, kind); err != nil {
		return t, err
	}
	var out bytes.Buffer
	err = g.give(&out)
	t.Stored, t.Names, t.Blind = out.Bytes(), g.names, g.blind
	return t, err
}

// WholeCharacters returns where a long text is cut at the latest.
func WholeCharacters(b []byte) int { return whole(b) }

// Resign signs a request anew; payload is the digest of its body, or empty if
// it has none.
func Resign(r *http.Request, asked string, keys []AWSKey, payload string) error {
	if payload != "" {
		r.Header.Set(awsPayload, payload)
		defer r.Header.Del(awsPayload)
	}
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	return resign(r, asked, keys, func() (io.Reader, error) { return strings.NewReader(""), nil })
}

// Kept reports whether the recorded order was kept.
func (p *Proxy) Kept() bool { return p.turns.kept() }

// Patience sets how long an answer waits for its turn while nothing moves, and
// reports whether there is an order to keep.
func (p *Proxy) Patience(d time.Duration) bool {
	if p.turns != nil {
		p.turns.patience = d
	}
	return p.turns != nil
}
