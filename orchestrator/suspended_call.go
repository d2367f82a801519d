package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// suspendedState is the state of an effect whose tool has called [tools.Suspend]. It stands in the
// journal.
type suspendedState struct {
	Version int             `json:"tool_state"`      // suspendedVersion
	Waits   []string        `json:"waits"`           // IDs of the waits of the questions, in their order
	State   json.RawMessage `json:"state,omitempty"` // the tool's own
}

const suspendedVersion = 1

// suspendedCall returns the error of a call that its tool has suspended, with the waits for its
// questions. A call whose questions nobody can be asked has failed.
func (x *execution) suspendedCall(s *tools.Suspension) (nextstep.Answer, error) {
	state := suspendedState{Version: suspendedVersion, State: s.State}
	err := &SuspendedError{}
	for i := range s.Questions {
		q := &s.Questions[i]
		if problem := kindTaken(q.Kind); problem != nil {
			return x.failedCall(problem.Error()), nil
		}
		w, problem := x.waitFor(q)
		if problem != nil {
			return nil, problem
		}
		state.Waits, err.Waits = append(state.Waits, w.ID), append(err.Waits, w)
	}
	data, problem := json.Marshal(state)
	if problem != nil {
		return nil, fmt.Errorf("orchestrator: the state of a suspended call: %w", problem)
	}
	err.State = data
	return nil, err
}

func (x *execution) failedCall(text string) nextstep.Answer {
	c := &x.effect.Call
	return nextstep.ToolResult{Output: messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: tools.ReasonError, Output: text,
	}}
}

// resumption returns how the call goes on that its tool has suspended; nil if it begins. The state
// of a middleware is not the tool's. Of a state that a newer release wrote the tool gets nothing,
// and must not begin again.
func (x *execution) resumption() *tools.Resumption {
	if x.effect.State == nil {
		return nil
	}
	var s suspendedState
	if json.Unmarshal(x.effect.State, &s) != nil || s.Version == 0 {
		return nil
	}
	if s.Version != suspendedVersion {
		return new(tools.Resumption)
	}
	r := &tools.Resumption{State: s.State}
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
