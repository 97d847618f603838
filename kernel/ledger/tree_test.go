package ledger_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// stored is the storage of tlog's own tree, the oracle.
type stored []tlog.Hash

func (s stored) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		out[i] = s[x]
	}
	return out, nil
}

func ids(n int) []canon.Digest {
	out := make([]canon.Digest, n)
	for i := range out {
		out[i] = canon.SHA256(fmt.Append(nil, i))
	}
	return out
}

func TestTheTreeIsThatOfRFC6962(t *testing.T) {
	t.Parallel()
	var tree ledger.Tree
	if tree.Root() != canon.Digest(sha256.Sum256(nil)) {
		t.Error("the root of an empty tree is another")
	}
	var oracle stored
	for i, id := range ids(100) {
		before := tree.Clone()
		tree.Append(id)
		more, err := tlog.StoredHashes(int64(i), id[:], oracle)
		if err != nil {
			t.Fatal(err)
		}
		oracle = append(oracle, more...)
		want, err := tlog.TreeHash(int64(i+1), oracle)
		if err != nil {
			t.Fatal(err)
		}
		if tree.Root() != canon.Digest(want) || tree.Count() != int64(i+1) {
			t.Errorf("Root of %d = %s, want %s", i+1, tree.Root(), want)
		}
		if before.Count() != int64(i) || before.Root() == tree.Root() {
			t.Errorf("the copy of %d grew with its tree", i)
		}
	}
}

func TestAProofHoldsForItsEntryAndNoOther(t *testing.T) {
	t.Parallel()
	all := ids(100)
	var tree ledger.Tree
	for size := 1; size <= len(all); size++ {
		tree.Append(all[size-1])
		root := tree.Root()
		for n := range size {
			if size > 20 && n%13 != 0 && n != size-1 {
				continue
			}
			proof, err := ledger.Prove(all[:size], int64(n))
			if err != nil {
				t.Fatal(err)
			}
			check := func(proof []canon.Digest, size int, root canon.Digest, n int, id canon.Digest) error {
				return ledger.CheckProof(proof, int64(size), root, int64(n), id)
			}
			if err := check(proof, size, root, n, all[n]); err != nil {
				t.Errorf("entry %d of %d: %v", n, size, err)
			}
			other := all[(n+1)%len(all)]
			for what, err := range map[string]error{
				"another entry":  check(proof, size, root, n, other),
				"another place":  check(proof, size, root, (n+1)%(size+1), all[n]),
				"another root":   check(proof, size, other, n, all[n]),
				"a longer proof": check(append(proof, other), size, root, n, all[n]),
				"below nothing":  check(proof, size, root, -1, all[n]),
			} {
				if err == nil {
					t.Errorf("entry %d of %d: the proof holds for %s", n, size, what)
				}
			}
			for i := range proof {
				proof[i][31] ^= 1
				if check(proof, size, root, n, all[n]) == nil {
					t.Errorf("entry %d of %d: a flipped bit in step %d goes by", n, size, i)
				}
				proof[i][31] ^= 1
			}
			if len(proof) > 0 && check(proof[1:], size, root, n, all[n]) == nil {
				t.Errorf("entry %d of %d: a shorter proof holds", n, size)
			}
		}
	}
}
