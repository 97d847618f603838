package drive_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

// config returns what a session needs, over a store in memory.
func config(t testing.TB, store drive.Store, holder string) drive.Config {
	t.Helper()
	key, err := sign.NewPrivateKey([]byte("a seed of exactly 32 bytes, okay"))
	if err != nil {
		t.Fatal(err)
	}
	return drive.Config{Store: store, Now: time.Now, Rand: rand.Reader, Signer: key, Spool: t.TempDir(), Holder: holder}
}

// verify recomputes the whole run and fails the test if anything is wrong.
func verify(t testing.TB, store drive.Store, run ledger.RunID) *ledger.Verification {
	t.Helper()
	r := drive.NewReader(store, run)
	v, err := ledger.Verify(context.Background(), ledger.Evidence{
		Run: run, Entries: store.Read(context.Background(), run, 0),
		Statements: store.Statements(context.Background(), run, ledger.HeadType),
		Attachment: r.Attachment(context.Background()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := v.First(); f != nil {
		t.Fatalf("entry %d, %s: %s: %s (expected %s, found %s)", f.N, f.Where, f.Code, f.Msg, f.Expected, f.Found)
	}
	return v
}

// bodies returns "kind name" of every entry of a run, for a test to compare.
func bodies(t testing.TB, store drive.Store, run ledger.RunID) []string {
	t.Helper()
	var out []string
	for e, err := range store.Read(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		s := string(o.Kind)
		if n := o.Body.Get("name").Str(); n != "" {
			s += " " + n
		}
		out = append(out, s)
	}
	return out
}

func seal(t testing.TB, s *drive.Session, st drive.State) {
	t.Helper()
	if !st.Done {
		t.Fatalf("the run waits for %q", st.Waiting)
	}
	world, ok := st.World.Hash()
	if !ok {
		t.Fatal("the world has absent values")
	}
	if err := s.Seal(context.Background(), "done", canon.Value{}, &world); err != nil {
		t.Fatal(err)
	}
}

func newMemory(*testing.T) *memory.Store { return memory.New(nil) }

func modelCall(prompt string) effect.Call {
	return effect.Call{
		Kind: "model", Name: "chat", Class: effect.Read,
		Contents: []ledger.Content{{Name: "request", Type: "text/plain", Bytes: []byte(prompt)}},
	}
}

func text(o *effect.Outcome) string {
	if len(o.Contents) == 0 {
		return ""
	}
	return string(o.Contents[0].Bytes)
}

func answer(s string) effect.Outcome {
	return effect.Outcome{Status: effect.OK, Contents: []ledger.Content{{Name: "response", Type: "text/plain", Bytes: []byte(s)}}}
}
