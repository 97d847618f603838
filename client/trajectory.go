package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/reprise-dev/reprise/api"
)

// Trajectory returns where a trajectory stands.
func (c *Client) Trajectory(ctx context.Context, run string) (api.Trajectory, error) {
	return get[api.Trajectory](ctx, c, nil, "v1", "trajectories", run)
}

// Pending returns the proposals of a trajectory that wait for people.
func (c *Client) Pending(ctx context.Context, run string) (api.PendingList, error) {
	return get[api.PendingList](ctx, c, nil, "v1", "trajectories", run, "pending")
}

// Delegations returns what a trajectory handed on.
func (c *Client) Delegations(ctx context.Context, run string) (api.DelegationList, error) {
	return get[api.DelegationList](ctx, c, nil, "v1", "trajectories", run, "delegations")
}

// ForeignPins are what is known besides a ledger of another system. The zero
// value knows nothing.
type ForeignPins struct {
	Compiler   string // the compiler version that every commit must name
	Signer     string // the public key that must have signed every commit, in hex
	PolicySet  string // the policy set hash that every commit must declare
	ExpectHead string // ID of the last entry, or COUNT:ID
	World      string // hash of the world that was observed
	Anchor     string // a published anchor, as JSON
}

// VerifyOpenThymos verifies a ledger that OpenThymos exported. What is wrong
// with it is in the report.
func (c *Client) VerifyOpenThymos(ctx context.Context, ledger io.Reader, pins ForeignPins) (api.ForeignReport, error) {
	q := url.Values{}
	set(q, "compiler", pins.Compiler)
	set(q, "signer", pins.Signer)
	set(q, "policy_set", pins.PolicySet)
	set(q, "expect_head", pins.ExpectHead)
	set(q, "world", pins.World)
	set(q, "anchor", pins.Anchor)
	body, err := c.ask(ctx, http.MethodPost, q, ledger, api.ForeignType, "v1", "openthymos", "verify")
	return decode[api.ForeignReport](body, err)
}

// set sets a parameter that says something.
func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// setAt sets the number of an entry; a negative one says nothing.
func setAt(q url.Values, name string, n int64) {
	if n >= 0 {
		q.Set(name, strconv.FormatInt(n, 10))
	}
}
