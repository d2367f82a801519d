// Package stepagent is the strategy whose single step is a user function. The function examines the
// conversation and decides what is next. The package does the rest: iterations and their limit,
// tools, plans, and a final tool.
//
//	loop for each iteration
//	    make a plan, if one is due                     (PlanEvery)
//	    call Config.Step, which returns
//	        Continue(messages...)    the next iteration, with these messages added
//	        Finish(text)             the end, with an answer
//	        ToolCalls(calls...)      run tools; the next iteration sees their results
//	        Ask(request, then)       ask a model, and go on within the same step
//	        Fail(err)                the end, with an error
//
// The run also ends in two other cases: when the final tool is called (FinalTool), and when the
// result of a trusted tool is a JSON object with "should_continue" false. The answer is then its
// "result", if that is a string, or else the model's text in the reply with the call. Both apply on
// the last iteration too.
//
// At most MaxIterations steps are taken, each with at most MaxAsks model calls, and a plan is made
// every PlanEvery steps. When the iterations are used up, the output is an error with code limit,
// with the last text as its Result. A step function that panics, or returns an invalid result,
// fails the frame with an error.
//
// The metadata of an output holds "iterations" (begun) and "model_calls" (numbers). If they apply
// it also holds "notes" (a list of [Note]), "plan" (the last one), "plan_failures" (in all), and
// "repaired" (the repairs of the input messages).
//
// The interface comes from the CustomAgent trait of a step-based agent framework in Rust.
package stepagent

import (
	"encoding/json"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/owntool"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy       = (*stepAgent)(nil)
	_ strategy.FailureHandler = (*stepAgent)(nil)
	_ strategy.Concluder      = (*stepAgent)(nil)
	_ strategy.CallEditor     = (*stepAgent)(nil)
	_ strategy.ToolUser       = (*stepAgent)(nil)
	_ strategy.ToolProvider   = (*stepAgent)(nil)
)

type stepAgent struct {
	strategy.Defaults
	*settings
	frame.Conversation // its Defs are what a request may offer

	in    delegation.Input
	laws  messages.Validator
	state any // the user's state
	notes []Note

	iteration int
	asks      int                                 // in this iteration
	begun     begun                               // the current step
	then      func(llmclient.Response) StepResult // takes the awaited reply
	reply     *messages.Assistant                 // the last reply that this step asked for; nil if there is none
	aligned   bool                                // the last request held the conversation, and later messages are in both
	last      *lastRequest                        // nil before the first
	answer    *string                             // the last text in this run
	plan      string
	misplans  int // failed plans in a row
	failures  int // failed plans in all
	reminders int
}

// UseTools implements strategy.ToolUser.
func (s *stepAgent) UseTools(defs []tools.Definition) {
	s.Defs = append(s.Defs, defs...)
	for _, t := range s.Tools() {
		s.Defs = append(s.Defs, t.Definition())
	}
}

// Tools implements strategy.ToolProvider.
func (s *stepAgent) Tools() []tools.Tool {
	own := append([]tools.Tool(nil), s.Config.Tools...)
	if s.FinalTool != "" {
		own = append(own, owntool.New(s.final, func(arguments string) (string, error) {
			if _, ok := finalAnswer(arguments); !ok {
				return "", &tools.ArgumentError{Tool: s.FinalTool, Problems: []tools.Problem{{Pointer: "/answer", Message: "must be a text"}}}
			}
			return s.Texts.Fill("Received", PromptData{FinalTool: s.FinalTool})
		}))
	}
	return own
}

// finalAnswer reads the arguments of the final tool.
func finalAnswer(arguments string) (string, bool) {
	var args struct {
		Answer *string `json:"answer"`
	}
	if json.Unmarshal([]byte(arguments), &args) != nil || args.Answer == nil {
		return "", false
	}
	return *args.Answer, true
}

// Initialize implements strategy.Strategy.
func (s *stepAgent) Initialize(in delegation.Input) nextstep.NextStep {
	if err := s.Open(in, s.System, s.KeepSystem); err != nil {
		return s.fail(delegation.NewError(delegation.CodeInvalid, err))
	}
	s.in = in
	if s.NewState != nil {
		made := s.guarded("NewState", func() StepResult {
			s.state = s.NewState()
			return Continue()
		})
		if made.kind == kindFail {
			return s.fail(made.err)
		}
	}
	return s.advance()
}

// advance begins iterations until one needs an effect.
func (s *stepAgent) advance() nextstep.NextStep {
	for s.iteration < s.MaxIterations {
		s.iteration++
		s.asks, s.reply = 0, nil
		if s.PlanEvery > 0 && (s.iteration-1)%s.PlanEvery == 0 {
			return s.makePlan()
		}
		if next := s.carryOut(s.take()); next != nil {
			return next
		}
	}
	return s.limited()
}

// follow performs the result of a step, and begins the next iteration if the step needs no effect.
func (s *stepAgent) follow(res StepResult) nextstep.NextStep {
	if next := s.carryOut(res); next != nil {
		return next
	}
	return s.advance()
}

// take takes one step.
func (s *stepAgent) take() StepResult {
	s.begin()
	s.begun.heard = s.TakeNotes()
	return s.guarded("the step function", func() StepResult { return s.Step(s.input(s.state, &s.notes)) })
}

// input returns the input of the current step.
func (s *stepAgent) input(state any, notes *[]Note) Step {
	return Step{
		Iteration: s.iteration,
		Last:      s.iteration == s.MaxIterations,
		Goal:      s.in.Goal,
		Params:    s.in.Data,
		History:   s.History.Clip(),
		Plan:      s.plan,
		Tools:     slices.Clip(s.Defs),
		State:     state,
		notes:     notes,
		heard:     slices.Clone(s.begun.heard),
	}
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *stepAgent) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	switch s.State() {
	case planning:
		s.Asked++
		return s.planned(resp)
	case asking:
		s.Asked++
		resp, _ = frame.Once(resp, nil)
		s.begun.replies = append(s.begun.replies, resp)
		then := s.then
		s.reply, s.then = &resp.Message, nil
		return s.follow(s.guarded("the function that takes a reply", func() StepResult { return then(resp) }))
	default:
		return s.OutOfTurn()
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *stepAgent) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if s.State() != executing {
		return s.OutOfTurn()
	}
	var said string
	if a, ok := s.History.Last().(messages.Assistant); ok {
		said = a.Text()
	}
	s.History = frame.Results(s.History, results)
	for i, r := range results {
		if s.FinalTool != "" && r.ToolName == s.FinalTool && r.OK() && i < len(s.Calls) {
			if answer, ok := finalAnswer(s.Calls[i].Arguments); ok {
				return s.done(&answer)
			}
		}
	}
	for _, r := range results {
		if result, ends := endsTurn(r); ends {
			if result == nil && said != "" {
				result = &said
			}
			return s.done(result)
		}
	}
	s.Calls = nil
	return s.advance()
}

// endsTurn reports whether the result of a tool ends the turn, and returns the answer in it. An
// untrusted result cannot end a turn.
func endsTurn(r messages.ToolOutput) (result *string, ends bool) {
	var verdict struct {
		ShouldContinue *bool           `json:"should_continue"`
		Result         json.RawMessage `json:"result"`
	}
	if r.Untrusted || !r.OK() || json.Unmarshal([]byte(r.Output), &verdict) != nil || verdict.ShouldContinue == nil || *verdict.ShouldContinue {
		return nil, false
	}
	if json.Unmarshal(verdict.Result, &result) != nil {
		result = nil
	}
	return result, true
}

// ProcessFailure implements strategy.FailureHandler: a plan that could not be made is skipped.
func (s *stepAgent) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	cause := frame.ErrorOf(f)
	if s.State() == planning {
		s.Asked++
		return s.unplanned(cause)
	}
	out := s.Reached()
	if s.aligned && !f.Partial.Empty() {
		out.Messages = append(out.Messages, f.Partial)
	}
	return s.Fail(cause, out)
}

// Conclude implements strategy.Concluder. If the last request held the conversation, the frame
// knows more of it: the received part of a reply, or of results.
func (s *stepAgent) Conclude(string) delegation.Output {
	out := s.Reached()
	if s.aligned {
		out.Messages = nil
	}
	return out
}
