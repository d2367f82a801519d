package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// suspendedState is the state of an effect whose tool or remote has called [tools.Suspend]. It
// stands in the journal.
type suspendedState struct {
	Version int             `json:"tool_state"`      // suspendedVersion
	Waits   []string        `json:"waits"`           // IDs of the waits of the questions, in their order
	State   json.RawMessage `json:"state,omitempty"` // the tool's own
}

const suspendedVersion = 1

// suspendedCall returns the error of a call that its tool has suspended, with the waits for its
// questions. A call whose questions nobody can be asked has failed.
func (x *execution) suspendedCall(s *toolrun.Suspension) (nextstep.Answer, error) {
	for i := range s.Questions {
		if problem := kindTaken(s.Questions[i].Kind); problem != nil {
			return x.failedCall(problem.Error()), nil
		}
	}
	return nil, x.suspended(s)
}

// suspended returns the error of an effect that goes on with a state when its questions are
// answered.
func (x *execution) suspended(s *toolrun.Suspension) error {
	state := suspendedState{Version: suspendedVersion, State: s.State}
	err := &SuspendedError{}
	for i := range s.Questions {
		w, problem := x.waitFor(&s.Questions[i])
		if problem != nil {
			return problem
		}
		state.Waits, err.Waits = append(state.Waits, w.ID), append(err.Waits, w)
	}
	data, problem := json.Marshal(state)
	if problem != nil {
		return fmt.Errorf("orchestrator: the state of a suspended effect: %w", problem)
	}
	err.State = data
	return err
}

func (x *execution) failedCall(text string) nextstep.Answer {
	c := &x.effect.Call
	return nextstep.ToolResult{Output: messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: tools.ReasonError, Output: text,
	}}
}

// resumption returns how the effect goes on that its tool or remote has suspended; nil if it
// begins. The state of a middleware is not theirs. Of a state that a newer release wrote they get
// nothing, and must not begin again. The state of a remote that an earlier release stored is bare.
func (x *execution) resumption() *tools.Resumption {
	if x.effect.State == nil {
		return nil
	}
	var s suspendedState
	r := new(tools.Resumption)
	switch {
	case json.Unmarshal(x.effect.State, &s) == nil && s.Version == suspendedVersion:
		r.State = s.State
	case s.Version != 0:
		return r
	case x.effect.Kind != machine.EffectRemote || x.run.o.wrapped:
		return nil
	default:
		r.State = x.effect.State
		for i := range x.effect.Replies {
			s.Waits = append(s.Waits, x.effect.Replies[i].Wait.ID)
		}
	}
	for _, id := range s.Waits {
		r.Answers = append(r.Answers, answerTo(x.effect.Replies, id))
	}
	return r
}

// errNoAnswer is the error of a question of a suspended call that has no answer in the journal.
var errNoAnswer = errors.New("orchestrator: the question has no answer")

// answerTo returns the last answer to a wait.
func answerTo(replies []machine.Exchange, id string) tools.Answer {
	for _, ex := range slices.Backward(replies) {
		if ex.Wait.ID == id {
			text, err := answerOf(ex)
			return tools.Answer{Text: text, Err: err}
		}
	}
	return tools.Answer{Err: errNoAnswer}
}
