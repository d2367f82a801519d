package explore

import (
	"reflect"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// standIn wraps a strategy, and checks the arguments and results of its methods. The strategy
// behind it can be replaced. It has all optional methods; where the strategy lacks one, it does
// what the Machine would do.
type standIn struct {
	strategy.Strategy
	walk    *walk
	factory func() strategy.Strategy
	given   []tools.Definition
	uses    bool         // UseTools was called
	own     []tools.Tool // that the strategy behind it brings
	began   []byte       // the JSON form of its input
	chosen  []byte       // that of the input for its successor; nil if there is none
}

// tabledStandIn is a standIn for a Tabler.
type tabledStandIn struct{ *standIn }

// FSM implements strategy.Tabler.
func (s tabledStandIn) FSM() *strategy.FSM { return s.Strategy.(strategy.Tabler).FSM() }

// stand returns the strategy for the Machine: the strategy itself, or a standIn in a walk that
// looks closely.
func (w *walk) stand(st strategy.Strategy, factory func() strategy.Strategy) (strategy.Strategy, *standIn) {
	if st == nil || w.as != closely && w.as != restored {
		return st, nil
	}
	s := &standIn{Strategy: st, walk: w, factory: factory}
	_, tabled := st.(strategy.Tabler)
	_, listens := st.(strategy.Listener)
	switch {
	case tabled && listens:
		return listeningTabledStandIn{tabledStandIn{s}}, s
	case tabled:
		return tabledStandIn{s}, s
	case listens:
		return listeningStandIn{s}, s
	default:
		return s, s
	}
}

// listeningStandIn is a standIn for a Listener: a Machine tells which frames are.
type listeningStandIn struct{ *standIn }

// Hear implements strategy.Listener.
func (s listeningStandIn) Hear(note string) { s.Strategy.(strategy.Listener).Hear(note) }

// listeningTabledStandIn is a standIn for a Tabler that is a Listener.
type listeningTabledStandIn struct{ tabledStandIn }

// Hear implements strategy.Listener.
func (s listeningTabledStandIn) Hear(note string) { s.Strategy.(strategy.Listener).Hear(note) }

// returned checks a step that the strategy returned.
func (s *standIn) returned(step nextstep.NextStep) nextstep.NextStep {
	s.walk.lookFor(step)
	done, ok := step.(nextstep.Complete)
	if !ok {
		return step
	}
	if _, err := nextstep.Marshal(done); err != nil {
		s.walk.complain(lawJSON, "there is none of its Complete: %v", err)
	}
	s.concluded("its Complete", done.Output.Messages)
	if done.Handoff != nil {
		s.hands(done.Handoff)
	}
	return step
}

// concluded checks the last conversation of a strategy.
func (s *standIn) concluded(what string, h messages.History) {
	if err := h.Validate(); err != nil {
		s.walk.complain(lawOutput, "%s: %v", what, err)
	}
}

// closed returns a conversation in which the open last calls have results, as the Machine adds them
// when a strategy concludes.
func closed(h messages.History) messages.History {
	last := len(h) - 1
	for last >= 0 && h[last].Role() == messages.RoleTool {
		last--
	}
	if last < 0 {
		return h
	}
	reply, _ := h[last].(messages.Assistant)
	h = h.Clip()
	for _, c := range reply.Calls() {
		if !slices.ContainsFunc(h[last+1:], func(m messages.Message) bool { return m.(messages.Tool).CallID == c.ID }) {
			h = append(h, messages.Tool{ToolOutput: messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed}})
		}
	}
	return h
}

// unchanged complains if a strategy has changed its arguments.
func (s *standIn) unchanged(what string, now, before any) {
	if !reflect.DeepEqual(now, before) {
		s.walk.complain(lawGiven, "it has written to %s that it was given", what)
	}
}

func (s *standIn) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	before := slices.Clone(resp.Message.Content)
	s.walk.said(&resp)
	step := s.returned(s.Strategy.ProcessAPIResponse(resp))
	s.unchanged("the reply", resp.Message.Content, before)
	return step
}

func (s *standIn) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	before := slices.Clone(results)
	step := s.returned(s.Strategy.ProcessToolResults(results))
	s.unchanged("the results", results, before)
	return step
}

func (s *standIn) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	before, data, result := slices.Clone(out.Messages), string(out.Data), out.Text()
	step := s.returned(s.Strategy.ProcessDelegationResult(out))
	s.unchanged("the output", out.Messages, before)
	s.unchanged("the output", string(out.Data), data)
	s.unchanged("the output", out.Text(), result)
	return step
}

// Initialize implements strategy.Strategy.
func (s *standIn) Initialize(in delegation.Input) nextstep.NextStep {
	before, data := slices.Clone(in.Messages), string(in.Data)
	s.began = formOf(&in)
	step := s.returned(s.Strategy.Initialize(in))
	s.unchanged("the input", in.Messages, before)
	s.unchanged("the input", string(in.Data), data)
	return step
}

// ProcessFailure implements strategy.FailureHandler.
func (s *standIn) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	h, ok := s.Strategy.(strategy.FailureHandler)
	if !ok {
		return nextstep.ReportError{Err: &delegation.Error{Code: f.Code, Message: f.Message}}
	}
	return s.returned(h.ProcessFailure(f))
}

// UseTools implements strategy.ToolUser.
func (s *standIn) UseTools(defs []tools.Definition) {
	s.given, s.uses = defs, true
	if u, ok := s.Strategy.(strategy.ToolUser); ok {
		before := slices.Clone(defs)
		u.UseTools(defs)
		s.unchanged("the tools", defs, before)
	}
}

// EditCalls implements strategy.CallEditor.
func (s *standIn) EditCalls(calls []messages.ToolCall) {
	if e, ok := s.Strategy.(strategy.CallEditor); ok {
		before := slices.Clone(calls)
		e.EditCalls(calls)
		s.unchanged("the calls", calls, before)
	}
}

// Inherit implements strategy.Inheritor.
func (s *standIn) Inherit(out delegation.Output) {
	if h, ok := s.Strategy.(strategy.Inheritor); ok {
		h.Inherit(out)
	}
}

// InheritBranches implements strategy.BranchInheritor.
func (s *standIn) InheritBranches(outs []strategy.BranchOutput) {
	if h, ok := s.Strategy.(strategy.BranchInheritor); ok {
		before := slices.Clone(outs)
		h.InheritBranches(outs)
		s.unchanged("the outputs of branches", outs, before)
	}
}

// Conclude implements strategy.Concluder.
func (s *standIn) Conclude(reason string) (out delegation.Output) {
	if c, ok := s.Strategy.(strategy.Concluder); ok {
		out = c.Conclude(reason)
		s.concluded("its Conclude", closed(out.Messages))
	}
	return out
}

// Tools implements strategy.ToolProvider.
func (s *standIn) Tools() []tools.Tool {
	p, ok := s.Strategy.(strategy.ToolProvider)
	if !ok {
		return nil
	}
	s.own = p.Tools()
	list := slices.Clone(s.own)
	for i, t := range list {
		if a := machine.AgentOf(t); a != nil { // its inputs may come from the memory of the strategy
			now := *a
			now.Inputs = func(arguments string) ([]delegation.Input, bool, error) {
				return machine.AgentOf(s.own[i]).Inputs(arguments)
			}
			list[i] = ownAgent{t, &now}
		}
	}
	return list
}

// ownAgent is an agent that a strategy brings, or the one that has taken its place.
type ownAgent struct {
	tools.Tool
	agent *machine.Agent
}

// Agent returns the agent.
func (t ownAgent) Agent() *machine.Agent { return t.agent }

// Names implements strategy.Namer.
func (s *standIn) Names() strategy.Names { return strategy.NamesOf(s.Strategy) }

// Check implements strategy.Checker.
func (s *standIn) Check() error {
	if c, ok := s.Strategy.(strategy.Checker); ok {
		return c.Check()
	}
	return nil
}
