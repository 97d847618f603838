package capture

import "net/http"

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
