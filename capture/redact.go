package capture

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Secret is a text that must never be stored.
type Secret struct {
	Name  string // stands in its place as {redacted:Name}
	Value string
}

// minSecret is the length from which on a value is looked for in bodies: a
// shorter one would stand in too many places that have nothing to do with it.
const minSecret = 8

// maxLearned bounds the credentials of requests that are looked for in later
// bodies. Those beyond it are still redacted where they stand as credentials.
const maxLearned = 256

// Redactor replaces secrets in everything that is stored: known values, the
// credentials that pass by, and what its labelled detectors find. The agent
// and its upstreams always get the originals. It is safe for concurrent use.
type Redactor struct {
	key   [32]byte
	keyID string

	find atomic.Pointer[finder]

	mu      sync.Mutex
	known   map[string]string // value to name
	learned int
	prints  map[string]string // name and value to fingerprint
}

// NewRedactor returns a redactor that knows these secrets. Fingerprints are
// made with the key of the store, so that they can be compared within it and
// tell nothing outside.
func NewRedactor(storeKey [32]byte, secrets []Secret) *Redactor {
	id := canon.MAC(storeKey[:], []byte("reprise/cred/key/v1\n"))
	r := &Redactor{key: storeKey, keyID: hex.EncodeToString(id[:8]), known: map[string]string{}, prints: map[string]string{}}
	for _, s := range secrets {
		if len(s.Value) >= minSecret && r.known[s.Value] == "" {
			r.known[s.Value] = s.Name
		}
	}
	r.find.Store(r.finder())
	return r
}

// StandIn returns what is stored in place of a secret of that name.
func StandIn(name string) string { return "{redacted:" + name + "}" }

// Bytes returns b without secrets and the names of those that were there. If
// there were none it returns b itself.
func (r *Redactor) Bytes(b []byte) ([]byte, []string) { return r.find.Load().replace(b) }

// Text is [Redactor.Bytes] for a short text whose secrets need no names.
func (r *Redactor) Text(s string) string {
	b, names := r.Bytes([]byte(s))
	if names == nil {
		return s
	}
	return string(b)
}

// stream returns a replacer for bytes that come in parts.
func (r *Redactor) stream() *replacer { return &replacer{f: r.find.Load()} }

// Learn adds secrets to what is looked for: for readers of files that say what
// is a secret. Unlike what passes by, all of them are kept; the caller bounds
// their number.
func (r *Redactor) Learn(secrets ...Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if len(s.Value) >= minSecret && !placeholder(s.Value) && r.known[s.Value] == "" {
			r.known[s.Value] = s.Name
		}
	}
	r.find.Store(r.finder())
}

// learn adds a credential that passed by to what is looked for in bodies.
func (r *Redactor) learn(name, value string) {
	if len(value) < minSecret || placeholder(value) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[value] != "" || r.learned >= maxLearned {
		return
	}
	r.known[value] = name
	r.learned++
	r.find.Store(r.finder())
}

// fingerprint returns HMAC(store key, secret), for the cred member of a call.
func (r *Redactor) fingerprint(name, value string) string {
	id := name + "\x00" + value
	r.mu.Lock()
	defer r.mu.Unlock()
	fp := r.prints[id]
	if fp == "" {
		fp = canon.MAC(r.key[:], []byte("reprise/cred/v1\n"), []byte(value)).String()
		if len(r.prints) < maxLearned {
			r.prints[id] = fp
		}
	}
	return fp
}

// finder makes the finder for what is known now.
func (r *Redactor) finder() *finder {
	list := slices.Clone(detectors)
	for value, name := range r.known {
		for _, text := range append(spellings(value), inBase64(value)...) {
			list = append(list, &pattern{name: name, text: text})
		}
	}
	return newFinder(list)
}

// spellings returns the ways in which a value stands in bodies: as it is, in
// JSON as different writers escape it, and in a query.
func spellings(v string) []string {
	inJSON := strings.Trim(string(canon.AppendString(nil, v)), `"`)
	out := []string{
		v, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), escapeHTML(inJSON), escapeASCII(inJSON), escapeASCII(escapeHTML(inJSON)),
		url.QueryEscape(v), url.PathEscape(v), lowerHex(url.QueryEscape(v)), lowerHex(url.PathEscape(v)),
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lowerHex writes the escapes of a query with small letters.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// inBase64 returns the texts of which one stands in everything that holds the
// value in base64, in either alphabet: what is around it decides on the first
// and the last letters, so these are left out.
func inBase64(v string) []string {
	var out []string
	const group, letters = 3, 4
	for shift := range group {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", shift) + v))
			from := (shift*letters + group - 1) / group
			to := (shift + len(v)) * letters / group
			out = append(out, text[from:to])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// escapeHTML escapes what Go's encoder escapes besides.
func escapeHTML(s string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(s)
}

// escapeASCII escapes what Python's encoder escapes besides.
func escapeASCII(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// detectors find secrets that nobody named, by their labels.
var detectors = []*pattern{
	{name: "api-key", text: "sk-proj-", class: classOf(alnum + "-_"), need: 20, alone: true},
	{name: "api-key", text: "sk-ant-", class: classOf(alnum + "-_"), need: 20, alone: true},
	{name: "api-key", text: "sk-or-v1-", class: classOf(alnum), need: 20, alone: true},
	{name: "api-key", text: "sk-", class: classOf(alnum + "-_"), need: 32, digit: true, alone: true},
	{name: "api-key", text: "sk_live_", class: classOf(alnum), need: 16, alone: true},
	{name: "api-key", text: "rk_live_", class: classOf(alnum), need: 16, alone: true},
	{name: "api-key", text: "gsk_", class: classOf(alnum), need: 40, alone: true},
	{name: "api-key", text: "hf_", class: classOf(alnum), need: 34, alone: true},
	{name: "api-key", text: "npm_", class: classOf(alnum), need: 36, alone: true},
	{name: "google-key", text: "AIza", class: classOf(alnum + "-_"), need: 35, alone: true},
	{name: "aws-key", text: "AKIA", class: classOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), need: 16, alone: true},
	{name: "aws-key", text: "ASIA", class: classOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), need: 16, alone: true},
	{name: "github-token", text: "ghp_", class: classOf(alnum), need: 36, alone: true},
	{name: "github-token", text: "gho_", class: classOf(alnum), need: 36, alone: true},
	{name: "github-token", text: "ghu_", class: classOf(alnum), need: 36, alone: true},
	{name: "github-token", text: "ghs_", class: classOf(alnum), need: 36, alone: true},
	{name: "github-token", text: "ghr_", class: classOf(alnum), need: 36, alone: true},
	{name: "github-token", text: "github_pat_", class: classOf(alnum + "_"), need: 22, alone: true},
	{name: "gitlab-token", text: "glpat-", class: classOf(alnum + "-_"), need: 20, alone: true},
	{name: "slack-token", text: "xoxb-", class: classOf(alnum + "-"), need: 10, alone: true},
	{name: "slack-token", text: "xoxp-", class: classOf(alnum + "-"), need: 10, alone: true},
	{name: "slack-token", text: "xoxa-", class: classOf(alnum + "-"), need: 10, alone: true},
	{name: "slack-token", text: "xoxr-", class: classOf(alnum + "-"), need: 10, alone: true},
	{name: "slack-token", text: "xoxs-", class: classOf(alnum + "-"), need: 10, alone: true},
	{name: "bearer", text: "Bearer ", keep: 7, class: classOf(alnum + "-._~+/="), need: 20, digit: true, alone: true},
	{name: "bearer", text: "bearer ", keep: 7, class: classOf(alnum + "-._~+/="), need: 20, digit: true, alone: true},
	{name: "private-key", text: "-----BEGIN ", label: "PRIVATE KEY-----", end: "PRIVATE KEY-----"},
	{name: "private-key", text: "-----BEGIN ", label: "PRIVATE KEY BLOCK-----", end: "PRIVATE KEY BLOCK-----"},
}

// credential says what a header carries.
type credential uint8

const (
	ordinary  credential = iota
	longLived            // names the caller: it is fingerprinted
	passing              // a secret of one session or one request
)

// credentialOf returns what a header carries, by its canonical name.
func credentialOf(name string) credential {
	switch name {
	case "Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Xi-Api-Key",
		"Cf-Aig-Authorization", "Helicone-Auth", "X-Litellm-Api-Key", "Ocp-Apim-Subscription-Key":
		return longLived
	case "Cookie", "Set-Cookie", "X-Amz-Security-Token", "Mcp-Session-Id":
		return passing
	}
	if strings.HasPrefix(name, "X-Portkey-") && strings.Contains(name, "Key") {
		return longLived
	}
	return ordinary
}

// wsKey is how a key travels in the subprotocols of a WebSocket.
const wsKey = "openai-insecure-api-key."

// redactHeader returns what is stored of a header's value, and the secret in
// it, if there is one.
func (r *Redactor) redactHeader(name, value string) (stored, secret string, c credential) {
	c = credentialOf(name)
	switch {
	case c == ordinary && name == "Sec-Websocket-Protocol" && strings.Contains(value, wsKey):
		before, key, _ := strings.Cut(value, wsKey)
		key, after, comma := strings.Cut(key, ",")
		if comma {
			after = "," + after
		}
		return before + wsKey + StandIn("api-key") + after, key, longLived
	case c == ordinary:
		return r.Text(value), "", c
	}
	label := strings.ToLower(name)
	if scheme, rest, ok := strings.Cut(value, " "); ok && c == longLived {
		switch strings.ToLower(scheme) {
		case "basic":
			r.learn(label, password(rest))
			return scheme + " " + StandIn(label), rest, c
		case "bearer", "token":
			return scheme + " " + StandIn(label), rest, c
		case "aws4-hmac-sha256":
			// The signature differs with every request; the key id names the caller.
			_, id, _ := strings.Cut(rest, "Credential=")
			id, _, _ = strings.Cut(id, "/")
			return scheme + " " + StandIn(label), id, c
		}
	}
	if name == "Cookie" || name == "Set-Cookie" {
		r.learnCookies(label, value)
	}
	return StandIn(label), value, c
}

// minCookie is how long the value of a cookie must be to be looked for in
// bodies: shorter ones are settings, and may be words.
const minCookie = 16

// learnCookies adds the values of cookies, which stand in bodies without their
// names. Of Set-Cookie the first pair is the cookie, and the rest its
// attributes, none of which is as long.
func (r *Redactor) learnCookies(label, header string) {
	for i, pair := range strings.Split(header, ";") {
		if _, v, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && len(v) >= minCookie && (i == 0 || label == "cookie") {
			r.learn(label, strings.Trim(v, `"`))
		}
	}
}

// password returns the password in the credentials of basic authentication,
// which stands in bodies without their coding.
func password(credentials string) string {
	plain, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return ""
	}
	_, pw, _ := strings.Cut(string(plain), ":")
	return pw
}

// secretParams are the query parameters that carry credentials.
var secretParams = map[string]credential{
	"key": longLived, "api-key": longLived, "api_key": longLived, "apikey": longLived, "access_token": longLived,
	"token": longLived, "auth": longLived, "sig": passing, "signature": passing, "x-amz-signature": passing,
	"x-amz-credential": passing, "x-amz-security-token": passing, "x-goog-signature": passing, "x-goog-credential": passing,
	"sessionid": passing, "session_id": passing,
}

// query returns what is stored of a raw query, with every byte that is no
// secret as it was, and calls found for every credential in it.
func (r *Redactor) query(raw string, found func(name, value string, c credential)) string {
	if raw == "" {
		return raw
	}
	var out []byte
	rest := raw
	for {
		part, after, more := strings.Cut(rest, "&")
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			plain = name
		}
		plain = strings.ToLower(plain)
		if c := secretParams[plain]; c != ordinary && value != "" {
			if v, err := url.QueryUnescape(value); err == nil {
				value = v
			}
			found(plain, value, c)
			out = append(out, name...)
			out = append(out, '=')
			out = append(out, StandIn(plain)...)
		} else {
			out = append(out, r.Text(part)...)
		}
		if !more {
			return string(out)
		}
		out = append(out, '&')
		rest = after
	}
}

// headers returns what is stored of a header: [[name, value], …] sorted by
// name. A value that is no text stands in base64, which a third element says.
func (r *Redactor) headers(h http.Header, skip func(string) bool, found func(name, value string, c credential)) []canon.Value {
	names := make([]string, 0, len(h))
	n := 0
	for name, values := range h {
		if skip == nil || !skip(name) {
			names = append(names, name)
			n += len(values)
		}
	}
	slices.Sort(names)
	out := make([]canon.Value, 0, n)
	for _, name := range names {
		for _, v := range h[name] {
			stored, secret, c := r.redactHeader(name, v)
			if c != ordinary && found != nil {
				found(strings.ToLower(name), secret, c)
			}
			out = append(out, headerValue(name, stored))
		}
	}
	return out
}
