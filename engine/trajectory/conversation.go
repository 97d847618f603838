package trajectory

import (
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// NameAnswer is the decision with which a conversational agent answers and
// begins to wait.
const NameAnswer = "answer"

// ErrMessage means that nobody takes a message: there is no conversational
// agent of that name, it is at work or has finished, or there is no text of a
// fitting size. Send it when the trajectory says that it waits for one.
const ErrMessage fault.Conflict = "trajectory.message_refused"

// pause takes a final answer of a conversational agent. It has not finished:
// it waits for a message, or to be told that the conversation is over.
func (*Machine) pause(a *agent, message canon.Value) []ledger.Decision {
	a.said = append(a.said, message)
	a.phase, a.last = idle, message.Get("content").Str()
	return []ledger.Decision{entry(ledger.KindDecision, NameAnswer, canon.Object(
		canon.M("agent", canon.String(a.Name)),
		canon.M("answer", bounded(canon.String(a.last))),
		canon.M("steps", canon.Int(a.steps)),
	))}
}

// message gives an agent that waits the next thing that is said to it. An
// agent whose steps or budget are spent finishes instead of asking its model.
func (m *Machine) message(in effect.Input) ([]ledger.Decision, error) {
	const op = "trajectory.message"
	text, ok := in.Data.Get("text").AsString()
	if n := utf8.RuneCountInString(text); !ok || n == 0 || n > maxTask {
		return []ledger.Decision{refuse(in, fault.New(ErrMessage, op, "the text has %d characters; it has at least one and at most %d", n, maxTask))}, nil
	}
	for _, a := range m.agents {
		if a.Name == in.Data.Get("agent").Str() && a.Conversational && a.phase == idle {
			a.say("user", text)
			return m.rest(a), nil
		}
	}
	return []ledger.Decision{refuse(in, fault.New(ErrMessage, op, "no agent of that name waits for a message"))}, nil
}
