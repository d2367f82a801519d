package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// ask asks the model.
func (o *oracle) ask(ctx context.Context, a *actor, s nextstep.GetChatCompletion) nextstep.NextStep {
	r := s.Request
	if err := r.Messages.Validate(); err != nil || len(r.Messages) == 0 {
		panic(unsupported(fmt.Sprintf("the strategy %s asks with a history that breaks the laws: %v", a.strategy, err)))
	}
	r.Model = cmp.Or(r.Model, o.task.Model)
	if r.Temperature == nil {
		r.Temperature = o.task.Temperature
	}
	a.charge(delegation.Counts{Steps: 1, ModelCalls: 1}, messages.Usage{}, 0, 0)
	a.offered, a.aside = nil, messages.Assistant{}
	if !s.Aside {
		a.asked, a.offered, a.since = r.Messages.Clip(), r.Tools, nil
	}
	a.requests++
	if s.Compacted != nil {
		o.happened.add(a.name, machine.EventCompacted, machine.Compacted(*s.Compacted))
	}
	resp, err := o.script.ask(ctx, o.cfg.Client, requestOf(a.name, a.requests), &r)
	var usage messages.Usage
	var attempts []llmclient.Attempt
	if err == nil {
		usage, attempts = resp.Usage, resp.Attempts
	} else if e, ok := errors.AsType[*llmclient.Error](err); ok {
		usage, attempts = e.Usage, e.Attempts
	}
	model := r.Model
	if err == nil {
		model = cmp.Or(resp.Model, r.Model)
	}
	used, cost, unpriced := o.bill(model, r.Model, usage, attempts)
	a.charge(delegation.Counts{ModelCalls: len(attempts)}, used, cost, unpriced)
	if err != nil {
		failure := failureOf(err)
		if s.Aside {
			a.aside = failure.Partial
		} else if !failure.Partial.Empty() {
			a.since = append(a.since, failure.Partial)
		}
		return o.failed(a, failure, machine.StepTaken{Kind: nextstep.KindGetChatCompletion, Usage: used, Cost: cost, Unpriced: unpriced, Anew: s.Anew})
	}
	answer := kept(nextstep.APIResponse{Response: resp}).(nextstep.APIResponse).Response
	if s.Aside {
		a.aside = answer.Message
	} else {
		a.since = append(a.since, answer.Message)
	}
	o.happened.add(a.name, machine.EventStepTaken, machine.StepTaken{
		Kind: nextstep.KindGetChatCompletion, Model: answer.Model, Usage: used, Cost: cost, Unpriced: unpriced, Calls: len(answer.Message.Calls()), Anew: s.Anew,
	})
	return o.decide(a, func() nextstep.NextStep { return a.st.ProcessAPIResponse(*answer) })
}

// bill adds up what a request has used, with the attempts that are hidden behind it.
func (o *oracle) bill(model, asked string, u messages.Usage, attempts []llmclient.Attempt) (used messages.Usage, cost messages.Cost, unpriced int) {
	add := func(model string, u messages.Usage) {
		if u == (messages.Usage{}) {
			return
		}
		price, ok := o.prices.Of(cmp.Or(model, asked))
		if !ok {
			price, ok = o.prices.Of(asked)
		}
		if ok {
			cost = cost.Add(price.Cost(u))
		} else {
			unpriced++
		}
		if u.Total == 0 {
			u.Total = u.Input + u.Output
		}
		used = used.Add(u)
	}
	add(model, u)
	for _, attempt := range attempts {
		add(attempt.Model, attempt.Usage)
	}
	return used, cost, unpriced
}

// failureOf is the answer to a request that a model did not reply to.
func failureOf(err error) nextstep.Failure {
	f := nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.AsError(err).Code, Message: err.Error()}
	if e, ok := errors.AsType[*llmclient.Error](err); ok {
		f.Code, f.Partial, f.Usage, f.Attempts = delegation.Code(e.Code), e.Partial, e.Usage, e.Attempts
		if len(f.Partial.Content) == 0 && e.Generated != "" {
			f.Partial = messages.AssistantText(e.Generated)
		}
	}
	return f
}

// kept returns an answer as a journal keeps it.
func kept(a nextstep.Answer) nextstep.Answer {
	text, err := nextstep.MarshalAnswer(a)
	if err == nil {
		a, err = nextstep.UnmarshalAnswer(text)
	}
	if err != nil {
		panic(unsupported(fmt.Sprintf("an answer has no JSON form: %v", err)))
	}
	return a
}

// failed tells a strategy that its step could not be performed, if it wants to know.
func (o *oracle) failed(a *actor, f nextstep.Failure, taken machine.StepTaken) nextstep.NextStep {
	cause := &delegation.Error{Code: f.Code, Message: f.Message}
	taken.Err = cause
	o.happened.add(a.name, machine.EventStepTaken, taken)
	h, ok := a.st.(strategy.FailureHandler)
	if !ok {
		return nextstep.ReportError{Err: cause}
	}
	return o.decide(a, func() nextstep.NextStep { return h.ProcessFailure(f) })
}

// delegate has another strategy work.
func (o *oracle) delegate(ctx context.Context, a *actor, s nextstep.Delegate) nextstep.NextStep {
	if _, remote := o.cfg.Remote[s.Strategy]; remote {
		panic(unsupported("it delegates to a remote strategy"))
	}
	a.charge(delegation.Counts{Steps: 1}, messages.Usage{}, 0, 0)
	child, err := o.actor(a, "", s.Strategy, s.Input)
	if err != nil { // the reply of a request aside is still the last one
		return o.failed(a, nextstep.Failure{Source: nextstep.SourceStrategy, Code: delegation.CodeInvalid, Message: err.Error()}, machine.StepTaken{Kind: nextstep.KindDelegate})
	}
	child.allowed, child.outside, child.news, a.aside = a.allowed, a.outside, a.news, messages.Assistant{}
	if s.Tools != nil {
		child.allowed = named(a.allowed, s.Tools)
	}
	out := o.play(ctx, child, machine.FrameEntered{Context: a.shares(s.Input)})
	return o.decide(a, func() nextstep.NextStep { return a.st.ProcessDelegationResult(out) })
}

// shares says what of an actor's conversation stands in an input.
func (a *actor) shares(in delegation.Input) machine.Share {
	switch n := len(in.Messages); {
	case n == 0:
		return machine.ShareGoal
	case n >= len(a.asked)+len(a.since):
		return machine.ShareAll
	default:
		return machine.ShareChosen
	}
}

// batch makes calls, one after the other.
func (o *oracle) batch(ctx context.Context, a *actor, calls []messages.ToolCall) nextstep.NextStep {
	counts, repeats := delegation.Counts{Steps: 1}, o.repeats(a, calls)
	for i, c := range calls {
		if def, _ := o.tool(a, c); def != nil && !repeats.refused[i] {
			counts.ToolCalls++
		}
	}
	a.charge(counts, messages.Usage{}, 0, 0)
	results := make([]messages.ToolOutput, len(calls))
	for i, c := range calls {
		if repeats.refused[i] {
			results[i] = messages.ToolOutput{
				CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: messages.ReasonRepetition,
				Output: "this call was not made: it was made before with the same arguments and had the same result, and nothing has changed since",
			}
		} else {
			results[i] = o.call(ctx, a, c)
		}
		o.happened.add(a.name, machine.EventToolFinished, machine.ToolFinished{Output: results[i]})
	}
	repeats.over(a, results)
	for i := range results {
		*a.outside = *a.outside || results[i].Untrusted
		a.since = append(a.since, messages.Tool{ToolOutput: results[i]})
	}
	o.happened.add(a.name, machine.EventStepTaken, machine.StepTaken{Kind: nextstep.KindExecuteTools, Calls: len(calls)})
	ended := a.ended
	a.ended, a.aside = nil, messages.Assistant{}
	return o.decide(a, func() nextstep.NextStep {
		if h, ok := a.st.(strategy.BranchInheritor); ok && len(ended) > 0 {
			h.InheritBranches(ended)
		}
		return a.st.ProcessToolResults(results)
	})
}

// tool returns the tool that an actor means by a call; nil if it may not make the call.
func (o *oracle) tool(a *actor, c messages.ToolCall) (*tools.Definition, tools.Tool) {
	name := c.Name
	for _, t := range a.own {
		if d := t.Definition(); d.Name == name {
			return &d, t
		}
	}
	if a.replied(c.ID) && len(named(a.offered, []string{name})) == 0 {
		return nil, nil
	}
	if allowed := named(a.allowed, []string{name}); len(allowed) > 0 {
		t, _ := o.tools.Lookup(name)
		return &allowed[0], t
	}
	return nil, nil
}

// call makes a call, if it may be made.
func (o *oracle) call(ctx context.Context, a *actor, c messages.ToolCall) messages.ToolOutput {
	out := messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed}
	def, tool := o.tool(a, c)
	if def == nil {
		out.Reason, out.Output = "not_offered", o.notOffered(a, c)
		return out
	}
	switch o.policy(machine.ApprovalRequest{Run: o.task.Run, Frame: a.name, Strategy: a.strategy, Call: c, Definition: *def, Untrusted: *a.outside}) {
	case machine.VerdictAllow:
	case machine.VerdictRefuse:
		return refused(a, out, "this call is not allowed here")
	default:
		reply := o.wait(a, machine.Wait{
			Kind: machine.WaitApproval, CallID: c.ID, Tool: c.Name, Arguments: c.Arguments, Text: "May " + c.Name + " be called?", Untrusted: *a.outside,
		})
		if !reply.Approve {
			why := "a person refused this call"
			if reply.Reason != "" {
				why += ": " + reply.Reason
			}
			return refused(a, out, why)
		}
	}
	o.happened.add(a.name, machine.EventToolStarted, machine.ToolStarted{Call: c})
	agent := o.agents[c.Name]
	if len(a.own) > 0 {
		if own := agentsOf(a.own)[c.Name]; own != nil {
			agent = own
		}
	}
	if agent != nil {
		return o.branches(ctx, a, c, def, agent)
	}
	return o.perform(ctx, a, c, tool)
}

// refused is the result of a call that may not be made. It does not count.
func refused(a *actor, out messages.ToolOutput, why string) messages.ToolOutput {
	a.charge(delegation.Counts{ToolCalls: -1}, messages.Usage{}, 0, 0)
	out.Reason, out.Output = machine.ReasonRefused, why
	return out
}

// replied reports whether a call stands in a reply to a request, and is not the strategy's own. An
// empty id stands for a call of a reply.
func (a *actor) replied(id string) bool {
	return id == "" || slices.ContainsFunc(append([]messages.Message{a.aside}, a.since...), func(m messages.Message) bool {
		said, _ := m.(messages.Assistant)
		return slices.ContainsFunc(said.Calls(), func(c messages.ToolCall) bool { return c.ID == id })
	})
}

// notOffered says to a model that there is no such tool, and which there are, or to a strategy how
// it gets one.
func (o *oracle) notOffered(a *actor, c messages.ToolCall) string {
	name := c.Name
	if !a.replied(c.ID) {
		return fmt.Sprintf("the strategy may not call the tool %q: give it to the run and to the delegation, or bring it as a strategy.ToolProvider", name)
	}
	var names []string
	for _, d := range a.offered {
		if def, _ := o.tool(a, messages.ToolCall{Name: d.Name}); def != nil {
			names = append(names, d.Name)
		}
	}
	if names == nil {
		return fmt.Sprintf("there is no tool %q here; no tools can be called", name)
	}
	return fmt.Sprintf("there is no tool %q here; the tools are: %s", name, strings.Join(names, ", "))
}

// wait has a person answer.
func (o *oracle) wait(a *actor, w machine.Wait) machine.Reply {
	o.happened.waited(a.name, &w)
	a.hears()
	return o.person(w)
}

// perform has a tool make a call.
func (o *oracle) perform(ctx context.Context, a *actor, c messages.ToolCall, tool tools.Tool) messages.ToolOutput {
	runner := toolrun.Runner{Timeout: o.cfg.Timeouts.Tool, MaxResult: o.cfg.MaxToolResult}
	ask := func(_ context.Context, q tools.Asked) (string, error) {
		w := machine.Wait{
			Kind: q.Kind, CallID: c.ID, Tool: c.Name, Arguments: c.Arguments, Text: q.Text, Options: q.Options, Untrusted: *a.outside, Expires: q.Until,
		}
		if q.Kind == machine.WaitTimer {
			o.happened.waited(a.name, &w)
			a.hears()
			return "", nil
		}
		reply := o.wait(a, w)
		if reply.Text == "" && reply.Reason != "" {
			return "", &tools.DeclinedError{Reason: reply.Reason}
		}
		return reply.Text, nil
	}
	job := toolrun.Job{Call: c, Tool: tool, Names: o.tools.Names, Key: "oracle/" + a.name + "/" + c.ID, Ask: ask}
	def := tool.Definition()
	_, job.MaxResult = o.cutAt(&def)
	o.large.readUntrusted = false
	out := performed(ctx, runner, job)
	if out.Reason == tools.ReasonSuspended {
		panic(unsupported("the tool " + c.Name + " suspends its call without tools.Ask or tools.Suspend"))
	}
	return kept(nextstep.ToolResult{Output: o.keep(a, &def, out)}).(nextstep.ToolResult).Output
}

// performed has a tool make a call, with answers for all that it suspends the call for.
func performed(ctx context.Context, runner toolrun.Runner, job toolrun.Job) messages.ToolOutput {
	for {
		running := runner.Begin(ctx, job)
		out := running.Perform()
		s, ok := running.Suspended()
		if !ok {
			return out
		}
		job.Resumption = &tools.Resumption{State: s.State}
		for _, q := range s.Questions {
			text, err := job.Ask(ctx, tools.Asked{Question: q})
			job.Resumption.Answers = append(job.Resumption.Answers, tools.Answer{Text: text, Err: err})
		}
	}
}
