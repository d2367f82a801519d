// Package reflection is the strategy that writes a draft, has it judged, and writes it anew until
// the judgement is good or the drafts are used up.
//
//	generate -> critique -> (approved, or no draft left) done
//	               |  ^
//	               v  |
//	             revise
//
// A draft is written here, by a model that may call tools, or by another strategy
// ([Config.Generator]). It is judged by the same model or another one ([Config.CriticModel]),
// always without tools; calls in a critique are not run. All of it is one conversation: what was
// asked, the draft, the request for a critique, the critique, the request for a revision, the next
// draft. How a critique is read is said at [Approved].
//
// The Result is the last draft that is whole, approved or not. It is not lost to what fails after
// it: where a critique or a revision fails, or the run is stopped or reaches a limit, it stands
// beside the error. A first draft that was cut off or withheld stands beside the error too, for
// want of a better one.
//
// A run makes at most MaxIterations drafts and as many critiques; [Config.Bound] says how many
// model calls that can be.
//
// The metadata of an output holds "iterations" (how many drafts were judged), "approved" (whether
// the Result was), and where they apply "critiques" (a list of [Critique]), "repaired" (what was
// mended in the messages it was given).
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
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy       = (*reflection)(nil)
	_ strategy.ToolNamer      = (*reflection)(nil)
	_ strategy.Delegator      = (*reflection)(nil)
	_ strategy.FailureHandler = (*reflection)(nil)
	_ strategy.Concluder      = (*reflection)(nil)
	_ strategy.Inheritor      = (*reflection)(nil)
	_ strategy.CallEditor     = (*reflection)(nil)
	_ strategy.ToolUser       = (*reflection)(nil)
)

type reflection struct {
	*settings
	frame.Frame

	input     delegation.Input // as it came, its messages repaired
	repaired  []string
	goal      string
	tools     []tools.Definition // offered for drafts
	toolsErr  error              // the Config names some that may not be used
	history   messages.History
	draft     *string         // the last one that is whole
	data      json.RawMessage // of that draft, where its generator gave any
	scrap     string          // the last that there is of a first draft, as long as none is whole
	critiques []Critique
}

// ToolNames implements strategy.ToolNamer.
func (s *reflection) ToolNames() []string { return s.Tools }

// Children implements strategy.Delegator.
func (s *reflection) Children() []string {
	if s.Generator == "" {
		return nil
	}
	return []string{s.Generator}
}

// UseTools implements strategy.ToolUser.
func (s *reflection) UseTools(defs []tools.Definition) {
	s.tools, s.toolsErr = frame.Tools("reflection", defs, s.Tools)
}

// Initialize implements strategy.Strategy.
func (s *reflection) Initialize(in delegation.Input) nextstep.NextStep {
	if s.Err != nil {
		return s.fail(delegation.CodeInvalid, s.Err)
	}
	s.open(in)
	switch {
	case s.toolsErr != nil:
		return s.fail(delegation.CodeInvalid, s.toolsErr)
	case s.input.Goal == "" && len(s.input.Messages) == 0:
		return s.fail(delegation.CodeInvalid, errors.New("reflection: there is nothing to do: the input has neither a goal nor messages"))
	case s.Generator != "":
		return s.Then(delegated, s.delegate(s.input.Goal))
	default:
		return s.Then(started, s.request())
	}
}

// open puts the conversation together: system prompt, what was said before, the goal.
func (s *reflection) open(in delegation.Input) {
	s.goal = in.Question()
	s.history, s.repaired = frame.Conversation(in, s.System, s.KeepSystem)
	s.input = in
	s.input.Messages, _ = in.Messages.Repair()
	s.input.Messages = s.input.Messages.Clip()
}

// request asks the model for a draft, with tools.
func (s *reflection) request() nextstep.GetChatCompletion {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Model: s.Model, Messages: s.history.Clip(), Tools: s.tools}}
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
	case Generating, Revising:
		return s.reply(resp)
	case Critiquing:
		return s.critique(resp)
	case Concluding:
		return s.conclusion(resp)
	default:
		return s.OutOfTurn()
	}
}

// reply takes what may be a draft.
func (s *reflection) reply(resp llmclient.Response) nextstep.NextStep {
	s.hear(resp.Message)
	calls, text := resp.Message.Calls(), resp.Message.Text()
	switch {
	case resp.Finish == llmclient.FinishContentFilter:
		s.keep(text)
		return s.withheld(calls)
	case resp.Finish == llmclient.FinishLength:
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

// EditCalls implements strategy.CallEditor.
func (s *reflection) EditCalls(calls []messages.ToolCall) {
	frame.EditCalls(s.history, calls)
}

// ProcessToolResults implements strategy.Strategy.
func (s *reflection) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	switch s.State() {
	case GeneratingTools, RevisingTools:
	default:
		return s.OutOfTurn()
	}
	s.history = frame.Results(s.history, results)
	if s.Can(answered) {
		return s.Then(answered, s.request())
	}
	s.say("Conclude", PromptData{})
	step := s.request()
	step.Request.Tools = nil
	return s.then(exhausted, step)
}

// ProcessDelegationResult implements strategy.Strategy.
func (s *reflection) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	switch s.State() {
	case DelegatingDraft, DelegatingRevision:
	default:
		return s.OutOfTurn()
	}
	text := out.Text()
	if out.Err != nil {
		s.keep(text)
		return s.Fail(out.Err, s.output())
	}
	if strings.TrimSpace(text) == "" {
		return s.fail(delegation.CodeFailed, fmt.Errorf("reflection: the strategy %q wrote no draft", s.Generator))
	}
	s.history = append(s.history, messages.AssistantText(text))
	return s.judge(text, out.Data)
}

// judge has a draft judged.
func (s *reflection) judge(text string, data json.RawMessage) nextstep.NextStep {
	s.draft, s.data = &text, data
	s.say("Critique", PromptData{})
	return s.then(drafted, nextstep.GetChatCompletion{Request: llmclient.Request{
		Model: cmp.Or(s.CriticModel, s.Model), Messages: s.history.Clip(), Schema: s.schema,
	}})
}

// critique takes the judgement on a draft.
func (s *reflection) critique(resp llmclient.Response) nextstep.NextStep {
	s.hear(resp.Message)
	calls := resp.Message.Calls()
	if resp.Finish == llmclient.FinishContentFilter {
		return s.withheld(calls)
	}
	s.notRun(calls, whyCritique)
	c := read(resp.Message.Text())
	c.Approved = c.Approved && resp.Finish != llmclient.FinishLength // who knows what it would have gone on to say
	data := PromptData{Critique: c.Feedback}
	s.critiques = append(s.critiques, c)
	switch {
	case c.Approved:
		return s.Then(approved, nextstep.Complete{Output: s.output()})
	case s.Generator == "" && s.Can(rejected):
		s.say("Revise", data)
		return s.then(rejected, s.request())
	case s.Generator != "" && s.Can(returned):
		return s.then(returned, s.delegate(s.say("Revise", data)))
	case s.OnRejected == RejectedFail:
		return s.fail(delegation.CodeFailed, fmt.Errorf("reflection: no draft was approved in %d iterations; the last critique: %s", len(s.critiques), c.Feedback))
	default:
		return s.Then(accepted, nextstep.Complete{Output: s.output()})
	}
}

// conclusion takes the last draft, which was asked for without tools.
func (s *reflection) conclusion(resp llmclient.Response) nextstep.NextStep {
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
	err := fmt.Errorf("reflection: the limit of %d tool rounds is reached", s.MaxToolRounds)
	return s.Then(concluded, nextstep.ReportError{Err: delegation.NewError(delegation.CodeLimit, err), Output: s.output()})
}

// ProcessFailure implements strategy.FailureHandler: a call that the provider could not read is the
// model's to mend.
func (s *reflection) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	text := f.Partial.Text()
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) && s.Can(reasked) {
		if text != "" {
			s.history = append(s.history, messages.AssistantText(text)) // what it wrote, to learn from
		}
		return s.again(PromptData{Why: whyMalformed, Problem: f.Message}, f.Code, "held a call that could not be read: "+f.Message)
	}
	s.keep(text)
	return s.Fail(frame.ErrorOf(f), s.broken())
}

// Inherit implements strategy.Inheritor: what there is of a first draft is better than none.
func (s *reflection) Inherit(out delegation.Output) { s.keep(out.Text()) }

// Conclude implements strategy.Concluder.
func (s *reflection) Conclude(string) delegation.Output { return s.broken() }
