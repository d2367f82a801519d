package bench_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// many is a limit that counts but is never reached: all limits are on in every row.
const many = 1 << 30

var limits = delegation.Limits{
	Depth: 16, Steps: many, ModelCalls: many, ToolCalls: many, InputTokens: many, OutputTokens: many, TotalTokens: many,
}

var addDefinition = tools.Definition{
	Name:        "add",
	Description: "Adds two numbers.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},` +
		`"required":["a","b"],"additionalProperties":false}`),
	ReadOnly: true,
}

// The kinds of tools for the library.

func (a *adder) raw() tools.Tool { return tools.NewRaw(addDefinition, a.call) }

func (a *adder) typed() tools.Tool {
	def := addDefinition
	def.Parameters = nil // inferred
	return tools.New(def, func(_ context.Context, in numbers) (string, error) { return strconv.Itoa(a.sum(in)), nil })
}

// client answers the library from a script.
func (s *script) client() llmclient.ClientFunc {
	replies := s.responses()
	return func(ctx context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		i, err := s.next(len(req.Messages))
		if err != nil {
			return nil, err
		}
		return replies[i], ctx.Err()
	}
}

// library is an orchestrator as a program would set it up, once.
func library(client llmclient.Client, offered ...tools.Tool) *orchestrator.Orchestrator {
	o, err := orchestrator.New(orchestrator.Config{
		Client: client,
		Strategies: strategy.Set{
			"work":     completetask.New(completetask.Config{MaxModelCalls: many}),
			"delegate": newDelegator,
		},
		Tools:  offered,
		Limits: limits,
	})
	if err != nil {
		panic(err)
	}
	return o
}

// agents is an orchestrator whose strategy "boss" delegates work by calling an agent.
func agents(client llmclient.Client, a *adder) *orchestrator.Orchestrator {
	hired := orchestrator.AgentTool(orchestrator.Agent{
		Definition: tools.Definition{
			Name: "delegate", Description: "Hands out a task.", Repeatable: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{"task":{"type":"string"}},"required":["task"],"additionalProperties":false}`),
		},
		Strategy: "work",
		Input: func(arguments string) (delegation.Input, error) {
			var in task
			err := json.Unmarshal([]byte(arguments), &in)
			return delegation.Input{Goal: in.Task}, err
		},
	})
	o, err := orchestrator.New(orchestrator.Config{
		Client: client,
		Strategies: strategy.Set{
			"boss": completetask.New(completetask.Config{Model: "parent", Tools: []string{"delegate"}, MaxModelCalls: many}),
			"work": completetask.New(completetask.Config{Tools: []string{"add"}, MaxModelCalls: many}),
		},
		Tools:  []tools.Tool{hired, a.raw()},
		Limits: limits,
	})
	if err != nil {
		panic(err)
	}
	return o
}

// stream runs a task and consumes every event of it.
func stream(ctx context.Context, o *orchestrator.Orchestrator, name, goal string) (outcome, error) {
	var out delegation.Output
	var text strings.Builder
	var run, frame string // of the current text
	for e, err := range o.Stream(ctx, orchestrator.Task{Strategy: name, Input: delegation.Input{Goal: goal}}) {
		if err != nil {
			return outcome{}, err
		}
		switch e.Kind {
		case machine.EventTextDelta:
			if e.Frame != frame || e.Run != run {
				run, frame = e.Run, e.Frame
				text.Reset()
			}
			text.WriteString(e.Text)
		case machine.EventRunFinished:
			out = e.Detail.(machine.RunFinished).Output
		default:
		}
	}
	if text.Len() > 0 {
		return outcome{answer: text.String(), library: out.Messages}, nil
	}
	return outcome{answer: out.Text(), library: out.Messages}, nil
}

// whole runs a task without events.
func whole(ctx context.Context, o *orchestrator.Orchestrator, name, goal string) (outcome, error) {
	res, err := o.Run(ctx, orchestrator.Task{Strategy: name, Input: delegation.Input{Goal: goal}})
	return outcome{answer: res.Output.Text(), library: res.Output.Messages}, err
}
