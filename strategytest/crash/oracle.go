package crash

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// oracle runs a task as one would by hand: a strategy at work is a call of a function, a child is a
// call within it, and the calls of a batch are made one after the other. It knows no journal, no
// branches side by side and no crash, and shares no code with package machine, whose types it uses
// to say what happened. Limits are none of its business.
type oracle struct {
	cfg    *orchestrator.Config
	task   *orchestrator.Task
	set    strategy.Set
	tools  *tools.Set
	agents map[string]*machine.Agent
	policy machine.ApprovalPolicy
	prices llmclient.Prices
	script *script
	person func(machine.Wait) machine.Reply
	large  *keeping

	happened history
	steps    int
}

// unsupported is the panic of an oracle that does not know what a run does next.
type unsupported string

// mostSteps bounds a run that does not end by itself.
const mostSteps = 100_000

// newOracle returns an oracle for a case.
func newOracle(c *Case, s *script) (*oracle, error) {
	cfg := c.Config()
	task, large := c.Task, keepingOf(&cfg)
	if c.reader != nil {
		cfg.Tools = append(slices.Clip(cfg.Tools), large.reader(*c.reader, task.Run))
	}
	set, err := tools.NewSet(cfg.Tools...)
	if err != nil {
		return nil, err
	}
	strategies, root := strategiesOf(&cfg, &task)
	task.Strategy = root
	return &oracle{
		cfg: &cfg, task: &task, set: strategies, tools: set, agents: agentsOf(cfg.Tools), policy: policyOf(cfg.Approve),
		prices: llmclient.KnownPrices().With(cfg.Prices), script: s, person: c.reply, large: large, happened: newHistory(),
	}, nil
}

// strategiesOf returns the strategies of a run, that of its task among them, and the name of the
// first.
func strategiesOf(cfg *orchestrator.Config, task *orchestrator.Task) (set strategy.Set, root string) {
	set, root = cfg.Strategies, task.Strategy
	names := set.Names()
	switch {
	case task.Factory != nil:
		if root == "" {
			root = "task"
		}
		set = maps.Clone(set)
		set[root] = task.Factory
	case root == "" && cfg.Default != "":
		root = cfg.Default
	case root == "" && len(names) == 1:
		root = names[0]
	}
	return set, root
}

// agentsOf returns the tools that are agents, by name.
func agentsOf(list []tools.Tool) map[string]*machine.Agent {
	agents := map[string]*machine.Agent{}
	for _, t := range list {
		if a := machine.AgentOf(t); a != nil {
			agents[t.Definition().Name] = a
		}
	}
	return agents
}

// policyOf returns what the documentation of orchestrator.ApprovalConfig says.
func policyOf(c *orchestrator.ApprovalConfig) machine.ApprovalPolicy {
	asksForIt := func(r machine.ApprovalRequest) machine.Verdict {
		if r.Definition.NeedsApproval {
			return machine.VerdictAsk
		}
		return machine.VerdictAllow
	}
	if c == nil {
		return asksForIt
	}
	return func(r machine.ApprovalRequest) machine.Verdict {
		switch policy := c.Tools[r.Definition.Name]; {
		case policy != nil:
			return policy(r)
		case r.Definition.NeedsApproval:
			return machine.VerdictAsk
		case c.Default != nil:
			return c.Default(r)
		default:
			return machine.AskIfChanging(r)
		}
	}
}

// actor is a strategy at work.
type actor struct {
	name     string // as actors are named
	strategy string
	st       strategy.Strategy
	up       *actor // nil: it is the first
	in       delegation.Input
	allowed  []tools.Definition      // of the run's tools
	own      []tools.Tool            // that the strategy has brought
	offered  []tools.Definition      // by its last request
	asked    messages.History        // the last request
	since    []messages.Message      // what came after it
	aside    messages.Assistant      // the reply of a request aside, until the next step
	ended    []strategy.BranchOutput // of the agents that it has called in this batch
	news     *int                    // what was new: to it, or others on the same stack
	made     map[string]*madeCall    // the calls that its model has made
	outside  *bool                   // text from outside was read: by it, or others on the same stack
	state    strategy.State
	requests int

	counts   delegation.Counts
	usage    messages.Usage
	cost     messages.Cost
	unpriced int
}

// run runs the task to its end.
func (o *oracle) run(ctx context.Context) (out delegation.Output, err error) {
	defer func() {
		if v := recover(); v != nil {
			why, ok := v.(unsupported)
			if !ok {
				panic(v)
			}
			err = fmt.Errorf("the oracle cannot follow the run: %s", string(why))
		}
	}()
	defs := o.tools.Definitions()
	if o.task.Tools != nil {
		defs = named(defs, o.task.Tools)
	}
	root, err := o.actor(nil, "", o.task.Strategy, o.task.Input)
	if err != nil {
		return out, err
	}
	root.allowed, root.outside, root.news = defs, new(holdsUntrusted(o.task.Input.Messages)), new(int)
	o.happened.add(root.name, machine.EventRunStarted, machine.RunStarted{
		Strategy: root.strategy, Goal: root.in.Goal, Metadata: o.task.Metadata,
	})
	out = o.play(ctx, root, machine.FrameEntered{})
	o.happened.add(root.name, machine.EventRunFinished, machine.RunFinished{
		Status: statusOf(out.Err), Strategy: root.strategy, Output: out,
	})
	return out, nil
}

// statusOf is the status of a run with that error.
func statusOf(err *delegation.Error) machine.Status {
	if err == nil {
		return machine.StatusDone
	}
	switch err.Code {
	case delegation.CodeLimit:
		return machine.StatusLimit
	case delegation.CodeStopped:
		return machine.StatusStopped
	default:
		return machine.StatusFailed
	}
}

// actor makes an actor. Call is the tool call that it answers; "" if it is delegated to.
func (o *oracle) actor(up *actor, call, name string, in delegation.Input) (*actor, error) {
	st, err := o.set.New(name)
	if err != nil {
		return nil, err
	}
	above := ""
	if up != nil {
		above = up.name
	}
	a := &actor{name: o.happened.actor(above, call), strategy: name, st: st, up: up, in: in}
	if p, ok := st.(strategy.ToolProvider); ok {
		a.own = p.Tools()
	}
	return a, nil
}

// play has an actor work to its end.
func (o *oracle) play(ctx context.Context, a *actor, entered machine.FrameEntered) delegation.Output {
	entered.Strategy, entered.Goal, entered.Messages = a.strategy, a.in.Goal, len(a.in.Messages)
	o.happened.add(a.name, machine.EventFrameEntered, entered)
	if t, ok := a.st.(strategy.Tabler); ok {
		a.state = t.FSM().State()
	}
	step := o.decide(a, func() nextstep.NextStep {
		if u, ok := a.st.(strategy.ToolUser); ok {
			u.UseTools(a.allowed)
		}
		return a.st.Initialize(a.in)
	})
	for {
		if o.steps++; o.steps > mostSteps {
			panic(unsupported(fmt.Sprintf("it takes more than %d steps", mostSteps)))
		}
		switch s := step.(type) {
		case nextstep.GetChatCompletion:
			step = o.ask(ctx, a, s)
		case nextstep.ExecuteTools:
			step = o.batch(ctx, a, s.Calls)
		case nextstep.Delegate:
			step = o.delegate(ctx, a, s)
		case nextstep.Complete:
			return o.leave(a, s.Output)
		case nextstep.ReportError:
			out := s.Output
			out.Err = delegation.AsError(s.Err)
			return o.leave(a, out)
		default:
			panic(unsupported(fmt.Sprintf("the strategy %s returned a %T", a.strategy, step)))
		}
	}
}

// decide calls a method of an actor's strategy, and tells the state that it is in then.
func (o *oracle) decide(a *actor, method func() nextstep.NextStep) nextstep.NextStep {
	var fsm *strategy.FSM
	if t, ok := a.st.(strategy.Tabler); ok {
		fsm = t.FSM()
	}
	before := fsm.Moves()
	step := method()
	moves := fsm.Moves() - before
	if now := fsm.State(); moves > 0 {
		moved := machine.StateChanged{Strategy: a.strategy, From: a.state, To: now}
		if moves == 1 {
			moved.On = fsm.Trigger()
		}
		o.happened.add(a.name, machine.EventStateChanged, moved)
		a.state = now
	}
	return step
}

// leave completes what an actor leaves.
func (o *oracle) leave(a *actor, out delegation.Output) delegation.Output {
	if out.Messages == nil {
		out.Messages = a.conversation()
	}
	out.Messages, _ = out.Messages.Repair()
	out.Begin = a.begins(out.Messages)
	out.Usage, out.Counts, out.Cost, out.Unpriced, out.Untrusted, out.Elapsed = a.usage, a.counts, a.cost, a.unpriced, *a.outside, 0
	o.happened.add(a.name, machine.EventFrameLeft, machine.FrameLeft{
		Strategy: a.strategy, Result: out.Result, Usage: out.Usage, Cost: out.Cost, Unpriced: out.Unpriced, Err: out.Err,
	})
	return out
}

// conversation is what an actor has asked and was answered.
func (a *actor) conversation() messages.History {
	h := a.asked
	if h == nil {
		h, _ = delegation.Input{Goal: a.in.Goal, Messages: a.in.Messages}.Conversation("")
	}
	return append(h.Clip(), a.since...)
}

// begins is where the turn of an actor begins in its conversation.
func (a *actor) begins(h messages.History) int {
	given, _ := a.in.Messages.Repair()
	n := len(given)
	if n == 0 || len(h) == 0 {
		return 0
	}
	if h[0].Role() == messages.RoleSystem && given[0].Role() != messages.RoleSystem {
		n++
	}
	if n > len(h) || textOf(h[n-1]) != textOf(given.Last()) {
		return 0
	}
	return n
}

// charge counts what an actor has used, and all above it with it.
func (a *actor) charge(c delegation.Counts, u messages.Usage, cost messages.Cost, unpriced int) {
	for ; a != nil; a = a.up {
		a.counts.Steps += c.Steps
		a.counts.ModelCalls += c.ModelCalls
		a.counts.ToolCalls += c.ToolCalls
		a.usage = a.usage.Add(u)
		a.cost = a.cost.Add(cost)
		a.unpriced += unpriced
	}
}

func holdsUntrusted(h messages.History) bool {
	for _, m := range h {
		if t, ok := m.(messages.Tool); ok && t.Untrusted {
			return true
		}
		if u, ok := m.(messages.User); ok && u.Untrusted {
			return true
		}
	}
	return false
}

// named returns those definitions that are named.
func named(defs []tools.Definition, names []string) []tools.Definition {
	list := []tools.Definition{}
	for _, d := range defs {
		if slices.Contains(names, d.Name) {
			list = append(list, d)
		}
	}
	return list
}
