package redact

import (
	"net/url"
	"strings"
)

// EnvSecrets returns the secrets in an environment: the values of variables
// whose names say so, and the passwords in values that are URLs. Short ones
// are left out.
func EnvSecrets(environ []string) []Secret {
	var out []Secret
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		value = strings.TrimSpace(value)
		if !ok || len(value) < minSecret {
			continue
		}
		if secretName(name, value) {
			out = append(out, Secret{Name: name, Value: value})
		}
		if strings.Contains(value, "://") {
			if u, err := url.Parse(value); err == nil && u.User != nil {
				if password, ok := u.User.Password(); ok && len(password) >= minSecret {
					out = append(out, Secret{Name: name, Value: password})
				}
			}
		}
	}
	return out
}

// secretName reports whether the name of a variable says that its value is a
// secret. A name that ends in what says that the value is a place does not.
func secretName(name, value string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "FILE", "PATH", "DIR", "SOCK", "URL", "URI", "HOST", "ID", "NAME":
		return false
	case "CREDENTIALS": // a secret, or the path of a file that holds it
		return !strings.ContainsAny(value[:1], "/~.")
	}
	for _, w := range words {
		switch w {
		case "KEY", "KEYS", "APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE",
			"PASS", "CREDENTIAL", "AUTH", "PAT", "BEARER", "COOKIE", "SIGNATURE":
			return true
		}
	}
	return false
}
