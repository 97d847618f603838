package upstream

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Odd answers as HTTP allows and few do, by the path: /v1/echo says what came,
// /v1/status/N answers with that status, /v1/large/N with N bytes, whole, and
// /v1/long/N with N bytes in many parts.
func Odd(r Request) Answer {
	path, _, _ := strings.Cut(r.URI, "?")
	name, arg, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	n, _ := strconv.Atoi(arg) // of no number: 0
	h := http.Header{"Content-Type": {"application/octet-stream"}}
	switch name {
	case "status":
		a := Answer{Status: n, Header: http.Header{"Location": {"/v1/elsewhere"}, "X-Odd": {"a", "b", ""}}}
		if n != http.StatusNoContent && n != http.StatusNotModified {
			a.Parts = [][]byte{[]byte("status " + arg + "\n")}
			a.Header.Set("Content-Type", "text/plain") // else the server guesses it
		}
		return a
	case "large":
		return Answer{Header: h, Parts: [][]byte{noise(n)}}
	case "long":
		a := Answer{Header: h}
		for rest := noise(n); len(rest) > 0; rest = rest[min(len(rest), 1000):] {
			a.Parts = append(a.Parts, rest[:min(len(rest), 1000)])
		}
		return a
	case "coded":
		h.Set("Content-Encoding", "br")
		return Answer{Header: h, Parts: [][]byte{noise(200)}}
	case "empty":
		return Answer{Header: h, Parts: [][]byte{nil}}
	default:
		return Answer{Header: http.Header{"Content-Type": {"text/plain"}}, Parts: [][]byte{fmt.Appendf(nil, "%s %s\n%s, %s, %s\n%d bytes %x\n",
			r.Method, r.URI, r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"), r.Header.Get("X-Mine"), len(r.Body), sha256.Sum256(r.Body))}}
	}
}

// noise is n bytes that look like nothing and are the same every time.
func noise(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		sum := sha256.Sum256(strconv.AppendInt(nil, int64(i), 10))
		b.Write(sum[:])
	}
	return b.Bytes()[:n]
}
