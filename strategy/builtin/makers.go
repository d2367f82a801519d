package builtin

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
)

// The names of those that are a strategy of another name with other defaults.
const (
	ToolFirst      = "tool-first"       // complete-task that must call a tool before it answers
	LLMOnly        = "llm-only"         // complete-task without tools
	PlanAndExecute = "plan-and-execute" // plan-revise-execute without a judgement, that takes a plan in prose
)

// makers are the strategies. The table is written once, here, and read only.
var makers = []maker{
	of(completetask.Name, completetask.Table, completetask.New, completetask.Config{}),
	of(ToolFirst, completetask.Table, completetask.New, completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}}),
	of(LLMOnly, completetask.Table, completetask.New, completetask.Config{Tools: []string{}}),
	of(pre.Name, pre.Table, pre.New, pre.Config{}),
	of(PlanAndExecute, pre.Table, pre.New, pre.Config{
		Evaluation: pre.EvaluateNever, AcceptProse: true, Answer: pre.AnswerSynthesize,
	}),
	of(react.Name, react.Table, react.New, react.Config{}),
	of(reasonactobserve.Name, reasonactobserve.Table, reasonactobserve.New, reasonactobserve.Config{}),
	of(reflection.Name, reflection.Table, reflection.New, reflection.Config{}),
	of(retry.Name, retry.Table, retry.New, retry.Config{}),
}

// aliases are the names that others have given to them.
var aliases = map[string]string{
	"default":  completetask.Name,
	"planning": PlanAndExecute,
}
