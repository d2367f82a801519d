package planreviseexecute

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/planorder"
	"github.com/segue-go/segue/tools"
)

// ExecuteStep is the tool by which the strategy itself starts several steps at the same time. It is
// brought only if Config.Parallel allows that. For the second of the executors it is
// "execute_step_2", and so on. No request offers it, and a call by the model is refused.
const ExecuteStep = "execute_step"

var stepDefinition = tools.Definition{
	Name:        ExecuteStep,
	Description: "Carries out a step of the plan.",
	Parameters:  json.RawMessage(`{"type":"object","properties":{"step":{"type":"string"},"goal":{"type":"string"}},"required":["step","goal"],"additionalProperties":false}`),
}

// executes returns the executors, each once, the usual one first.
func (s *settings) executes() []string {
	names := []string{s.Executor}
	for _, name := range s.Executors {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// nameOfTool returns the tool that starts an executor.
func (s *settings) nameOfTool(executor string) string {
	if i := slices.Index(s.executes(), executor); i > 0 {
		return fmt.Sprint(ExecuteStep, "_", i+1)
	}
	return ExecuteStep
}

// width is the number of steps that may run at the same time if the tools allow it.
func (s *settings) width() int {
	if s.Parallel < 0 {
		return s.MaxSteps
	}
	return min(max(1, s.Parallel), s.MaxSteps)
}

// stepTools returns the tools by which several steps are started.
func (s *planReviseExecute) stepTools() []tools.Tool {
	if s.width() < 2 {
		return nil
	}
	var list []tools.Tool
	for _, name := range s.executes() {
		def := stepDefinition
		def.Name = s.nameOfTool(name)
		agent := strategy.Agent{Strategy: name, Limits: s.limitsOf(name), Tools: s.StepTools}
		list = append(list, strategy.AgentTool(def, agent, func(arguments string) (delegation.Input, error) { return s.inputOf(def.Name, arguments) }))
	}
	return list
}

// stepCall is what an executor is called with.
type stepCall struct {
	Step string `json:"step"`
	Goal string `json:"goal"`
}

// inputOf returns the input of the step that a call starts. Calls by the model start none.
func (s *planReviseExecute) inputOf(tool, arguments string) (in delegation.Input, err error) {
	defer guard("Share", &err)
	if s.State() != executingSteps {
		return in, fmt.Errorf("there is no tool %q here", tool)
	}
	if err := s.schemas[ExecuteStep].Check(arguments); err != nil {
		return in, err
	}
	var c stepCall
	if err := json.Unmarshal([]byte(arguments), &c); err != nil {
		return in, err
	}
	return delegation.Input{Goal: c.Goal, Messages: s.Share.Of(s.History)}, nil
}

// UseTools implements strategy.ToolUser.
func (s *planReviseExecute) UseTools(defs []tools.Definition) {
	s.unsafe = slices.ContainsFunc(defs, func(d tools.Definition) bool {
		used := s.StepTools == nil || slices.Contains(s.StepTools, d.Name)
		return used && !d.ReadOnly && !d.Idempotent
	})
}

// atOnce returns the number of steps that run at the same time.
func (s *planReviseExecute) atOnce() int {
	if s.Parallel < 0 && s.unsafe {
		return 1
	}
	return s.width()
}

// executeTogether starts several steps. Their results come together.
func (s *planReviseExecute) executeTogether(ready []int) nextstep.NextStep {
	var calls []messages.ToolCall
	for _, i := range ready {
		d, failed := s.begin(i)
		if failed != nil {
			return failed
		}
		arguments, err := nextstep.Encode(stepCall{Step: s.plan.Steps[i].ID, Goal: d.Input.Goal})
		if err != nil {
			return s.Abort(delegation.CodeInvalid, err)
		}
		calls = append(calls, messages.ToolCall{ID: s.callOf(i), Name: s.nameOfTool(d.Strategy), Arguments: string(arguments)})
	}
	s.step = ready[0]
	return s.Fire(branched, nextstep.ExecuteTools{Calls: calls})
}

// callOf returns the id of the call that starts a step.
func (s *planReviseExecute) callOf(step int) string { return "step_" + s.plan.Steps[step].ID }

// InheritBranches implements strategy.BranchInheritor.
func (s *planReviseExecute) InheritBranches(outs []strategy.BranchOutput) { s.branches = outs }

// ranTogether returns what became of the steps that ran at the same time, by the ids of their
// calls. A call without a branch was refused.
func (s *planReviseExecute) ranTogether(results []messages.ToolOutput) map[string]strategy.BranchOutput {
	ended := map[string]strategy.BranchOutput{}
	for _, r := range results {
		out := delegation.Output{Result: &r.Output}
		if !r.OK() {
			out = delegation.Output{Err: delegation.NewError(delegation.CodeFailed, errors.New(r.Output))}
		}
		ended[r.CallID] = strategy.BranchOutput{CallID: r.CallID, Output: out}
	}
	for _, b := range s.branches {
		ended[b.CallID] = b
	}
	s.branches = nil
	return ended
}

// stepsEnded records how steps ended that ran at the same time, and continues as after one.
func (s *planReviseExecute) stepsEnded(results []messages.ToolOutput) nextstep.NextStep {
	var failed []Step
	var hopeless *delegation.Error
	ended := s.ranTogether(results)
	for _, i := range s.plan.Ready(s.atOnce()) {
		b, ok := ended[s.callOf(i)]
		if !ok {
			continue
		}
		s.step = i
		out := s.judgeEmpty(b.Output)
		step := s.note(out)
		if out.Err == nil {
			s.last = out.Result
			continue
		}
		failed = append(failed, step)
		if hopeless == nil && (b.NoChild || frame.Hopeless(out)) {
			hopeless = out.Err
		}
	}
	switch {
	case hopeless != nil:
		return s.Fail(hopeless, s.Reached())
	case len(failed) > 0:
		return s.revise(broke, Revision{Step: failed[0].ID, Feedback: planorder.Failures(failed)}, failed...)
	default:
		return s.goOn()
	}
}

// inheritTogether records the steps that had begun when the run was stopped.
func (s *planReviseExecute) inheritTogether() {
	if len(s.branches) == 0 {
		return
	}
	ended := s.ranTogether(nil)
	for _, i := range s.plan.Ready(s.atOnce()) {
		if b, ok := ended[s.callOf(i)]; ok {
			s.step = i
			if s.note(b.Output); b.Output.Err == nil {
				s.last = b.Output.Result
			}
		}
	}
}
