package det

import (
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// ID returns the SHA-256 of the parts joined by colons, in hexadecimal. The
// MACE document names things so (M-41 to M-44):
//
//	event_id    ID(job_seed, sequence_index, event_type)
//	snapshot_id ID(config_hash, schema_version, seed_namespace)
//	wm_id       ID(job_seed, wm_counter)
//	episodic_id ID(job_seed, episodic_counter)
//
// A colon inside a part is not marked, and wm_id and episodic_id coincide at
// equal counters: such an id is unique only within its kind.
func ID(parts ...string) string {
	return canon.SHA256([]byte(strings.Join(parts, ":"))).String()
}

// ID returns the HMAC-SHA256 under the seed of the parts joined by colons, in
// hexadecimal, as MACE's reference code names things.
func (s Seed) ID(parts ...string) string {
	return canon.MAC([]byte(s), []byte(strings.Join(parts, ":"))).String()
}

// Next returns the seed that follows when a request brings none, as MACE's
// reference code chains them. The first seed is [Genesis].
func (s Seed) Next(percept, intent string) Seed {
	return Seed(ID(string(s), percept, intent))
}

// Genesis is the seed with which a chain of seeds begins.
const Genesis Seed = "genesis_seed"
