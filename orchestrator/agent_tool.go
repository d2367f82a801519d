package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// Agent is a strategy that a model can call as a tool. See [AgentTool].
type Agent struct {
	// Definition names and describes the tool. Without Parameters the tool takes {"goal": "…"};
	// with FanOut it also accepts {"goals": ["…", …]} instead. A Timeout of 0 means none, because
	// agents take long.
	Definition tools.Definition

	Strategy string            // in Config.Strategies
	Limits   delegation.Limits // limits of each branch, within what is left of the caller's limits; zero fields mean the caller's
	Tools    []string          // names of the caller's tools that it may use; nil: all of them

	// FanOut lets one call open several branches at the same time, one for each of its goals. Its
	// result is then a JSON array, in the order of the goals.
	FanOut bool

	// Input makes the input of a branch from arguments that fit the Parameters. Nil means that
	// "goal" becomes the Goal, and the whole arguments become the Data. Input must be pure: a
	// replay calls it again.
	Input func(arguments string) (delegation.Input, error)
}

// AgentTool returns a tool that runs a strategy. Each call opens a branch of the same run, with its
// own conversation, in parallel with the other calls of the batch. In contrast, delegation pushes a
// child on the stack of its parent, which waits for it.
//
//   - A branch is part of its run: it has the same journal and limits, and stops and waits with the
//     run. Its frames are named by their position below the caller's frame, and the event
//     FrameEntered says which call they answer.
//   - Its own limits apply within what is left of the limits above it. Budget that one branch does
//     not use is free for the others.
//   - At most Config.Parallel model calls, tool calls and remote delegations of the whole run are
//     performed at once. The call of an agent does not count.
//   - A branch that fails gives a failed result, with its text so far. A branch is stopped when the
//     Timeout of its Definition expires.
//
// The tool works only in an [Orchestrator] whose Config holds it.
func AgentTool(a Agent) tools.Tool {
	t := &agentTool{spec: a, def: a.Definition}
	t.def.Idempotent = true // its own calls are recorded one by one
	if t.def.Timeout == 0 {
		t.def.Timeout = -1
	}
	if t.def.Parameters == nil {
		t.def.Parameters = json.RawMessage(`{"type":"object","properties":{"goal":{"type":"string","description":"what to achieve, with all that is needed to know for it"}},"required":["goal"],"additionalProperties":false}`)
		if a.FanOut {
			t.def.Parameters = json.RawMessage(`{"type":"object","properties":{"goal":{"type":"string","description":"what to achieve, with all that is needed to know for it"},"goals":{"type":"array","items":{"type":"string"},"minItems":1,"description":"instead of goal: several, worked on at the same time"}},"additionalProperties":false}`)
		}
	}
	t.schema, t.err = tools.CompileSchema(t.def.Parameters)
	t.agent = machine.Agent{Strategy: a.Strategy, Limits: a.Limits, Tools: a.Tools, Inputs: t.inputs}
	if !a.FanOut || a.Input != nil {
		t.agent.Branches = 1
	}
	return t
}

type agentTool struct {
	spec   Agent
	def    tools.Definition
	agent  machine.Agent
	schema *tools.Schema
	err    error
}

// Definition implements [tools.Tool].
func (t *agentTool) Definition() tools.Definition { return t.def }

// Check returns an error if the Agent is invalid.
func (t *agentTool) Check() error { return t.err }

// Agent returns the agent, for package machine.
func (t *agentTool) Agent() *machine.Agent { return &t.agent }

// Call implements [tools.Tool].
func (t *agentTool) Call(context.Context, string) (string, error) {
	return "", errors.New("orchestrator: an agent tool works only in a run of the orchestrator that it was configured in")
}

// inputs makes the inputs of the branches of a call; several says whether the result is a list.
func (t *agentTool) inputs(arguments string) (inputs []delegation.Input, several bool, err error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if err := t.schema.Check(arguments); err != nil {
		return nil, false, err
	}
	if t.spec.Input != nil {
		in, err := t.spec.Input(arguments)
		return []delegation.Input{in}, false, err
	}
	var args struct {
		Goal  string          `json:"goal"`
		Goals json.RawMessage `json:"goals"`
	}
	var goals []string
	err = json.Unmarshal([]byte(arguments), &args)
	if err == nil && t.spec.FanOut && args.Goals != nil {
		err = json.Unmarshal(args.Goals, &goals)
	}
	if err != nil {
		return nil, false, &tools.ArgumentError{Tool: t.def.Name, Problems: []tools.Problem{{Message: err.Error()}}}
	}
	if t.spec.FanOut && (args.Goal == "") == (len(goals) == 0) {
		return nil, false, &tools.ArgumentError{Tool: t.def.Name, Problems: []tools.Problem{{Message: `needs either "goal" or "goals"`}}}
	}
	if len(goals) == 0 {
		return []delegation.Input{{Goal: args.Goal, Data: json.RawMessage(arguments)}}, false, nil
	}
	for _, goal := range goals {
		inputs = append(inputs, delegation.Input{Goal: goal})
	}
	return inputs, true, nil
}
