package machine

import "github.com/segue-go/segue/tools"

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
