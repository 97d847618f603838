package redact

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Credential says what a header carries.
type Credential uint8

// Kinds of what headers carry.
const (
	Ordinary  Credential = iota // no secret
	LongLived                   // names the caller: it is fingerprinted
	Passing                     // a secret of one session or one request
)

// credentialOf returns what a header carries, by its canonical name.
func credentialOf(name string) Credential {
	switch name {
	case "Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Xi-Api-Key",
		"Cf-Aig-Authorization", "Helicone-Auth", "X-Litellm-Api-Key", "Ocp-Apim-Subscription-Key":
		return LongLived
	case "Cookie", "Set-Cookie", "X-Amz-Security-Token", "Mcp-Session-Id":
		return Passing
	}
	if strings.HasPrefix(name, "X-Portkey-") && strings.Contains(name, "Key") {
		return LongLived
	}
	return Ordinary
}

// wsKey is how a key travels in the subprotocols of a WebSocket.
const wsKey = "openai-insecure-api-key."

// redactHeader returns what is stored of a header's value, and the secret in
// it, if there is one.
func (r *Redactor) redactHeader(name, value string) (stored, secret string, c Credential) {
	c = credentialOf(name)
	switch {
	case c == Ordinary && name == "Sec-Websocket-Protocol" && strings.Contains(value, wsKey):
		before, key, _ := strings.Cut(value, wsKey)
		key, after, comma := strings.Cut(key, ",")
		if comma {
			after = "," + after
		}
		return before + wsKey + StandIn("api-key") + after, key, LongLived
	case c == Ordinary:
		return r.Text(value), "", c
	}
	label := strings.ToLower(name)
	if scheme, rest, ok := strings.Cut(value, " "); ok && c == LongLived {
		switch strings.ToLower(scheme) {
		case "basic":
			r.LearnCredential(label, password(rest))
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
			r.LearnCredential(label, strings.Trim(v, `"`))
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
var secretParams = map[string]Credential{
	"key": LongLived, "api-key": LongLived, "api_key": LongLived, "apikey": LongLived, "access_token": LongLived,
	"token": LongLived, "auth": LongLived, "sig": Passing, "signature": Passing, "x-amz-signature": Passing,
	"x-amz-credential": Passing, "x-amz-security-token": Passing, "x-goog-signature": Passing, "x-goog-credential": Passing,
	"sessionid": Passing, "session_id": Passing,
}

// Query returns what is stored of a raw query, with every byte that is no
// secret as it was, and calls found for every credential in it.
func (r *Redactor) Query(raw string, found func(name, value string, c Credential)) string {
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
		if c := secretParams[plain]; c != Ordinary && value != "" {
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

// Headers returns what is stored of a header: [[name, value], …] sorted by
// name. A value that is no text stands in base64, which a third element says.
func (r *Redactor) Headers(h http.Header, skip func(string) bool, found func(name, value string, c Credential)) []canon.Value {
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
			if c != Ordinary && found != nil {
				found(strings.ToLower(name), secret, c)
			}
			out = append(out, headerValue(name, stored))
		}
	}
	return out
}

// headerValue returns one recorded header: [name, value], or [name, base64,
// "base64"] for a value that is no text.
func headerValue(name, value string) canon.Value {
	if utf8.ValidString(value) {
		return canon.Array(canon.String(name), canon.String(value))
	}
	return canon.Array(canon.String(strings.ToValidUTF8(name, "\uFFFD")), canon.String(base64.StdEncoding.EncodeToString([]byte(value))), canon.String("base64"))
}
