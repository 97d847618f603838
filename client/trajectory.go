package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/fault"
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

// World returns the world of a trajectory behind entry at; a negative one is
// the last.
func (c *Client) World(ctx context.Context, run string, at int64) (api.World, error) {
	q := url.Values{}
	setAt(q, "at", at)
	return get[api.World](ctx, c, q, "v1", "trajectories", run, "world")
}

// Expected is what a proof of a trajectory expects. The zero value expects
// nothing but that it is sound.
type Expected struct {
	Compiler   string // the compiler version that every commit must name
	Signer     string // the public key that must have signed every commit, in hex
	Root       string // the public key that the writs must go back to, in hex
	PolicySet  string // the policy set hash that every commit must declare
	ExpectHead string // ID of an entry that the run must contain, or COUNT:ID
	World      string // hash of the world that was observed
	Level      *int64 // the level asked for
}

// ProofOptions say how much of a trajectory is proven. Nil chooses the
// defaults.
type ProofOptions struct {
	Expected
	LedgerOnly  bool   // decisions are not derived again
	FoldWorld   bool   // the world is part of the detail
	Delegations bool   // what was delegated is verified too
	Partial     bool   // contents that the store does not have are withheld, not lost
	At          *int64 // the last entry that is looked at
}

// Prove verifies a trajectory on the server, and derives its decisions again.
// What is wrong with it is in the report.
func (c *Client) Prove(ctx context.Context, run string, opts *ProofOptions) (api.Report, error) {
	if opts == nil {
		opts = &ProofOptions{}
	}
	q := url.Values{"verify": {strconv.FormatBool(!opts.LedgerOnly)}}
	set(q, "compiler", opts.Compiler)
	set(q, "signer", opts.Signer)
	set(q, "root", opts.Root)
	set(q, "policy_set", opts.PolicySet)
	set(q, "expect_head", opts.ExpectHead)
	set(q, "world", opts.World)
	for name, on := range map[string]bool{"fold_world": opts.FoldWorld, "delegations": opts.Delegations, "partial": opts.Partial} {
		if on {
			q.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"level": opts.Level, "at": opts.At} {
		if n != nil {
			setAt(q, name, *n)
		}
	}
	return get[api.Report](ctx, c, q, "v1", "trajectories", run, "replay")
}

// Trail yields the trail of a trajectory from entry from on, page by page.
// Nothing is verified: ask [Client.Prove] what it is worth.
func (c *Client) Trail(ctx context.Context, run string, from int64) iter.Seq2[api.TrailEntry, error] {
	return pages(run, from, func(run string, q url.Values) (page[api.TrailEntry], error) {
		q.Set("verify", "false")
		p, err := get[api.Trail](ctx, c, q, "v1", "trajectories", run, "audit")
		return page[api.TrailEntry]{p.Run, p.Entries, p.Next}, err
	})
}

// TrailCSV writes the trail of a trajectory as CSV. One that is cut off gives
// an error.
func (c *Client) TrailCSV(ctx context.Context, run string, w io.Writer) error {
	body, err := c.ask(ctx, http.MethodGet, nil, nil, "", "v1", "trajectories", run, "audit.csv")
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}

// Start begins a trajectory on the server, which goes on with it by itself.
func (c *Client) Start(ctx context.Context, what api.TrajectoryStart) (api.Taken, error) {
	return post[api.Taken](ctx, c, what, "v1", "trajectories")
}

// Resume lets the server go on with a trajectory.
func (c *Client) Resume(ctx context.Context, run string) (api.Taken, error) {
	return post[api.Taken](ctx, c, struct{}{}, "v1", "trajectories", run, "resume")
}

// Branch begins a trajectory that shares another one up to an entry.
func (c *Client) Branch(ctx context.Context, run string, what api.BranchRequest) (api.Taken, error) {
	return post[api.Taken](ctx, c, what, "v1", "trajectories", run, "branch")
}

// Propose proposes as an agent outside.
func (c *Client) Propose(ctx context.Context, run string, what api.IntentRequest) (api.Taken, error) {
	return post[api.Taken](ctx, c, what, "v1", "trajectories", run, "intents")
}

// Say tells a conversational agent more.
func (c *Client) Say(ctx context.Context, run string, what api.MessageRequest) (api.Taken, error) {
	return post[api.Taken](ctx, c, what, "v1", "trajectories", run, "messages")
}

// Finish says that an agent outside is done.
func (c *Client) Finish(ctx context.Context, run string, what api.FinishRequest) (api.Taken, error) {
	return post[api.Taken](ctx, c, what, "v1", "trajectories", run, "finish")
}

// Submit proposes one action on a trajectory of its own.
func (c *Client) Submit(ctx context.Context, what api.RoutedSubmit) (api.Taken, error) {
	return post[api.Taken](ctx, c, what, "v1", "routed-submit")
}

// Verb is what a signed act does to a trajectory.
type Verb string

// The verbs.
const (
	Answer     Verb = "approvals" // approve, deny or abstain
	Halt       Verb = "halt"
	Clear      Verb = "clear"
	Revoke     Verb = "revoke"
	Restore    Verb = "restore"
	Compensate Verb = "compensate"
)

// Act gives a trajectory an act that somebody signed, in its envelope.
func (c *Client) Act(ctx context.Context, run string, verb Verb, act []byte) (api.Taken, error) {
	if !json.Valid(act) {
		return api.Taken{}, fault.New(ErrAct, "client.Act", "an act is JSON")
	}
	return post[api.Taken](ctx, c, api.SignedAct{Act: act}, "v1", "trajectories", run, string(verb))
}

// ErrAct means that what is to be sent is no signed act. Sign one.
const ErrAct fault.Invalid = "client.bad_act"

func post[T any](ctx context.Context, c *Client, what any, path ...string) (T, error) {
	return send[T](ctx, c, http.MethodPost, nil, what, path...)
}

func send[T any](ctx context.Context, c *Client, method string, query url.Values, what any, path ...string) (T, error) {
	b, err := json.Marshal(what)
	if err != nil {
		var none T
		return none, fault.Wrap(fault.ErrUnknown, "client", err, "the request")
	}
	body, err := c.ask(ctx, method, query, bytes.NewReader(b), "application/json", path...)
	return decode[T](body, err)
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
