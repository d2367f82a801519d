// Package reasonactobserve is the strategy that works on a task in steps of three turns. In the
// first turn the model decides what comes next. In the second it calls tools. In the third it says
// what the results mean and whether to continue.
//
//	reason    The model calls agent_decide_next: it finishes with an answer, asks the user
//	          something, or says its plan.
//	act       The model is offered the tools of the run. Of the calls in its reply the first runs
//	          (all with RunAll). A reply of text alone is the answer. Without tools the turn is left
//	          out.
//	observe   The model is shown what the tools returned, shortened, and calls
//	          agent_observe_decide: it finishes with an answer, or the next step begins. The full
//	          results are in the conversation, for later turns.
//
// The strategy reads calls of the control tools itself; they are never run. If a model does not
// call them, the decision is taken from the last fitting JSON object in its text; without one, the
// step continues. The choice of a control tool is forced until a provider refuses that. No tool of
// the run, and no agent used as a tool, may have the name of a control tool: otherwise the run
// fails at once with an error. Leave such a tool out with [Config.Tools], or rename it.
//
// A question to the user runs as the tool [RequestInput], so that the run waits for an answer. The
// answer is added to the conversation as a user message, and the next step begins. A call with the
// same arguments is refused after MaxRepeats runs, and the model is told, unless the tool is
// Repeatable. With [Config.Retrieval], the data sources in the input are searched before the first
// act turn.
//
// At most MaxSteps steps are made, and a last request without tools when they are used up: at most
// 4 * MaxSteps + 2 model calls. Its answer is the Result, in addition to an error with code limit,
// or as OnLimit says.
//
// The metadata of an output holds "steps" and "model_calls" (numbers). If they apply it also holds
// "tools" (the names of the tools that ran, in the order of their first run), "finish" (why the
// model stopped, if not by itself), "truncated" (true), "limited" (true: it had to conclude),
// and "repaired" (the repairs of the input messages), "compactions" (how often the conversation
// became shorter, by [Config].Compact) and "summaries_failed".
//
// Two other loops of this kind are configurations of package completetask. Tool-first, which must
// call a tool before it answers, is its Config with a required ToolChoice. Llm-only, which answers
// without tools, is its Config with empty Tools.
//
// The loop is the Reason-Act-Observe loop of a chat service's agent mode, after ReAct (Yao et al.,
// 2022, arXiv:2210.03629).
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
	"github.com/segue-go/segue/strategy/internal/search"
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy       = (*reasonActObserve)(nil)
	_ strategy.Namer          = (*reasonActObserve)(nil)
	_ strategy.FailureHandler = (*reasonActObserve)(nil)
	_ strategy.Concluder      = (*reasonActObserve)(nil)
	_ strategy.CallEditor     = (*reasonActObserve)(nil)
	_ strategy.ToolUser       = (*reasonActObserve)(nil)
	_ strategy.ToolProvider   = (*reasonActObserve)(nil)
)

type reasonActObserve struct {
	strategy.Defaults
	*settings
	frame.Conversation // its Calls are those of this turn, in order; the results of refused ones are not awaited

	consult *consultation // still to be made; nil means none
	goal    string

	step     int
	before   int                   // length of the History when this step began to act
	results  []PromptResult        // of this step
	refused  []messages.ToolOutput // answers to the refused calls
	runs     map[string]int        // how often a tool ran with the same arguments, by tool and arguments
	used     []string              // tools that were run
	unforced bool                  // the provider refuses a forced tool choice
}

// Tools implements strategy.ToolProvider.
func (s *reasonActObserve) Tools() []tools.Tool {
	if s.NoInput {
		return nil
	}
	return []tools.Tool{requestInput{tools.AskUser()}}
}

// Names implements strategy.Namer.
func (s *reasonActObserve) Names() strategy.Names {
	names := s.Plan.Names(s.Config.Tools)
	if s.Retrieval.Tool != "" {
		names = append(slices.Clone(names), s.Retrieval.Tool)
	}
	return strategy.Names{Tools: names}
}

// UseTools implements strategy.ToolUser. A tool with the name of a control tool cannot be used: the
// model could call only one of them.
func (s *reasonActObserve) UseTools(defs []tools.Definition) {
	s.Use(defs, s.Config.Tools)
	for _, d := range s.Defs {
		if isControl(d.Name) {
			s.ToolsErr = errControl(d.Name)
		}
	}
	s.StartSearch(search.Options{})
	if s.Retrieval.Tool == "" {
		return
	}
	found, err := frame.Tools(pkg, defs, []string{s.Retrieval.Tool})
	switch {
	case err != nil:
		s.ToolsErr = errors.Join(s.ToolsErr, err)
	case !found[0].ReadOnly:
		s.ToolsErr = errors.Join(s.ToolsErr, fmt.Errorf("reasonactobserve: the tool %q of Retrieval is not read-only", s.Retrieval.Tool))
	default:
		s.consult = &consultation{tool: found[0]}
	}
}

// Initialize implements strategy.Strategy.
func (s *reasonActObserve) Initialize(in delegation.Input) nextstep.NextStep {
	s.goal = in.Question()
	err := s.Open(in, s.System, s.KeepSystem)
	switch {
	case err != nil:
		return s.Abort(delegation.CodeInvalid, err)
	case s.goal == "":
		return s.Abort(delegation.CodeInvalid, errors.New("reasonactobserve: there is nothing to do: the input has neither a goal nor a user message"))
	}
	if s.consult != nil && !s.consult.prepare(s.goal, in.Data) {
		s.consult = nil
	}
	s.step = 1
	return s.askModel(started, s.reason())
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *reasonActObserve) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	if s.State() == frame.Compacting {
		return s.Summarized(resp)
	}
	turn := s.turn()
	if turn == nil {
		return s.OutOfTurn()
	}
	s.Compact.Answered(resp.Usage)
	s.Asked++
	resp = s.Once(resp, s.History)
	s.Finish = resp.Finish
	text := resp.Message.Text()
	switch resp.Finish {
	case llmclient.FinishContentFilter:
		s.record(resp.Message, "NotRun")
		return s.failWith(text, delegation.Code(llmclient.CodeContentFilter), errors.New("reasonactobserve: the provider withheld the reply, or a part of it"))
	case llmclient.FinishRefusal:
		if text != "" && s.State() != frame.Concluding {
			s.record(resp.Message, "NotRun")
			return s.done(text)
		}
	default:
	}
	return turn(resp.Message)
}

// turn returns the function that processes a reply in this state, or nil if no reply is awaited.
func (s *reasonActObserve) turn() func(messages.Assistant) nextstep.NextStep {
	switch s.State() {
	case reasoning, deciding:
		return s.reasoned
	case acting:
		return s.acted
	case observing:
		return s.observed
	case answering:
		return s.answered
	case frame.Concluding:
		return s.concluded
	default:
		return nil
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *reasonActObserve) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	switch s.State() {
	case askingUser:
		return s.replied(results)
	case retrieving:
		return s.retrieved(results)
	case executing:
		return s.executed(results)
	default:
		return s.OutOfTurn()
	}
}

// EditCalls implements strategy.CallEditor.
func (s *reasonActObserve) EditCalls(calls []messages.ToolCall) {
	if s.State() == askingUser {
		return // the call is not in the conversation
	}
	s.Conversation.EditCalls(calls)
}

// ProcessFailure implements strategy.FailureHandler: a forced choice that the provider refuses is
// not forced again, and a call that it could not read is returned to the model for correction.
func (s *reasonActObserve) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	if step := s.TooLong(f); step != nil {
		return step
	}
	if frame.RefusesChoice(f) && s.Can(unforced) {
		s.Asked++
		s.unforced = true
		step := s.reason()
		if s.State() == observing {
			step = s.observe()
		}
		step.Anew = nil // nothing else has changed
		return s.then(unforced, step)
	}
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) {
		partial := messages.AssistantText(f.Partial.Text())
		switch s.State() {
		case reasoning, deciding:
			s.Asked++
			return s.reasoned(partial)
		case observing:
			s.Asked++
			return s.observed(partial)
		case acting:
			s.Asked++
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

// Conclude implements strategy.Concluder. It returns the strategy's own messages, because a request
// may contain a temporary prompt, and a reply calls that were left out. Refused calls have their
// answers; the Machine answers those that ran.
func (s *reasonActObserve) Conclude(string) delegation.Output {
	s.History = frame.Results(s.History, s.refused)
	return s.Reached()
}

// anewTurn says why a request does not extend the last one.
var anewTurn = new("each turn has tools and a prompt of its own")

// request asks the model. Only the first request, and one that is made again, extends the last one.
func (s *reasonActObserve) request(h messages.History, offered ...tools.Definition) nextstep.GetChatCompletion {
	step := nextstep.GetChatCompletion{Request: llmclient.Request{
		Model: s.Model, Messages: h.Clip(), Tools: offered, Temperature: s.Temperature, MaxTokens: s.MaxTokens,
	}}
	if s.Asked > 0 {
		step.Anew = anewTurn
	}
	return step
}

// say adds a prompt to the conversation.
func (s *reasonActObserve) say(name string, data PromptData) {
	s.History = append(s.History, messages.UserText(s.prompt(name, data)))
}

// with returns a conversation with a temporary prompt at the end.
func (s *reasonActObserve) with(h messages.History, name string, data PromptData) messages.History {
	return append(h.Clip(), messages.UserText(s.prompt(name, data)))
}

// then fires a trigger with a step made from prompts. It measures a request, so that its usage says
// how long others are.
func (s *reasonActObserve) then(on strategy.Trigger, step nextstep.NextStep) nextstep.NextStep {
	if ask, ok := step.(nextstep.GetChatCompletion); ok {
		s.Compact.Due(&ask.Request)
	}
	return s.Fire(on, step)
}

// record adds a reply to the conversation, and answers its calls, none of which is run.
func (s *reasonActObserve) record(reply messages.Assistant, why string) {
	if reply.Empty() {
		return
	}
	s.History = append(s.History, reply)
	for _, c := range reply.Calls() {
		out := messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: "not_run"}
		if c.Name == s.control() {
			out.Status, out.Reason = messages.StatusOK, ""
			out.Output = s.prompt("Noted", PromptData{Tool: c.Name})
		} else {
			out.Output = s.prompt(why, PromptData{Tool: c.Name})
		}
		s.History = append(s.History, messages.Tool{ToolOutput: out})
	}
}

// control returns the control tool of this turn.
func (s *reasonActObserve) control() string {
	switch s.State() {
	case reasoning, deciding:
		return DecideNext
	case observing:
		return ObserveDecide
	default:
		return ""
	}
}
