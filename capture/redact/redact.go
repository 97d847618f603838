package redact

import (
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Secret is a text that must never be stored.
type Secret struct {
	Name  string // stands in its place as {redacted:Name}
	Value string
}

// minSecret is the length from which on a value is looked for in bodies: a
// shorter one would stand in too many places that have nothing to do with it.
const minSecret = 8

// maxLearned bounds the credentials of requests that are looked for in later
// bodies. Those beyond it are still redacted where they stand as credentials.
const maxLearned = 256

// Redactor replaces secrets in everything that is stored: known values, the
// credentials that pass by, and what its labelled detectors find. The agent
// and its upstreams always get the originals. It is safe for concurrent use.
type Redactor struct {
	key   [32]byte
	keyID string

	find atomic.Pointer[Finder]

	mu      sync.Mutex
	known   map[string]string // value to name
	learned int
	prints  map[string]string // name and value to fingerprint
}

// New returns a redactor that knows these secrets. Fingerprints are
// made with the key of the store, so that they can be compared within it and
// tell nothing outside.
func New(storeKey [32]byte, secrets []Secret) *Redactor {
	id := canon.MAC(storeKey[:], []byte("reprise/cred/key/v1\n"))
	r := &Redactor{key: storeKey, keyID: hex.EncodeToString(id[:8]), known: map[string]string{}, prints: map[string]string{}}
	for _, s := range secrets {
		if len(s.Value) >= minSecret && r.known[s.Value] == "" {
			r.known[s.Value] = s.Name
		}
	}
	r.find.Store(r.finder())
	return r
}

// Union returns a with what of b is not in it.
func Union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// StandIn returns what is stored in place of a secret of that name.
func StandIn(name string) string { return "{redacted:" + name + "}" }

// KeyID names the key of the fingerprints.
func (r *Redactor) KeyID() string { return r.keyID }

// Finder returns what finds the secrets that are known now.
func (r *Redactor) Finder() *Finder { return r.find.Load() }

// Bytes returns b without secrets and the names of those that were there. If
// there were none it returns b itself.
func (r *Redactor) Bytes(b []byte) ([]byte, []string) { return r.find.Load().Replace(b) }

// Text is [Redactor.Bytes] for a short text whose secrets need no names.
func (r *Redactor) Text(s string) string {
	b, names := r.Bytes([]byte(s))
	if names == nil {
		return s
	}
	return string(b)
}

// Stream returns what replaces secrets in bytes that come in parts.
func (r *Redactor) Stream() *Replacer { return r.Finder().Stream() }

// Learn adds secrets to what is looked for: for readers of files that say what
// is a secret. Unlike what passes by, all of them are kept; the caller bounds
// their number.
func (r *Redactor) Learn(secrets ...Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if len(s.Value) >= minSecret && !placeholder(s.Value) && r.known[s.Value] == "" {
			r.known[s.Value] = s.Name
		}
	}
	r.find.Store(r.finder())
}

// LearnCredential adds a credential that passed by to what is looked for in bodies.
func (r *Redactor) LearnCredential(name, value string) {
	if len(value) < minSecret || placeholder(value) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[value] != "" || r.learned >= maxLearned {
		return
	}
	r.known[value] = name
	r.learned++
	r.find.Store(r.finder())
}

// Fingerprint returns HMAC(store key, secret), for the cred member of a call.
func (r *Redactor) Fingerprint(name, value string) string {
	id := name + "\x00" + value
	r.mu.Lock()
	defer r.mu.Unlock()
	fp := r.prints[id]
	if fp == "" {
		fp = canon.MAC(r.key[:], []byte("reprise/cred/v1\n"), []byte(value)).String()
		if len(r.prints) < maxLearned {
			r.prints[id] = fp
		}
	}
	return fp
}

// finder makes the finder for what is known now.
func (r *Redactor) finder() *Finder {
	list := slices.Clone(detectors)
	for value, name := range r.known {
		for _, text := range append(Spellings(value), inBase64(value)...) {
			list = append(list, &Pattern{Name: name, Text: text})
		}
	}
	return NewFinder(list)
}
