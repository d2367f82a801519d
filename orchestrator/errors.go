package orchestrator

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// ErrDone is returned by [Machine.Step] when the run has ended.
var ErrDone = errors.New("orchestrator: the run has ended")

// AnswerError says that a Machine was given something that does not answer its pending step. The
// Machine is unchanged: the right answer still works.
type AnswerError struct {
	Run     string
	Frame   string
	Seq     int
	State   strategy.State // of the frame's strategy, where it tells
	Pending nextstep.Kind
	Answer  nextstep.Answer
	Problem string
}

// Error says what was pending, what was given, and what is wrong with it.
func (e *AnswerError) Error() string {
	state := ""
	if e.State != "" {
		state = fmt.Sprintf(" in state %q", e.State)
	}
	return fmt.Sprintf("orchestrator: run %s frame %s step %d%s: %T does not answer %s: %s",
		e.Run, e.Frame, e.Seq, state, e.Answer, e.Pending, e.Problem)
}

// LimitError says that a limit was reached. It is the cause of an output's error with
// delegation.CodeLimit.
type LimitError struct {
	Run   string
	Frame string // whose limit it is: "0" for the limits of the run
	Limit string // as in the JSON form of delegation.Limits: "steps", "model_calls", …
	Max   int64
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("orchestrator: run %s frame %s: the limit of %d %s is reached", e.Run, e.Frame, e.Max, e.Limit)
}

// RunExistsError says that a run cannot be begun, or not be resumed now, because of what is there
// under its id. It wraps checkpoint.ErrConflict.
type RunExistsError struct {
	Run        string
	InProgress bool // in this Orchestrator, now; else it has a journal
	Err        error
}

// Error names the run and says what to do.
func (e *RunExistsError) Error() string {
	if e.InProgress {
		return fmt.Sprintf("orchestrator: run %.64q is in progress; wait until it has ended, or choose another id", e.Run)
	}
	return fmt.Sprintf("orchestrator: run %.64q exists already; Resume it, or choose another id", e.Run)
}

// Unwrap returns the cause, such as a [*JournalError].
func (e *RunExistsError) Unwrap() error { return e.Err }

// UnansweredError says that a run waits for answers and cannot go on: nobody could give them in
// this process, for Config.Reply is nil or did not answer, and nothing was stored, for Config.Store
// is nil. It comes with a Result that is waiting, with its waits and the messages so far. It wraps
// [ErrSuspended].
type UnansweredError struct {
	Run   string
	Waits []Wait
	Err   error // why Config.Reply did not answer, where it said so; may be nil
}

// Error names the run, and says what is missing.
func (e *UnansweredError) Error() string {
	text := fmt.Sprintf("orchestrator: run %.64q waits for %d answers and cannot go on: nobody can be asked, and without Config.Store nothing was stored to resume", e.Run, len(e.Waits))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [ErrSuspended], and the cause if there is one.
func (e *UnansweredError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrSuspended}
	}
	return []error{ErrSuspended, e.Err}
}

// ConfigError says which field of a [Config], [MachineConfig] or [Task] cannot be used, and why.
type ConfigError struct {
	Field string
	Err   error
}

// Error names the field.
func (e *ConfigError) Error() string { return fmt.Sprintf("orchestrator: %s: %v", e.Field, e.Err) }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// StrategyError says what a strategy did that ended its frame: it panicked, or returned a step that
// nobody can perform.
type StrategyError struct {
	Run      string
	Frame    string
	Strategy string
	Method   string // that was called, such as "Initialize"
	Problem  string
	Err      error // the cause where there is one, such as a *messages.LawError
}

// Error names the frame, the strategy and the method.
func (e *StrategyError) Error() string {
	text := fmt.Sprintf("orchestrator: run %s frame %s: strategy %q: %s %s", e.Run, e.Frame, e.Strategy, e.Method, e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StrategyError) Unwrap() error { return e.Err }

// PanicError is a panic of a strategy, a client, a middleware or a remote. Its text does not show
// the value, which may hold a secret, unless it is an error of the Go runtime.
type PanicError struct {
	Value any
	Stack []byte // where it was recovered
}

// Error names the type of the value.
func (e *PanicError) Error() string {
	if text, ok := guard.RuntimeText(e.Value); ok {
		return "panicked: " + text
	}
	return fmt.Sprintf("panicked with a %T", e.Value)
}

// Unwrap returns an error in which errors.Is and errors.As find the value, and what the value
// wraps, if the value is an error. The methods of the value may panic.
func (e *PanicError) Unwrap() error {
	err, ok := e.Value.(error)
	if !ok {
		return nil
	}
	return newForeignError(err, e.Error())
}
