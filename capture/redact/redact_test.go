package redact_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture/redact"
)

const secret = `hunter2/"\é-super-secret`

func redactor(secrets ...redact.Secret) *redact.Redactor {
	return redact.New([32]byte{1}, secrets)
}

// parts is what becomes of a text that comes in parts.
func parts(r *redact.Redactor, list ...string) string {
	s := r.Stream()
	var out []byte
	for _, p := range list {
		out = s.Write(out, []byte(p), false)
	}
	return string(s.Write(out, nil, true))
}

func TestRedactorFindsWhatItShould(t *testing.T) {
	t.Parallel()
	r := redactor(redact.Secret{Name: "DB_PASSWORD", Value: "correct horse battery"}, redact.Secret{Name: "LONGER", Value: "correct horse battery staple"})
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
			if got := parts(r, c.in[:cut], c.in[cut:]); got != c.want {
				t.Errorf("%s cut at %d = %q, want %q", c.name, cut, got, c.want)
			}
		}
	}
}

// The password of basic authentication stands in answers without its coding.
func TestBasicPasswordIsFoundInWhatFollows(t *testing.T) {
	t.Parallel()
	r := redactor()
	redact.HeaderOf(r, "Authorization", "Basic YXBwOm15IHNlY3JldCBwYXNz") // app:my secret pass
	if got, _ := r.Bytes([]byte("no user app with my secret pass")); string(got) != "no user app with {redacted:authorization}" {
		t.Errorf("Bytes() = %q, want the password redacted", got)
	}
}

// Every spelling that a JSON writer may choose is found.
func TestSecretsAreFoundInJSON(t *testing.T) {
	t.Parallel()
	r := redactor(redact.Secret{Name: "S", Value: secret})
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
	r := redactor(redact.Secret{Name: "A", Value: "correct horse battery"}, redact.Secret{Name: "B", Value: "correct horse battery staple"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "text"), "")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(text)), 0, 8).Draw(t, "cuts")
		var list []string
		from := 0
		for _, c := range cuts {
			if c > from {
				list = append(list, text[from:c])
				from = c
			}
		}
		list = append(list, text[from:])
		whole, _ := r.Bytes([]byte(text))
		if got := parts(r, list...); got != string(whole) {
			t.Fatalf("in parts %q: %q, want %q", list, got, whole)
		}
		if bytes.Contains(whole, []byte("correct horse battery")) {
			t.Fatalf("a secret is left in %q", whole)
		}
	})
}

func TestEnvSecrets(t *testing.T) {
	t.Parallel()
	got := redact.EnvSecrets([]string{
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
