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
	// Definition names and describes the tool. Without Parameters it takes {"goal": "…"}, and with
	// FanOut {"goals": ["…", …]} instead if the model likes. A Timeout of 0 means none, since an
	// agent takes long.
	Definition tools.Definition

	Strategy string            // in Config.Strategies
	Limits   delegation.Limits // of each branch, within what is left of those of its caller; zero fields mean the caller's
	Tools    []string          // names of the tools it may use, of those its parent may; nil: all of them

	// FanOut lets one call open several branches at the same time, one for each of its goals. Its
	// result is then a JSON array, in the order of the goals.
	FanOut bool

	// Input makes the input of a branch of arguments that fit the Parameters; nil: "goal" is the
	// Goal, and all of the arguments are the Data. It is pure: a replay calls it again.
	Input func(arguments string) (delegation.Input, error)
}

// AgentTool returns a tool that runs a strategy: each call opens a branch of the same run, at the
// same time as the others of its batch, with a conversation of its own. Delegation puts a child on
// the stack of its caller; an agent stands beside the other calls.
//
//   - A branch is in the same journal as its run, under the same limits, and stops and waits with
//     it. Its frames are named by their place below the frame that called, and the event
//     FrameEntered says which call they answer.
//   - Limits of its own hold within what is left of those above it. What one branch leaves, the
//     others can use.
//   - At most Config.Parallel model calls, tool calls and remote delegations of the whole run are
//     performed at once; a branch that waits for calls of its own keeps no place.
//   - A branch that fails is a failed result, with the text that was reached. At the Timeout of its
//     Definition it is stopped.
//
// The tool works only in the [Orchestrator] whose Config holds it.
func AgentTool(a Agent) tools.Tool {
	t := &agentTool{spec: a, def: a.Definition}
	t.def.Idempotent = true // what it does is recorded call by call
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

// Check reports what is wrong with the Agent.
func (t *agentTool) Check() error { return t.err }

// Agent tells the machine what to open for a call.
func (t *agentTool) Agent() *machine.Agent { return &t.agent }

// Call implements [tools.Tool].
func (t *agentTool) Call(context.Context, string) (string, error) {
	return "", errors.New("orchestrator: an agent tool works only in a run of the orchestrator that it was configured in")
}

// inputs makes the inputs of the branches of a call: several, or one that was asked for as one.
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
