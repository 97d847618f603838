package capture

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
)

// RedactParts redacts a text that comes in parts.
func RedactParts(r *Redactor, parts ...string) string {
	s := r.stream()
	var out []byte
	for _, p := range parts {
		out = s.write(out, []byte(p), false)
	}
	return string(s.write(out, nil, true))
}

// RedactHeader returns what is stored of one header.
func RedactHeader(r *Redactor, name, value string) string {
	stored, _, _ := r.redactHeader(name, value)
	return stored
}

// Coded codes a body.
func Coded(coding string, b []byte) ([]byte, error) { return coded(coding, b) }

// PlainOf decodes a body.
func PlainOf(coding string, b []byte) ([]byte, bool) { return plainOf(coding, b, DefaultMaxRequest) }

// Form returns what the match key of a body is taken of with the built-in
// normalisers.
func Form(kind, body string) (string, []string, error) {
	r, err := newRules(Normalisers(), Setting{})
	if err != nil {
		return "", nil, err
	}
	form, changed := r.normal(kind, []byte(body))
	return string(form), changed, nil
}

// Cleaner returns what replaces secrets in the parts of an answer.
func Cleaner(r *Redactor, h http.Header) func(dst, p []byte, last bool) []byte {
	return r.cleaner(h).write
}

// FormUnder returns what the match key of a body is taken of under rules.
func FormUnder(list []Normaliser, kind, body string) (string, []string, error) {
	r, err := newRules(list, Setting{})
	if err != nil {
		return "", nil, err
	}
	form, changed := r.normal(kind, []byte(body))
	return string(form), changed, nil
}

// StepAndForm returns what rules make of a body one by one, and together.
func StepAndForm(list []Normaliser, s Setting, kind, body string) (string, string, error) {
	q := Request{Kind: kind, Body: []byte(body), Setting: s}
	_, form, err := step(list, q)
	if err != nil {
		return "", "", err
	}
	r, err := newRules(list, s)
	if err != nil {
		return "", "", err
	}
	whole, _ := r.normal(kind, []byte(body))
	last, _ := (&rules{}).normal(kind, form) // canonical, as every form is in the end
	return string(last), string(whole), nil
}

// Redirected returns what would be started with listeners at :1, :2, …: the
// upstreams that the program has beside the variables, and the command line
// with what is set. Of a file of the run stands NAME:content.
func Redirected(command, env, flags []string, dir string) (ups, start []string, err error) {
	o := RunOptions{Command: command, Env: env, Upstreams: flags, Dir: dir}
	r, at, err := o.planRedirect()
	if r == nil || err != nil {
		return nil, command, err
	}
	addr := map[string]string{}
	for i := range r.upstreams {
		addr[r.upstreams[i].Name] = ":" + strconv.Itoa(i+1)
		ups = append(ups, r.upstreams[i].Name+"="+r.upstreams[i].Address())
	}
	argv, set, remove, err := r.apply(command, at, env, addr)
	if err != nil {
		return nil, nil, err
	}
	defer remove()
	start = argv
	for _, kv := range set {
		if slices.Contains(env, kv) {
			continue
		}
		if name, path, _ := strings.Cut(kv, "="); name == r.fileVar {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			kv = name + ":" + string(text)
		}
		start = append(start, kv)
	}
	return ups, start, nil
}
