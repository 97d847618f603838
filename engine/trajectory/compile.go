package trajectory

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// CompilerVersion names the rules of this file. It stands in every commit; a
// change of what any gate decides is a new version.
const CompilerVersion = "reprise-compiler/1"

// Gate names a gate of the compiler.
type Gate string

// The gates, in the order in which an intent passes them. The last two refuse
// nothing: they ask a person.
const (
	GateKind         Gate = "kind"
	GateSignature    Gate = "writ signature"
	GateRevocation   Gate = "revocation"
	GateWindow       Gate = "time window"
	GateScope        Gate = "tool scope"
	GateTool         Gate = "tool exists"
	GateCeiling      Gate = "effect ceiling"
	GateBudget       Gate = "budget"
	GateArguments    Gate = "argument types"
	GatePrecondition Gate = "precondition"
	GatePolicy       Gate = "policy"
	GateIrreversible Gate = "irreversible"
	GateRisk         Gate = "risk"
)

// The channels on which the last two gates ask.
const (
	ChannelIrreversible = "irreversible-uncompensable"
	ChannelRisk         = "high-risk"
)

// The rules under which the last two gates stand in a trace.
const (
	RuleIrreversible = "gate.irreversible@1"
	RuleRisk         = "gate.risk@1"
)

// The tools that intents of two kinds become.
const (
	ToolMemory   = "memory_store" // of memory_promote
	ToolDelegate = "delegate"     // of delegate
)

// Compiler holds intents against what is allowed. It is a pure function of its
// fields and the case: compiling again, years later, gives the same answer.
type Compiler struct {
	Registry *Registry
	Policies PolicySet

	// GateIrreversible suspends what cannot be taken back: a call with an
	// irreversible effect and no way to undo it.
	GateIrreversible bool
	// RiskAt suspends a call of a tool with at least this risk. Empty: none.
	// A threshold that is no risk suspends every call.
	RiskAt Risk
}

// Case is one intent and what it meets. Only Skill, World, Revoked and, under
// a root writ, Ancestors may be left out.
type Case struct {
	Intent    *Intent
	Writ      *Writ
	Ancestors []*Writ                 // the writs that Writ comes from, the root writ first
	Revoked   func(canon.Digest) bool // nil: nothing is
	Now       uint64                  // Unix seconds, from an entry
	Spent     Budget                  // of the writ's budget; what others have reserved counts, what this intent has does not
	Skill     *Skill                  // that the run is bound to
	World     WorldView
}

// Compile returns what becomes of an intent: a proposal that is staged or
// suspended, or why it is refused, which names the first gate that did.
//
// That the root writ was issued by a trusted key is not checked here: a run
// checks that once, where its roots are configured ([CheckChain]).
func (c *Compiler) Compile(k *Case) (*Proposal, *Rejection) {
	a := attempt{c: c, k: k}
	for _, g := range gates() {
		if r := g.pass(&a); r != nil {
			return nil, refused(g.name, r)
		}
	}
	p := &Proposal{
		IntentID: a.id, WritID: k.Writ.ID, Tool: a.name, Args: k.Intent.Args.OrNull(),
		Trace: a.trace, Status: Status{Kind: Staged}, Routing: k.Intent.Routing,
	}
	if d := a.trace.Decision; d.Kind == RequireApproval {
		p.Status = Status{Kind: Suspended, Channel: d.Channel, Reason: d.Reason}
	}
	return p, nil
}

// Recheck holds a proposal that was approved against the case as it is now:
// while it waited the writ may have expired or been revoked, the budget been
// spent and the world changed. It passes the gates again that may have closed
// since, and no approval stands for what a policy forbids by now; but what
// was approved is not asked again. A proposal that is not of this intent,
// writ, tool and arguments is refused.
func (c *Compiler) Recheck(k *Case, p *Proposal) *Rejection {
	a := attempt{c: c, k: k}
	for _, g := range gates() {
		if r := g.pass(&a); r != nil {
			return refused(g.name, r)
		}
		if g.name == GateKind && (p.IntentID != a.id || p.WritID != k.Writ.ID || p.Tool != a.name || !p.Args.Equal(k.Intent.Args.OrNull())) {
			return refused(GateKind, &Rejection{Kind: AuthorityVoid, Detail: "the proposal that was approved is of another intent, writ, tool or arguments"})
		}
	}
	return nil
}

// gate is a step of the compiler.
type gate struct {
	name Gate
	pass func(*attempt) *Rejection
}

// gates are those of the source document, in its order. The source numbers
// them 1 to 9c.
func gates() []gate {
	return []gate{
		{GateKind, (*attempt).kind},
		{GateSignature, (*attempt).signature},
		{GateRevocation, (*attempt).revocation},
		{GateWindow, (*attempt).window},
		{GateScope, (*attempt).scope},
		{GateTool, (*attempt).exists},
		{GateCeiling, (*attempt).ceiling},
		{GateBudget, (*attempt).budget},
		{GateArguments, (*attempt).arguments},
		{GatePrecondition, (*attempt).precondition},
		{GatePolicy, (*attempt).policy},
		{GateIrreversible, (*attempt).irreversible},
		{GateRisk, (*attempt).risk},
	}
}

// attempt is an intent on its way through the gates. Each gate may rely on
// what those before it found.
type attempt struct {
	c     *Compiler
	k     *Case
	id    canon.Digest // of the intent
	name  string       // of the tool
	chain []*Writ      // the ancestors and the writ
	grant Grant        // what writ and skill allow
	tool  *Tool
	trace Trace
}

// refused completes a rejection. A reason may repeat what the model wrote; it
// is cut to what an entry holds.
func refused(name Gate, r *Rejection) *Rejection {
	r.Gate = name
	r.Tool = fit(r.Tool, canon.MaxName)
	r.Detail = fit(r.Detail, maxText)
	return r
}

func fit(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}

func void(detail string) *Rejection { return &Rejection{Kind: AuthorityVoid, Detail: detail} }

// kind finds the tool that the intent asks for.
func (a *attempt) kind() *Rejection {
	i := a.k.Intent
	switch i.Kind {
	case IntentAct:
		a.name = i.Target
	case IntentMemoryPromote:
		a.name = ToolMemory
	case IntentDelegate:
		a.name = ToolDelegate
	default:
		return &Rejection{Kind: TypeMismatch, Tool: i.Target, Detail: "an intent of kind " + string(i.Kind) + " leads to no call"}
	}
	var err error
	if a.id, err = i.ID(); err != nil {
		return &Rejection{Kind: TypeMismatch, Tool: a.name, Detail: fault.Text(err)}
	}
	return nil
}

// signature checks the writ, and that it comes from each of its ancestors.
func (a *attempt) signature() *Rejection {
	a.chain = append(slices.Clone(a.k.Ancestors), a.k.Writ)
	if len(a.chain) > MaxChain {
		return void("the writ has too many ancestors")
	}
	if err := checkLineage(a.chain); err != nil {
		return void(fault.Text(err))
	}
	return nil
}

// revocation asks for the writ and all that it comes from: what is taken from
// one is taken from all whom it handed on to. The source asks for the writ and
// its parent only.
func (a *attempt) revocation() *Rejection {
	if a.k.Revoked == nil {
		return nil
	}
	for _, w := range slices.Backward(a.chain) {
		switch {
		case !a.k.Revoked(w.ID):
		case w == a.k.Writ:
			return void("writ " + w.ID.String() + " is revoked")
		default:
			return void("writ " + w.ID.String() + ", from which the writ comes, is revoked")
		}
	}
	return nil
}

func (a *attempt) window() *Rejection {
	w := a.k.Writ.Body.Window
	switch {
	case w.Holds(a.k.Now):
		return nil
	case a.k.Now < w.NotBefore:
		return void("the writ is not valid yet")
	default:
		return void("the writ has expired")
	}
}

func (a *attempt) scope() *Rejection {
	a.grant = a.k.Writ.Body.Grant()
	by := "the writ"
	if a.grant.Allows(a.name) && a.k.Skill != nil {
		by = "the skill " + a.k.Skill.Name
	}
	if a.k.Skill != nil {
		a.grant = a.k.Skill.Narrow(a.grant)
	}
	if !a.grant.Allows(a.name) {
		return void(by + " does not cover the tool " + a.name)
	}
	return nil
}

func (a *attempt) exists() *Rejection {
	tool, ok := a.c.Registry.Find(a.name)
	if !ok {
		return &Rejection{Kind: UnknownTool, Detail: a.name}
	}
	a.tool = tool
	return nil
}

func (a *attempt) ceiling() *Rejection {
	if !a.grant.Ceiling.allows(a.tool.Effect) {
		return void("the tool " + a.name + " has the effect " + string(a.tool.Effect) + ", which is not allowed")
	}
	return nil
}

// allows reports whether c allows an effect. One that is unknown it does not.
func (c Ceiling) allows(e Effect) bool {
	switch e {
	case EffectRead:
		return c.Read
	case EffectWrite:
		return c.Write
	case EffectExternal:
		return c.External
	case EffectIrreversible:
		return c.Irreversible
	default:
		return false
	}
}

// Expected returns what a call of t is expected to cost. It is one call at
// least, whatever the declaration says.
func (t *Tool) Expected() Budget {
	b := t.Estimate
	b.ToolCalls = max(b.ToolCalls, 1)
	return b
}

// budget compares without adding, since a sum may not fit.
func (a *attempt) budget() *Rejection {
	limit, spent, cost := a.grant.Budget, a.k.Spent, a.tool.Expected()
	if spent.Within(limit) && cost.Within(limit.Minus(spent)) {
		return nil
	}
	return &Rejection{
		Kind:   BudgetExhausted,
		Detail: "spent " + spent.Value().String() + ", expected " + cost.Value().String() + ", limit " + limit.Value().String(),
	}
}

func (a *attempt) arguments() *Rejection {
	args := a.k.Intent.Args.OrNull()
	_, err := Lower(args)
	if err == nil {
		err = a.tool.Args.Check(args)
	}
	if err != nil {
		return &Rejection{Kind: TypeMismatch, Tool: a.name, Detail: fault.Text(err)}
	}
	return nil
}

func (a *attempt) fields() Fields {
	return Fields{Intent: a.k.Intent.Value(), Writ: a.k.Writ.Body.Value(), World: a.k.World}
}

func (a *attempt) precondition() *Rejection {
	if err := a.tool.Ready(a.fields()); err != nil {
		return &Rejection{Kind: PreconditionFailed, Detail: fault.Text(err)}
	}
	return nil
}

func (a *attempt) policy() *Rejection {
	a.trace = a.c.Policies.Evaluate(a.fields())
	switch a.trace.Decision.Kind {
	case Permit, RequireApproval:
		return nil
	default:
		return &Rejection{Kind: PolicyDenied, Detail: a.trace.Decision.Reason, Trace: &a.trace}
	}
}

func (a *attempt) irreversible() *Rejection {
	if a.c.GateIrreversible && a.tool.Effect == EffectIrreversible && !a.tool.Compensable() {
		a.ask(RuleIrreversible, ChannelIrreversible, "the tool "+a.name+" does what nothing can take back")
	}
	return nil
}

func (a *attempt) risk() *Rejection {
	if !a.c.RiskAt.Valid() || a.tool.Risk.AtLeast(a.c.RiskAt) {
		risk := a.tool.Risk
		if risk == "" {
			risk = "unknown"
		}
		a.ask(RuleRisk, ChannelRisk, "the risk of the tool "+a.name+" is "+string(risk))
	}
	return nil
}

// ask suspends, unless somebody is asked already: a proposal waits on one
// channel, and the trace names all who wanted to ask. The trace says so too,
// so that a commit shows that it needed an approval.
func (a *attempt) ask(rule, channel, reason string) {
	a.trace.Rules = append(a.trace.Rules, rule)
	if a.trace.Decision.Kind == Permit {
		a.trace.Decision = Ruling{Kind: RequireApproval, Channel: channel, Reason: reason}
	}
}
