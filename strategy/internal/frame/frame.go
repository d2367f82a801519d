// Package frame is what the frames of the built-in strategies have in common: the state machine and
// its usual states, the prompts, the calls that a conversation holds, and the checks of a Config.
package frame

import (
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prompts"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// Settings is what a Config was made into. All frames of a strategy share it.
type Settings struct {
	Caps  strategy.Caps
	Texts *prompts.Set
	Err   error // what is wrong with the Config
}

// ParsePrompts parses the prompts of a package's Config into the settings, as [prompts.Parse] does.
func ParsePrompts[P any](s *Settings, pkg string, own, defaults P, samples map[string]any) (err error) {
	s.Texts, err = prompts.Parse(pkg, own, defaults, samples)
	return err
}

// Frame is embedded in a strategy: its state machine, and its prompts. It implements
// [strategy.Stater], [strategy.Tabler] and [strategy.Checker].
type Frame struct {
	*machine
	settings  *Settings
	promptErr error
}

// machine has another name than the method FSM.
type machine = strategy.FSM

// New returns a frame in the initial state of the table.
func New(t *strategy.Table, s *Settings) Frame { return Frame{machine: t.New(s.Caps), settings: s} }

// FSM implements strategy.Tabler.
func (f *Frame) FSM() *strategy.FSM { return f.machine }

// Check implements strategy.Checker: it returns what is wrong with the Config.
func (f *Frame) Check() error { return f.settings.Err }

// Prompt fills in a template. The first error is kept for PromptErr; the strategy is to end with
// it.
func (f *Frame) Prompt(name string, data any) string {
	text, err := f.settings.Texts.Fill(name, data)
	if err != nil && f.promptErr == nil {
		f.promptErr = err
	}
	return text
}

// PromptErr returns why a template could not be filled in by Prompt; nil if all could.
func (f *Frame) PromptErr() error { return f.promptErr }

// Fail ends the strategy with an error and what was reached.
func (f *Frame) Fail(err error, reached delegation.Output) nextstep.NextStep {
	return f.Then(Failing, nextstep.ReportError{Err: err, Output: reached})
}

// IsEmpty reports whether a child succeeded and left nothing: no data, and no text but blanks.
func IsEmpty(out delegation.Output) bool {
	return out.Err == nil && len(out.Data) == 0 && strings.TrimSpace(out.Text()) == ""
}

// ErrorOf is why a step could not be performed, as an error.
func ErrorOf(f nextstep.Failure) *delegation.Error {
	return &delegation.Error{Code: f.Code, Message: f.Message}
}
