package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// over reports whether a job has ended: its goal is reached or given up, or it
// has had as many iterations as the governance snapshot allows.
func (s *state) over() bool {
	if !s.active() {
		return true
	}
	if int64(len(s.steps)) < s.rules.MaxIterations {
		return false
	}
	if !s.saved {
		s.code = ErrRepairLimit
	}
	return true
}

// draws returns the random numbers that the agents of the job were given.
func (s *state) draws() []det.Draw {
	var out []det.Draw
	for _, it := range s.steps {
		if it.node != "" {
			out = append(out, s.Seed.Draw(drawLabel, uint64(it.number)))
		}
	}
	return out
}

func (s *state) ends() Ends {
	return Ends{SelfRep: digestOf(s.selfrep.Value()).String(), Brain: digestOf(s.brain.State.Value()).String(), Semantic: s.Semantic.Hash()}
}

// episode returns what the job leaves behind, if it does.
func (s *state) episode(at det.Instant) (Episode, bool, error) {
	in, ok := s.brain.Consolidate(at, s.Semantic.Hash(), s.route.TraceID, LogID(s.Seed))
	if !ok {
		return Episode{}, false, nil
	}
	_, row, _, err := s.Episodes.Write(s.Seed, in, s.guard())
	return row, true, err
}

// persists says whether the outputs of the agents are kept.
func (m *Machine) persists() bool {
	switch m.spec.Persist {
	case PersistAlways:
		return true
	case PersistNever:
		return false
	default:
		return m.spec.Strict || m.s.privacy.PersistOutputs() || m.s.changed()
	}
}

// finish writes the reflective log and has it signed.
func (m *Machine) finish() error {
	row, ok, err := m.s.episode(m.at(EventEpisode))
	switch {
	case err != nil:
		m.memory = ""
		if err := m.writeFailed("", err); err != nil {
			return err
		}
	case ok:
		if err := m.emit(EventEpisode, row.Value()); err != nil {
			return err
		}
	}
	persists := m.persists()
	l := &Log{
		Premise: m.premise, Events: m.s.list, Writes: m.s.wrote, Final: m.s.answer(), Error: m.s.failure(), Ends: m.s.ends(), Draws: m.s.draws(),
		Warnings: m.s.brain.Warnings, Profile: canon.MACEFixed9, Generator: logGenerator, Version: logVersion, KeyID: m.key,
	}
	for i, k := range kinds {
		held, _ := m.s.ids.Of(k)
		l.Snapshots[i] = held.ID
	}
	for i, it := range m.s.steps {
		line := Iteration{
			ID: it.id, Number: it.number, Event: it.event, Input: it.input, Router: it.output, OutputID: it.outputID, Digest: it.digest,
			Failures: it.failures, Tick: it.tick,
		}
		switch {
		case m.bytes[i] == nil:
		case persists:
			if line.Output, err = canon.Parse(m.bytes[i]); err != nil {
				return err
			}
		default:
			l.Missing = append(l.Missing, "agent_output "+it.id)
		}
		l.Iterations = append(l.Iterations, line)
	}
	l.Replayable = len(l.Missing) == 0
	if m.signed, err = l.Message(); err != nil {
		return err
	}
	m.log, m.phase = l, signing
	return nil
}

// close takes the signature of the log. With it the job is over.
func (m *Machine) close(tag string) error {
	l := *m.log
	var err error
	if l.MAC, err = canon.ParseDigest(tag); err != nil {
		return err
	}
	b, err := l.Bytes()
	if err != nil {
		return err
	}
	m.log, m.phase = &l, over
	m.out = append(m.out, ledger.Decision{
		Kind: ledger.KindResult,
		Body: canon.Object(
			canon.M("data", canon.Object(
				canon.M("error", canon.Text(l.Error).OrNull()),
				canon.M("job_id", canon.String(l.JobID)),
				canon.M("log_id", canon.String(LogID(l.Seed))),
				canon.M("missing", canon.Strings(slices.Clone(l.Missing))),
				canon.M("replayable", canon.Bool(l.Replayable)))),
			canon.M("name", canon.String(LogResult))),
		Contents: []ledger.Content{{Name: LogContent, Type: LogMedia, Bytes: b}},
	})
	return nil
}
