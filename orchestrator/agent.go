package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/tools"
)

// Agent is a strategy that a model can call as a tool. See [AgentTool].
type Agent struct {
	// Definition names and describes the tool. Without Parameters it takes {"goal": "…"}, and with
	// FanOut {"goals": ["…", …]} instead if the model likes. A Timeout of 0 means none, since an
	// agent takes long.
	Definition tools.Definition

	Strategy string            // in Config.Strategies
	Limits   delegation.Limits // of each run; never more than its parent has left
	Tools    []string          // names of the tools it may use, of those its parent may; nil: all of them

	// FanOut lets one call make several runs at the same time, one for each of its goals. Its
	// result is then a JSON array, in the order of the goals.
	FanOut bool

	// Input makes the input of a run of arguments that fit the Parameters; nil: "goal" is the Goal,
	// and all of the arguments are the Data.
	Input func(arguments string) (delegation.Input, error)
}

// AgentTool returns a tool that runs a strategy: each call is a run of its own, at the same time as
// the others of its batch, with a conversation, a journal and events of its own. Delegation puts a
// child on the stack of its run; an agent stands beside it.
//
//   - The run's id is derived from its parent's and the call ("run/seq/call_id"), so that a parent that is resumed finds
//     its agents again, and goes on with those that have not finished. A call id that holds "/", is not UTF-8, or is longer
//     than 128 bytes stands there as "~" and a hash, and so does what would make the id longer than a store takes. What an
//     agent waits for, its parent waits for.
//   - Its events come in the parent's stream, with the Run of the agent and a Depth below the frame that called it; its
//     RunStarted and RunFinished do not.
//   - Before it starts it is given its share of what the parent has left of each limit, divided by the number of agents in
//     the batch, so that together they cannot use more. What it has used counts as the parent's, also when its call was
//     abandoned: then the model call in progress counts as one without tokens.
//   - A failed run is a failed result, with the text that was reached.
//
// The tool works only in the [Orchestrator] whose Config holds it.
func AgentTool(a Agent) tools.Tool {
	t := &agentTool{Agent: a, def: a.Definition}
	t.def.Idempotent = true // its journal goes on where it was cut off
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
	return t
}

type agentTool struct {
	Agent
	def    tools.Definition
	schema *tools.Schema
	err    error
}

// Definition implements [tools.Tool].
func (t *agentTool) Definition() tools.Definition { return t.def }

// Check reports what is wrong with the Agent.
func (t *agentTool) Check() error { return t.err }

// Call implements [tools.Tool].
func (t *agentTool) Call(ctx context.Context, arguments string) (string, error) {
	h, ok := ctx.Value(hostKey{}).(*host)
	if !ok {
		return "", errors.New("orchestrator: an agent tool works only in a run of the orchestrator that it was configured in")
	}
	inputs, single, err := t.inputs(arguments)
	if err != nil {
		return "", err
	}
	call := tools.CallID(ctx)
	ids := h.runs(call, len(inputs), single)
	shares := h.shares(call, t.Limits, len(inputs))
	texts, errs := make([]string, len(inputs)), make([]error, len(inputs))
	var runs sync.WaitGroup
	for i, in := range inputs {
		runs.Go(func() {
			defer func() {
				if v := recover(); v != nil { // nobody above this goroutine could contain it
					errs[i] = fmt.Errorf("orchestrator: agent %s %w", t.def.Name, &PanicError{Value: v, Stack: debug.Stack()})
				}
			}()
			if shares[i] == nil {
				errs[i] = fmt.Errorf("orchestrator: agent %s was not started: the limits of the run leave nothing for it", t.def.Name)
				return
			}
			texts[i], errs[i] = h.make(ctx, t, call, Task{Run: ids[i], Strategy: t.Strategy, Input: in, Limits: *shares[i]})
		})
	}
	runs.Wait()
	if single {
		return texts[0], errs[0]
	}
	return gathered(texts, errs)
}

// errBrokeOff is the error of an agent whose run has not ended, and can go on.
var errBrokeOff = errors.New("orchestrator: the agent's run broke off")

// gathered makes one result of those of several runs.
func gathered(texts []string, errs []error) (string, error) {
	failed := 0
	for i, err := range errs {
		if errors.Is(err, ErrSuspended) || errors.Is(err, errBrokeOff) {
			return "", err
		}
		if err != nil {
			failed++
			texts[i] = "failed: " + err.Error()
		}
	}
	data, err := json.Marshal(texts)
	if err == nil && failed == len(errs) {
		err = errors.New(string(data))
	}
	return string(data), err
}

// inputs makes the inputs of the runs of a call. single says that it is one, asked for as one.
func (t *agentTool) inputs(arguments string) (inputs []delegation.Input, single bool, err error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if err := t.schema.Check(arguments); err != nil {
		return nil, false, err
	}
	if t.Input != nil {
		in, err := t.Input(arguments)
		return []delegation.Input{in}, true, err
	}
	var args struct {
		Goal  string          `json:"goal"`
		Goals json.RawMessage `json:"goals"`
	}
	var goals []string
	err = json.Unmarshal([]byte(arguments), &args)
	if err == nil && t.FanOut && args.Goals != nil {
		err = json.Unmarshal(args.Goals, &goals)
	}
	if err != nil {
		return nil, false, &tools.ArgumentError{Tool: t.def.Name, Problems: []tools.Problem{{Message: err.Error()}}}
	}
	if t.FanOut && (args.Goal == "") == (len(goals) == 0) {
		return nil, false, &tools.ArgumentError{Tool: t.def.Name, Problems: []tools.Problem{{Message: `needs either "goal" or "goals"`}}}
	}
	if len(goals) == 0 {
		return []delegation.Input{{Goal: args.Goal, Data: json.RawMessage(arguments)}}, true, nil
	}
	for _, goal := range goals {
		inputs = append(inputs, delegation.Input{Goal: goal})
	}
	return inputs, false, nil
}
