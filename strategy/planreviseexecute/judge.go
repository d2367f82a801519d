package planreviseexecute

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/internal/verdict"
)

// judge has a plan judged.
func (s *planReviseExecute) judge(p Plan) nextstep.NextStep {
	s.plan = p
	switch s.Evaluation {
	case EvaluateByFunc:
		v, err := s.judgement()
		if err != nil {
			return s.Abort(delegation.CodePanic, err)
		}
		return s.judged(v)
	case evaluateByReviewer:
		step, err := s.review()
		if err != nil {
			return s.Abort(delegation.CodePanic, err)
		}
		return s.Fire(handedIn, step)
	case EvaluateNever:
		return s.judged(Verdict{Approved: true})
	default:
		s.say("Evaluate", PromptData{Tool: SubmitEvaluation})
		return s.Fire(planned, s.request(evaluationDefinition))
	}
}

// review returns the step that has the Reviewer judge the plan.
func (s *planReviseExecute) review() (d nextstep.Delegate, err error) {
	defer guard("Share", &err)
	goal := s.Prompt("Review", s.about(PromptData{Results: s.results(nil), Notes: s.notes.pass()}))
	return nextstep.Delegate{
		Strategy: s.Reviewer, Input: delegation.Input{Goal: goal, Messages: s.Share.Of(s.History)}, Tools: s.ReviewTools, Limits: s.ReviewLimits,
	}, nil
}

// reviewed reads the verdict of the Reviewer.
func (s *planReviseExecute) reviewed(out delegation.Output) nextstep.NextStep {
	s.Inherit(out)
	switch {
	case out.Err != nil:
		return s.Fail(out.Err, s.Reached())
	case frame.IsEmpty(out):
		return s.Abort(delegation.CodeFailed, fmt.Errorf("planreviseexecute: the reviewer %q left no judgement", s.Reviewer))
	}
	said := verdict.Of(out)
	return s.judged(Verdict{Approved: said.Approved, Feedback: s.cut(said.Feedback)})
}

// judged carries a plan out, or asks for a better one.
func (s *planReviseExecute) judged(v Verdict) nextstep.NextStep {
	if v.Approved {
		return s.execute()
	}
	return s.revise(rejected, Revision{Feedback: v.Feedback})
}

// revise asks for a new plan, or fails if no revision is left.
func (s *planReviseExecute) revise(on strategy.Trigger, why Revision, broken ...Step) nextstep.NextStep {
	why.Plan = s.plan.WithoutResults()
	s.revisions = append(s.revisions, why)
	if !s.Can(on) {
		if on == broke {
			return s.Abort(delegation.CodeFailed, fmt.Errorf("planreviseexecute: step %q failed, and the plan was revised as often as allowed: %s", why.Step, why.Feedback))
		}
		return s.Abort(delegation.CodeFailed, fmt.Errorf("planreviseexecute: the plan was rejected, and revised as often as allowed: %s", why.Feedback))
	}
	data := PromptData{Tool: SubmitPlan, Results: s.results(nil), Feedback: why.Feedback, Choices: s.Executors}
	if len(broken) > 0 {
		data.Step, data.Feedback, data.Failed = broken[0], broken[0].Err.Message, broken[1:]
	}
	s.say("Revise", data)
	return s.Fire(on, s.request(planDefinition))
}
