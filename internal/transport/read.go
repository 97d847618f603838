package transport

import (
	"path/filepath"
	"strings"

	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Exec returns the transport of a kind that starts a program, with the members
// env, env_from and dir of the section. The program's environment is exactly
// what is declared: the values of env are recorded, those of env_from are not.
// A folder is relative to dir.
func Exec(s yamlfile.Section, dir, kind string, argv []string) (canon.Value, error) {
	t := canon.Object(canon.M("kind", canon.String(kind)), canon.M("argv", canon.Strings(argv)))
	if n, ok := s.Get("env"); ok {
		env, err := n.JSON()
		if err != nil {
			return t, err
		}
		for _, m := range env.Members() {
			if m.Value.Kind() != canon.KindString {
				env = env.With(m.Name, canon.String(m.Value.String()))
			}
		}
		if env.Kind() != canon.KindObject {
			return t, n.Fail("env is names and values")
		}
		t = t.With("env", env)
	}
	from, err := s.Texts("env_from")
	if err != nil {
		return t, err
	}
	if len(from) > 0 {
		t = t.With("env_from", canon.Strings(from))
	}
	folder, err := s.Text("dir")
	if err != nil {
		return t, err
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(dir, folder)
	}
	if folder != "" && folder != "." {
		t = t.With("dir", canon.String(folder))
	}
	return t, nil
}

// HTTP reads {method, url, headers, key_env}. Placeholders {NAME} of the path
// are arguments; of GET, HEAD and DELETE the others become the query, else all
// arguments are the body, as JSON.
func HTTP(n yamlfile.Node) (canon.Value, error) {
	s, err := n.Section("method", "url", "headers", "key_env")
	if err != nil {
		return canon.Value{}, err
	}
	url, err := s.Text("url")
	if err != nil {
		return canon.Value{}, err
	}
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return canon.Value{}, n.Fail("url is no http address")
	}
	method, err := s.Text("method")
	if err != nil {
		return canon.Value{}, err
	}
	if method == "" {
		method = "POST"
	}
	t := canon.Object(canon.M("kind", canon.String("http")), canon.M("method", canon.String(strings.ToUpper(method))), canon.M("url", canon.String(url)))
	headers, err := s.JSON("headers")
	if err != nil {
		return t, err
	}
	if !headers.IsZero() {
		if headers.Kind() != canon.KindObject {
			return t, n.Fail("headers is names and values")
		}
		t = t.With("headers", headers)
	}
	key, err := s.Text("key_env")
	if key != "" {
		t = t.With("key_env", canon.String(key))
	}
	return t, err
}

// Secrets returns the names of the environment variables that a transport
// uses.
func Secrets(t canon.Value) []string {
	var out []string
	if name := t.Get("key_env").Str(); name != "" {
		out = append(out, name)
	}
	for _, e := range t.Get("env_from").Elems() {
		out = append(out, e.Str())
	}
	return out
}
