package trajectory

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	// ErrWider means that a child writ allows what its parent does not, or
	// that the parent may not be handed on. Ask for less, or ask the issuer
	// of the parent.
	ErrWider fault.Denied = "trajectory.writ_too_wide"
	// ErrNotChild means that a writ was not issued by the subject of the writ
	// it is said to come from. Honour nothing that rests on it.
	ErrNotChild fault.Integrity = "trajectory.writ_not_child"
	// ErrWritUntrusted means that a chain of writs begins with a key that the
	// reader does not trust. Get a writ from somebody who is trusted, or
	// configure the key after asking its owner by another way.
	ErrWritUntrusted fault.Denied = "trajectory.writ_untrusted"
)

// MaxChain is how many writs may come one from another.
const MaxChain = 64

// Within refuses a body that allows anything that parent does not. The order
// of its checks is that of the source document: tenant, scopes, budget, effects,
// window, delegation. In three points it is stricter: read is compared like the
// other effects, a parent that may not be subdivided has no children, and depth
// shrinks even at the largest number.
func (b *WritBody) Within(parent *WritBody) error {
	wider := func(format string, args ...any) error {
		return fault.New(ErrWider, "trajectory.WritBody.Within", format, args...)
	}
	if b.Tenant != parent.Tenant {
		return wider("a writ of tenant %q comes from one of tenant %q", b.Tenant, parent.Tenant)
	}
	for _, s := range b.Scopes {
		if !slices.ContainsFunc(parent.Scopes, func(p string) bool { return covers(p, s) }) {
			return wider("no scope of the parent covers %q", s)
		}
	}
	switch {
	case !b.Budget.Within(parent.Budget):
		return wider("the budget %s is above that of the parent, %s", b.Budget.Value(), parent.Budget.Value())
	case !b.Ceiling.Within(parent.Ceiling):
		return wider("the effects %s are beyond those of the parent, %s", b.Ceiling.Value(), parent.Ceiling.Value())
	case b.Window.NotBefore < parent.Window.NotBefore || b.Window.ExpiresAt > parent.Window.ExpiresAt:
		return wider("the window %d to %d is not inside that of the parent, %d to %d",
			b.Window.NotBefore, b.Window.ExpiresAt, parent.Window.NotBefore, parent.Window.ExpiresAt)
	case b.Delegation.MaxDepth >= parent.Delegation.MaxDepth:
		return wider("a depth of %d is not below that of the parent, %d", b.Delegation.MaxDepth, parent.Delegation.MaxDepth)
	case !parent.Delegation.MaySubdivide:
		return wider("the parent may not be subdivided")
	}
	return nil
}

// Delegate issues a writ that comes from parent. It fills in parent and issuer,
// whatever b says of them, and refuses with [ErrWider] what parent does not
// allow. The signer must hold the key of parent's subject.
func Delegate(parent *Writ, b WritBody, s sign.Signer) (Writ, error) {
	if err := parent.Check(); err != nil {
		return Writ{}, err
	}
	b.Parent, b.Issuer, b.IssuerKey = parent.ID, parent.Body.Subject, parent.Body.SubjectKey
	if err := b.Within(&parent.Body); err != nil {
		return Writ{}, err
	}
	return IssueWrit(b, s)
}

// CheckChild refuses a child that is wider than its parent, that the parent's
// subject did not issue under its own name and key, or that names another
// parent, and a writ of the two whose id or signature does not hold.
func CheckChild(parent, child *Writ) error {
	if err := parent.Check(); err != nil {
		return err
	}
	return checkLink(parent, child)
}

// checkLink is CheckChild for a parent that was checked before.
func checkLink(parent, child *Writ) error {
	const op = "trajectory.CheckChild"
	if err := child.Body.Within(&parent.Body); err != nil {
		return err
	}
	if child.Body.IssuerKey != parent.Body.SubjectKey || child.Body.Issuer != parent.Body.Subject {
		return fault.New(ErrNotChild, op, "writ %s was issued by %q, who is not the subject of writ %s", child.ID, child.Body.Issuer, parent.ID)
	}
	if child.Body.Parent != parent.ID {
		return fault.New(ErrNotChild, op, "writ %s names the parent %s, not %s", child.ID, child.Body.Parent, parent.ID)
	}
	return child.Check()
}

// CheckChain checks writs that come one from another, the root writ first, and
// that one of roots issued the root writ. Without roots nothing is trusted.
func CheckChain(chain []*Writ, roots []sign.PublicKey) error {
	const op = "trajectory.CheckChain"
	if len(chain) == 0 || len(chain) > MaxChain {
		return fault.New(ErrWrit, op, "a chain of %d writs; there are 1 to %d", len(chain), MaxChain)
	}
	if err := checkLineage(chain); err != nil {
		return err
	}
	root := &chain[0].Body
	if !slices.Contains(roots, root.IssuerKey) {
		return fault.New(ErrWritUntrusted, op, "writ %s was issued by %q with key %s, which is none of the %d that are trusted",
			chain[0].ID, root.Issuer, root.IssuerKey.ID(), len(roots))
	}
	return nil
}

// checkLineage checks a chain against itself.
func checkLineage(chain []*Writ) error {
	root := chain[0]
	if !root.Body.Parent.IsZero() {
		return fault.New(ErrNotChild, "trajectory.CheckChain", "the chain begins with writ %s, which comes from writ %s", root.ID, root.Body.Parent)
	}
	if err := root.Check(); err != nil {
		return err
	}
	for i, child := range chain[1:] {
		if err := checkLink(chain[i], child); err != nil {
			return err
		}
	}
	return nil
}
