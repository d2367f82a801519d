package planreviseexecute

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/segue-go/segue/internal/owntool"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/planorder"
	"github.com/segue-go/segue/tools"
)

// The tools by which the model drives the strategy. They run like any other tool, so that they can
// be observed, refused and approved. Each is offered only where it is wanted.
const (
	SubmitPlan       = "submit_plan"
	SubmitEvaluation = "submit_evaluation"
)

const evaluationSchema = `{
	"type": "object",
	"properties": {
		"approved": {"type": "boolean", "description": "whether the plan is good enough to be carried out"},
		"feedback": {"type": "string", "description": "what has to change"}
	},
	"required": ["approved"],
	"additionalProperties": false
}`

var (
	planDefinition = tools.Definition{
		Name:        SubmitPlan,
		Description: "Submits the plan: its steps, in order.",
		Parameters:  json.RawMessage(planorder.Schema),
		ReadOnly:    true,
	}
	evaluationDefinition = tools.Definition{
		Name:        SubmitEvaluation,
		Description: "Submits the judgement on the plan.",
		Parameters:  json.RawMessage(evaluationSchema),
		ReadOnly:    true,
	}
)

// Tools implements strategy.ToolProvider. An unusable plan is a failed call, whose result says why.
func (s *planReviseExecute) Tools() []tools.Tool {
	return append([]tools.Tool{s.tool(planDefinition), s.tool(evaluationDefinition)}, s.stepTools()...)
}

// tool returns a tool that checks its arguments against the schema, which is compiled once for all
// frames, and a plan against the rules.
func (s *planReviseExecute) tool(def tools.Definition) tools.Tool {
	return owntool.New(def, func(arguments string) (string, error) {
		_, err := s.schemas[def.Name].Arguments(arguments)
		if invalid, ok := errors.AsType[*tools.SchemaError](err); ok {
			err = &tools.ArgumentError{Tool: def.Name, Problems: invalid.Problems}
		}
		var plan Plan
		if err == nil && def.Name == SubmitPlan {
			plan, err = s.readPlan(messages.ToolCall{Name: SubmitPlan, Arguments: arguments})
		}
		if err != nil {
			return "", err
		}
		return s.Texts.Fill("Received", PromptData{Tool: def.Name, Plan: plan})
	})
}

// readPlan reads a submitted plan, and replaces the steps that are not done.
func (s *planReviseExecute) readPlan(call messages.ToolCall) (Plan, error) {
	var p Plan
	if err := call.Decode(&p); err != nil {
		return p, err
	}
	return s.plan.Revise(p, s.planRules())
}

// accepted returns the last call of the tool with a good result.
func accepted(calls []messages.ToolCall, results []messages.ToolOutput, tool string) (messages.ToolCall, bool) {
	for i, r := range slices.Backward(results) {
		if i < len(calls) && calls[i].Name == tool && r.OK() {
			return calls[i], true
		}
	}
	return messages.ToolCall{}, false
}
