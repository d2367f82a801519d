package planreviseexecute

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// judge has a plan judged.
func (s *planReviseExecute) judge(p Plan) nextstep.NextStep {
	s.plan = p
	switch s.Evaluation {
	case EvaluateByFunc:
		verdict, err := s.judgement()
		if err != nil {
			return s.Abort(delegation.CodePanic, err)
		}
		return s.judged(verdict)
	case EvaluateNever:
		return s.judged(Verdict{Approved: true})
	default:
		s.say("Evaluate", PromptData{Tool: SubmitEvaluation})
		return s.Fire(planned, s.request(evaluationDefinition))
	}
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
