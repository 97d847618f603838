package ledger

import (
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Tree is the RFC 6962 Merkle tree over the ids of a ledger, as far as an
// append needs it: the roots of its perfect subtrees, at most 63. Leaves are
// the 32 raw bytes of an id. The zero Tree is empty.
type Tree struct {
	count int64
	stack []tlog.Hash // largest subtree first
}

// Append adds the id of the next entry.
func (t *Tree) Append(id canon.Digest) {
	h := tlog.Hash(canon.Hash("\x00", id[:])) // tlog.RecordHash, without its allocations
	for n := t.count; n&1 == 1; n >>= 1 {
		last := len(t.stack) - 1
		h = tlog.Hash(canon.Hash("\x01", t.stack[last][:], h[:])) // tlog.NodeHash
		t.stack = t.stack[:last]
	}
	t.stack = append(t.stack, h)
	t.count++
}

// Count returns how many ids were appended.
func (t *Tree) Count() int64 { return t.count }

// Root returns the root over all ids; that of an empty tree is SHA-256 of
// nothing.
func (t *Tree) Root() canon.Digest {
	if t.count == 0 {
		return canon.SHA256(nil)
	}
	i := len(t.stack) - 1
	h := t.stack[i]
	for i--; i >= 0; i-- {
		h = tlog.NodeHash(t.stack[i], h)
	}
	return canon.Digest(h)
}

// Clone returns a copy that grows on its own.
func (t *Tree) Clone() Tree {
	return Tree{count: t.count, stack: append([]tlog.Hash(nil), t.stack...)}
}

// Prove returns the inclusion proof of entry n among the ids, which are all
// ids of the ledger in order. It is the audit path of RFC 6962, leaf first.
func Prove(ids []canon.Digest, n int64) ([]canon.Digest, error) {
	p, err := tlog.ProveRecord(int64(len(ids)), n, hashes(ids))
	out := make([]canon.Digest, len(p))
	for i, h := range p {
		out[i] = canon.Digest(h)
	}
	return out, err
}

// CheckProof reports whether proof shows that entry n of count entries with
// that root has that id.
func CheckProof(proof []canon.Digest, count int64, root canon.Digest, n int64, id canon.Digest) error {
	p := make(tlog.RecordProof, len(proof))
	for i, d := range proof {
		p[i] = tlog.Hash(d)
	}
	return tlog.CheckRecord(p, count, tlog.Hash(root), n, tlog.RecordHash(id[:]))
}

// hashes computes the stored hashes that tlog asks for from the leaves.
type hashes []canon.Digest

// ReadHashes implements [tlog.HashReader].
func (ids hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		level, n := tlog.SplitStoredHashIndex(x)
		out[i] = ids.subtree(n<<level, 1<<level)
	}
	return out, nil
}

func (ids hashes) subtree(from, size int64) tlog.Hash {
	if size == 1 {
		return tlog.RecordHash(ids[from][:])
	}
	half := int64(1) << (bits.Len64(uint64(size-1)) - 1)
	return tlog.NodeHash(ids.subtree(from, half), ids.subtree(from+half, size-half))
}
