package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// A recording of messages says of some of its values that they are secrets: by
// the name of a member, or by the name in a pair {key | name, value}, as OTLP
// and HAR write attributes and fields. They are looked for in all of the file.

// secretNames are the names that hold secrets, in small letters without what
// separates their words, each with the name of its stand-in.
func secretNames() map[string]string {
	return map[string]string{
		"authorization": "authorization", "proxyauthorization": "authorization", "bearertoken": "token", "authtoken": "token",
		"apikey": "api-key", "xapikey": "api-key", "xgoogapikey": "api-key", "openaiapikey": "api-key", "anthropicapikey": "api-key",
		"geminiapikey": "api-key", "googleapikey": "api-key", "githubtoken": "token", "accesstoken": "token", "refreshtoken": "token",
		"idtoken": "token", "sessiontoken": "token", "securitytoken": "token", "xamzsecuritytoken": "token", "awssessiontoken": "token",
		"accesskeyid": "access-key", "secretaccesskey": "secret-key", "awsaccesskeyid": "access-key", "awssecretaccesskey": "secret-key",
		"secretkey": "secret-key", "privatekey": "private-key", "clientsecret": "client-secret", "webhooksecret": "client-secret",
		"password": "password", "passwd": "password", "passphrase": "password", "cookie": "cookie", "setcookie": "cookie",
		"mcpsessionid": "mcp-session-id",
	}
}

// maxLabelled is how many secrets one file may name: more cannot be looked
// for, and what is not looked for would be stored.
const maxLabelled = 500

// labelled finds the secrets that a file names.
type labelled struct {
	names map[string]string
	found []redact.Secret
	seen  map[string]bool
}

// label adds the secrets that these values of a file of messages name.
func (t *tape) label(list []jsontext.Value) error {
	if len(t.turns) == 0 {
		return nil
	}
	l := labelled{names: secretNames(), seen: map[string]bool{}, found: t.secrets}
	for _, v := range list {
		l.walk(v, "", 0, 0)
	}
	if len(l.found) > maxLabelled {
		return fault.New(ErrTooLarge, "importer.label", "more than %d secrets are named", maxLabelled)
	}
	t.secrets = l.found
	return nil
}

// label returns the stand-in's name for a member of that name; empty: it says
// nothing. Of a path such as http.request.header.cookie the end counts.
func (l *labelled) label(name string) string {
	if len(name) > maxText {
		return ""
	}
	return l.names[strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name[strings.LastIndexByte(name, '.')+1:]))]
}

// maxInside is how many texts within texts are read as JSON.
const maxInside = 3

// walk looks at v, which a member whose name has that label holds.
func (l *labelled) walk(v jsontext.Value, label string, depth, inside int) {
	if depth > maxNesting || len(l.found) > maxLabelled {
		return
	}
	switch v.Kind() {
	case '"':
		s, _ := unquoted(v)
		l.secret(label, s)
		if inside < maxInside && len(s) > 1 && (s[0] == '{' || s[0] == '[') {
			if inner, _, err := values([]byte(s), 1); err == nil && len(inner) == 1 {
				l.walk(inner[0], label, depth+1, inside+1)
			}
		}
	case '[':
		list, err := elements(v, maxElements)
		if err != nil {
			return
		}
		for _, e := range list {
			l.walk(e, label, depth+1, inside)
		}
	case '{':
		o := members(v)
		pair := l.label(o.first("key", "name"))
		for _, name := range slices.Sorted(maps.Keys(o)) {
			mine := l.label(name)
			switch {
			case mine == "" && pair != "" && name == "value":
				mine = pair
			case mine == "" && strings.HasSuffix(name, "Value") || name == "values":
				mine = label // OTLP: {value: {arrayValue: {values: [{stringValue}]}}}
			}
			l.walk(o[name], mine, depth+1, inside)
		}
	default:
	}
}

// secret takes a value that a label names, without the scheme in front of a
// credential. What is too short to be looked for, or is no secret but says
// that there was one, is left alone.
func (l *labelled) secret(label, s string) {
	if label == "" {
		return
	}
	if scheme, rest, ok := strings.Cut(s, " "); ok && label == "authorization" && len(scheme) <= len("Negotiate") {
		s = rest
	}
	if s = strings.TrimSpace(s); s == "" || l.seen[s] {
		return
	}
	l.seen[s] = true
	l.found = append(l.found, redact.Secret{Name: label, Value: s})
}
