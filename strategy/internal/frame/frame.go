// Package frame holds what the frames of the built-in strategies have in common: the state machine
// and its usual states, the prompts, the calls in a conversation, and the checks of a Config.
package frame

import (
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prompts"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/compact"
	"github.com/segue-go/segue/strategy/internal/search"
)

// Settings is a compiled Config. All frames of a strategy share it.
type Settings struct {
	Pkg   string // the name of the strategy's package
	Caps  strategy.Caps
	Texts *prompts.Set
	Plan  *search.Plan // nil: nothing is searched for
	Err   error        // the error of the Config

	compaction *compact.Rules
	model      string // for a summary
	after      map[strategy.Trigger]strategy.Trigger
}

// ParsePrompts parses the prompts of a package's Config into the settings, as [prompts.Parse] does.
func ParsePrompts[P any](s *Settings, pkg string, own, defaults P, samples map[string]any) (err error) {
	s.Texts, err = prompts.Parse(pkg, own, defaults, samples)
	return err
}

// Frame is embedded in a strategy. It holds the state machine and the prompts. It implements
// [strategy.Tabler] and [strategy.Checker].
type Frame struct {
	*machine
	settings  *Settings
	promptErr error
}

// machine is an alias, because the field and the method FSM cannot have the same name.
type machine = strategy.FSM

// New returns a frame in the initial state of the table.
func New(t *strategy.Table, s *Settings) Frame { return Frame{machine: t.New(s.Caps), settings: s} }

// FSM implements strategy.Tabler.
func (f *Frame) FSM() *strategy.FSM { return f.machine }

// Check implements strategy.Checker: it returns the error of the Config.
func (f *Frame) Check() error { return f.settings.Err }

// Prompt fills in a template. The first error is kept for PromptErr; the strategy should end with
// it.
func (f *Frame) Prompt(name string, data any) string {
	text, err := f.settings.Texts.Fill(name, data)
	if err != nil && f.promptErr == nil {
		f.promptErr = err
	}
	return text
}

// PromptErr returns the first error of Prompt, or nil.
func (f *Frame) PromptErr() error { return f.promptErr }

// Fail ends the strategy with an error and the work done so far.
func (f *Frame) Fail(err error, reached delegation.Output) nextstep.NextStep {
	return f.Then(Failing, nextstep.ReportError{Err: err, Output: reached})
}

// IsEmpty reports whether a child succeeded without a result: no data, and no text other than
// blanks.
func IsEmpty(out delegation.Output) bool {
	return out.Err == nil && len(out.Data) == 0 && strings.TrimSpace(out.Text()) == ""
}

// ErrorOf returns a failure as an error.
func ErrorOf(f nextstep.Failure) *delegation.Error {
	return &delegation.Error{Code: f.Code, Message: f.Message}
}
