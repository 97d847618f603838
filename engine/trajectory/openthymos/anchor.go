package openthymos

import (
	"fmt"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of anchors.
const (
	// ErrAnchor means that an anchor cannot be read. Get it again from where
	// it was published.
	ErrAnchor fault.Invalid = "openthymos.bad_anchor"
	// ErrAnchorMismatch means that the ledger is not the one that an anchor
	// fixed: entries were changed, exchanged or cut off.
	ErrAnchorMismatch fault.Integrity = "openthymos.anchor_mismatch"
)

// Anchor fixes the ids of the first entries of a ledger. Published where the
// holder of the ledger cannot change it, it is the only thing that protects
// what no commit signs.
type Anchor struct {
	Trajectory canon.Digest
	Count      uint64
	HeadSeq    uint64 // of the last entry covered; 0 if there is none
	Root       canon.Digest
}

// ParseAnchor reads {trajectory_id, entry_count, head_seq, root}.
func ParseAnchor(v canon.Value) (*Anchor, error) {
	id, n := &form{kind: idForm}, &form{kind: countForm}
	r := reading{}
	if _, err := r.value(record(has("trajectory_id", id), has("entry_count", n), has("head_seq", n), has("root", id)), v); err != nil {
		return nil, fault.New(ErrAnchor, "openthymos.ParseAnchor", "%v", err)
	}
	if len(r.unknown) > 0 {
		return nil, fault.New(ErrAnchor, "openthymos.ParseAnchor", "an anchor has no member %q", r.unknown[0])
	}
	a := &Anchor{Trajectory: digest(v.Get("trajectory_id").Str()), Root: digest(v.Get("root").Str())}
	a.Count, _ = count(v.Get("entry_count"))
	a.HeadSeq, _ = count(v.Get("head_seq"))
	return a, nil
}

// Value returns a as [ParseAnchor] reads it.
func (a *Anchor) Value() canon.Value {
	return canon.Object(
		canon.M("entry_count", number(a.Count)),
		canon.M("head_seq", number(a.HeadSeq)),
		canon.M("root", canon.String(a.Root.String())),
		canon.M("trajectory_id", canon.String(a.Trajectory.String())),
	)
}

// MerkleRoot returns the root over the ids of entries: BLAKE3 over each pair,
// with the last one paired with itself where it is alone. It is zero for no
// ids. Leaves and nodes are not told apart and a last id that stands twice
// gives the same root as one that stands once, so a root means nothing
// without the number of its ids.
func MerkleRoot(ids []canon.Digest) canon.Digest {
	if len(ids) == 0 {
		return canon.Digest{}
	}
	level := append([]canon.Digest(nil), ids...)
	var pair [64]byte
	for len(level) > 1 {
		half := (len(level) + 1) / 2
		for i := range half {
			right := min(2*i+1, len(level)-1)
			copy(pair[:32], level[2*i][:])
			copy(pair[32:], level[right][:])
			level[i] = canon.BLAKE3(pair[:])
		}
		level = level[:half]
	}
	return level[0]
}

// NewAnchor returns the anchor of a ledger with these ids and numbers of
// entries from 0 on.
func NewAnchor(trajectory canon.Digest, ids []canon.Digest) Anchor {
	return Anchor{Trajectory: trajectory, Count: uint64(len(ids)), HeadSeq: uint64(max(len(ids), 1) - 1), Root: MerkleRoot(ids)}
}

func (a *Anchor) String() string {
	return fmt.Sprintf("root %s (%d entries, head %d)", a.Root, a.Count, a.HeadSeq)
}

func number(n uint64) canon.Value {
	v, _ := canon.Number(strconv.FormatUint(n, 10))
	return v
}
