// Package planreviseexecute is the strategy that makes a plan, has it judged, and delegates its
// steps to other strategies, one by one or several at the same time. It makes a new plan when the
// plan is rejected or a step fails.
//
//	plan -> judge -> (approved) steps, one at a time -> answer
//	  ^       |                   |
//	  |    rejected             failed
//	  +-------+-------------------+
//
// The model submits plans and judgements by calling tools of the strategy, [SubmitPlan] and
// [SubmitEvaluation]. A reply without a usable call is answered with a reminder. With
// Config.Evaluation, a Go function can judge the plan instead, or no judgement is made; and with
// Config.Reviewer another strategy judges it, which may have tools.
//
// Each step is delegated to a child. The child sees the goal of the step and results of other
// steps: those that the step depends on or, if it names none, all done steps (Config.Results). It
// sees nothing else unless Config.Share says so, and only its result is returned. A step without a
// text or data as its result has failed (Config.OnEmpty). With Config.Parallel, steps that do not
// wait for each other run at the same time, batch by batch: each is a branch of the run. A step
// that fails does not stop those beside it, and all that failed are planned again at once. This
// strategy may itself carry out a step, with a plan of its own. Done steps stay done. The answer is
// the result of the last step, or is made from all results by one more request (Config.Answer).
//
// A plan of more than MaxSteps steps is cut to its first steps (Config.OnTooLong). The model is
// told so, and the metadata records it: Plan.Planned, and "truncated".
//
// If a step cannot be carried out under any plan, because its strategy is unknown or the depth
// limit is reached, no new plan is made and the strategy fails.
//
// At most MaxRevisions + 1 plans are made, each judged once, with at most MaxSteps steps, and at
// most MaxRetries reminders are given in all. A step that fails costs a plan, and a step that is
// done never runs again.
//
// An error loses no work: the Result is that of the last done step or, as long as none is done, the
// text of a step that failed or was cut off. The metadata of every output holds "plan" (a [Plan]
// with the status, result, attempts and time of each step; it may have no steps yet) and
// "steps_executed" (the number of done steps). If they apply it also holds "truncated" (true: the
// plan was too long, and was cut), "revisions" (a list of [Revision]), "repaired" (the repairs of
// the input messages), and with an error "phase", the phase in which it occurred. The Parts of
// every output are the work of the steps, by their ids, and of the Reviewer, as "review"; a step
// that was tried again has several.
//
// The loop comes from the planner of an agent framework that submits and evaluates plans by tool
// calls. The idea to make a plan before any work, and to keep it apart from the work, is that of
// Plan-and-Solve (Wang et al., 2023, https://arxiv.org/abs/2305.04091).
package planreviseexecute

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/planorder"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/plantext"
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy        = (*planReviseExecute)(nil)
	_ strategy.FailureHandler  = (*planReviseExecute)(nil)
	_ strategy.Concluder       = (*planReviseExecute)(nil)
	_ strategy.Inheritor       = (*planReviseExecute)(nil)
	_ strategy.ToolProvider    = (*planReviseExecute)(nil)
	_ strategy.ToolUser        = (*planReviseExecute)(nil)
	_ strategy.BranchInheritor = (*planReviseExecute)(nil)
)

type planReviseExecute struct {
	*settings
	frame.Conversation

	goal      string
	plan      Plan
	step      int     // index of the current step
	last      *string // result of the last step that was done
	scrap     *string // text of the last failed step that left one
	revisions []Revision
	parts     []delegation.Part       // the work of the steps
	unsafe    bool                    // a step may use a tool that is neither read-only nor idempotent
	branches  []strategy.BranchOutput // of the steps that ran at the same time, until they are noted
	notes     notes
}

// Plan is the plan that is carried out.
type Plan = planorder.Plan

// Step is a step of a [Plan].
type Step = planorder.Step

// StepStatus is the progress of a [Step].
type StepStatus = planorder.StepStatus

// The statuses. A step that was never begun has none.
const (
	StepDone   = planorder.StepDone
	StepFailed = planorder.StepFailed
)

// PlanError lists everything that is wrong with a plan.
type PlanError = planorder.PlanError

// Revision is the reason for a new plan.
type Revision struct {
	Step     string `json:"step,omitempty"` // the step that failed, the first of several; "" if the plan was rejected
	Feedback string `json:"feedback"`       // what was wrong
	Plan     Plan   `json:"plan"`           // the plan at that time
}

// Initialize implements strategy.Strategy.
func (s *planReviseExecute) Initialize(in delegation.Input) nextstep.NextStep {
	s.goal, in.Goal = in.Question(), "" // it is in the prompt
	if err := s.Open(in, s.System, s.KeepSystem); err != nil {
		return s.Abort(delegation.CodeInvalid, err)
	}
	if s.goal == "" {
		s.History = nil
		return s.Abort(delegation.CodeInvalid, errors.New("planreviseexecute: there is nothing to plan: the input has neither a goal nor a user message"))
	}
	s.say("Plan", PromptData{Tool: SubmitPlan, Choices: s.Executors})
	return s.Fire(started, s.request(planDefinition))
}

// say adds a prompt to the conversation.
func (s *planReviseExecute) say(name string, data PromptData) {
	s.tell()
	s.History = append(s.History, messages.UserText(s.Prompt(name, s.about(data))))
}

// about adds the common fields to the data of a prompt.
func (s *planReviseExecute) about(data PromptData) PromptData {
	data.Goal, data.Plan, data.MaxSteps, data.Sees = s.goal, s.plan, s.MaxSteps, s.Results
	if n := s.atOnce(); n > 1 {
		data.Parallel, data.Prose = n, s.AcceptProse
	}
	return data
}

// anewTool says why a request does not extend the last one.
var anewTool = new("another tool is offered, or none")

// request asks the model, offering the tools: one, or none.
func (s *planReviseExecute) request(offered ...tools.Definition) nextstep.GetChatCompletion {
	step := nextstep.GetChatCompletion{Request: llmclient.Request{Model: s.Model, Messages: s.History.Clip(), Tools: offered}}
	if len(offered) == 0 || offered[0].Name != s.lastOffered() {
		step.Anew = anewTool
	}
	return step
}

// lastOffered returns the tool that the last request offered. A plan that is executed was judged
// last, if a model judges plans.
func (s *planReviseExecute) lastOffered() string {
	if s.executing() && s.Evaluation == EvaluateByModel {
		return SubmitEvaluation
	}
	return s.wanted().Name
}

// executing reports whether steps are executed.
func (s *planReviseExecute) executing() bool {
	return s.State() == executingStep || s.State() == executingSteps
}

// wanted returns the tool that the model should call in this state.
func (s *planReviseExecute) wanted() tools.Definition {
	switch s.State() {
	case evaluatingPlan, submittingEvaluation:
		return evaluationDefinition
	default:
		return planDefinition
	}
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *planReviseExecute) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	switch s.State() {
	case needsPlan, evaluatingPlan, revisingPlan, synthesizing:
	default:
		return s.OutOfTurn()
	}
	resp, note := frame.Once(resp, s.History)
	if !resp.Message.Empty() {
		s.History = append(s.History, resp.Message)
	}
	calls := resp.Message.Calls()
	switch {
	case resp.Finish == llmclient.FinishContentFilter:
		s.close(calls, "Withheld")
		return s.Abort(delegation.Code(llmclient.CodeContentFilter), errors.New("planreviseexecute: the provider withheld the reply, or a part of it"))
	case s.State() == synthesizing:
		return s.answer(resp, calls)
	case frame.CutOff(resp.Finish):
		s.close(calls, "CutCall")
		if note != "" {
			s.History = append(s.History, messages.UserText(note))
		}
		return s.remind("", delegation.CodeTruncated, errors.New("planreviseexecute: the model's reply was cut off "+frame.CutWhere(resp.Finish)))
	case len(calls) > 0:
		s.Calls = calls
		return s.Then(submitted, nextstep.ExecuteTools{Calls: calls})
	default:
		return s.prose(resp.Message.Text())
	}
}

// close answers calls that are not run, with a prompt.
func (s *planReviseExecute) close(calls []messages.ToolCall, name string) {
	for _, c := range calls {
		s.History = append(s.History, frame.NotRun(c, "cut_off", s.Prompt(name, s.about(PromptData{Tool: c.Name}))))
	}
}

// remind asks again for the wanted tool, and says what was wrong with its call if that is known. It
// fails if no retry is left.
func (s *planReviseExecute) remind(problem string, code delegation.Code, err error) nextstep.NextStep {
	if !s.Can(reminded) {
		return s.Abort(code, err)
	}
	s.say("Remind", PromptData{Tool: s.wanted().Name, Feedback: problem})
	return s.Fire(reminded, s.request(s.wanted()))
}

// prose processes a reply without a call.
func (s *planReviseExecute) prose(text string) nextstep.NextStep {
	if s.State() == evaluatingPlan {
		if s.Can(reminded) {
			return s.remind("", "", nil)
		}
		return s.Abort(delegation.CodeInvalid, errors.New("planreviseexecute: the model did not judge the plan"))
	}
	if !s.AcceptProse {
		return s.remind("", delegation.CodeInvalid, errNoPlan)
	}
	plan, listed, err := s.planIn(text)
	switch {
	case err != nil:
		return s.remind("", delegation.CodeInvalid, fmt.Errorf("%w: %w", errNoPlan, err))
	case listed || !s.Can(reminded):
		return s.judge(plan)
	default:
		return s.remind("", "", nil)
	}
}

// planIn reads a plan from a text. listed means that the text contains a list of several steps.
func (s *planReviseExecute) planIn(text string) (p Plan, listed bool, err error) {
	items, err := plantext.ParseItems(text)
	if err != nil {
		return Plan{}, false, err
	}
	if s.atOnce() > 1 && len(items) > 1 {
		p = s.plan.Written(items)
	} else {
		for _, i := range items {
			p.Steps = append(p.Steps, Step{Goal: i.Goal})
		}
	}
	p, err = s.plan.Revise(p, s.planRules())
	return p, len(items) > 1, err
}

// planRules returns the rules for plans.
func (s *planReviseExecute) planRules() planorder.Rules {
	rules := s.rules
	rules.Parallel = s.atOnce() > 1
	return rules
}

// EditCalls implements strategy.CallEditor: a plan that a middleware changed is carried out in its
// changed form.
func (s *planReviseExecute) EditCalls(calls []messages.ToolCall) {
	if !s.executing() { // otherwise the calls are its own
		s.Conversation.EditCalls(calls)
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *planReviseExecute) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	switch s.State() {
	case submittingPlan, submittingRevision, submittingEvaluation:
	case executingSteps:
		return s.stepsEnded(results)
	default:
		return s.OutOfTurn()
	}
	s.History = frame.Results(s.History, results)
	call, ok := accepted(s.Calls, results, s.wanted().Name)
	s.Calls = nil
	if !ok {
		return s.refuse()
	}
	if s.State() == submittingEvaluation {
		var v Verdict
		if err := call.Decode(&v); err != nil {
			return s.unread(err)
		}
		return s.judged(v)
	}
	revised, err := s.readPlan(call)
	if err != nil {
		return s.unread(err)
	}
	return s.judge(revised)
}

// unread tells the model what was wrong with a call whose result does not say it, because the call
// was run elsewhere.
func (s *planReviseExecute) unread(err error) nextstep.NextStep {
	s.say("Unread", PromptData{Tool: s.wanted().Name, Feedback: err.Error()})
	return s.refuse()
}

// refuse asks again after unusable calls; their results say why.
func (s *planReviseExecute) refuse() nextstep.NextStep {
	if !s.Can(refused) {
		if s.State() == submittingEvaluation {
			return s.Abort(delegation.CodeInvalid, errors.New("planreviseexecute: the model did not submit a judgement that can be used"))
		}
		return s.Abort(delegation.CodeInvalid, errNoPlan)
	}
	return s.Fire(refused, s.request(s.wanted()))
}

// ProcessFailure implements strategy.FailureHandler: a call that the provider could not read is
// returned to the model for correction.
func (s *planReviseExecute) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) && s.Can(reminded) {
		return s.remind(f.Message, "", nil)
	}
	if s.State() == executingStep {
		return s.ended(delegation.Output{Err: frame.ErrorOf(f)}, frame.NoChild(f))
	}
	return s.Fail(frame.ErrorOf(f), s.Conclude(""))
}

// Inherit implements strategy.Inheritor: the plan records the work of the current step.
func (s *planReviseExecute) Inherit(out delegation.Output) {
	if s.State() == reviewingPlan {
		s.parts = append(s.parts, delegation.PartsOf(out, "review", len(s.History))...)
		return
	}
	s.note(out)
}

// Conclude implements strategy.Concluder. It returns no messages: the Machine adds them, including
// the received part of a reply.
func (s *planReviseExecute) Conclude(string) delegation.Output {
	s.inheritTogether()
	out := s.Reached()
	out.Messages = nil
	return out
}

// errNoPlan is the error of a run without a usable plan.
var errNoPlan = errors.New("planreviseexecute: the model did not submit a plan that can be used")
