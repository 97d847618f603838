package job

import (
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Kept returns an output as it is kept under these privacy rules: redacted, in
// its one form. It is for who runs an agent again, and refuses with
// PRIVACY_BLOCKED what is not to be kept at all, and with [ErrOutput] what is
// no output then.
func (o AgentOutput) Kept(rules Privacy, why Purpose) ([]byte, error) {
	h, err := rules.Handle(o.texts(), why)
	if err != nil {
		return nil, err
	}
	b, err := canon.Encode(o.withTexts(h.Value).Value(), canon.MACEFixed9)
	if err != nil {
		return nil, err
	}
	_, err = parseKept(b)
	return b, err
}
