package capture_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func redactor(secrets ...redact.Secret) *redact.Redactor {
	return redact.New([32]byte{1}, secrets)
}

// No known secret is anywhere in the store or the spool, wherever it stood;
// the other side got it as it was.
func TestNoSecretIsStored(t *testing.T) {
	t.Parallel()
	const (
		key     = "key-0123456789-of-the-caller"
		session = "session-abcdef-0123456789"
		cookie  = "cookie-value-0123456789"
		query   = "AIzaSyA0123456789012345678901234567890"
		env     = "value-from-the-environment"
	)
	all := []string{key, session, cookie, query, env}
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer "+key || r.URL.Query().Get("key") != query || !strings.Contains(string(b), env) {
			t.Errorf("the upstream did not get the originals: %v %s %s", r.Header, r.URL, b)
		}
		w.Header().Set("Mcp-Session-Id", session)
		w.Header().Set("Set-Cookie", "sid="+cookie+"; Path=/; HttpOnly")
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range len(env) + len(key) {
			s := env + key
			fmt.Fprint(w, s[i:i+1])
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, " the end "+cookie)
	})
	rig := newRig(t)
	rig.opts.Redactor = redactor(redact.Secret{Name: "ENV_SECRET", Value: env})
	live := rig.record(up.URL)
	body := `{"text":"` + env + `","again":"` + key + `"}`
	first := send(t, "POST", live.url+"/v1/responses?key="+query+"&a=b", body, "Authorization", "Bearer "+key, "Cookie", "theme=dark; sid="+cookie, "Mcp-Session-Id", session)
	if want := env + key + " the end " + cookie; string(first.body) != want || first.header.Get("Mcp-Session-Id") != session {
		t.Errorf("the client got %q %v, want the originals", first.body, first.header)
	}
	run := live.seal()
	dump := dumpStore(t, rig, run) + dumpFolder(t, rig.spool)
	for _, s := range all {
		if strings.Contains(dump, s) {
			t.Errorf("%q is stored", s)
		}
	}
	o := rig.outcomes(run)[0]
	if got := strings.Join(o.Redacted, " "); !strings.Contains(got, "ENV_SECRET") || !strings.Contains(got, "mcp-session-id") || !strings.Contains(got, "authorization") {
		t.Errorf("redacted = %q, want the names", got)
	}
	again := send(t, "POST", rig.replay(run).url+"/v1/responses?key="+query+"&a=b", body, "Authorization", "Bearer "+key)
	if want := "{redacted:ENV_SECRET}{redacted:authorization} the end {redacted:cookie}"; again.status != 200 || string(again.body) != want {
		t.Errorf("replay = %d %q, want %q", again.status, again.body, want)
	}
}

func dumpStore(t *testing.T, r *rig, run ledger.RunID) string {
	t.Helper()
	var b bytes.Buffer
	for _, e := range r.entries(run) {
		b.WriteString(e.Body.String())
		for _, a := range e.Att {
			b.Write(r.content(run, &e, a.Name))
		}
	}
	for id, err := range r.store.List(context.Background(), string(run)) {
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.store.Get(context.Background(), string(run), id)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(c)
	}
	return b.String()
}

func dumpFolder(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		c, err := os.ReadFile(path)
		b.Write(c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is staged while an answer still comes holds no secret either.
// A stand-in is as long as its name, not as the secret: an answer comes again
// with the length that it has now.
func TestLengthOfAnAnswerIsThatOfItsStandIns(t *testing.T) {
	t.Parallel()
	const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789"
	body := []byte(`{"choices":[{"message":{"content":"your key is ` + key + `"}}]}`)
	for _, coding := range []string{"", "gzip", "br"} {
		t.Run("coding "+coding, func(t *testing.T) {
			t.Parallel()
			coded, err := codings.Encode(coding, body, true)
			if err != nil {
				t.Fatal(err)
			}
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if coding != "" {
					w.Header().Set("Content-Encoding", coding)
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(coded)))
				_, _ = w.Write(coded)
			})
			rig := newRig(t)
			live := rig.record(up.URL)
			if g := send(t, "POST", live.url+"/v1/chat/completions", `{}`, "Accept-Encoding", coding); !bytes.Equal(g.body, coded) {
				t.Errorf("live = %q, want the answer as it came", g.body)
			}
			again := send(t, "POST", rig.replay(live.seal()).url+"/v1/chat/completions", `{}`, "Accept-Encoding", coding)
			plain, err := codings.Decode(coding, again.body, 1<<20)
			if err != nil || again.err != nil || !strings.Contains(string(plain), "your key is {") || strings.Contains(string(plain), key) {
				t.Errorf("replay = %q, %v, %v; want a stand-in for the secret", plain, err, again.err)
			}
			if got, want := again.header.Get("Content-Length"), strconv.Itoa(len(again.body)); got != want || want == strconv.Itoa(len(coded)) {
				t.Errorf("Content-Length = %s, want the %s of now and not the %d of then", got, want, len(coded))
			}
		})
	}
}

func TestSpoolHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const env = "value-from-the-environment"
	seen := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range []string{"begin value-fr", "om-the-envir", "onment and more"} {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
			<-seen
		}
	})
	rig := newRig(t)
	rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: env})
	live := rig.record(up.URL)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", live.url+"/v1/responses", strings.NewReader(`{}`))
	resp, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 100)
	for range 3 {
		if _, err := resp.Body.Read(buf); err != nil {
			t.Fatal(err)
		}
		if s := dumpFolder(t, rig.spool); strings.Contains(s, "value-fr") || strings.Contains(s, "onment and") && !strings.Contains(s, "{redacted:ENV}") {
			t.Errorf("staged: %q", s)
		}
		seen <- struct{}{}
	}
}

// A recording made with one key does not answer for another of the same store.
func TestAnotherCredentialIsAMiss(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") })
	rig := newRig(t)
	live := rig.record(up.URL)
	send(t, "POST", live.url+"/v1/responses", `{}`, "Authorization", "Bearer the-good-key")
	run := live.seal()
	if g := send(t, "POST", rig.replay(run).url+"/v1/responses", `{}`, "Authorization", "Bearer another-key"); g.status != 400 {
		t.Errorf("another key = %d %s, want a miss", g.status, g.body)
	}
	any := rig.replay(run)
	any.rec.AnyCredential()
	if g := send(t, "POST", any.url+"/v1/responses", `{}`, "Authorization", "Bearer another-key"); g.status != 200 {
		t.Errorf("any credential = %d %s", g.status, g.body)
	}
	if len(any.rec.Remarks()) == 0 {
		t.Error("that another credential was taken is not remarked")
	}
	rig.opts.Redactor = redact.New([32]byte{2}, nil)
	other := rig.replay(run)
	if g := send(t, "POST", other.url+"/v1/responses", `{}`, "Authorization", "Bearer another-key"); g.status != 200 {
		t.Errorf("in another store = %d %s", g.status, g.body)
	}
	if len(other.rec.Remarks()) == 0 {
		t.Error("that credentials were not compared is not remarked")
	}
}
