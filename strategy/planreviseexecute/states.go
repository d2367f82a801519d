package planreviseexecute

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	needsPlan            strategy.State = "needs_plan"            // a reply that calls submit_plan
	submittingPlan       strategy.State = "submitting_plan"       // the result of that call
	evaluatingPlan       strategy.State = "evaluating_plan"       // a reply that calls submit_evaluation
	submittingEvaluation strategy.State = "submitting_evaluation" // the result of that call
	reviewingPlan        strategy.State = "reviewing_plan"        // the output of the Reviewer
	executingStep        strategy.State = "executing_step"        // the output of the strategy that works on a step
	executingSteps       strategy.State = "executing_steps"       // the outputs of the strategies that work on several steps at the same time
	revisingPlan         strategy.State = "revising_plan"         // a reply that calls submit_plan again
	submittingRevision   strategy.State = "submitting_revision"   // the result of that call
	synthesizing         strategy.State = "synthesizing"          // the answer, made from the results of the steps
)

// The triggers name what happened.
const (
	started   strategy.Trigger = "started"
	submitted strategy.Trigger = "submitted" // the model called the wanted tool, or another one
	refused   strategy.Trigger = "refused"   // no such call had a good result: ask again
	reminded  strategy.Trigger = "reminded"  // the reply held no call: ask again
	planned   strategy.Trigger = "planned"   // there is a plan to evaluate
	handedIn  strategy.Trigger = "handed_in" // the same, and the Reviewer evaluates it
	approved  strategy.Trigger = "approved"  // there is a plan to execute, or more of one
	branched  strategy.Trigger = "branched"  // the same, and several steps are executed at the same time
	rejected  strategy.Trigger = "rejected"  // the plan is not good enough
	broke     strategy.Trigger = "broke"     // a step failed
	executed  strategy.Trigger = "executed"  // the last step is done, and an answer is to be made from all
	finished  strategy.Trigger = "finished"
)

// The caps of the table; see Config.MaxRevisions, Config.MaxRetries and Config.MaxSteps.
const (
	capRevisions = "revisions"
	capRetries   = "retries"
	capSteps     = "steps"
)

// Table is the state machine of this strategy. The phases are those of the original plan.
var Table = frame.Table(Name,
	[]strategy.StateRule{
		{Name: needsPlan, Awaits: nextstep.KindGetChatCompletion, Phase: "NeedsPlan"},
		{Name: submittingPlan, Awaits: nextstep.KindExecuteTools, Phase: "NeedsPlan"},
		{Name: evaluatingPlan, Awaits: nextstep.KindGetChatCompletion, Phase: "EvaluatingPlan"},
		{Name: submittingEvaluation, Awaits: nextstep.KindExecuteTools, Phase: "EvaluatingPlan"},
		{Name: reviewingPlan, Awaits: nextstep.KindDelegate, Phase: "EvaluatingPlan"},
		{Name: executingStep, Awaits: nextstep.KindDelegate, Phase: "ExecutingStep"},
		{Name: executingSteps, Awaits: nextstep.KindExecuteTools, Phase: "ExecutingStep"},
		{Name: revisingPlan, Awaits: nextstep.KindGetChatCompletion, Phase: "RevisingPlan"},
		{Name: submittingRevision, Awaits: nextstep.KindExecuteTools, Phase: "RevisingPlan"},
		{Name: synthesizing, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(frame.Ready), On: started, To: needsPlan},

		{From: frame.In(needsPlan), On: submitted, To: submittingPlan},
		{From: frame.In(needsPlan), On: reminded, To: needsPlan, Cap: capRetries},
		{From: frame.In(submittingPlan), On: refused, To: needsPlan, Cap: capRetries},

		{From: frame.In(evaluatingPlan), On: submitted, To: submittingEvaluation},
		{From: frame.In(evaluatingPlan), On: reminded, To: evaluatingPlan, Cap: capRetries},
		{From: frame.In(submittingEvaluation), On: refused, To: evaluatingPlan, Cap: capRetries},

		{From: frame.In(revisingPlan), On: submitted, To: submittingRevision},
		{From: frame.In(revisingPlan), On: reminded, To: revisingPlan, Cap: capRetries},
		{From: frame.In(submittingRevision), On: refused, To: revisingPlan, Cap: capRetries},

		{From: frame.In(needsPlan, submittingPlan, revisingPlan, submittingRevision), On: planned, To: evaluatingPlan},
		{From: frame.In(needsPlan, submittingPlan, revisingPlan, submittingRevision), On: handedIn, To: reviewingPlan},
		{From: frame.In(needsPlan, submittingPlan, submittingEvaluation, reviewingPlan, revisingPlan, submittingRevision), On: approved, To: executingStep},
		{From: frame.In(needsPlan, submittingPlan, submittingEvaluation, reviewingPlan, revisingPlan, submittingRevision), On: branched, To: executingSteps},
		{From: frame.In(needsPlan, submittingPlan, submittingEvaluation, reviewingPlan, revisingPlan, submittingRevision), On: rejected, To: revisingPlan, Cap: capRevisions},

		{From: frame.In(executingStep, executingSteps), On: approved, To: executingStep, Cap: capSteps},
		{From: frame.In(executingStep, executingSteps), On: branched, To: executingSteps, Cap: capSteps},
		{From: frame.In(executingStep, executingSteps), On: broke, To: revisingPlan, Cap: capRevisions},
		{From: frame.In(executingStep, executingSteps), On: executed, To: synthesizing},
		{From: frame.In(executingStep, executingSteps, synthesizing), On: finished, To: frame.Done},
	},
)
