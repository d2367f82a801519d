package machine

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/tools"
)

// Allowed returns the tools of the run that a frame may use; nil if there is no such frame.
func (m *Machine) Allowed(frame string) []tools.Definition {
	if f := m.named(frame); f != nil {
		return f.allowed
	}
	return nil
}

// AnswerError is answerError, for the tests outside of the package.
type AnswerError = answerError

// RaceDetector is raceDetector, for the tests outside of the package.
const RaceDetector = raceDetector

// Left returns what is left of each limit of a frame, and of all frames above it, for something
// that starts one frame deeper, such as a delegation; negative means no limit. It returns false if
// there is no such frame, or if it has ended.
func (m *Machine) Left(frame string) (delegation.Limits, bool) {
	f := m.named(frame)
	if f == nil {
		return delegation.Limits{}, false
	}
	return m.remaining(f).limits(), true
}
