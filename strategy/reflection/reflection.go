// Package reflection is the strategy that writes a draft, has it judged, and revises it until it is
// approved or the drafts are used up.
//
//	generate -> critique -> (approved, or no draft left) done
//	               |  ^
//	               v  |
//	             revise
//
// A draft is written by this strategy, with a model that may call tools, or by another strategy
// ([Config.Generator]). It is judged by the same model or another one ([Config.CriticModel]),
// always without tools; calls in a critique are not run. All of it is one conversation: the task,
// the draft, the request for a critique, the critique, the request for a revision, the next draft.
// [Approved] says how a critique is read.
//
// The Result is the last complete draft, approved or not. Later failures do not lose it: if a
// critique or a revision fails, or the run is stopped or reaches a limit, the draft is returned
// with the error. If the first draft was cut off or withheld, its available part is returned with
// the error.
//
// A run makes at most MaxIterations drafts and as many critiques, each a model call, and without a
// Generator MaxToolRounds - 1 and MaxRetries more.
//
// The metadata of an output holds "iterations" (the number of judged drafts) and "approved"
// (whether the Result was approved). If they apply it also holds "critiques" (a list of [Critique])
// and "repaired" (the repairs of the input messages).
//
// The loop is that of Self-Refine (Madaan et al., 2023, https://arxiv.org/abs/2303.17651).
package reflection

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/internal/verdict"
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy       = (*reflection)(nil)
	_ strategy.Namer          = (*reflection)(nil)
	_ strategy.FailureHandler = (*reflection)(nil)
	_ strategy.Concluder      = (*reflection)(nil)
	_ strategy.Inheritor      = (*reflection)(nil)
	_ strategy.CallEditor     = (*reflection)(nil)
	_ strategy.ToolUser       = (*reflection)(nil)
)

type reflection struct {
	*settings
	frame.Conversation // its Defs are offered for drafts

	input     delegation.Input // the input, with repaired messages
	goal      string
	draft     *string         // the last complete draft
	data      json.RawMessage // of that draft, if its generator returned data
	scrap     string          // the latest part of a first draft, as long as none is complete
	critiques []Critique
}

// Names implements strategy.Namer.
func (s *reflection) Names() strategy.Names {
	names := strategy.Names{Tools: s.Tools, Children: []string{}}
	if s.Generator != "" {
		names.Children = append(names.Children, s.Generator)
	}
	return names
}

// UseTools implements strategy.ToolUser.
func (s *reflection) UseTools(defs []tools.Definition) {
	s.Use(defs, s.Tools)
}

// Initialize implements strategy.Strategy.
func (s *reflection) Initialize(in delegation.Input) nextstep.NextStep {
	s.goal, s.input = in.Question(), in
	s.input.Messages, _ = in.Messages.Repair()
	s.input.Messages = s.input.Messages.Clip()
	err := s.Open(in, s.System, s.KeepSystem)
	switch {
	case err != nil:
		return s.Abort(delegation.CodeInvalid, err)
	case s.input.Goal == "" && len(s.input.Messages) == 0:
		return s.Abort(delegation.CodeInvalid, errors.New("reflection: there is nothing to do: the input has neither a goal nor messages"))
	case s.Generator != "":
		return s.Then(delegated, s.delegate(s.input.Goal))
	default:
		return s.Then(started, s.request())
	}
}

// request asks the model for a draft, with tools.
func (s *reflection) request() nextstep.GetChatCompletion {
	s.TellNotes()
	return nextstep.GetChatCompletion{Request: llmclient.Request{Model: s.Model, Messages: s.History.Clip(), Tools: s.Defs}}
}

// Why a request does not extend the last one.
var (
	anewCritique   = new("a critique is asked for without tools, or as JSON")
	anewRevision   = new("a draft is asked for with tools, or as text")
	anewConclusion = new("the last draft is asked for without tools")
)

// unlike returns nil if drafts and critiques are asked for in the same way, and the reason
// otherwise.
func (s *reflection) unlike(why *string) *string {
	if s.Generator != "" || len(s.Defs) == 0 && s.schema == nil {
		return nil
	}
	return why
}

// delegate asks the generator for a draft.
func (s *reflection) delegate(goal string) nextstep.Delegate {
	in := s.input
	in.Goal = goal
	return nextstep.Delegate{Strategy: s.Generator, Input: in, Tools: s.Tools, Limits: s.Limits}
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *reflection) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	switch s.State() {
	case generating, revising:
		return s.reply(resp)
	case critiquing:
		return s.critique(resp)
	case frame.Concluding:
		return s.conclusion(resp)
	default:
		return s.OutOfTurn()
	}
}

// reply processes a reply that may be a draft.
func (s *reflection) reply(resp llmclient.Response) nextstep.NextStep {
	resp = s.Once(resp, s.History)
	s.hear(resp.Message)
	calls, text := resp.Message.Calls(), resp.Message.Text()
	switch {
	case resp.Finish == llmclient.FinishContentFilter:
		s.keep(text)
		return s.withheld(calls)
	case frame.CutOff(resp.Finish):
		s.keep(text)
		s.notRun(calls, whyCutOff)
		return s.again(PromptData{Why: whyCutOff}, delegation.CodeTruncated, "was cut off at the length limit")
	case len(calls) > 0:
		return s.Then(called, nextstep.ExecuteTools{Calls: calls})
	case strings.TrimSpace(text) == "":
		return s.again(PromptData{Why: whyEmpty}, delegation.CodeFailed, "was empty")
	default:
		return s.judge(text, nil)
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *reflection) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	switch s.State() {
	case generatingTools, revisingTools:
	default:
		return s.OutOfTurn()
	}
	s.History = frame.Results(s.History, results)
	why := frame.MustConclude(s.History)
	if why == "" && s.Can(answered) {
		return s.Then(answered, s.request())
	}
	s.say("Conclude", PromptData{Why: why})
	step := s.request()
	step.Request.Tools = nil
	if len(s.Defs) > 0 {
		step.Anew = anewConclusion
	}
	if why == messages.ReasonRepetition {
		step.Request.Messages, step.Anew = frame.InWords(s.History)
	}
	return s.Fire(exhausted, step)
}

// ProcessDelegationResult implements strategy.Strategy.
func (s *reflection) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	switch s.State() {
	case delegatingDraft, delegatingRevision:
	default:
		return s.OutOfTurn()
	}
	text := out.Text()
	if out.Err != nil {
		s.keep(text)
		return s.Fail(out.Err, s.Reached())
	}
	if strings.TrimSpace(text) == "" {
		return s.Abort(delegation.CodeFailed, fmt.Errorf("reflection: the strategy %q wrote no draft", s.Generator))
	}
	s.History = append(s.History, messages.AssistantText(text))
	return s.judge(text, out.Data)
}

// judge asks for a judgement of a draft.
func (s *reflection) judge(text string, data json.RawMessage) nextstep.NextStep {
	s.draft, s.data = &text, data
	s.say("Critique", PromptData{})
	return s.Fire(drafted, nextstep.GetChatCompletion{Anew: s.unlike(anewCritique), Request: llmclient.Request{
		Model: cmp.Or(s.CriticModel, s.Model), Messages: s.History.Clip(), Schema: s.schema,
	}})
}

// critique processes the judgement of a draft.
func (s *reflection) critique(resp llmclient.Response) nextstep.NextStep {
	resp, _ = frame.Once(resp, nil)
	s.hear(resp.Message)
	calls := resp.Message.Calls()
	if resp.Finish == llmclient.FinishContentFilter {
		return s.withheld(calls)
	}
	s.notRun(calls, whyCritique)
	c := verdict.Read(resp.Message.Text())
	c.Approved = c.Approved && !frame.CutOff(resp.Finish) // the missing part is unknown
	data := PromptData{Critique: c.Feedback}
	s.critiques = append(s.critiques, c)
	switch {
	case c.Approved && s.hasNews():
		return s.reviseNoted(data)
	case c.Approved:
		return s.Then(approved, nextstep.Complete{Output: s.Reached()})
	case s.Generator == "" && s.Can(rejected):
		s.say("Revise", data)
		step := s.request()
		step.Anew = s.unlike(anewRevision)
		return s.Fire(rejected, step)
	case s.Generator != "" && s.Can(returned):
		return s.Fire(returned, s.delegate(s.withNotes(s.say("Revise", data))))
	case s.OnRejected == RejectedFail:
		return s.Abort(delegation.CodeFailed, fmt.Errorf("reflection: no draft was approved in %d iterations; the last critique: %s", len(s.critiques), c.Feedback))
	default:
		return s.Then(accepted, nextstep.Complete{Output: s.Reached()})
	}
}

// conclusion processes the last draft, which was requested without tools.
func (s *reflection) conclusion(resp llmclient.Response) nextstep.NextStep {
	why := frame.MustConclude(s.History)
	s.hear(resp.Message)
	s.notRun(resp.Message.Calls(), whyLimit)
	text := resp.Message.Text()
	switch resp.Finish {
	case llmclient.FinishLength, llmclient.FinishContentFilter:
		s.keep(text)
	default:
		if strings.TrimSpace(text) != "" {
			s.draft = &text
		}
	}
	err := frame.LimitReached("reflection", why, fmt.Sprintf("of %d tool rounds", s.MaxToolRounds))
	return s.Then(concluded, nextstep.ReportError{Err: err, Output: s.Reached()})
}

// ProcessFailure implements strategy.FailureHandler: a call that the provider could not read is
// returned to the model for correction.
func (s *reflection) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	text := f.Partial.Text()
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) && s.Can(reasked) {
		if text != "" {
			s.History = append(s.History, messages.AssistantText(text)) // the model's text, for it to learn from
		}
		return s.again(PromptData{Why: whyMalformed, Problem: f.Message}, f.Code, "held a call that could not be read: "+f.Message)
	}
	s.keep(text)
	out := s.broken()
	if out.Messages != nil && s.State() == frame.Concluding && !f.Partial.Empty() {
		out.Messages = append(out.Messages, f.Partial)
	}
	return s.Fail(frame.ErrorOf(f), out)
}

// Inherit implements strategy.Inheritor: the available part of a first draft is better than none.
func (s *reflection) Inherit(out delegation.Output) { s.keep(out.Text()) }

// Conclude implements strategy.Concluder.
func (s *reflection) Conclude(string) delegation.Output { return s.broken() }
