package builtin

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/tools"
)

// The names of presets: another strategy with different defaults. A Config cannot contradict the
// name.
const (
	ToolFirst      = "tool-first"       // complete-task that must call a tool before it answers: tool_choice must be a forced one, and tools must not be empty
	LLMOnly        = "llm-only"         // complete-task without tools: tools must be empty
	PlanAndExecute = "plan-and-execute" // plan-revise-execute without a judgement; accepts a plan in prose
)

// makers are the strategies. The table is read-only.
var makers = []maker{
	of(completetask.Name, completetask.Table, completetask.New, completetask.Config{}),
	of(ToolFirst, completetask.Table, completetask.New, completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}}, toolFirst),
	of(LLMOnly, completetask.Table, completetask.New, completetask.Config{Tools: []string{}}, llmOnly),
	of(pre.Name, pre.Table, pre.New, pre.Config{}),
	of(PlanAndExecute, pre.Table, pre.New, pre.Config{
		Evaluation: pre.EvaluateNever, AcceptProse: true, Answer: pre.AnswerSynthesize,
	}),
	of(react.Name, react.Table, react.New, react.Config{}),
	of(reasonactobserve.Name, reasonactobserve.Table, reasonactobserve.New, reasonactobserve.Config{}),
	of(reflection.Name, reflection.Table, reflection.New, reflection.Config{}),
	of(retry.Name, retry.Table, retry.New, retry.Config{}),
	of(workflow.NameSequence, workflow.SequenceTable, workflow.Sequence, workflow.SequenceConfig{}),
	of(workflow.NameParallel, workflow.ParallelTable, workflow.Parallel, workflow.ParallelConfig{}),
	of(workflow.NameLoop, workflow.LoopTable, workflow.Loop, workflow.LoopConfig{}),
	of(workflow.NameChoose, workflow.ChooseTable, workflow.Choose, workflow.ChooseConfig{}),
}

// aliases are the names that other libraries use for the strategies.
var aliases = map[string]string{
	"default":  completetask.Name,
	"planning": PlanAndExecute,
}

// toolFirst checks that the choice is forced, and that there are tools to choose from.
func toolFirst(c completetask.Config) (problems []tools.Problem) {
	if mode := c.ToolChoice.Mode; mode != llmclient.ChooseRequired && mode != llmclient.ChooseTool {
		problems = append(problems, tools.Problem{
			Pointer: "/tool_choice", Message: `must force a call, by the mode "required" or "tool"; without, take complete-task`,
		})
	}
	if c.Tools != nil && len(c.Tools) == 0 {
		problems = append(problems, tools.Problem{Pointer: "/tools", Message: "must not be empty: there would be no tool to call; without tools, take llm-only"})
	}
	return problems
}

// llmOnly checks that there are no tools.
func llmOnly(c completetask.Config) []tools.Problem {
	if c.Tools != nil && len(c.Tools) == 0 {
		return nil
	}
	return []tools.Problem{{Pointer: "/tools", Message: "must be left out or empty: llm-only offers no tools; with tools, take complete-task"}}
}
