package planreviseexecute

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// Names implements strategy.Namer.
func (s *planReviseExecute) Names() strategy.Names {
	names := strategy.Names{Tools: slices.Concat(s.StepTools, s.ReviewTools), Children: s.rules.Executors}
	if s.Reviewer != "" {
		names.Children = append(slices.Clip(names.Children), s.Reviewer)
	}
	return names
}

// execute delegates the next step of the plan, or starts those that run at the same time.
func (s *planReviseExecute) execute() nextstep.NextStep {
	ready := s.plan.Ready(s.atOnce())
	if len(ready) > 1 {
		return s.executeTogether(ready)
	}
	step, failed := s.begin(ready[0])
	if failed != nil {
		return failed
	}
	return s.Fire(approved, step)
}

// begin makes a step the current one, and returns how it is delegated. If it cannot be, failed ends
// the strategy.
func (s *planReviseExecute) begin(i int) (d nextstep.Delegate, failed nextstep.NextStep) {
	s.step = i
	d, err := s.delegation()
	switch {
	case err != nil:
		return d, s.Abort(delegation.CodePanic, err)
	case d.Input.Goal == "" && s.PromptErr() == nil:
		return d, s.Abort(delegation.CodeInvalid, errors.New("planreviseexecute: the prompt Step is empty"))
	default:
		return d, nil
	}
}

// delegation returns the step that delegates the current step of the plan to its executor.
func (s *planReviseExecute) delegation() (d nextstep.Delegate, err error) {
	defer guard("Share", &err)
	step := s.plan.Steps[s.step]
	data := s.about(PromptData{Step: step, Notes: s.notes.pass()})
	switch {
	case s.Results == ResultsOfAll, s.Results == ResultsAuto && step.DependsOn == nil:
		data.Results = s.results(nil)
	case len(step.DependsOn) > 0:
		data.Results = s.results(step.DependsOn)
	}
	goal, by := s.Prompt("Step", data), cmp.Or(step.Executor, s.Executor)
	return nextstep.Delegate{
		Strategy: by,
		Input:    delegation.Input{Goal: goal, Messages: s.Share.Of(s.History)},
		Tools:    s.StepTools,
		Limits:   s.limitsOf(by),
	}, nil
}

// limitsOf returns the limits of the steps that an executor works on.
func (s *settings) limitsOf(executor string) delegation.Limits {
	own, usual := s.ExecutorLimits[executor], s.StepLimits
	return delegation.Limits{
		Depth: cmp.Or(own.Depth, usual.Depth), Steps: cmp.Or(own.Steps, usual.Steps),
		ModelCalls: cmp.Or(own.ModelCalls, usual.ModelCalls), ToolCalls: cmp.Or(own.ToolCalls, usual.ToolCalls),
		InputTokens: cmp.Or(own.InputTokens, usual.InputTokens), OutputTokens: cmp.Or(own.OutputTokens, usual.OutputTokens),
		TotalTokens: cmp.Or(own.TotalTokens, usual.TotalTokens), Cost: cmp.Or(own.Cost, usual.Cost),
		Duration: cmp.Or(own.Duration, usual.Duration), Handoffs: cmp.Or(own.Handoffs, usual.Handoffs),
	}
}

// ProcessDelegationResult implements strategy.Strategy.
func (s *planReviseExecute) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	switch s.State() {
	case executingStep:
		return s.ended(out, false)
	case reviewingPlan:
		return s.reviewed(out)
	default:
		return s.OutOfTurn()
	}
}

// ended records how the current step ended, and continues, unless no other plan could do better.
func (s *planReviseExecute) ended(out delegation.Output, hopeless bool) nextstep.NextStep {
	out = s.judgeEmpty(out)
	step := s.note(out)
	if hopeless || frame.Hopeless(out) {
		return s.Fail(out.Err, s.Reached())
	}
	if step.Err != nil {
		return s.revise(broke, Revision{Step: step.ID, Feedback: step.Err.Message}, step)
	}
	s.last = out.Result
	return s.goOn()
}

// judgeEmpty makes an output without a result an error, if it is one.
func (s *planReviseExecute) judgeEmpty(out delegation.Output) delegation.Output {
	if s.OnEmpty == EmptyFail && frame.IsEmpty(out) {
		out.Err = delegation.NewError(delegation.CodeFailed, errors.New("planreviseexecute: the step left no result"))
	}
	return out
}

// goOn executes what is left of the plan, or ends.
func (s *planReviseExecute) goOn() nextstep.NextStep {
	if s.plan.Next() >= 0 {
		return s.execute()
	}
	if s.Answer == AnswerSynthesize {
		s.say("Synthesize", PromptData{Results: s.results(nil)})
		return s.Fire(executed, s.request())
	}
	return s.Then(finished, nextstep.Complete{Output: s.output()})
}

// note records the outcome of the current step in the plan.
func (s *planReviseExecute) note(out delegation.Output) Step {
	s.plan = s.plan.Copy() // earlier outputs still hold the old one
	step := &s.plan.Steps[s.step]
	s.parts = append(s.parts, delegation.PartsOf(out, step.ID, len(s.History))...)
	step.Attempts++
	step.Elapsed += out.Elapsed
	step.Status, step.Result, step.Err = StepDone, out.Result, nil
	if out.Err != nil {
		step.Status = StepFailed
		step.Err = &delegation.Error{Code: out.Err.Code, Message: s.cut(out.Err.Message)}
		if out.Text() != "" {
			s.scrap = out.Result
		}
	}
	return *step
}

// results returns the results of the named steps, or of all done steps, each cut to the configured
// size.
func (s *planReviseExecute) results(ids []string) []PromptResult {
	var list []PromptResult
	for _, step := range s.plan.Steps {
		if step.Status != StepDone || ids != nil && !slices.Contains(ids, step.ID) {
			continue
		}
		var text string
		if step.Result != nil {
			text = s.cut(*step.Result)
		} else {
			text = s.Prompt("NoResult", s.about(PromptData{Step: step}))
		}
		list = append(list, PromptResult{ID: step.ID, Goal: step.Goal, Text: text})
	}
	return list
}

// cut shortens a result to the configured size, at a character boundary, and says so.
func (s *planReviseExecute) cut(text string) string {
	return frame.Cut(text, s.MaxResult, func() string { return s.Prompt("CutResult", PromptData{}) })
}

// guard converts a panic of a function of the Config to an error, so that the work done so far is
// not lost. The value of the panic may be a secret and is not shown.
func guard(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("planreviseexecute: %s panicked with a %T", what, v)
	}
}

// judgement calls Config.Judge.
func (s *planReviseExecute) judgement() (v Verdict, err error) {
	defer guard("Judge", &err)
	return s.Judge(s.plan.Copy()), nil
}
