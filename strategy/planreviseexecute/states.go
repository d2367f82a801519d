package planreviseexecute

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	Ready                               = frame.Ready
	NeedsPlan            strategy.State = "needs_plan"            // a reply that calls submit_plan
	SubmittingPlan       strategy.State = "submitting_plan"       // the result of that call
	EvaluatingPlan       strategy.State = "evaluating_plan"       // a reply that calls submit_evaluation
	SubmittingEvaluation strategy.State = "submitting_evaluation" // the result of that call
	ExecutingStep        strategy.State = "executing_step"        // the output of the strategy that works on a step
	ExecutingSteps       strategy.State = "executing_steps"       // the outputs of the strategies that work on several steps at the same time
	RevisingPlan         strategy.State = "revising_plan"         // a reply that calls submit_plan again
	SubmittingRevision   strategy.State = "submitting_revision"   // the result of that call
	Synthesizing         strategy.State = "synthesizing"          // the answer, made from the results of the steps
	Done                                = frame.Done
	Failed                              = frame.Failed
)

// The triggers name what happened.
const (
	started   strategy.Trigger = "started"
	submitted strategy.Trigger = "submitted" // the model called the wanted tool, or another one
	refused   strategy.Trigger = "refused"   // no such call had a good result: ask again
	reminded  strategy.Trigger = "reminded"  // the reply held no call: ask again
	planned   strategy.Trigger = "planned"   // there is a plan to evaluate
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
		{Name: NeedsPlan, Awaits: nextstep.KindGetChatCompletion, Phase: "NeedsPlan"},
		{Name: SubmittingPlan, Awaits: nextstep.KindExecuteTools, Phase: "NeedsPlan"},
		{Name: EvaluatingPlan, Awaits: nextstep.KindGetChatCompletion, Phase: "EvaluatingPlan"},
		{Name: SubmittingEvaluation, Awaits: nextstep.KindExecuteTools, Phase: "EvaluatingPlan"},
		{Name: ExecutingStep, Awaits: nextstep.KindDelegate, Phase: "ExecutingStep"},
		{Name: ExecutingSteps, Awaits: nextstep.KindExecuteTools, Phase: "ExecutingStep"},
		{Name: RevisingPlan, Awaits: nextstep.KindGetChatCompletion, Phase: "RevisingPlan"},
		{Name: SubmittingRevision, Awaits: nextstep.KindExecuteTools, Phase: "RevisingPlan"},
		{Name: Synthesizing, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: started, To: NeedsPlan},

		{From: frame.In(NeedsPlan), On: submitted, To: SubmittingPlan},
		{From: frame.In(NeedsPlan), On: reminded, To: NeedsPlan, Cap: capRetries},
		{From: frame.In(SubmittingPlan), On: refused, To: NeedsPlan, Cap: capRetries},

		{From: frame.In(EvaluatingPlan), On: submitted, To: SubmittingEvaluation},
		{From: frame.In(EvaluatingPlan), On: reminded, To: EvaluatingPlan, Cap: capRetries},
		{From: frame.In(SubmittingEvaluation), On: refused, To: EvaluatingPlan, Cap: capRetries},

		{From: frame.In(RevisingPlan), On: submitted, To: SubmittingRevision},
		{From: frame.In(RevisingPlan), On: reminded, To: RevisingPlan, Cap: capRetries},
		{From: frame.In(SubmittingRevision), On: refused, To: RevisingPlan, Cap: capRetries},

		{From: frame.In(NeedsPlan, SubmittingPlan, RevisingPlan, SubmittingRevision), On: planned, To: EvaluatingPlan},
		{From: frame.In(NeedsPlan, SubmittingPlan, SubmittingEvaluation, RevisingPlan, SubmittingRevision), On: approved, To: ExecutingStep},
		{From: frame.In(NeedsPlan, SubmittingPlan, SubmittingEvaluation, RevisingPlan, SubmittingRevision), On: branched, To: ExecutingSteps},
		{From: frame.In(NeedsPlan, SubmittingPlan, SubmittingEvaluation, RevisingPlan, SubmittingRevision), On: rejected, To: RevisingPlan, Cap: capRevisions},

		{From: frame.In(ExecutingStep, ExecutingSteps), On: approved, To: ExecutingStep, Cap: capSteps},
		{From: frame.In(ExecutingStep, ExecutingSteps), On: branched, To: ExecutingSteps, Cap: capSteps},
		{From: frame.In(ExecutingStep, ExecutingSteps), On: broke, To: RevisingPlan, Cap: capRevisions},
		{From: frame.In(ExecutingStep, ExecutingSteps), On: executed, To: Synthesizing},
		{From: frame.In(ExecutingStep, ExecutingSteps, Synthesizing), On: finished, To: Done},
	},
)
