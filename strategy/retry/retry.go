// Package retry is the strategy that delegates the work to another strategy. When that fails, it
// tries again with a prompt that describes the failure.
//
//	attempt -> failed -> attempt, told how the last one failed -> … -> done, or failed for good
//
// The first attempt receives the input unchanged; each later one the same input with the prompt
// Retry as its goal. It sees nothing else of the earlier attempts. [Config.Detector] and
// [Config.OnEmpty] define what a failure is, or [Config.Detect] instead of both. Failures that
// another attempt cannot correct end the retries: those of the provider, limits, stops, an unknown
// strategy, and similar ones; see [Final].
//
// The output is that of the last attempt, including its messages and metadata. If the last attempt
// failed, the output has its error. If it failed without an error, because a tool failed or
// Config.Detect says so, the error has the code failed and gives the reason. No result is lost: if
// a failed attempt has no Result, the output has the latest earlier one. If the run is stopped or
// reaches a limit during an attempt, that attempt counts, and the output is the work of it so far.
//
// At most MaxRetries + 1 attempts are made. Each is a frame of its own, the first child being the
// first attempt. So every event shows the number of the attempt: it is the number after this
// frame's name, as in "0.2".
//
// The strategy adds "attempts", a list of [Attempt], to the metadata of the attempt, and the
// earlier attempts to its Parts, by number.
//
// The idea of telling an attempt in words how the last one failed is that of Reflexion (Shinn et
// al., 2023, https://arxiv.org/abs/2303.11366).
package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var (
	_ strategy.Strategy       = (*retry)(nil)
	_ strategy.Namer          = (*retry)(nil)
	_ strategy.FailureHandler = (*retry)(nil)
	_ strategy.Concluder      = (*retry)(nil)
	_ strategy.Inheritor      = (*retry)(nil)
)

type retry struct {
	strategy.Defaults
	*settings
	frame.Frame

	input    delegation.Input
	before   int // the number of tool results in the input
	attempts []Attempt
	earlier  []delegation.Part // the work of the attempts before the last one
	last     delegation.Output // of the last attempt that ended
	result   *string           // the latest Result
	data     json.RawMessage   // the Data with that Result
}

// Attempt describes how one attempt ended.
type Attempt struct {
	Result  *string           `json:"result,omitempty"`
	Err     *delegation.Error `json:"error,omitempty"`
	Failure string            `json:"failure,omitempty"` // why it counts as failed; "" if it does not
	Usage   messages.Usage    `json:"usage,omitzero"`
	Elapsed time.Duration     `json:"elapsed"`

	// Metadata is the metadata of the attempt, unless the metadata of the output contains it.
	Metadata delegation.Metadata `json:"metadata,omitempty"`
}

// attemptsKey is the name of the list of attempts in the metadata.
const attemptsKey = "attempts"

// Names implements strategy.Namer.
func (s *retry) Names() strategy.Names {
	return strategy.Names{Tools: s.Tools, Children: []string{s.Strategy}}
}

// Initialize implements strategy.Strategy.
func (s *retry) Initialize(in delegation.Input) nextstep.NextStep {
	if s.Err != nil {
		return s.fail(delegation.NewError(delegation.CodeInvalid, s.Err))
	}
	if in.Goal == "" && len(in.Messages) == 0 && len(in.Data) == 0 {
		return s.fail(delegation.NewError(delegation.CodeInvalid, errors.New("retry: there is nothing to do: the input is empty")))
	}
	in.Messages, _ = in.Messages.Repair() // as the attempt will do, because its tool results are counted
	in.Messages = in.Messages.Clip()
	s.begin(in)
	return s.Then(started, s.attempt(in.Goal))
}

// begin takes the input, with repaired messages.
func (s *retry) begin(in delegation.Input) {
	s.input = in
	for _, m := range in.Messages {
		if m.Role() == messages.RoleTool {
			s.before++
		}
	}
}

// attempt delegates the work.
func (s *retry) attempt(goal string) nextstep.Delegate {
	in := s.input
	in.Goal = goal
	return nextstep.Delegate{Strategy: s.Strategy, Input: in, Tools: s.Tools, Limits: s.Limits}
}

// ProcessDelegationResult implements strategy.Strategy.
func (s *retry) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	if s.State() != attempting {
		return s.OutOfTurn()
	}
	s.note(out)
	last := &s.attempts[len(s.attempts)-1]
	if out.Err != nil && (Final(out.Err.Code) || frame.Hopeless(out)) {
		last.Failure = s.cut(out.Err.Message)
		return s.fail(out.Err)
	}
	failed, why, err := s.detect(out)
	switch {
	case err != nil:
		last.Failure = err.Error()
		return s.fail(delegation.NewError(delegation.CodePanic, err))
	case !failed:
		return s.done(out)
	}
	if why == "" {
		why = s.failure("NoReason", nil)
	}
	last.Failure = s.cut(why)
	if s.Can(retried) {
		return s.again(last.Failure)
	}
	if out.Err != nil {
		return s.fail(out.Err)
	}
	return s.fail(delegation.NewError(delegation.CodeFailed, fmt.Errorf("retry: all %d attempts failed; the last failure: %s", len(s.attempts), last.Failure)))
}

// note records how an attempt ended.
func (s *retry) note(out delegation.Output) {
	if n := len(s.attempts); n > 0 {
		s.earlier = append(s.earlier, delegation.PartsOf(s.last, strconv.Itoa(n), 0)...)
	}
	s.last = out
	if out.Result != nil || len(out.Data) > 0 {
		s.result, s.data = out.Result, out.Data
	}
	s.attempts = append(s.attempts, Attempt{
		Result: out.Result, Err: out.Err, Usage: out.Usage, Elapsed: out.Elapsed, Metadata: out.Metadata,
	})
}

// done ends with an attempt that did not fail. If Config.Detect accepted an output with an error,
// the error stays.
func (s *retry) done(out delegation.Output) nextstep.NextStep {
	if out.Err != nil {
		return s.fail(out.Err)
	}
	success := s.output()
	success.Result, success.Data = out.Result, out.Data // without results of failed attempts
	return s.Then(succeeded, nextstep.Complete{Output: success})
}

// again tries again with a description of the failure.
func (s *retry) again(why string) nextstep.NextStep {
	goal, err := s.Texts.Fill("Retry", PromptData{
		Goal: s.input.Goal, Failure: why, Result: s.last.Text(), Attempt: len(s.attempts) + 1, MaxAttempts: s.MaxRetries + 1,
	})
	if err != nil {
		return s.fail(delegation.NewError(delegation.CodeInvalid, err))
	}
	return s.Then(retried, s.attempt(goal))
}

// ProcessFailure implements strategy.FailureHandler: an attempt that could not be made is not
// repeated.
func (s *retry) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	return s.fail(frame.ErrorOf(f))
}

// Inherit implements strategy.Inheritor: an attempt that was cut off counts as an attempt.
func (s *retry) Inherit(out delegation.Output) {
	s.note(out)
	s.attempts[len(s.attempts)-1].Failure = s.cut(out.Err.Message)
}

// Conclude implements strategy.Concluder.
func (s *retry) Conclude(string) delegation.Output { return s.output() }

// fail ends with an error and the work done so far.
func (s *retry) fail(err *delegation.Error) nextstep.NextStep {
	return s.Fail(err, s.output())
}

// output returns the output of the last attempt that ended, with descriptions of all attempts.
func (s *retry) output() delegation.Output {
	attempts := slices.Clone(s.attempts)
	m := maps.Clone(s.last.Metadata)
	if n := len(attempts); n > 0 { // its metadata is in that of the output, except the key with our own name
		attempts[n-1].Metadata = nil
		if inner, ok := m[attemptsKey]; ok {
			attempts[n-1].Metadata = delegation.Metadata{attemptsKey: inner}
		}
	} else {
		attempts = []Attempt{}
	}
	if m.Set(attemptsKey, attempts) != nil { // an attempt made elsewhere may have metadata that is not JSON
		for i := range attempts {
			attempts[i].Metadata = nil
		}
		_ = m.Set(attemptsKey, attempts)
	}
	return delegation.Output{
		Messages: s.last.Messages, Result: s.result, Data: s.data, Metadata: m,
		Parts: slices.Concat(s.earlier, s.last.Parts),
	}
}
