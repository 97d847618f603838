package capture_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/canon"
)

var awsKey = capture.AWSKey{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

// The published examples of the signature.
func TestSignaturesAreThoseOfAWS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, url, want string }{
		{"get-vanilla", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"get-vanilla-query-order-key-case", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Amz-Date", "20150830T123600Z")
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=0")
		if err := capture.Resign(r, "127.0.0.1:1", []capture.AWSKey{awsKey}, ""); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(r.Header.Get("Authorization"), "Signature="); got != test.want {
			t.Errorf("%s = %s, want %s", test.name, got, test.want)
		}
	}
}

// A client that speaks HTTP/2 signs the host under another name, which the
// upstream, asked in HTTP/1.1, does not see: even one that the client named
// itself.
func TestSignatureOfHTTP2IsMadeAnew(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"127.0.0.1:1", "example.amazonaws.com"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://example.amazonaws.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		const before = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="
		r.Header.Set("X-Amz-Date", "20150830T123600Z")
		r.Header.Set("Authorization", before+":authority;x-amz-date, Signature=0")
		if err := capture.Resign(r, asked, []capture.AWSKey{awsKey}, ""); err != nil {
			t.Fatal(err)
		}
		want := before + "host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("asked for %s: %s, want %s", asked, got, want)
		}
	}
}

// A signed request through a listener reaches the upstream with a signature
// for the upstream; the signature is not kept, and a later one, of another
// time, finds the record.
func TestSignedRequestsAreRecordedAndReplayed(t *testing.T) {
	t.Parallel()
	const path = "/model/anthropic.claude-3%3A0/invoke"
	sign := func(r *http.Request, host, date, body string) {
		sum := canon.SHA256([]byte(body))
		r.Host = host
		r.Header.Set("X-Amz-Date", date)
		r.Header.Set("X-Amz-Security-Token", "token-of-the-session-0123456789")
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"+date[:8]+"/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=0")
		if err := capture.Resign(r, "another", []capture.AWSKey{awsKey}, hex.EncodeToString(sum[:])); err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		want := r.Clone(t.Context())
		sign(want, r.Host, r.Header.Get("X-Amz-Date"), string(b))
		if got := r.Header.Get("Authorization"); got != want.Header.Get("Authorization") {
			w.WriteHeader(http.StatusForbidden)
			t.Errorf("the upstream got %s, want %s", got, want.Header.Get("Authorization"))
		}
		seen = append(seen, r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"content":[]}`)
	})
	rig := newRig(t)
	rig.opts.AWSKeys = []capture.AWSKey{awsKey}
	rig.opts.Redactor = redactor(redact.Secret{Name: "AWS_SECRET_ACCESS_KEY", Value: awsKey.Secret})
	ask := func(p *taping, date, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), "POST", p.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		sign(r, strings.TrimPrefix(p.url, "http://"), date, body)
		seen = append(seen, r.Header.Get("Authorization"))
		resp, err := client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	bodies := []string{`{"small":1}`, `{"large":"` + strings.Repeat("QUJD", 1<<19) + `"}`}
	live := rig.record(up.URL)
	for _, b := range bodies {
		if got := ask(live, "20261121T120000Z", b); got != 200 {
			t.Errorf("live = %d, want 200", got)
		}
	}
	run := live.seal()
	dump := dumpStore(t, rig, run)
	for _, s := range append(seen, awsKey.Secret, "token-of-the-session-0123456789") {
		_, s, _ := strings.Cut("="+s, "Signature=")
		if s != "" && strings.Contains(dump, s) {
			t.Errorf("the store holds %s", s)
		}
	}
	again := rig.replay(run)
	for _, b := range bodies {
		if got := ask(again, "20261122T130000Z", b); got != 200 {
			t.Errorf("a day later = %d, want 200", got)
		}
	}
}
