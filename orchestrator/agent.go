package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Agent is a strategy that a model can call as a tool. See [AgentTool].
type Agent struct {
	// Definition names and describes the tool. Without Parameters it takes {"goal": "…"}, and with FanOut {"goals": ["…", …]}
	// instead if the model likes. A Timeout of 0 means none, since an agent takes long.
	Definition tools.Definition

	Strategy string            // in Config.Strategies
	Limits   delegation.Limits // of each run; never more than its parent has left
	Tools    []string          // names of the tools it may use, of those its parent may; nil: all of them

	// FanOut lets one call make several runs at the same time, one for each of its goals. Its result is then a JSON array, in
	// the order of the goals.
	FanOut bool

	// Input makes the input of a run of arguments that fit the Parameters; nil: "goal" is the Goal, and all of the arguments
	// are the Data.
	Input func(arguments string) (delegation.Input, error)
}

// AgentTool returns a tool that runs a strategy: each call is a run of its own, at the same time as the others of its
// batch, with a conversation, a journal and events of its own. Delegation puts a child on the stack of its run; an agent
// stands beside it.
//
//   - The run's id is derived from its parent's and the call ("run/seq/call_id"), so that a parent that is resumed finds
//     its agents again, and goes on with those that have not finished. What an agent waits for, its parent waits for.
//   - Its events come in the parent's stream, with the Run of the agent and a Depth below the frame that called it; its
//     RunStarted and RunFinished do not.
//   - Before it starts it is given its share of what the parent has left of each limit, divided by the number of agents in
//     the batch, so that together they cannot use more. What it has used counts as the parent's.
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
	call := strings.TrimPrefix(tools.IdempotencyKey(ctx), h.call.Key()+"/")
	shares := h.shares(call, t.Limits, len(inputs))
	texts, errs := make([]string, len(inputs)), make([]error, len(inputs))
	var runs sync.WaitGroup
	for i, in := range inputs {
		id := h.call.Key() + "/" + call
		if !single {
			id += "/" + strconv.Itoa(i+1)
		}
		runs.Go(func() {
			if shares[i] == nil {
				errs[i] = fmt.Errorf("orchestrator: agent %s was not started: the limits of the run leave nothing for it", t.def.Name)
				return
			}
			texts[i], errs[i] = h.make(ctx, t, call, Task{Run: id, Strategy: t.Strategy, Input: in, Limits: *shares[i]})
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
		Goal  string   `json:"goal"`
		Goals []string `json:"goals"`
	}
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return nil, false, &tools.ArgumentError{Tool: t.def.Name, Problems: []tools.Problem{{Message: err.Error()}}}
	}
	if t.FanOut && (args.Goal == "") == (len(args.Goals) == 0) {
		return nil, false, &tools.ArgumentError{Tool: t.def.Name, Problems: []tools.Problem{{Message: `needs either "goal" or "goals"`}}}
	}
	if len(args.Goals) == 0 {
		return []delegation.Input{{Goal: args.Goal, Data: json.RawMessage(arguments)}}, true, nil
	}
	for _, goal := range args.Goals {
		inputs = append(inputs, delegation.Input{Goal: goal})
	}
	return inputs, false, nil
}

// host is what the agents of a step are run in. It reaches their tools through the context.
type host struct {
	run     *run
	call    Call
	allowed []tools.Definition
	left    remains
	agents  []string // the ids of the calls of agents, in order

	mu        sync.Mutex
	spent     map[string]nextstep.Spent // by call
	untrusted map[string]bool           // by call
}

type hostKey struct{}

// host prepares for the agents of a batch, on the goroutine of the loop.
func (r *run) host(calls []messages.ToolCall) *host {
	f, _ := r.m.stack.Top()
	h := &host{run: r, call: r.call, allowed: f.allowed, spent: map[string]nextstep.Spent{}, untrusted: map[string]bool{}}
	if step, ok := r.m.pending.(nextstep.ExecuteTools); ok {
		calls = step.Calls // those that wait have their share, too
	}
	h.left = r.m.remains(len(calls)).without(r.asks().spent)
	h.call.Replies = nil
	if r.people != nil {
		h.call.Replies = r.call.Replies
	}
	for _, c := range calls {
		if _, done := resultOf(r.partial, c.ID); done {
			continue
		}
		if t, ok := r.lookup(c.Name); ok && agentOf(t) != nil {
			h.agents = append(h.agents, c.ID)
		}
	}
	return h
}

// agentOf returns the agent tool that t is or wraps; nil if there is none.
func agentOf(t tools.Tool) *agentTool {
	for t != nil {
		if a, ok := t.(*agentTool); ok {
			return a
		}
		u, ok := t.(interface{ Unwrap() tools.Tool })
		if !ok {
			return nil
		}
		t = u.Unwrap()
	}
	return nil
}

// settle tells what the agents of a batch have used whose calls have a result, and those that were cut off; what agents
// have used that wait is told when they are resumed. It marks results that hold text from outside. A nil host had none.
func (h *host) settle(results []messages.ToolOutput) (done, cut nextstep.Spent) {
	if h == nil {
		return done, cut
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range results {
		o := &results[i]
		o.Untrusted = o.Untrusted || h.untrusted[o.CallID]
		switch {
		case isSuspended(*o):
		case o.Reason == messages.ReasonInterrupted:
			cut = cut.Add(h.spent[o.CallID])
		default:
			done = done.Add(h.spent[o.CallID])
		}
	}
	return done, cut
}

// make makes the run of a task, or goes on with it, and returns its result.
func (h *host) make(ctx context.Context, t *agentTool, call string, task Task) (string, error) {
	r, err := h.begin(ctx, t, &task)
	if err != nil {
		return "", err
	}
	if r.m.Done() {
		defer r.close()
		return h.result(r, t, call, RunFinished{Status: r.m.status, Output: r.m.output})
	}
	var text string
	err = errBrokeOff
	r.goOn(ctx, h.run.stop, h.run.streams, func(e Event, _ error) bool {
		switch d := e.Detail.(type) {
		case RunStarted, RunResumed:
			return true
		case RunFinished:
			text, err = h.result(r, t, call, d)
			return true
		}
		if !h.run.streams {
			return true
		}
		e.Depth += h.call.Depth
		return h.run.sink.nest(ctx, &e, h.call.Seq)
	})
	return text, err
}

// begin starts a run, or takes it up from its journal.
func (h *host) begin(ctx context.Context, t *agentTool, task *Task) (*run, error) {
	o, allowed := h.run.o, narrow(h.allowed, t.Tools)
	if o.store == nil || len(h.call.Replies) == 0 && !h.run.resumed {
		return o.begin(ctx, task, allowed, origin{run: h.call.Run, untrusted: h.call.Untrusted}, h.run.streams)
	}
	r, err := o.load(ctx, task.Run, allowed)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return o.begin(ctx, task, allowed, origin{run: h.call.Run, untrusted: h.call.Untrusted}, h.run.streams)
	}
	if err != nil || r.m.Done() {
		return r, err
	}
	var replies []Reply
	for _, reply := range h.call.Replies {
		if r.asks().problem(reply, time.Now()) == "" {
			replies = append(replies, reply)
		}
	}
	if err := r.take(ctx, replies); err != nil {
		r.close()
		return nil, err
	}
	r.m.Events() // they have been told
	r.resumed = true
	return r, nil
}

// result makes the result of a call of how its run ended. It is called before the run is let go of.
func (h *host) result(r *run, t *agentTool, call string, end RunFinished) (string, error) {
	used := r.m.root.used
	if end.Status == StatusWaiting {
		h.run.people.nested(h.call.Seq, call, end.Waits)
		return "", &SuspendedError{Waits: end.Waits}
	}
	h.mu.Lock()
	h.spent[call] = h.spent[call].Add(nextstep.Spent{Steps: used.steps, ModelCalls: used.modelCalls, ToolCalls: used.toolCalls, Usage: used.usage})
	h.untrusted[call] = h.untrusted[call] || r.m.untrusted
	h.mu.Unlock()
	if end.Output.Err == nil {
		return end.Output.Text(), nil
	}
	text := fmt.Sprintf("orchestrator: agent %s ended as %s: %s", t.def.Name, end.Status, end.Output.Err.Message)
	if reached := end.Output.Text(); reached != "" {
		text += "\nIt had reached this:\n" + reached
	}
	return "", errors.New(text)
}

// remains is what is left of each limit of a run; negative: it has none.
type remains struct {
	depth, steps, modelCalls, toolCalls int64
	input, output, total                int64
}

// remains returns what the frame on top has left, once a batch of that many calls is paid for.
func (m *Machine) remains(calls int) remains {
	left := remains{-1, -1, -1, -1, -1, -1, -1}
	for i, f := range m.stack.All() {
		l, u := &f.limits, &f.used
		left = remains{
			depth:      lesser(left.depth, int64(l.Depth), int64(m.stack.Depth()-i)),
			steps:      lesser(left.steps, int64(l.Steps), int64(u.steps)),
			modelCalls: lesser(left.modelCalls, int64(l.ModelCalls), int64(u.modelCalls)),
			toolCalls:  lesser(left.toolCalls, int64(l.ToolCalls), int64(u.toolCalls+calls)),
			input:      lesser(left.input, l.InputTokens, u.usage.Input),
			output:     lesser(left.output, l.OutputTokens, u.usage.Output),
			total:      lesser(left.total, l.TotalTokens, u.usage.Total),
		}
	}
	return left
}

// without returns what is left once that is spent.
func (l remains) without(s nextstep.Spent) remains {
	rest := func(left, used int64) int64 {
		if left < 0 {
			return left
		}
		return max(0, left-used)
	}
	return remains{
		depth: l.depth, steps: rest(l.steps, int64(s.Steps)), modelCalls: rest(l.modelCalls, int64(s.ModelCalls)),
		toolCalls: rest(l.toolCalls, int64(s.ToolCalls)), input: rest(l.input, s.Usage.Input),
		output: rest(l.output, s.Usage.Output), total: rest(l.total, s.Usage.Total),
	}
}

// lesser returns the smaller of what is left and what is left of another limit.
func lesser(left, limit, used int64) int64 {
	if limit < 0 {
		return left
	}
	rest := max(0, limit-used)
	if left < 0 {
		return rest
	}
	return min(left, rest)
}

// shares reserves what each of the runs of a call may use; nil for one that nothing is left for.
func (h *host) shares(call string, own delegation.Limits, runs int) []*delegation.Limits {
	agents, place := max(1, len(h.agents)), 0
	for i, id := range h.agents {
		if id == call {
			place = i
		}
	}
	all := make([]*delegation.Limits, runs)
	for i := range all {
		some := true
		share := func(left, limit int64) int64 {
			if left < 0 {
				return limit
			}
			mine := part(part(left, agents, place), runs, i)
			some = some && mine > 0
			if limit <= 0 {
				return mine
			}
			return min(limit, mine)
		}
		l := delegation.Limits{
			Steps:        int(share(h.left.steps, int64(own.Steps))),
			ModelCalls:   int(share(h.left.modelCalls, int64(own.ModelCalls))),
			ToolCalls:    int(share(h.left.toolCalls, int64(own.ToolCalls))),
			InputTokens:  share(h.left.input, own.InputTokens),
			OutputTokens: share(h.left.output, own.OutputTokens),
			TotalTokens:  share(h.left.total, own.TotalTokens),
			Depth:        own.Depth,
		}
		if h.left.depth >= 0 && (l.Depth <= 0 || int64(l.Depth) > h.left.depth) {
			l.Depth = int(h.left.depth)
			some = some && l.Depth > 0
		}
		if some {
			all[i] = &l
		}
	}
	return all
}

// part is the share of the one at a place when so many share something.
func part(whole int64, among, place int) int64 {
	share := whole / int64(among)
	if int64(place) < whole%int64(among) {
		share++
	}
	return share
}
