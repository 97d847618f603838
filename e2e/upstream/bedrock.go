package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// The credentials of the clients of Bedrock.
const (
	AWSKeyID  = "AKIDE2EZK3VQM81TTLW0"
	AWSSecret = "e2e/Zk3vQm81TtLw0pXb9RcYh27nDfGs5aJuKlMn"
)

// bedrock answers InvokeModel with Claude's answer, and ConverseStream with a
// binary stream of events. As AWS does, it refuses a request whose signature
// is not for it.
func (q *Question) bedrock(r Reply) Answer {
	if !q.Stream {
		q.Dialect = Messages
		return q.messages(r)
	}
	a := Answer{Header: header("application/vnd.amazon.eventstream")}
	event := func(kind, format string, args ...any) {
		var b bytes.Buffer
		m := eventstream.Message{Payload: fmt.Appendf(nil, format, args...)}
		for _, h := range [][2]string{{":event-type", kind}, {":content-type", "application/json"}, {":message-type", "event"}} {
			m.Headers.Set(h[0], eventstream.StringValue(h[1]))
		}
		if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
			panic(err) // a buffer takes everything
		}
		a.Parts = append(a.Parts, b.Bytes())
	}
	event("messageStart", `{"p":"abcdef","role":"assistant"}`)
	for _, word := range pieces(r.Text) {
		event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":%s},"p":"abcdefghij"}`, encode(word))
	}
	event("contentBlockStop", `{"contentBlockIndex":0,"p":"ab"}`)
	event("messageStop", `{"p":"abcd","stopReason":"end_turn"}`)
	event("metadata", `{"metrics":{"latencyMs":376},"p":"abc","usage":{"inputTokens":41,"outputTokens":37,"totalTokens":78}}`)
	return a
}

// failBedrock returns an error as Bedrock words it.
func failBedrock(status int, says string) Answer {
	a := JSON(status, `{"message":`+encode(says)+`}`)
	kind := map[int]string{http.StatusBadRequest: "ValidationException", http.StatusTooManyRequests: "ThrottlingException", http.StatusForbidden: "InvalidSignatureException"}[status]
	if kind == "" {
		kind = "InternalServerException"
	}
	a.Header.Set("X-Amzn-Errortype", kind)
	return a
}

// signed reports whether a request is signed for the host that it came to. One
// that came in HTTP/2 may be signed in a way that the signer used here does not
// know, and is believed.
func signed(r Request) bool {
	got := r.Header.Get("Authorization")
	_, list, _ := strings.Cut(got, "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	if strings.HasPrefix(list, ":authority;") {
		return r.Proto == "HTTP/2.0"
	}
	_, scope, _ := strings.Cut(got, "Credential="+AWSKeyID+"/")
	region := strings.Split(scope, "/")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || len(region) < 4 {
		return false
	}
	u, err := url.Parse("http://" + r.Host + r.URI)
	if err != nil {
		return false
	}
	req := &http.Request{Method: r.Method, URL: u, Host: r.Host, Header: http.Header{}}
	if slices.Contains(strings.Split(list, ";"), "content-length") {
		req.ContentLength = int64(len(r.Body)) // the signer signs it then
	}
	for name := range strings.SplitSeq(list, ";") {
		if name = http.CanonicalHeaderKey(name); r.Header[name] != nil && name != "X-Amz-Date" {
			req.Header[name] = r.Header[name]
		}
	}
	sum := sha256.Sum256(r.Body)
	key := aws.Credentials{AccessKeyID: AWSKeyID, SecretAccessKey: AWSSecret}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, req, hex.EncodeToString(sum[:]), "bedrock", region[1], at); err != nil {
		return false
	}
	return req.Header.Get("Authorization") == got
}
