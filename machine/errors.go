package machine

import (
	"fmt"
	"time"

	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// AnswerError says that a Machine was given a record that does not fit. The Machine is unchanged:
// the right one still works.
type AnswerError struct {
	Run     string
	Effect  EffectID        // that the record is about; zero if it is about none
	Frame   string          // whose effect it is; "" if there is no such effect
	State   strategy.State  // of the frame's strategy, where it tells
	Kind    EffectKind      // of the effect
	Answer  nextstep.Answer // nil if the record holds none
	Problem string
}

// Error says what was given, to which effect, and what is wrong with it.
func (e *AnswerError) Error() string {
	text := fmt.Sprintf("machine: run %.64q", e.Run)
	if e.Effect != (EffectID{}) {
		text += fmt.Sprintf(" effect %s", e.Effect)
	}
	if e.Frame != "" {
		text += " of frame " + e.Frame
	}
	if e.State != "" {
		text += fmt.Sprintf(" in state %q", e.State)
	}
	if e.Answer != nil {
		text += fmt.Sprintf(": %T does not answer it", e.Answer)
	}
	return text + ": " + e.Problem
}

// ReplayError says that a run cannot be taken up again from its journal: with what it was answered,
// a strategy wants something else now. Its code, its configuration or the tools of the run have
// changed.
//
// As a rule only the shape is compared: the frame, the kind of the effect and the tool. With
// [Config].Strict all that stands in a step is; else a difference there is told as [Drifted].
type ReplayError struct {
	Run      string
	Record   int   // the place in the journal of the record that does not fit
	Epoch    int64 // in which the journal was read: whoever knows it fills it in; 0: nobody did
	Seq      int   // of the step
	Recorded StepID
	Now      StepID
}

// StepID says which effect of a run was asked for.
type StepID struct {
	Effect EffectID
	Frame  string
	Kind   EffectKind
	Tool   string
	Digest string // of all that stands in the step
}

// Error names the run, the place, and both effects.
func (e *ReplayError) Error() string {
	place := fmt.Sprintf("at step %d", e.Seq)
	if e.Record > 0 {
		place = fmt.Sprintf("record %d, step %d", e.Record, e.Seq)
	}
	if e.Epoch > 0 {
		place += fmt.Sprintf(", epoch %d", e.Epoch)
	}
	return fmt.Sprintf("machine: run %.64q cannot go on from its journal: %s: it recorded %s, and now there is %s; the strategies, their configuration or the tools have changed",
		e.Run, place, e.Recorded, e.Now)
}

// Diff returns both effects in two lines: what was recorded behind a minus, what there is now
// behind a plus.
func (e *ReplayError) Diff() string { return "- " + e.Recorded.String() + "\n+ " + e.Now.String() }

// String names kind, tool, frame and digest.
func (s StepID) String() string {
	if s.Kind == "" {
		return "no such effect"
	}
	text := string(s.Kind)
	if s.Tool != "" {
		text += " " + s.Tool
	}
	return fmt.Sprintf("%s of frame %s (effect %s, digest %.8s)", text, s.Frame, s.Effect, s.Digest)
}

// ReplyError says why a [Reply] was not taken. Nothing has changed: the right reply is still waited
// for.
type ReplyError struct {
	Run     string
	WaitID  string
	Problem string
}

// Error names the wait.
func (e *ReplyError) Error() string {
	return fmt.Sprintf("machine: run %.64q: the reply to the wait %.64q cannot be taken: %s", e.Run, e.WaitID, e.Problem)
}

// LimitError says that a limit was reached. It is the cause of an output's error with
// delegation.CodeLimit.
type LimitError struct {
	Run   string
	Frame string // whose limit it is: "0" for the limits of the run
	Limit string // as in the JSON form of delegation.Limits: "steps", "model_calls", …
	Max   int64  // in the unit of that field: of "cost" millionths of a dollar, of "duration" nanoseconds
}

// Error names the limit.
func (e *LimitError) Error() string {
	most := fmt.Sprintf("%d %s", e.Max, e.Limit)
	switch e.Limit {
	case limitNames[cost]:
		most = messages.Cost(e.Max).String()
	case limitNames[duration]:
		most = time.Duration(e.Max).String()
	}
	return fmt.Sprintf("machine: run %s frame %s: the limit of %s is reached", e.Run, e.Frame, most)
}

// ConfigError says which field of a [Config], or of what a run is begun with, cannot be used, and
// why.
type ConfigError struct {
	Field string
	Err   error
}

// Error names the field.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("machine: %s: %s", e.Field, guard.Bare(e.Err))
}

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
	text := fmt.Sprintf("machine: run %s frame %s: strategy %q: %s %s", e.Run, e.Frame, e.Strategy, e.Method, e.Problem)
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
	return guard.New(err, e.Error())
}

// PanicReport is a panic that was contained: its call or its step failed, and the process goes on.
// What a run tells of it leaves out the value, which may hold a secret, and the stack.
type PanicReport struct {
	Run   string // the run's id; "" where there is none yet
	Frame string // whose step or strategy it was; "" where that is over
	Seq   int    // of the step
	Where string // what panicked, for people: "the tool search", "the strategy solve in Initialize", "the client", …
	Value any
	Stack []byte // where it was recovered
}
