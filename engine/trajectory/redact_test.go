package trajectory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory"
)

// A.5 core/redact: values of secret names are replaced, at any depth.
func TestSecretsAreRedactedAtAnyDepth(t *testing.T) {
	t.Parallel()
	in := parse(t, `{"user":"ann","Password":"x","deep":[{"list":[{"api_key":["a","b"]}]},{"cookie":null}],"n":1.50}`)
	want := `{"user":"ann","Password":"***REDACTED***","deep":[{"list":[{"api_key":"***REDACTED***"}]},{"cookie":"***REDACTED***"}],"n":1.50}`
	out, n := trajectory.Redact(in)
	if out.String() != want || n != 3 {
		t.Errorf("Redact(%s) = %s, %d, want %s, 3", in, out, n, want)
	}
}

// A.5 core/redact: which names are secret.
func TestSecretNames(t *testing.T) {
	t.Parallel()
	secret := func(name string) bool {
		_, n := trajectory.Redact(parse(t, `{"`+name+`":"x"}`))
		return n == 1
	}
	for _, name := range []string{
		"password", "PASSWORD", "user_password", "passwd", "secret", "clientSecret", "client_secret", "token", "access_token", "accessToken",
		"accesstoken", "ACCESS_TOKEN", "HTTPToken", "token2", "csrf-token", "x.token", "api_key", "apikey", "api-key", "X-Api-Key", "openaiApiKey",
		"authorization", "Proxy-Authorization", "auth", "Auth", "basic_auth", "authHeader", "x-auth", "oauth", "oauth2", "OAuth", "bearer",
		"credential", "credentials", "private_key", "privateKey", "access_key", "aws_access_key_id", "session", "session_id", "sessionId", "sessionid",
		"cookie", "Set-Cookie", "cookies",
	} {
		if !secret(name) {
			t.Errorf("%s is not redacted", name)
		}
	}
	// Where the source document's list goes too far.
	for _, name := range []string{
		"author", "authors", "Author", "authority", "authentic", "tokens", "max_tokens", "totalTokens", "tokenizer", "sessions", "obsession",
		"key", "keyboard", "pass", "user", "", "idea",
	} {
		if secret(name) {
			t.Errorf("%s is redacted", name)
		}
	}
}

// A.5 core/redact: what holds no secret stays as it is.
func TestRedactLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`"password"`, `["token","secret"]`, `{"author":"ann","tokens":{"in":3,"out":-0.0}}`, `null`, `7`, `{}`, `[]`} {
		v := parse(t, in)
		if out, n := trajectory.Redact(v); out.String() != in || n != 0 {
			t.Errorf("Redact(%s) = %s, %d, want it unchanged", in, out, n)
		}
	}
}

// A.5 core/redact: idempotent.
func TestRedactIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(3).Draw(t, "value")
		once, n := trajectory.Redact(v)
		twice, again := trajectory.Redact(once)
		if twice.String() != once.String() || again != 0 || n == 0 && once.String() != v.String() {
			t.Fatalf("Redact(%s) = %s, %d; once more: %s, %d", v, once, n, twice, again)
		}
	})
}
