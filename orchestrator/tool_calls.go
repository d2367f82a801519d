package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// callTool makes a call. Without middleware it was prepared with the effect.
func (x *execution) callTool(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	if x.run.o.wrapped {
		return x.callChanged(ctx, e)
	}
	return x.finished(x.running(), x.running().Perform(), nil)
}

// callChanged makes a call that a middleware may have changed, if the changed call is allowed.
func (x *execution) callChanged(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	o, was := x.run.o, &x.effect
	if e.Call.ID != was.Call.ID || e.Call.Name != was.Call.Name {
		return nil, fmt.Errorf("orchestrator: a middleware made the call %.64q of %.64q another one", was.Call.ID, was.Call.Name)
	}
	var made *messages.ToolCall
	if e.Call.Arguments != was.Call.Arguments {
		if why := o.refusesChanged(was, e); why != "" {
			return x.refuse(why), nil
		}
		made = &e.Call
	}
	c := x.beginCall(ctx, e)
	if !x.arm(c) {
		return nil, fmt.Errorf("orchestrator: the call %.64q of %.64q was made already, and a tool that is neither read-only nor idempotent is called once", was.Call.ID, was.Call.Name)
	}
	if _, ok := c.Due(); ok {
		x.run.box.post(mail{execution: x, event: &machine.Event{}}) // wakes the loop, which sets the deadline
	}
	return x.finished(c, c.Perform(), made)
}

// refuse returns the result of a call that is not allowed as a middleware changed it.
func (x *execution) refuse(why string) nextstep.Answer {
	c := &x.effect.Call
	return nextstep.ToolResult{Output: messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: messages.ReasonRefused, Output: why}}
}

// refusesChanged says why a changed call is not allowed; "" if it is.
func (o *Orchestrator) refusesChanged(was, e *machine.Effect) string {
	if was.Approved {
		return "the call is not what a person approved: its arguments were changed"
	}
	if o.approve == nil || was.Definition == nil {
		return ""
	}
	v := o.approve(machine.ApprovalRequest{
		Run: was.Run, Frame: was.Frame, Strategy: was.Strategy, Seq: was.ID.Seq, Call: e.Call, Definition: *was.Definition, Untrusted: was.Untrusted,
	})
	if v == machine.VerdictAllow {
		return ""
	}
	return "the arguments of the call were changed, and as it is now it is not allowed"
}

// finished converts the result of a call to an answer.
func (x *execution) finished(c *toolrun.Running, out messages.ToolOutput, made *messages.ToolCall) (nextstep.Answer, error) {
	if out.Reason == tools.ReasonSuspended {
		if s, ok := c.Suspended(); ok {
			return x.suspendedCall(&s)
		}
		return nil, x.suspension(&out)
	}
	out.Untrusted = out.Untrusted || x.readUntrusted.Load()
	return nextstep.ToolResult{Output: out, Call: made}, nil
}

// suspension returns the waits of a tool that returned without a result.
func (x *execution) suspension(out *messages.ToolOutput) *SuspendedError {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waits) > 0 {
		return &SuspendedError{Waits: x.waits}
	}
	return &SuspendedError{Waits: []machine.Wait{{Kind: machine.WaitQuestion, Text: out.Output}}} // the tool did not use Ask
}

// beginCall prepares the call of the effect, which a middleware may have changed.
func (x *execution) beginCall(ctx context.Context, e *machine.Effect) *toolrun.Running {
	o := x.run.o
	job := toolrun.Job{
		Call: e.Call, Tool: x.tool, Names: o.names, MaxResult: x.mostKept(e.Call.Name),
		Key: x.effect.Key(), Ask: x.ask, Resumption: x.resumption(),
	}
	runner := o.runner
	runner.OnPanic = x.toolPanicked
	if x.run.streams {
		job.Progress = x.progress
	}
	return runner.Begin(ctx, job)
}

func (x *execution) toolPanicked(call messages.ToolCall, value any, stack []byte) {
	x.panicked("the tool "+call.Name, value, stack)
}

// progress emits the progress of a tool, unless the consumer is far behind.
func (x *execution) progress(text string) {
	if x.run.o.heldBack() {
		return
	}
	e := x.event()
	e.Time, e.Kind, e.Text = time.Now(), machine.EventToolProgress, text
	e.Detail = machine.ToolProgress{CallID: x.effect.Call.ID, ToolName: x.effect.Call.Name}
	x.run.box.try(mail{execution: x, event: &e})
}

// toolOf returns the tool of a call; nil if no tool has its name.
func (o *Orchestrator) toolOf(e *machine.Effect) tools.Tool {
	if e.Tool != nil {
		return e.Tool
	}
	tool, _ := o.tools.Lookup(e.Call.Name)
	return tool
}

// suspendedState is the state of an effect whose tool or remote has called [tools.Suspend]. It
// stands in the journal.
type suspendedState struct {
	Version int             `json:"tool_state"`      // suspendedVersion
	Waits   []string        `json:"waits"`           // IDs of the waits of the questions, in their order
	State   json.RawMessage `json:"state,omitempty"` // the tool's own
}

const suspendedVersion = 1

// suspendedCall returns the error of a call that its tool has suspended, with the waits for its
// questions. A call whose questions nobody can be asked has failed.
func (x *execution) suspendedCall(s *toolrun.Suspension) (nextstep.Answer, error) {
	for i := range s.Questions {
		if problem := kindTaken(s.Questions[i].Kind); problem != nil {
			return x.failedCall(problem.Error()), nil
		}
	}
	return nil, x.suspended(s)
}

// suspended returns the error of an effect that goes on with a state when its questions are
// answered.
func (x *execution) suspended(s *toolrun.Suspension) error {
	state := suspendedState{Version: suspendedVersion, State: s.State}
	err := &SuspendedError{}
	for i := range s.Questions {
		w, problem := x.waitFor(&s.Questions[i])
		if problem != nil {
			return problem
		}
		state.Waits, err.Waits = append(state.Waits, w.ID), append(err.Waits, w)
	}
	data, problem := json.Marshal(state)
	if problem != nil {
		return fmt.Errorf("orchestrator: the state of a suspended effect: %w", problem)
	}
	err.State = data
	return err
}

func (x *execution) failedCall(text string) nextstep.Answer {
	c := &x.effect.Call
	return nextstep.ToolResult{Output: messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: tools.ReasonError, Output: text,
	}}
}

// resumption returns how the effect goes on that its tool or remote has suspended; nil if it
// begins. The state of a middleware is not theirs. Of a state that a newer release wrote they get
// nothing, and must not begin again. The state of a remote that an earlier release stored is bare.
func (x *execution) resumption() *tools.Resumption {
	if x.effect.State == nil {
		return nil
	}
	var s suspendedState
	r := new(tools.Resumption)
	switch {
	case json.Unmarshal(x.effect.State, &s) == nil && s.Version == suspendedVersion:
		r.State = s.State
	case s.Version != 0:
		return r
	case x.effect.Kind != machine.EffectRemote || x.run.o.wrapped:
		return nil
	default:
		r.State = x.effect.State
		for i := range x.effect.Replies {
			s.Waits = append(s.Waits, x.effect.Replies[i].Wait.ID)
		}
	}
	for _, id := range s.Waits {
		r.Answers = append(r.Answers, answerTo(x.effect.Replies, id))
	}
	return r
}

// errNoAnswer is the error of a question of a suspended call that has no answer in the journal.
var errNoAnswer = errors.New("orchestrator: the question has no answer")

// answerTo returns the last answer to a wait.
func answerTo(replies []machine.Exchange, id string) tools.Answer {
	for _, ex := range slices.Backward(replies) {
		if ex.Wait.ID == id {
			text, err := answerOf(ex)
			return tools.Answer{Text: text, Err: err}
		}
	}
	return tools.Answer{Err: errNoAnswer}
}

// Agent is a strategy that a model can call as a tool. See [AgentTool].
type Agent struct {
	// Definition names and describes the tool. Without Parameters the tool takes {"goal": "…"};
	// with FanOut it also accepts {"goals": ["…", …]} instead. A Timeout of 0 means none, because
	// agents take long.
	Definition tools.Definition

	Strategy string            // in Config.Strategies
	Limits   delegation.Limits // limits of each branch, within what is left of the caller's limits; zero fields mean the caller's
	Tools    []string          // names of the caller's tools that it may use; nil: all of them
	Model    string            // for the requests of a branch that set none; "": that of the caller

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
	t.agent = machine.Agent{Strategy: a.Strategy, Limits: a.Limits, Tools: a.Tools, Model: a.Model, Inputs: t.inputs}
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
	if arguments, err = t.schema.Arguments(arguments); err != nil {
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
