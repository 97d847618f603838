package capture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const secret = `hunter2/"\é-super-secret`

func redactor(secrets ...capture.Secret) *capture.Redactor {
	return capture.NewRedactor([32]byte{1}, secrets)
}

func TestRedactorFindsWhatItShould(t *testing.T) {
	t.Parallel()
	r := redactor(capture.Secret{Name: "DB_PASSWORD", Value: "correct horse battery"}, capture.Secret{Name: "LONGER", Value: "correct horse battery staple"})
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "a b c", "a b c"},
		{"known", "x correct horse battery y", "x {redacted:DB_PASSWORD} y"},
		{"the longest", "correct horse battery staple", "{redacted:LONGER}"},
		{"twice", "correct horse battery,correct horse battery", "{redacted:DB_PASSWORD},{redacted:DB_PASSWORD}"},
		{"openai", `{"k":"sk-proj-abcdefghij0123456789_-XY"}`, `{"k":"{redacted:api-key}"}`},
		{"old openai", "sk-0123456789abcdef0123456789abcdef0123456789abcdef", "{redacted:api-key}"},
		{"a word with sk-", "task-list-management-with-a-very-long-name-2", "task-list-management-with-a-very-long-name-2"},
		{"a css class", "sk-folding-cube-of-many-words-without-number", "sk-folding-cube-of-many-words-without-number"},
		{"aws", "AKIAIOSFODNN7EXAMPLE", "{redacted:aws-key}"},
		{"github", "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB end", "{redacted:github-token} end"},
		{"slack", "xoxb-12345-67890-abc", "{redacted:slack-token}"},
		{"bearer keeps its label", "Authorization: Bearer abcdef0123456789abcdef==", "Authorization: Bearer {redacted:bearer}"},
		{"private key", "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b", "a {redacted:private-key} b"},
		{"certificate", "-----BEGIN CERTIFICATE-----\nMIIE and a good deal more of it\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nMIIE and a good deal more of it\n-----END CERTIFICATE-----"},
		{"almost at the end", "correct horse batter", "correct horse batter"},
	} {
		got, names := r.Bytes([]byte(c.in))
		if string(got) != c.want || (names != nil) != (c.in != c.want) {
			t.Errorf("%s: Bytes(%q) = %q %v, want %q", c.name, c.in, got, names, c.want)
		}
		for cut := range len(c.in) + 1 {
			if parts := capture.RedactParts(r, c.in[:cut], c.in[cut:]); parts != c.want {
				t.Errorf("%s cut at %d = %q, want %q", c.name, cut, parts, c.want)
			}
		}
	}
}

// The password of basic authentication stands in answers without its coding.
func TestBasicPasswordIsFoundInWhatFollows(t *testing.T) {
	t.Parallel()
	r := redactor()
	capture.RedactHeader(r, "Authorization", "Basic YXBwOm15IHNlY3JldCBwYXNz") // app:my secret pass
	if got, _ := r.Bytes([]byte("no user app with my secret pass")); string(got) != "no user app with {redacted:authorization}" {
		t.Errorf("Bytes() = %q, want the password redacted", got)
	}
}

// Every spelling that a JSON writer may choose is found.
func TestSecretsAreFoundInJSON(t *testing.T) {
	t.Parallel()
	r := redactor(capture.Secret{Name: "S", Value: secret})
	std, _ := json.Marshal(secret)
	for _, s := range []string{secret, string(std), strings.ReplaceAll(string(std), "/", `\/`), strings.ReplaceAll(string(std), "é", `\u00e9`)} {
		if got, names := r.Bytes([]byte("<" + s + ">")); len(names) != 1 || bytes.Contains(got, []byte("hunter2")) {
			t.Errorf("Bytes(%s) = %s", s, got)
		}
	}
}

// However bytes are cut into parts, the same comes out.
func TestPartsNeverMatter(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"correct horse battery", "correct horse battery staple", "correct ", "sk-proj-", "abcdefghij0123456789", "sk-", "-----BEGIN ", "EC PRIVATE KEY-----",
		"-----END EC PRIVATE KEY-----", "Bearer ", "xoxb-", "1234567890-", "AKIA", "ABCDEFGHIJKLMNOP", " ", "x", "\n", "ü", "-",
	}
	r := redactor(capture.Secret{Name: "A", Value: "correct horse battery"}, capture.Secret{Name: "B", Value: "correct horse battery staple"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "text"), "")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(text)), 0, 8).Draw(t, "cuts")
		var parts []string
		from := 0
		for _, c := range cuts {
			if c > from {
				parts = append(parts, text[from:c])
				from = c
			}
		}
		parts = append(parts, text[from:])
		whole, _ := r.Bytes([]byte(text))
		if got := capture.RedactParts(r, parts...); got != string(whole) {
			t.Fatalf("in parts %q: %q, want %q", parts, got, whole)
		}
		if bytes.Contains(whole, []byte("correct horse battery")) {
			t.Fatalf("a secret is left in %q", whole)
		}
	})
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
	rig.opts.Redactor = redactor(capture.Secret{Name: "ENV_SECRET", Value: env})
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
	rig.opts.Redactor = redactor(capture.Secret{Name: "ENV", Value: env})
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
	rig.opts.Redactor = capture.NewRedactor([32]byte{2}, nil)
	other := rig.replay(run)
	if g := send(t, "POST", other.url+"/v1/responses", `{}`, "Authorization", "Bearer another-key"); g.status != 200 {
		t.Errorf("in another store = %d %s", g.status, g.body)
	}
	if len(other.rec.Remarks()) == 0 {
		t.Error("that credentials were not compared is not remarked")
	}
}

func TestEnvSecrets(t *testing.T) {
	t.Parallel()
	got := capture.EnvSecrets([]string{
		"OPENAI_API_KEY=sk-1234567890", "GITHUB_TOKEN=tok-12345678", "HOME=/home/somebody", "KEYBOARD=us-intl-layout",
		"SHORT_KEY=abc", "SSH_AUTH_SOCK=/run/user/1000/agent", "DATABASE_URL=postgres://u:p4ssw0rd-long@h/db", "GOOGLE_APPLICATION_CREDENTIALS=/etc/creds.json",
		"MY_CREDENTIALS=aaaaaaaabbbb", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG",
	})
	want := "OPENAI_API_KEY=sk-1234567890 GITHUB_TOKEN=tok-12345678 DATABASE_URL=p4ssw0rd-long MY_CREDENTIALS=aaaaaaaabbbb AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG"
	var list []string
	for _, s := range got {
		list = append(list, s.Name+"="+s.Value)
	}
	if s := strings.Join(list, " "); s != want {
		t.Errorf("EnvSecrets = %s, want %s", s, want)
	}
}
