package e2e

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// onDisk returns the bytes of all files of a folder.
func onDisk(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		sum += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestRepeatedHistoryIsStoredOnce records long conversations through the
// proxy. What a store takes grows with what is new, not with what is sent.
func TestRepeatedHistoryIsStoredOnce(t *testing.T) {
	t.Parallel()
	stored := map[int]int64{}
	for _, turns := range []int{100, 400} {
		l := newLab(t)
		up := upstream.Start(t, upstream.History)
		l.set("OPENAI_BASE_URL", up.URL()+"/v1")
		argv := []string{programs.sender, "-turns", fmt.Sprint(turns)}
		r := l.must(0, append([]string{"record", "--"}, argv...)...)
		stored[turns] = onDisk(t, filepath.Join(l.dir, ".reprise"))
		t.Logf("%d bytes on disk for %s", stored[turns], r.stdout)
		up.Stop()
		if turns == 100 {
			again := l.must(0, append([]string{"replay", "last", "--"}, argv...)...)
			if again.stdout != r.stdout {
				t.Errorf("the replay says %q, want %q", again.stdout, r.stdout)
			}
			l.must(0, "verify", "last~1")
		}
	}
	if stored[100] > 1_000_000 {
		t.Errorf("100 turns take %d bytes, want at most 1,000,000", stored[100])
	}
	if limit := stored[100] * 9 / 2; stored[400] > limit {
		t.Errorf("400 turns take %d bytes, want at most 4.5 times %d", stored[400], stored[100])
	}
}
