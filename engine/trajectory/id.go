package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
)

// The prefixes that ids have in reports and in the seeds of trajectory ids.
// Inside JSON an id has none.
const (
	PrefixTrajectory = "traj:"
	PrefixCommit     = "commit:"
	PrefixIntent     = "intent:"
	PrefixProposal   = "proposal:"
	PrefixWrit       = "writ:"
	PrefixSkill      = "skill:"
)

// ContentID returns the id of something that is named by its contents: BLAKE3
// over its bytes in the profile [canon.Thymos]. It refuses what that profile
// cannot hold: a fraction, or an integer beyond 64 bits.
func ContentID(v canon.Value) (canon.Digest, error) {
	b, err := canon.Encode(v, canon.Thymos)
	if err != nil {
		return canon.Digest{}, err
	}
	return canon.BLAKE3(b), nil
}

// SeededTrajectory returns the id of the trajectory with this seed.
func SeededTrajectory(seed string) canon.Digest { return canon.BLAKE3([]byte(seed)) }

// RunTrajectory returns the id of the trajectory that a run under a writ
// begins. Two runs under one writ would share it: every run has a writ of its
// own, which its nonce sees to.
func RunTrajectory(writ canon.Digest) canon.Digest { return canon.BLAKE3(writ[:]) }

// BranchTrajectory returns the id of the trajectory that branches off source
// behind a commit.
func BranchTrajectory(source, commit canon.Digest) canon.Digest {
	return SeededTrajectory("branch-" + PrefixTrajectory + source.String() + "-" + PrefixCommit + commit.String())
}

// ChildTrajectory returns the id of the trajectory to which a proposal
// delegates a task.
func ChildTrajectory(task string, proposal canon.Digest) canon.Digest {
	return SeededTrajectory("delegate-" + task + "-" + PrefixProposal + proposal.String())
}

// digestOrNull is an optional id inside JSON: zero stands for none.
func digestOrNull(d canon.Digest) canon.Value {
	if d.IsZero() {
		return canon.Null()
	}
	return canon.String(d.String())
}
