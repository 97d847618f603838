package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// secrets are all that must never be stored, by where they come from.
var secrets = map[string]string{
	"the API key in a header":                apiKey,
	"a key in another header":                "hdr-8Jq2LrT5vXnB3mKp",
	"a password of basic authentication":     "basic-pw-4Fh7Zs9Qc",
	"a token in the child's environment":     "tok/en+with=signs~7Gd3Wk",
	"a password in a URL of the environment": "dbpw-6Yt1Rm8Nv",
	"a key in a query":                       "query-key-2Ba5Xc8Ve",
	"a token in a query":                     "query-token-9Lo0Pi7Uy",
	"a key that only a detector knows":       "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
}

// spellings are the forms in which a secret could stand in a file.
func spellings(secret string) map[string][]byte {
	utf16 := make([]byte, 0, 2*len(secret))
	for i := range len(secret) {
		utf16 = append(utf16, secret[i], 0)
	}
	forms := map[string]string{
		"itself":  secret,
		"escaped": url.QueryEscape(secret),
		"in JSON": strings.ReplaceAll(secret, "/", `\/`),
		"hex":     hex.EncodeToString([]byte(secret)),
		"utf-16":  string(utf16),
	}
	// In base64 what stands before a secret shifts it; the inner part of each
	// of the three shifts is the same whatever stands around it.
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		forms[fmt.Sprintf("base64, shifted by %d", shift)] = text[4 : len(text)-4]
	}
	out := map[string][]byte{}
	for name, form := range forms {
		out[name] = []byte(form)
	}
	return out
}

// hunt looks for secrets in bytes.
func hunt(b []byte) []string {
	var found []string
	for where, secret := range secrets {
		for how, form := range spellings(secret) {
			if bytes.Contains(b, form) {
				found = append(found, where+", "+how)
			}
		}
	}
	return found
}

// huntFiles looks for secrets in every byte of every file of a folder.
func huntFiles(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // ended while we looked
		}
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			return nil
		}
		for _, f := range hunt(b) {
			found = append(found, filepath.Base(name)+": "+f)
		}
		return err
	})
	return found, err
}

// leak plays a provider that repeats in its answers the secrets that it was
// sent, and to a chat all of them, cut in the middle of each.
func leak(r upstream.Request) upstream.Answer {
	a := upstream.Scenarios(r)
	a.Pause = 4 * time.Millisecond
	a.Parts = nil
	_, basic, _ := (&http.Request{Header: r.Header}).BasicAuth()
	sent := fmt.Sprint(r.URI, r.Header, basic)
	chat := strings.HasSuffix(r.URI, "/chat/completions")
	for where, secret := range secrets {
		if !chat && !strings.Contains(sent, secret) {
			continue
		}
		a.Parts = append(a.Parts,
			[]byte("data: {\"content\":\""+where+" is "+secret[:len(secret)/2]),
			[]byte(secret[len(secret)/2:]+"\"}\n\n"))
	}
	a.Parts = append(a.Parts, []byte("data: [DONE]\n\n"))
	a.Header.Set("Content-Type", "text/event-stream")
	return a
}

// TestNoSecretReachesTheDisk runs clients that send secrets wherever secrets
// stand, and gets them back in answers. None is in any file of the store,
// while it records and afterwards, in whatever coding; the client has them
// all; and the replay works.
func TestNoSecretReachesTheDisk(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	up := upstream.Start(t, leak)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	l.set("DEPLOY_TOKEN", secrets["a token in the child's environment"])
	l.set("DATABASE_URL", "postgres://app:"+secrets["a password in a URL of the environment"]+"@db.internal/app")
	for name, where := range map[string]string{
		"E2E_HDR": "a key in another header", "E2E_BASIC": "a password of basic authentication",
		"E2E_QUERY": "a key in a query", "E2E_QTOKEN": "a token in a query", "E2E_GH": "a key that only a detector knows",
	} {
		// The script reads them from files, so that no variable names them.
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(secrets[where]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -u
hdr=$(cat E2E_HDR) basic=$(cat E2E_BASIC) query=$(cat E2E_QUERY) qtoken=$(cat E2E_QTOKEN) gh=$(cat E2E_GH)
dbpw=${DATABASE_URL#*app:}; dbpw=${dbpw%@*}
curl -sSN -u "app:$basic" "$OPENAI_BASE_URL/login?user=7"
curl -sSN "$OPENAI_BASE_URL/files?key=$query&page=2" -H "X-Api-Key: $hdr"
curl -sSN -G "$OPENAI_BASE_URL/files" --data-urlencode "access_token=$qtoken" --data-urlencode "path=a b"
curl -sSN "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
	-d '{"model":"e2e-1","stream":true,"messages":[{"role":"user","content":"deploy with '"$DEPLOY_TOKEN"' and '"$gh"', the database is '"$dbpw"'"}]}'
`
	argv := []string{"sh", "-c", script}

	// Look again and again while it records.
	dir := filepath.Join(l.dir, ".reprise")
	stop := make(chan struct{})
	var watch sync.WaitGroup
	looks := 0
	watch.Go(func() {
		for {
			found, err := huntFiles(dir)
			if err != nil {
				t.Errorf("while it records: %v", err)
				return
			}
			if len(found) > 0 {
				t.Errorf("while it records, on disk: %s", strings.Join(found, "\n"))
				return
			}
			looks++
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	recorded := l.must(0, append([]string{"record", "--"}, argv...)...)
	close(stop)
	watch.Wait()
	t.Logf("looked %d times while it recorded", looks)
	for where, secret := range secrets {
		if !strings.Contains(recorded.stdout, secret) {
			t.Errorf("the client did not get %s", where)
		}
	}
	sent := fmt.Sprint(up.Requests())
	for _, where := range []string{"the API key in a header", "a key in another header", "a key in a query", "a token in a query"} {
		if !strings.Contains(sent, secrets[where]) {
			t.Errorf("the upstream did not get %s", where)
		}
	}
	up.Stop()

	replayed := l.must(0, append([]string{"replay", "last", "--"}, argv...)...)
	if found := hunt([]byte(replayed.stdout)); len(found) > 0 {
		t.Errorf("the replay gives what cannot be known: %s", strings.Join(found, "\n"))
	}
	leaked := strings.Count(recorded.stdout, "data: ") - strings.Count(recorded.stdout, "[DONE]")
	if got := strings.Count(replayed.stdout, "{redacted:"); got != leaked {
		t.Errorf("the replay has %d stand-ins, want %d:\n%s", got, leaked, clip(replayed.stdout))
	}

	// What is stored may be compressed; all that leaves the store is not.
	leaves := map[string][]byte{}
	l.must(0, "export", "last~1", "-o", "run.reprise")
	l.must(0, "show", "last~1", "--html", "run.html")
	for _, name := range []string{"run.reprise", "run.html"} {
		b, err := os.ReadFile(filepath.Join(l.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		leaves[name] = b
	}
	leaves["show"] = []byte(l.must(0, "show", "last~1").stdout)
	leaves["show --json"] = []byte(l.must(0, "show", "last~1", "--json").stdout)
	for i := range 10 {
		leaves[fmt.Sprintf("show --at %d", i)] = []byte(l.must(0, "show", "last~1", "--at", fmt.Sprint(i)).stdout)
	}
	leaves["what replay says"] = []byte(replayed.stderr)
	leaves["what record says"] = []byte(recorded.stderr)
	for where, b := range leaves {
		if found := hunt(b); len(found) > 0 {
			t.Errorf("in %s: %s", where, strings.Join(found, "\n"))
		}
	}
	found, err := huntFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		t.Errorf("on disk: %s", strings.Join(found, "\n"))
	}
}
