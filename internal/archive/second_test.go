package archive_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const secondVerifier = "../../spec/verifier/verify.py"

// python returns an interpreter that has a signature library, or skips.
func python(t *testing.T) string {
	t.Helper()
	for _, p := range []string{os.Getenv("REPRISE_PYTHON"), "python3", "/usr/bin/python3"} {
		if p != "" && exec.Command(p, "-c", "import cryptography").Run() == nil {
			return p
		}
	}
	t.Skip("no Python with the cryptography package; REPRISE_PYTHON names one")
	return ""
}

// options returns what a how means to us.
func (h history) options() *archive.VerifyOptions {
	o := &archive.VerifyOptions{}
	args := hows[h.how]
	for i := 0; i < len(args); i += 2 {
		switch args[i] {
		case "--trust":
			o.Roots = append(o.Roots, bundletest.Key(args[i+1]).Public())
		case "--level":
			level := ledger.Level(args[i+1][0] - '0')
			o.Level = &level
		case "--expect-head":
			at := sample().At
			o.Expect = &at
		}
	}
	return o
}

// arguments returns what a how means to the second verifier.
func arguments(how string) []string {
	var out []string
	for _, a := range hows[how] {
		switch a {
		case "root", "other root":
			a = fmt.Sprintf("%x", bundletest.Key(a).Public().Raw())
		case "whole":
			a = fmt.Sprintf("%d:%s", sample().At.Count, sample().At.Last)
		}
		out = append(out, a)
	}
	return out
}

// ours says what our verifier finds.
func ours(t testing.TB, raw []byte, o *archive.VerifyOptions) outcome {
	t.Helper()
	b, err := bundle.Parse(raw)
	if err != nil {
		return outcome{Verdict: "error", Code: fault.CodeOf(err).Error()}
	}
	r, err := archive.VerifyBundle(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return outcomeOf(r)
}

func outcomeOf(r *replay.Report) outcome {
	out := outcome{Verdict: string(r.Verdict), Level: int(r.Level)}
	if f := ledger.First(r.Phases); f != nil {
		out.Code = f.Code.Error()
		if f.N >= 0 {
			out.Entry = &f.N
		}
	}
	return out
}

func (o outcome) String() string {
	n := "-"
	if o.Entry != nil {
		n = fmt.Sprint(*o.Entry)
	}
	return fmt.Sprintf("%s at level %d, %s, entry %s", o.Verdict, o.Level, cmp.Or(o.Code, "-"), n)
}

// status is the exit status that goes with an outcome.
func (o outcome) status() int {
	if o.Verdict == "error" {
		return fault.ExitInvalid
	}
	return replay.Verdict(o.Verdict).ExitStatus()
}

func TestTheCorpusComesOutAsItShould(t *testing.T) {
	t.Parallel()
	list := corpus(t)
	bad := 0
	for _, h := range list {
		if h.want.Verdict != "verified" && h.want.Verdict != "partial" {
			bad++
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			if got := ours(t, h.raw, h.options()); got.String() != h.want.String() {
				t.Errorf("got  %s\nwant %s", got, h.want)
			}
		})
	}
	if len(list) < 60 || bad < 40 {
		t.Errorf("%d bundles, %d of them bad: the corpus has at least 60 and 40", len(list), bad)
	}
}

// The second verifier is another program in another language, written from
// docs/formats.md. That both say the same of every bundle is what shows that
// the format is what the page says.
func TestASecondVerifierSaysTheSame(t *testing.T) {
	t.Parallel()
	py := python(t)
	dir := t.TempDir()
	byHow := map[string][]history{}
	for _, h := range append(corpus(t), frozen(t)...) {
		byHow[h.how] = append(byHow[h.how], h)
	}
	for how, list := range byHow {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			args := append([]string{secondVerifier}, arguments(how)...)
			worst := 0
			for i, h := range list {
				path := filepath.Join(dir, fmt.Sprintf("%s-%d.reprise", how, i))
				if err := os.WriteFile(path, h.raw, 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, path)
				worst = max(worst, h.want.status())
			}
			out, err := exec.CommandContext(t.Context(), py, args...).Output()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if exit != nil && exit.ExitCode() != worst || exit == nil && worst != 0 {
				t.Errorf("it ended with %v, want %d: %s", err, worst, exit.Stderr)
			}
			lines := bufio.NewScanner(bytes.NewReader(out))
			for _, h := range list {
				if !lines.Scan() {
					t.Fatalf("%s: nothing was said", h.name)
				}
				var got outcome
				if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
				if mine := ours(t, h.raw, h.options()); got.String() != mine.String() {
					t.Errorf("%s: it says %s, and we %s", h.name, got, mine)
				}
			}
		})
	}
}

// Bundles that nobody thought of: bits flipped and records moved at random,
// with a digest that fits again.
func TestASecondVerifierSaysTheSameOfRandomDamage(t *testing.T) {
	t.Parallel()
	py := python(t)
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	args := append([]string{secondVerifier}, arguments("trusted")...)
	var list []history
	for i := range 250 {
		recs := bundletest.Records(whole(sample()))
		for range 1 + rnd.IntN(2) {
			a, b := rnd.IntN(len(recs)), rnd.IntN(len(recs))
			switch rnd.IntN(6) {
			case 0:
				recs[a], recs[b] = recs[b], recs[a]
			case 1:
				recs = slices.Delete(recs, a, a+1)
			case 2:
				recs = slices.Insert(recs, b, recs[a])
			case 3:
				recs[a].Type ^= 1 << rnd.IntN(4)
			default:
				if p := recs[a].Bytes; len(p) > 0 {
					p[rnd.IntN(len(p))] ^= 1 << rnd.IntN(8)
				}
			}
		}
		h := history{name: fmt.Sprint(i), raw: bundletest.Join(recs), how: "trusted"}
		path := filepath.Join(dir, h.name)
		if err := os.WriteFile(path, h.raw, 0o600); err != nil {
			t.Fatal(err)
		}
		list, args = append(list, h), append(args, path)
	}
	out, _ := exec.CommandContext(t.Context(), py, args...).Output() // it ends with the worst status
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(list) {
		t.Fatalf("it said %d things about %d bundles", len(lines), len(list))
	}
	for i, h := range list {
		var got outcome
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if mine := ours(t, h.raw, h.options()); got.String() != mine.String() {
			t.Errorf("damage %s: it says %s, and we %s", h.name, got, mine)
		}
	}
}

func TestTheSecondVerifierRefusesWeakRoots(t *testing.T) {
	t.Parallel()
	py := python(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.reprise")
	if err := os.WriteFile(path, whole(sample()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"0100000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	} {
		out, err := exec.CommandContext(t.Context(), py, secondVerifier, "--trust", key, path).Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != fault.ExitInvalid || !strings.Contains(string(out), sign.ErrKey.Error()) {
			t.Errorf("key %s: %s, %v", key, out, err)
		}
	}
}

// frozen returns the histories of format version 1. They are never made anew:
// what verified once verifies for ever.
func frozen(t testing.TB) []history {
	t.Helper()
	const dir = "../../testdata/histories/v1"
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct {
		File, How string
		Want      outcome
	}
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	var out []history
	for _, x := range index {
		raw, err := os.ReadFile(filepath.Join(dir, x.File))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, history{name: x.File, raw: raw, how: x.How, want: x.Want})
	}
	return out
}

func TestHistoriesOfVersion1StillComeOutTheSame(t *testing.T) {
	t.Parallel()
	list := frozen(t)
	if len(list) < 8 {
		t.Errorf("there are only %d", len(list))
	}
	for _, h := range list {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			if got := ours(t, h.raw, h.options()); got.String() != h.want.String() {
				t.Errorf("got  %s\nwant %s", got, h.want)
			}
		})
	}
}
