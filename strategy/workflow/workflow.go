// Package workflow composes strategies: one after the other ([Sequence]), at the same time
// ([Parallel]), until the result is good ([Loop]), or the one that fits ([Choose]).
//
//	strategy.Set{
//		"report": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{
//			{Strategy: "planner"}, {Strategy: "executor", Retries: 1}, {Strategy: "reviewer"},
//		}}),
//		"planner":  completetask.New(completetask.Config{System: "You plan.", Model: "large"}),
//		"executor": completetask.New(completetask.Config{System: "You carry out plans."}),
//		"reviewer": completetask.New(completetask.Config{System: "You correct reports."}),
//	}
//
// A [Part] is a strategy of the Set, which may be a composition in turn, or a tool or an agent of
// the run. Its system prompt is that of its strategy; its model, tools, limits, input, and what
// happens when it fails stand in the Part.
//
// A part gets the input of the composition, with a goal of its own: by default the goal of the
// composition, and what the parts before it have come to, as far as it needs that. The result is
// the text and the data of the last part that succeeded or, of a Parallel, those of all. The
// messages of the output are the conversation of the input, the goal and the result; the work of
// the parts is in the Parts of the output.
//
// Each composition is a state machine of its own: its states are its parts. So diagrams, events,
// coverage and explorations name the parts, and a stored run is not resumed with other parts, or
// with a function of another name. [SequenceTable] and the like are those of examples.
//
// The metadata hold "parts", a list of [Result], and "repaired", the repairs of the input messages.
//
// The compositions are those of "Building effective agents" (Anthropic, 2024,
// https://www.anthropic.com/research/building-effective-agents).
package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/retry"
)

var (
	_ strategy.Strategy        = (*flow)(nil)
	_ strategy.Namer           = (*flow)(nil)
	_ strategy.FailureHandler  = (*flow)(nil)
	_ strategy.Concluder       = (*flow)(nil)
	_ strategy.Inheritor       = (*flow)(nil)
	_ strategy.BranchInheritor = (*flow)(nil)
	_ strategy.ToolProvider    = (*flow)(nil)
	_ strategy.CallEditor      = (*flow)(nil)
	_ strategy.Bounder         = (*flow)(nil)
)

// flow is a running composition.
type flow struct {
	strategy.Defaults
	*settings
	frame.Frame

	given    delegation.Input // with repaired messages
	repaired []string
	results  []Result
	work     []delegation.Part
	feedback string              // of the judge
	calls    []messages.ToolCall // of the last step, if it calls tools

	tried    []Result // the last attempt at each part of a Parallel that has begun, by its number
	open     []int    // the numbers of those that are at work
	branches []strategy.BranchOutput
}

// Initialize implements strategy.Strategy.
func (s *flow) Initialize(in delegation.Input) nextstep.NextStep {
	if s.Err != nil {
		return s.fail(delegation.NewError(delegation.CodeInvalid, s.Err))
	}
	if in.Goal == "" && len(in.Messages) == 0 && len(in.Data) == 0 {
		return s.fail(delegation.NewError(delegation.CodeInvalid, errors.New("workflow: there is nothing to do: the input is empty")))
	}
	h, repairs := in.Messages.Repair()
	for _, r := range repairs {
		s.repaired = append(s.repaired, r.String())
	}
	s.given = in
	s.given.Messages = h.Clip()
	return s.first(s)
}

// progress returns what the part is given.
func (s *flow) progress(p *part, failure string) Progress {
	now := Progress{Goal: s.given.Goal, Input: s.given, Results: slices.Clip(s.results), Feedback: s.feedback, Failure: failure, Choices: s.choices}
	for _, r := range s.results {
		q := s.part(r.Part)
		if q == s.body {
			now.Round++
		}
		if !q.control && r.Err == nil {
			now.Last = cmp.Or(r.Text, string(r.Data))
		}
	}
	if p != nil && p == s.body {
		now.Round++
	}
	return now
}

// begin starts a part; failure says how the last attempt failed.
func (s *flow) begin(on strategy.Trigger, p *part, failure string) nextstep.NextStep {
	now := s.progress(p, failure)
	if p.Tool != "" {
		call, err := p.call(now)
		if err != nil {
			return s.invalid(err)
		}
		return s.execute(on, []messages.ToolCall{call})
	}
	return s.delegate(on, p, p.Strategy, now)
}

func (s *flow) execute(on strategy.Trigger, calls []messages.ToolCall) nextstep.NextStep {
	s.calls = calls
	return s.Then(on, nextstep.ExecuteTools{Calls: slices.Clip(calls)})
}

// EditCalls implements strategy.CallEditor.
func (s *flow) EditCalls(calls []messages.ToolCall) { s.calls = calls }

func (s *flow) delegate(on strategy.Trigger, p *part, name string, now Progress) nextstep.NextStep {
	in, err := p.input(now)
	if err != nil {
		return s.invalid(err)
	}
	return s.Then(on, nextstep.Delegate{Strategy: name, Input: in, Tools: p.Tools, Limits: p.Limits, Model: p.Model})
}

// current returns the part at work, and whether its Fallback is; nil if none is, or several are.
func (s *flow) current() (p *part, instead bool) {
	for _, p := range s.parts {
		switch s.State() {
		case p.state:
			return p, false
		case p.instead:
			return p, true
		}
	}
	return nil, false
}

// ProcessDelegationResult implements strategy.Strategy.
func (s *flow) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	p, instead := s.current()
	if p == nil || p.Tool != "" && !instead {
		return s.OutOfTurn()
	}
	return s.ended(p, instead, out, true)
}

// ProcessToolResults implements strategy.Strategy.
func (s *flow) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if slices.Contains(s.stages, s.State()) {
		return s.stageEnded(results)
	}
	p, instead := s.current()
	if p == nil || p.Tool == "" || instead || len(results) != 1 {
		return s.OutOfTurn()
	}
	if b, ok := s.takeBranches()[results[0].CallID]; ok {
		return s.ended(p, false, b.Output, !b.NoChild)
	}
	return s.ended(p, false, outputOf(results[0]), true)
}

// ProcessFailure implements strategy.FailureHandler: a part that could not be started has failed.
func (s *flow) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	p, instead := s.current()
	if p == nil {
		return s.fail(frame.ErrorOf(f))
	}
	return s.ended(p, instead, delegation.Output{Err: frame.ErrorOf(f)}, !frame.NoChild(f))
}

// ended goes on after a part, or an attempt at it.
func (s *flow) ended(p *part, instead bool, out delegation.Output, hope bool) nextstep.NextStep {
	out = s.judged(p, out)
	s.keep(p, out)
	if out.Err != nil && !instead {
		if hope && retriable(out) && s.Can(retried) {
			return s.begin(retried, p, cut(out.Err.Message))
		}
		if p.instead != "" && out.Err.Code != delegation.CodeUnknown {
			return s.delegate(fellBack, p, p.Fallback, s.progress(p, ""))
		}
	}
	s.results = append(s.results, resultOf(p, out))
	if out.Err != nil && p.OnFailure != FailureContinue {
		return s.fail(out.Err)
	}
	return s.next(s, p)
}

// cut shortens the description of a failure for a prompt.
func cut(failure string) string {
	return frame.Cut(failure, 4096, func() string { return "[cut off here: the text is longer]" })
}

// retriable reports whether another attempt may help: nobody is asked again who has said no.
func retriable(out delegation.Output) bool {
	if r, ok := out.Messages.Last().(messages.Tool); ok && r.Reason == messages.ReasonRefused {
		return false
	}
	return out.Err != nil && !retry.Final(out.Err.Code) && !frame.Hopeless(out)
}

// judged makes an output that cannot be used an error.
func (s *flow) judged(p *part, out delegation.Output) delegation.Output {
	if out.Err != nil {
		return out
	}
	if frame.IsEmpty(out) && p.Tool == "" {
		out.Err = delegation.NewError(delegation.CodeFailed, fmt.Errorf("workflow: part %q left no result", p.Name))
	} else if p == s.router && s.choice(resultOf(p, out)) == "" {
		out.Err = delegation.NewError(delegation.CodeInvalid, fmt.Errorf("workflow: the router %q named none of the parts: %.200q", p.Name, out.Text()))
	}
	return out
}

// outputOf returns the result of a tool as an output.
func outputOf(r messages.ToolOutput) delegation.Output {
	out := delegation.Output{Result: &r.Output, Messages: messages.History{messages.Tool{ToolOutput: r}}}
	switch {
	case r.OK():
		return out
	case r.Status == messages.StatusUnknown:
		out.Err = &delegation.Error{Code: delegation.CodeUnknown}
	case r.Reason == messages.ReasonLimit:
		out.Err = &delegation.Error{Code: delegation.CodeLimit}
	default:
		out.Err = &delegation.Error{Code: delegation.CodeFailed}
	}
	out.Result, out.Err.Message = nil, fmt.Sprintf("the tool %q failed: %s", r.ToolName, r.Output)
	return out
}

// keep keeps the work of a part. The call of a tool stands before its result.
func (s *flow) keep(p *part, out delegation.Output) {
	after := len(s.given.Messages)
	if s.given.Goal != "" {
		after++
	}
	if r, ok := out.Messages.Last().(messages.Tool); ok && len(out.Messages) == 1 {
		at := slices.IndexFunc(s.calls, func(c messages.ToolCall) bool { return c.ID == r.CallID })
		if at < 0 {
			return
		}
		out.Messages = messages.History{messages.Assistant{Content: []messages.AssistantContent{s.calls[at]}}, r}
	}
	s.work = append(s.work, delegation.PartsOf(out, p.Name, after)...)
}

// resultOf returns what is remembered of an output.
func resultOf(p *part, out delegation.Output) Result {
	return Result{Part: p.Name, Text: out.Text(), Data: out.Data, Err: out.Err}
}

// Inherit implements strategy.Inheritor.
func (s *flow) Inherit(out delegation.Output) {
	if p, _ := s.current(); p != nil {
		s.keep(p, out)
		s.results = append(s.results, resultOf(p, out))
	}
}

// Conclude implements strategy.Concluder.
func (s *flow) Conclude(string) delegation.Output {
	if len(s.tried) > 0 {
		s.stageStopped()
	}
	for _, b := range s.takeBranches() { // of one call: the part is an agent of the run
		s.Inherit(b.Output)
	}
	return s.reached()
}

// InheritBranches implements strategy.BranchInheritor.
func (s *flow) InheritBranches(outs []strategy.BranchOutput) { s.branches = outs }

// takeBranches returns the outputs of calls that had one branch, by the ids of the calls.
func (s *flow) takeBranches() map[string]strategy.BranchOutput {
	outs, several := map[string]strategy.BranchOutput{}, map[string]bool{}
	for _, b := range s.branches {
		_, several[b.CallID] = outs[b.CallID]
		outs[b.CallID] = b
	}
	s.branches = nil
	maps.DeleteFunc(outs, func(id string, _ strategy.BranchOutput) bool { return several[id] })
	return outs
}

// finish ends with the result, if a part has succeeded.
func (s *flow) finish(on strategy.Trigger) nextstep.NextStep {
	text, data, ok := s.result(s)
	if !ok {
		return s.fail(s.results[len(s.results)-1].Err)
	}
	out := s.output(text, data)
	if said := cmp.Or(text, string(data)); said != "" {
		out.Messages = append(out.Messages, messages.AssistantText(said))
	}
	return s.Then(on, nextstep.Complete{Output: out})
}

// lastResult is the result of all compositions but those of several parts at the same time.
func lastResult(s *flow) (text string, data json.RawMessage, ok bool) {
	for _, r := range slices.Backward(s.results) {
		if r.Err == nil && !s.part(r.Part).control {
			return r.Text, r.Data, true
		}
	}
	return "", nil, false
}

func (s *flow) fail(err *delegation.Error) nextstep.NextStep { return s.Fail(err, s.reached()) }

// invalid ends because of a function or a template of the user.
func (s *flow) invalid(err error) nextstep.NextStep {
	if e, ok := errors.AsType[*delegation.Error](err); ok {
		return s.fail(e)
	}
	return s.fail(delegation.NewError(delegation.CodeInvalid, err))
}

// reached returns the work done so far. A part that has failed may have left a text.
func (s *flow) reached() delegation.Output {
	if s.Err != nil {
		return delegation.Output{}
	}
	text, data, ok := s.result(s)
	for _, r := range slices.Backward(s.results) {
		if !ok && !s.part(r.Part).control {
			text, data, ok = r.Text, r.Data, r.Text != "" || r.Data != nil
		}
	}
	return s.output(text, data)
}

func (s *flow) output(text string, data json.RawMessage) delegation.Output {
	h, _ := s.given.Conversation("")
	out := delegation.Output{Messages: h, Data: data, Parts: slices.Clip(s.work)}
	if text != "" {
		out.Result = &text
	}
	frame.SetList(&out.Metadata, "parts", s.results)
	frame.SetList(&out.Metadata, "repaired", s.repaired)
	return out
}
