package stepagent

import (
	"encoding/json"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Func is one step of an agent: it examines the conversation and decides what is next. It is called
// once for each iteration.
//
// Like the strategy that calls it, a Func must be pure: its result depends only on the [Step],
// including its State. Use a tool or a model for effects and for work that takes time.
type Func func(Step) StepResult

// Step is the input of a [Func]. It is read-only, except what State points to.
type Step struct {
	Iteration int                // from 1
	Last      bool               // this is the last iteration
	Goal      string             // the Goal of the input
	Params    json.RawMessage    // Input.Data
	History   messages.History   // the conversation so far
	Plan      string             // the last plan, with Config.PlanEvery; "" if there is none
	Tools     []tools.Definition // what a request may offer: the tools of the run, those of the Config and the final tool
	State     any                // what Config.NewState returned for this run

	notes *[]Note
	heard []string
}

// Note stores a text in the metadata of the output, with the number of this iteration. No model
// sees it.
func (s Step) Note(text string) {
	*s.notes = append(*s.notes, Note{Iteration: s.Iteration, Text: text})
}

// Note is a text that a step stored.
type Note struct {
	Iteration int    `json:"iteration"`
	Text      string `json:"text"`
}

// StepResult says what is next. It is made by [Continue], [Finish], [ToolCalls], [Ask] and [Fail];
// the zero StepResult is an error.
type StepResult struct {
	kind    kind
	add     []messages.Message
	text    string
	calls   []messages.ToolCall
	request llmclient.Request
	then    func(llmclient.Response) StepResult
	err     error
}

type kind uint8

const (
	kindContinue kind = iota + 1
	kindFinish
	kindToolCalls
	kindAsk
	kindFail
)

// Continue begins the next iteration, with any number of messages added to the conversation, in
// order. The resulting conversation must obey the laws of a history; an empty assistant message is
// left out.
func Continue(add ...messages.Message) StepResult { return StepResult{kind: kindContinue, add: add} }

// Finish ends the run with its answer. With Config.FinalTool the model is first reminded to call
// that tool.
func Finish(text string) StepResult { return StepResult{kind: kindFinish, text: text} }

// ToolCalls runs tools, concurrently as far as they allow it. The next iteration has the calls and
// their results, in order, in its History. If the calls belong to the reply that this step asked
// for, the History has the rest of that reply too.
//
// A tool of the run can be called if the last request of this agent offered it (see [Ask]). A tool
// of Config.Tools can always be called. A call without an ID gets one.
func ToolCalls(calls ...messages.ToolCall) StepResult {
	return StepResult{kind: kindToolCalls, calls: calls}
}

// Ask asks a model, and continues the same step with the reply. A request without Messages gets the
// History; one without Tools offers none. Neither the request nor the reply is added to the
// conversation automatically. A request that fails ends the run. Requests without Messages, and
// with the same Tools each time, are billed less: each begins as the one before.
func Ask(request llmclient.Request, then func(llmclient.Response) StepResult) StepResult {
	return StepResult{kind: kindAsk, request: request, then: then}
}

// Fail ends the run with an error. A [*delegation.Error] keeps its code; any other error has
// [delegation.CodeFailed].
func Fail(err error) StepResult { return StepResult{kind: kindFail, err: err} }

// guarded calls a user function. The value of a panic may be a secret and is not shown.
func (s *stepAgent) guarded(name string, f func() StepResult) (res StepResult) {
	defer func() {
		if v := recover(); v != nil {
			res = s.misstep(delegation.CodePanic, fmt.Sprintf("%s panicked with a %T", name, v), nil)
		}
	}()
	return f()
}

// misstep returns a result that replaces an invalid one; cause may be nil.
func (s *stepAgent) misstep(code delegation.Code, problem string, cause error) StepResult {
	err := fmt.Errorf("stepagent: iteration %d: %s", s.iteration, problem)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return Fail(delegation.NewError(code, err))
}
