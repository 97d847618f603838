package trajectory

import (
	"slices"
	"strings"
	"unicode"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Redacted is what stands for a value that was redacted.
const Redacted = "***REDACTED***"

// secretParts make a name secret wherever they stand in it.
var secretParts = [...]string{
	"password", "passwd", "secret", "api_key", "apikey", "api-key", "authorization", "bearer",
	"credential", "private_key", "privatekey", "client_secret", "access_key", "accesskey", "cookie",
}

// secretWords make a name secret only as a whole word of it. The source
// document lists auth, token and session and matches them anywhere, which also
// hides the author of a text and the number of tokens that it cost.
var secretWords = [...]string{"auth", "oauth", "authkey", "session", "sessionid", "sessionkey"}

// Redact replaces the values of members whose names say that they are secret
// by [Redacted], at any depth, and counts them. A value that is redacted
// already is not counted again.
func Redact(v canon.Value) (out canon.Value, n int) {
	switch v.Kind() {
	case canon.KindArray:
		elems := slices.Clone(v.Elems())
		for i, e := range elems {
			x, count := Redact(e)
			elems[i], n = x, n+count
		}
		if n > 0 {
			v = canon.Array(elems...)
		}
	case canon.KindObject:
		members := slices.Clone(v.Members())
		for i, m := range members {
			x, count := m.Value, 0
			switch {
			case !isSecret(m.Name):
				x, count = Redact(m.Value)
			case m.Value.Str() != Redacted:
				x, count = canon.String(Redacted), 1
			}
			members[i].Value, n = x, n+count
		}
		if n > 0 {
			v = canon.Object(members...)
		}
	default:
	}
	return v, n
}

// isSecret reports whether a member of that name holds a secret.
func isSecret(name string) bool {
	lower := strings.ToLower(name)
	for _, p := range secretParts {
		if strings.Contains(lower, p) {
			return true
		}
	}
	for _, w := range words(name) {
		// accesstoken and csrftoken are tokens; tokens are counted.
		if slices.Contains(secretWords[:], w) || strings.HasSuffix(w, "token") {
			return true
		}
	}
	return false
}

// words splits a name where its letters end and where its case changes, and
// returns the parts in lower case: authHeader2 and auth-header are auth and
// header.
func words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
		}
		word = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		// A capital begins a word after a small letter (authToken), and as the
		// last of several before a small one (HTTPToken).
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}
