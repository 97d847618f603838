package jobs

import (
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Check returns what verifies governance ledgers among the runs of a
// verification: that every act in them is signed by who was on the roster then,
// for exactly what it is about. It is for [archive.VerifyOptions.Check].
func Check(open ledger.Opened) (ledger.Check, error) {
	if open.Body.Get("engine").Str() != EngineGovernance {
		return nil, nil
	}
	return &audit{}, nil
}

// audit folds a governance ledger as it is verified.
type audit struct {
	st     standing
	last   ledger.Ref
	broken bool
}

// Entry implements [ledger.Check].
func (a *audit) Entry(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	if a.broken {
		return nil
	}
	o, err := ledger.Parse(e)
	if err != nil || o.Body.IsZero() {
		a.broken = true // the kernel says so, or what follows cannot be judged
		f.Remark("the acts of run %s were checked up to entry %d only", h.Run, h.N)
		return nil
	}
	if err := a.st.apply(&o); err != nil {
		a.broken = true
		f.Fail(ledger.PhasePins, ledger.Finding{Code: fault.CodeOf(err), N: h.N, Where: o.Body.Get("name").Str(), Msg: fault.Text(err)})
		return nil
	}
	a.last = ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}
	f.Checked(ledger.PhasePins, 1)
	return nil
}

// End implements [ledger.Check].
func (*audit) End(*ledger.Findings) {}
