package capture

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// AWSKey is an access key of AWS. Requests to AWS are signed together with the
// host that they go to. A client that was given the address of a listener
// signs that, and AWS would refuse it: so such a request is signed anew for
// the upstream, with the key that the client used, if it is known. What goes
// through the forward proxy names the upstream and stays as it is.
type AWSKey struct {
	ID     string
	Secret string
}

// AWSKeys returns the keys of an environment.
func AWSKeys(environ []string) []AWSKey {
	k := AWSKey{ID: lookup(environ, "AWS_ACCESS_KEY_ID"), Secret: lookup(environ, "AWS_SECRET_ACCESS_KEY")}
	if k.ID == "" || k.Secret == "" {
		return nil
	}
	return []AWSKey{k}
}

const (
	awsScheme  = "AWS4-HMAC-SHA256"
	awsPayload = "X-Amz-Content-Sha256"

	hostOfHTTP2 = ":authority" // signed in the place of host by clients that speak HTTP/2
)

// signature is the header Authorization of a signed request.
type signature struct {
	scope  string   // date/region/service/aws4_request
	signed []string // names of the headers that it covers
	secret string
}

// signatureOf returns the signature of a request if it can be made anew.
func signatureOf(h http.Header, keys []AWSKey) (s signature, ok bool) {
	rest, ok := strings.CutPrefix(h.Get("Authorization"), awsScheme+" ")
	if !ok {
		return s, false
	}
	id := ""
	for member := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		switch name {
		case "Credential":
			id, s.scope, _ = strings.Cut(value, "/")
		case "SignedHeaders":
			s.signed = strings.Split(value, ";")
			if i := slices.Index(s.signed, hostOfHTTP2); i >= 0 {
				s.signed[i] = "host"
				slices.Sort(s.signed)
			}
		}
	}
	i := slices.IndexFunc(keys, func(k AWSKey) bool { return k.ID == id })
	if i < 0 || strings.Count(s.scope, "/") != 3 || !slices.Contains(s.signed, "host") {
		return s, false
	}
	s.secret = keys[i].Secret
	return s, true
}

// resign signs a request for the host that it goes to, if it was signed for
// the host that the client asked.
func resign(out *http.Request, asked string, keys []AWSKey, body func() (io.Reader, error)) error {
	if asked == out.Host && !strings.Contains(out.Header.Get("Authorization"), hostOfHTTP2) {
		return nil
	}
	s, ok := signatureOf(out.Header, keys)
	if !ok {
		return nil
	}
	payload := out.Header.Get(awsPayload)
	if payload == "" {
		r, err := body()
		if err != nil {
			return err
		}
		h := canon.NewStream()
		if err := copyTo(h, r); err != nil {
			return err
		}
		sum := h.Sum()
		payload = hex.EncodeToString(sum[:])
	}
	before, _, _ := strings.Cut(out.Header.Get("Authorization"), "SignedHeaders=")
	out.Header["Authorization"] = []string{before + "SignedHeaders=" + strings.Join(s.signed, ";") + ", Signature=" + s.sign(out, payload)}
	return nil
}

// sign returns the signature of a request (AWS Signature Version 4).
func (s *signature) sign(r *http.Request, payload string) string {
	request := canon.SHA256([]byte(s.canonical(r, payload)))
	text := strings.Join([]string{awsScheme, r.Header.Get("X-Amz-Date"), s.scope, hex.EncodeToString(request[:])}, "\n")
	key := []byte("AWS4" + s.secret)
	for part := range strings.SplitSeq(s.scope, "/") {
		mac := canon.MAC(key, []byte(part))
		key = mac[:]
	}
	mac := canon.MAC(key, []byte(text))
	return hex.EncodeToString(mac[:])
}

// canonical returns the form of a request that is signed.
func (s *signature) canonical(r *http.Request, payload string) string {
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	if !strings.Contains(s.scope, "/s3/") {
		path = awsEscape(path, "/") // but for S3 it is escaped twice
	}
	var query []string
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		query = append(query, awsEscape(unescaped(name), "")+"="+awsEscape(unescaped(value), ""))
	}
	slices.Sort(query)
	var b strings.Builder
	b.WriteString(r.Method + "\n" + path + "\n" + strings.Join(query, "&") + "\n")
	for _, name := range s.signed {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = r.Header.Get("Content-Length")
		}
		b.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	b.WriteString("\n" + strings.Join(s.signed, ";") + "\n" + payload)
	return b.String()
}

func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// awsEscape escapes everything but letters, digits, -._~ and what is kept.
func awsEscape(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if redact.IsWord(c) || c == '.' || c == '~' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	return b.String()
}
