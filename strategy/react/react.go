// Package react is the strategy that works on a task in cycles of thought, action and observation,
// all as text: the model only needs to write text. The system prompt describes the tools, and the
// model writes which one it wants (see markdownpolicy.ReAct).
//
//	Thought: I need to check the weather.
//	Action: get_weather
//	Action Input: {"location": "London"}
//	                                           the tool is run, and the model is told
//	Observation: Sunny, 25C
//	                                           and so on, until it writes
//	Final Answer: It is sunny in London.
//
// Only the first action of a reply is run. What a model writes after it, such as a hallucinated
// observation, is dropped, also from later requests. Requests have a stop sequence that prevents
// such text, for providers that support it. An unknown tool and a failed tool are observations. A
// reply without any keyword counts as the answer, and is marked as "implicit". A reply that is
// neither an action nor an answer, or was cut off, is sent back with a description of what is
// missing.
//
// At most MaxSteps + MaxRetries + 1 model calls are made, the last of them for a conclusion. The
// strategy never invents an answer. Without an answer the output is an error, together with the
// available part of an answer from the last reply that had any.
//
// The messages of an output are not the text that the model saw. They are the conversation as it
// would be with native tools: thoughts, calls and results, without the instructions, and without
// unusable replies (sent back, or naming an unknown tool) except the last. Any strategy can
// continue it, and untrusted output is still marked. If a run is stopped during a model or tool
// call, the output has the conversation before that; the tool call is answered as interrupted.
//
// The metadata of an output holds "steps" (turns that acted or answered) and "finished" (whether
// there was an answer within the steps). If they apply it also holds "implicit" (true), "tools" (a
// list of [ToolUse]), "finish" (why the model stopped, if not by itself), and "repaired" (the
// repairs of the input messages). With [Config.Compact] it may hold "compactions" (how often the
// conversation became shorter) and "summaries_failed".
//
// The loop is that of Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models",
// 2022 (https://arxiv.org/abs/2210.03629).
package react

import (
	"errors"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/internal/search"
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy       = (*react)(nil)
	_ strategy.Namer          = (*react)(nil)
	_ strategy.FailureHandler = (*react)(nil)
	_ strategy.Concluder      = (*react)(nil)
	_ strategy.CallEditor     = (*react)(nil)
	_ strategy.ToolUser       = (*react)(nil)
)

type react struct {
	strategy.Defaults
	*settings
	frame.Conversation        // its History is as the output has it
	policy             Policy // knows the tools

	text messages.History // as the model sees it
	ids  map[string]bool  // of the calls in History
	call int              // number of the last call

	steps    int
	used     []ToolUse
	implicit bool
	scrap    string  // the last reply, if it was unusable
	part     *string // the latest part of an answer; nil if there is none

	aside      int // number of messages at the end of text that History does not have
	asideNotes int // notes among them, which History has, too
}

// Names implements strategy.Namer.
func (s *react) Names() strategy.Names { return strategy.Names{Tools: s.Plan.Names(s.Tools)} }

// UseTools implements strategy.ToolUser.
func (s *react) UseTools(defs []tools.Definition) {
	s.Use(defs, s.Tools)
	s.StartSearch(search.Options{Written: true})
}

// Initialize implements strategy.Strategy.
func (s *react) Initialize(in delegation.Input) nextstep.NextStep {
	err := s.Open(in, s.System, s.KeepSystem)
	if err == nil {
		s.equip()
		s.ids = idsIn(s.History)
		err = s.openText()
	}
	switch {
	case err != nil:
		return s.Abort(delegation.CodeInvalid, err)
	case in.Goal == "" && len(in.Messages) == 0:
		return s.Abort(delegation.CodeInvalid, errors.New("react: there is nothing to do: the input has neither a goal nor messages"))
	default:
		return s.AskModel(started, s.request())
	}
}

// request asks the model for a turn.
func (s *react) request() nextstep.GetChatCompletion {
	s.tell()
	req := llmclient.Request{
		Model:       s.Model,
		Messages:    s.text.Clip(),
		Tools:       s.Search.Offered(),
		ToolFormat:  llmclient.ToolsText,
		Temperature: s.Temperature,
		MaxTokens:   s.MaxTokens,
	}
	if p, ok := s.policy.(markdownpolicy.Stopper); ok && len(s.Defs) > 0 {
		req.Stop = p.Stop()
	}
	return nextstep.GetChatCompletion{Request: req}
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *react) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	switch s.State() {
	case awaitingModel:
		s.Compact.Answered(resp.Usage)
		return s.judge(resp)
	case frame.Compacting:
		return s.Summarized(resp)
	case frame.Concluding:
		return s.conclusion(resp)
	default:
		return s.OutOfTurn()
	}
}

// EditCalls implements strategy.CallEditor.
func (s *react) EditCalls(calls []messages.ToolCall) {
	a, ok := s.History.Last().(messages.Assistant)
	if !ok {
		return
	}
	a = a.WithCalls(calls)
	s.History[len(s.History)-1] = a
	if said, _, err := s.written(a, messages.ToolOutput{}); err == nil {
		s.text[len(s.text)-1] = messages.AssistantText(said) // no request has contained it yet
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *react) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if s.State() != awaitingTools {
		return s.OutOfTurn()
	}
	return s.took(results, observed)
}

// took shows the model the result of the action of the last turn, and goes on.
func (s *react) took(results []messages.ToolOutput, on strategy.Trigger) nextstep.NextStep {
	turn, _ := s.History.Last().(messages.Assistant)
	for _, r := range results { // exactly one
		s.History = append(s.History, messages.Tool{ToolOutput: r})
		s.used = append(s.used, ToolUse{Tool: r.ToolName, CallID: r.CallID, Success: r.OK()})
		if err := s.observe(turn, r); err != nil {
			return s.Abort(delegation.CodeInvalid, err)
		}
	}
	return s.goOn(on)
}

// goOn asks for the next turn, or ends if no step or no call of a tool is left.
func (s *react) goOn(on strategy.Trigger) nextstep.NextStep {
	s.tell()
	why := frame.MustConclude(s.History)
	switch {
	case why == "" && s.Can(on):
		return s.AskModel(on, s.request())
	case s.OnLimit == LimitFail:
		return s.Then(gaveUp, s.limited(why, s.part))
	}
	if err := s.say("Conclude", PromptData{Why: why}); err != nil {
		return s.Abort(delegation.CodeInvalid, err)
	}
	if why != "" { // a compaction would forget why
		return s.Then(exhausted, s.concluding())
	}
	return s.AskModel(exhausted, s.concluding())
}

// concluding asks the model for an answer, without tools.
func (s *react) concluding() nextstep.GetChatCompletion {
	step := s.request()
	step.Request.Tools = nil
	if frame.MustConclude(s.History) == messages.ReasonRepetition {
		words, anew := frame.InWords(s.History)
		step.Request.Messages, step.Anew = append(words, s.text.Last()), anew
	}
	return step
}

// ProcessFailure implements strategy.FailureHandler: a call that the provider could not read is
// returned to the model for correction.
func (s *react) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	if step := s.TooLong(f); step != nil {
		return step
	}
	text := strings.TrimSpace(f.Partial.Text())
	if text != "" {
		s.scrap = text
	}
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) && s.Can(reasked) {
		return s.again(text, PromptData{Why: whyMalformed, Problem: f.Message})
	}
	return s.Fail(frame.ErrorOf(f), s.Reached())
}

// Conclude implements strategy.Concluder.
func (s *react) Conclude(string) delegation.Output { return s.Reached() }
