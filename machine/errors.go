package machine

import (
	"fmt"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// answerError reports that a record does not fit the state of the Machine. The Machine is
// unchanged: the right record still works.
type answerError struct {
	run     string
	effect  EffectID        // the effect of the record; zero if it names none
	frame   string          // the frame of the effect; "" if there is no such effect
	state   strategy.State  // state of the frame's strategy, if it has an FSM
	answer  nextstep.Answer // nil if the record holds none
	problem string
}

func (e *answerError) Error() string {
	text := fmt.Sprintf("machine: run %.64q", e.run)
	if e.effect != (EffectID{}) {
		text += fmt.Sprintf(" effect %s", e.effect)
	}
	if e.frame != "" {
		text += " of frame " + e.frame
	}
	if e.state != "" {
		text += fmt.Sprintf(" in state %q", e.state)
	}
	if e.answer != nil {
		text += fmt.Sprintf(": %T does not answer it", e.answer)
	}
	return text + ": " + e.problem
}

// ReplayError reports that a run cannot be resumed from its journal: given the same answers, a
// strategy now requests another step. Its code, its configuration or the tools of the run have
// changed.
//
// By default only the shape is compared: the frame, the kind of the effect and the tool. With
// [Config].Strict the whole step is compared. Without it, other differences are reported by the
// event [Drifted].
type ReplayError struct {
	Run      string
	Record   int   // number of the record that does not fit, from 1
	Epoch    int64 // epoch in which the orchestrator read the journal; 0: unknown
	Seq      int   // number of the step
	Recorded StepID
	Now      StepID
}

// StepID describes the effect that a run requested.
type StepID struct {
	Effect EffectID
	Frame  string
	Kind   EffectKind
	Tool   string
	Digest string // digest of the whole step
}

// Error names the run, the record, and both effects.
func (e *ReplayError) Error() string {
	place := fmt.Sprintf("step %d", e.Seq)
	if e.Record > 0 {
		place = fmt.Sprintf("record %d, step %d", e.Record, e.Seq)
	}
	if e.Epoch > 0 {
		place += fmt.Sprintf(", epoch %d", e.Epoch)
	}
	return fmt.Sprintf("machine: run %.64q cannot be resumed from its journal: %s was recorded as %s, and is now %s; the strategies, their configuration or the tools have changed",
		e.Run, place, e.Recorded, e.Now)
}

// Diff returns both effects in two lines: the recorded one after a minus, the current one after a
// plus.
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

// ReplyError says why a [Reply] was rejected. Nothing has changed: the run still waits for the
// right reply.
type ReplyError struct {
	Run     string
	WaitID  string
	Problem string
	Waits   []Wait // those of the run, if it does not have the wait of the reply
}

// NoSuchWait returns the error for a reply to a wait that is not one of the waits of the run.
func NoSuchWait(run, id string, waits []Wait) *ReplyError {
	e := &ReplyError{Run: run, WaitID: id, Problem: "the run does not wait for it", Waits: waits}
	if len(waits) == 0 {
		e.Problem = "the run does not wait for anything"
	} else if id == "" {
		e.Problem = "it names no wait"
	}
	return e
}

// Error names the wait, which a note does not have, and those of the run.
func (e *ReplyError) Error() string {
	about := "the reply cannot be taken"
	if e.WaitID != "" {
		about = fmt.Sprintf("the reply to the wait %.64q cannot be taken", e.WaitID)
	} else if len(e.Waits) == 0 {
		about = "this cannot be said to it"
	}
	text := fmt.Sprintf("machine: run %.64q: %s: %s", e.Run, about, e.Problem)
	if len(e.Waits) == 0 {
		return text
	}
	waits := make([]string, len(e.Waits))
	for i, w := range e.Waits {
		if waits[i] = fmt.Sprintf("%q (%s)", w.ID, w.Kind); w.Tool != "" {
			waits[i] = fmt.Sprintf("%q (%s of %s)", w.ID, w.Kind, w.Tool)
		}
	}
	return text + "; its waits are " + strings.Join(waits, ", ")
}

// LimitError reports that a limit was reached. It is the cause of an output's error with
// delegation.CodeLimit.
type LimitError struct {
	Run   string
	Frame string // the frame with the limit: "0" for the limits of the run
	Limit string // as in the JSON form of delegation.Limits: "steps", "model_calls", …
	Max   int64  // in the unit of that field: millionths of a dollar for "cost", nanoseconds for "duration"
}

// Error names the frame and the limit. It does not name the run: a parent may tell the text to a
// model, and a fork of the run, which has another name, must ask the model in the same words.
func (e *LimitError) Error() string {
	most := fmt.Sprintf("%d %s", e.Max, e.Limit)
	switch e.Limit {
	case limitNames[cost]:
		most = messages.Cost(e.Max).String()
	case limitNames[duration]:
		most = time.Duration(e.Max).String()
	}
	return fmt.Sprintf("machine: frame %s: the limit of %s is reached", e.Frame, most)
}

// ConfigError says which field of a [Config] or a [Started] is invalid, and why.
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

// StrategyError says why a strategy's own fault ended its frame: the strategy panicked, or returned
// an invalid step.
type StrategyError struct {
	Run      string
	Frame    string
	Strategy string
	Method   string // the method that was called, such as "Initialize"
	Problem  string
	Err      error // the cause, such as a *messages.LawError; may be nil
}

// Error names the frame, the strategy and the method. It does not name the run, for the reason of
// [LimitError.Error].
func (e *StrategyError) Error() string {
	text := fmt.Sprintf("machine: frame %s: strategy %q: %s %s", e.Frame, e.Strategy, e.Method, e.Problem)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StrategyError) Unwrap() error { return e.Err }

// PanicError is a panic of a strategy, a client, a middleware or a remote. Its text omits the panic
// value, which may hold a secret, unless the value is an error of the Go runtime.
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

// Unwrap returns nil unless the value is an error. For an error it returns one in which errors.Is
// and errors.As find the value and the errors that it wraps; they are safe to use even if methods
// of the value panic.
func (e *PanicError) Unwrap() error {
	err, ok := e.Value.(error)
	if !ok {
		return nil
	}
	return guard.New(err, e.Error())
}

// PanicReport is a panic that was contained: its call or its step failed, and the process
// continues. Events and errors of the run omit the value, which may hold a secret, and the stack.
type PanicReport struct {
	Run   string // the run's id; "" if there is none yet
	Frame string // the frame of the step or strategy; "" if it has ended
	Seq   int    // of the step
	Where string // what panicked, for people: "the tool search", "the strategy solve in Initialize", "the client", …
	Value any
	Stack []byte // where it was recovered
}
