// Package reasonactobserve is the strategy that works on a task in steps of three turns: in the
// first the model decides what comes next, in the second it calls tools, in the third it says what
// that showed and whether to go on.
//
//	reason    The model calls agent_decide_next: it finishes with an answer, asks the user something, or says its plan.
//	act       The model is offered the tools of the run. Of the calls in its reply the first runs (all with RunAll). A
//	          reply of text alone is the answer. Without tools the turn is left out.
//	observe   The model is shown what the tools returned, shortened, and calls agent_observe_decide: it finishes with an
//	          answer, or the next step begins. The results stand in the conversation whole, for the turns that follow.
//
// The control tools are read by the strategy and never run. Where a model does not call them, the
// decision is taken from the last fitting JSON object in its text; without one, the step goes on.
// The choice of a control tool is forced until a provider refuses that, once. No tool of the run,
// and no agent that is one, may have the name of a control tool: a run that is to act with such a
// one fails at once, with an error that says so; leave it out with [Config.Tools], or rename it. A
// question to the user runs as the tool [RequestInput], so that the run waits until somebody
// answers; the answer is put into the conversation as a message of the user, and the next step
// begins with it. A call with the same arguments is refused after MaxRepeats runs, and the model is
// told. With [Config.Retrieval] the data sources that the input names are looked at before the
// first act turn.
//
// At most MaxSteps steps are made, and a last request without tools when they are used up: at most
// 4 * MaxSteps + 2 model calls ([Config.Bound]). Its answer is the Result beside an error with code
// limit, or as OnLimit says.
//
// The metadata of an output holds "steps" and "model_calls" (numbers), and where they apply "tools"
// (names of those that were run, in the order of their first run), "finish" (why the model stopped,
// if not by itself), "truncated" (true), "limited" (true: the steps were used up), "repaired" (what
// was mended in the messages it was given).
//
// Two other loops of this family are configurations of package completetask: tool-first, which has
// to call a tool before it answers, is its Config with a required ToolChoice; llm-only, which
// answers without tools, is its Config with empty Tools.
//
// The source of the loop is the Reason-Act-Observe loop of a chat service's agent mode, after ReAct
// (Yao et al., 2022, arXiv:2210.03629).
package reasonactobserve

import (
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy       = (*reasonActObserve)(nil)
	_ strategy.ToolNamer      = (*reasonActObserve)(nil)
	_ strategy.FailureHandler = (*reasonActObserve)(nil)
	_ strategy.Concluder      = (*reasonActObserve)(nil)
	_ strategy.CallEditor     = (*reasonActObserve)(nil)
	_ strategy.ToolUser       = (*reasonActObserve)(nil)
	_ strategy.ToolProvider   = (*reasonActObserve)(nil)
)

type reasonActObserve struct {
	strategy.Defaults
	*settings
	frame.Frame

	tools    []tools.Definition // to act with
	consult  *consultation      // still to be made; nil: none
	toolsErr error              // the tools of the run do not fit the Config
	goal     string
	history  messages.History
	repaired []string

	step     int
	before   int                   // length of the history when this step began to act
	results  []PromptResult        // of this step
	calls    []messages.ToolCall   // of this turn, in order; those in refused are not awaited
	refused  []messages.ToolOutput // for these of them
	runs     map[string]int        // how often a tool was run with the same arguments, by both
	used     []string              // tools that were run
	unforced bool                  // the provider does not take a forced tool choice
	asked    int                   // model calls answered
	finish   llmclient.FinishReason
}

// Tools implements strategy.ToolProvider.
func (s *reasonActObserve) Tools() []tools.Tool {
	if s.NoInput {
		return nil
	}
	return []tools.Tool{requestInput{tools.AskUser()}}
}

// ToolNames implements strategy.ToolNamer.
func (s *reasonActObserve) ToolNames() []string {
	if s.Retrieval.Tool == "" {
		return s.Config.Tools
	}
	return append(slices.Clone(s.Config.Tools), s.Retrieval.Tool)
}

// UseTools implements strategy.ToolUser. A tool that has the name of a control tool is no use: the
// model could call but one of them.
func (s *reasonActObserve) UseTools(defs []tools.Definition) {
	s.tools, s.toolsErr = frame.Tools(pkg, defs, s.Config.Tools)
	for _, d := range s.tools {
		if isControl(d.Name) {
			s.toolsErr = errControl(d.Name)
		}
	}
	if s.Retrieval.Tool == "" {
		return
	}
	found, err := frame.Tools(pkg, defs, []string{s.Retrieval.Tool})
	switch {
	case err != nil:
		s.toolsErr = errors.Join(s.toolsErr, err)
	case !found[0].ReadOnly:
		s.toolsErr = errors.Join(s.toolsErr, fmt.Errorf("reasonactobserve: the tool %q of Retrieval is not read-only", s.Retrieval.Tool))
	default:
		s.consult = &consultation{tool: found[0]}
	}
}

// Initialize implements strategy.Strategy.
func (s *reasonActObserve) Initialize(in delegation.Input) nextstep.NextStep {
	if s.Err != nil {
		return s.fail(delegation.CodeInvalid, s.Err)
	}
	s.goal = in.Question()
	s.history, s.repaired = frame.Conversation(in, s.System, s.KeepSystem)
	switch {
	case s.toolsErr != nil:
		return s.fail(delegation.CodeInvalid, s.toolsErr)
	case s.goal == "":
		return s.fail(delegation.CodeInvalid, errors.New("reasonactobserve: there is nothing to do: the input has neither a goal nor a user message"))
	}
	if s.consult != nil && !s.consult.prepare(s.goal, in.Data) {
		s.consult = nil
	}
	s.step = 1
	return s.then(started, s.reason())
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *reasonActObserve) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	turn := s.turn()
	if turn == nil {
		return s.OutOfTurn()
	}
	s.asked++
	s.finish = resp.Finish
	text := resp.Message.Text()
	switch resp.Finish {
	case llmclient.FinishContentFilter:
		s.record(resp.Message, "NotRun")
		return s.failWith(text, delegation.Code(llmclient.CodeContentFilter), errors.New("reasonactobserve: the provider withheld the reply, or a part of it"))
	case llmclient.FinishRefusal:
		if text != "" && s.State() != Concluding {
			s.record(resp.Message, "NotRun")
			return s.done(text)
		}
	default:
	}
	return turn(resp.Message)
}

// turn is what takes a reply in this state; nil if none is awaited.
func (s *reasonActObserve) turn() func(messages.Assistant) nextstep.NextStep {
	switch s.State() {
	case Reasoning, Deciding:
		return s.reasoned
	case Acting:
		return s.acted
	case Observing:
		return s.observed
	case Answering:
		return s.answered
	case Concluding:
		return s.concluded
	default:
		return nil
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *reasonActObserve) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	switch s.State() {
	case AskingUser:
		return s.replied(results)
	case Retrieving:
		return s.retrieved(results)
	case Executing:
		return s.executed(results)
	default:
		return s.OutOfTurn()
	}
}

// EditCalls implements strategy.CallEditor.
func (s *reasonActObserve) EditCalls(calls []messages.ToolCall) {
	if s.State() == AskingUser {
		return // the call stands in no conversation
	}
	if edited := frame.EditCalls(s.history, calls); edited != nil {
		s.calls = edited
	}
}

// ProcessFailure implements strategy.FailureHandler: a forced choice that the provider refuses is
// not forced again, and a call that it could not read is the model's to mend.
func (s *reasonActObserve) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	if frame.RefusesChoice(f) && s.Can(unforced) {
		s.asked++
		s.unforced = true
		if s.State() == Observing {
			return s.then(unforced, s.observe())
		}
		return s.then(unforced, s.reason())
	}
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) {
		partial := messages.AssistantText(f.Partial.Text())
		switch s.State() {
		case Reasoning, Deciding:
			s.asked++
			return s.reasoned(partial)
		case Observing:
			s.asked++
			return s.observed(partial)
		case Acting:
			s.asked++
			s.record(partial, "CutCall")
			s.results = append(s.results, PromptResult{Text: f.Message})
			return s.then(acted, s.observe())
		}
	}
	out := s.Conclude(f.Message)
	if !f.Partial.Empty() {
		out.Messages = append(out.Messages, f.Partial)
	}
	return s.Fail(frame.ErrorOf(f), out)
}

// Conclude implements strategy.Concluder. The messages are those of the strategy: a request may
// hold a prompt that does not stay, and a reply calls that were left out. Calls that were refused
// have their answers; the Machine answers those that ran.
func (s *reasonActObserve) Conclude(string) delegation.Output {
	s.history = frame.Results(s.history, s.refused)
	return s.output()
}

// request asks the model.
func (s *reasonActObserve) request(h messages.History, offered ...tools.Definition) nextstep.GetChatCompletion {
	return nextstep.GetChatCompletion{Request: llmclient.Request{
		Model: s.Model, Messages: h.Clip(), Tools: offered, Temperature: s.Temperature, MaxTokens: s.MaxTokens,
	}}
}

// say adds a prompt to the conversation.
func (s *reasonActObserve) say(name string, data PromptData) {
	s.history = append(s.history, messages.UserText(s.prompt(name, data)))
}

// with is a conversation with a prompt behind it that does not stay.
func (s *reasonActObserve) with(h messages.History, name string, data PromptData) messages.History {
	return append(h.Clip(), messages.UserText(s.prompt(name, data)))
}

// then fires a trigger with a step that was made of prompts; one that could not be filled in is an
// error.
func (s *reasonActObserve) then(on strategy.Trigger, step nextstep.NextStep) nextstep.NextStep {
	if err := s.PromptErr(); err != nil {
		return s.fail(delegation.CodeInvalid, err)
	}
	return s.Then(on, step)
}

// record adds a reply to the conversation, and answers its calls, of which none is run.
func (s *reasonActObserve) record(reply messages.Assistant, why string) {
	if reply.Empty() {
		return
	}
	s.history = append(s.history, reply)
	for _, c := range reply.Calls() {
		out := messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: "not_run"}
		if c.Name == s.control() {
			out.Status, out.Reason = messages.StatusOK, ""
			out.Output = s.prompt("Noted", PromptData{Tool: c.Name})
		} else {
			out.Output = s.prompt(why, PromptData{Tool: c.Name})
		}
		s.history = append(s.history, messages.Tool{ToolOutput: out})
	}
}

// control is the control tool of this turn.
func (s *reasonActObserve) control() string {
	switch s.State() {
	case Reasoning, Deciding:
		return DecideNext
	case Observing:
		return ObserveDecide
	default:
		return ""
	}
}
