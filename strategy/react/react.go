// Package react is the strategy that works on a task in cycles of thought, action and observation,
// all of them text: it needs nothing of a model but that it writes. The tools are described in the
// system prompt, and the model writes which one it wants (see markdownpolicy.ReAct).
//
//	Thought: I need to check the weather.
//	Action: get_weather
//	Action Input: {"location": "London"}
//	                                           the tool is run, and the model is told
//	Observation: Sunny, 25C
//	                                           and so on, until it writes
//	Final Answer: It is sunny in London.
//
// Only the first action of a reply is run; what a model writes behind it, such as an observation of
// its own, is dropped, from what it is shown later too. Requests have a stop sequence that keeps it
// from doing so, for providers that take them. A name that no tool has, and a tool that fails, are
// observations. A reply without any keyword is taken for the answer, and marked as "implicit". One
// that is neither an action nor an answer, or was cut off, is sent back with what is missing.
//
// At most MaxSteps + MaxRetries + 1 model calls are made ([Config.Bound]), the last of them for a
// conclusion. An answer is never made up: without one the output is an error, and beside it stands
// as much of an answer as there is, from the last reply that held any.
//
// The messages of an output are not the text that the model saw but the conversation as it would be
// with native tools: thoughts, calls and results, without the instructions, and without the replies
// that came to nothing (sent back, or naming no tool) unless the last one is such. Any strategy can
// go on with it, this one too, and what came from outside is still marked so. A run that is stopped
// while a model or a tool is at work has what was there before; the call is answered as
// interrupted.
//
// The metadata of an output holds "steps" (turns that acted or answered), "finished" (whether there
// was an answer within the steps), and where they apply "implicit" (true), "tools" (a list of
// [ToolUse]), "finish" (why the model stopped, if not by itself), "repaired" (what was mended in
// the messages it was given).
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
	"github.com/segue-go/segue/tools"
)

var (
	_ strategy.Strategy       = (*react)(nil)
	_ strategy.ToolNamer      = (*react)(nil)
	_ strategy.FailureHandler = (*react)(nil)
	_ strategy.Concluder      = (*react)(nil)
	_ strategy.CallEditor     = (*react)(nil)
	_ strategy.ToolUser       = (*react)(nil)
)

type react struct {
	strategy.Defaults
	*settings
	frame.Frame
	policy Policy // which knows the tools

	tools    []tools.Definition // that may be used
	toolsErr error              // the Config names some that may not be used
	text     messages.History   // as the model sees it
	history  messages.History   // as the output has it
	repaired []string
	ids      map[string]bool // of the calls in history
	call     int             // number of the last call

	steps    int
	used     []ToolUse
	implicit bool
	finish   llmclient.FinishReason
	scrap    string  // the last reply, where it came to nothing
	part     *string // the last that there is of an answer; nil: nothing
}

// ToolNames implements strategy.ToolNamer.
func (s *react) ToolNames() []string { return s.Tools }

// UseTools implements strategy.ToolUser.
func (s *react) UseTools(defs []tools.Definition) {
	s.tools, s.toolsErr = frame.Tools("react", defs, s.Tools)
}

// Initialize implements strategy.Strategy.
func (s *react) Initialize(in delegation.Input) nextstep.NextStep {
	if s.Err != nil {
		return s.fail(delegation.CodeInvalid, s.Err)
	}
	err := s.open(in)
	switch {
	case err != nil:
		return s.fail(delegation.CodeInvalid, err)
	case s.toolsErr != nil:
		return s.fail(delegation.CodeInvalid, s.toolsErr)
	case in.Goal == "" && len(in.Messages) == 0:
		return s.fail(delegation.CodeInvalid, errors.New("react: there is nothing to do: the input has neither a goal nor messages"))
	default:
		return s.Then(started, s.request())
	}
}

// request asks the model for a turn.
func (s *react) request() nextstep.GetChatCompletion {
	req := llmclient.Request{
		Model:       s.Model,
		Messages:    s.text.Clip(),
		Tools:       s.tools,
		ToolFormat:  llmclient.ToolsText,
		Temperature: s.Temperature,
		MaxTokens:   s.MaxTokens,
	}
	if p, ok := s.policy.(markdownpolicy.Stopper); ok && len(s.tools) > 0 {
		req.Stop = p.Stop()
	}
	return nextstep.GetChatCompletion{Request: req}
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *react) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	switch s.State() {
	case AwaitingModel:
		return s.judge(resp)
	case Concluding:
		return s.conclusion(resp)
	default:
		return s.OutOfTurn()
	}
}

// EditCalls implements strategy.CallEditor.
func (s *react) EditCalls(calls []messages.ToolCall) {
	a, ok := s.history.Last().(messages.Assistant)
	if !ok {
		return
	}
	a = a.WithCalls(calls)
	s.history[len(s.history)-1] = a
	if said, _, err := s.written(a, messages.ToolOutput{}); err == nil {
		s.text[len(s.text)-1] = messages.AssistantText(said) // it stood in no request yet
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *react) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if s.State() != AwaitingTools {
		return s.OutOfTurn()
	}
	turn, _ := s.history.Last().(messages.Assistant)
	for _, r := range results { // there is one
		s.history = append(s.history, messages.Tool{ToolOutput: r})
		s.used = append(s.used, ToolUse{Tool: r.ToolName, CallID: r.CallID, Success: r.OK()})
		if err := s.observe(turn, r); err != nil {
			return s.fail(delegation.CodeInvalid, err)
		}
	}
	return s.goOn(observed)
}

// goOn asks for the next turn, or deals with there being none.
func (s *react) goOn(on strategy.Trigger) nextstep.NextStep {
	switch {
	case s.Can(on):
		return s.Then(on, s.request())
	case s.OnLimit == LimitFail:
		return s.Then(gaveUp, s.limited(s.part))
	}
	if err := s.say("Conclude", PromptData{}); err != nil {
		return s.fail(delegation.CodeInvalid, err)
	}
	step := s.request()
	step.Request.Tools = nil
	return s.Then(exhausted, step)
}

// ProcessFailure implements strategy.FailureHandler: a call that the provider could not read is the
// model's to mend.
func (s *react) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	text := strings.TrimSpace(f.Partial.Text())
	if text != "" {
		s.scrap = text
	}
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) && s.Can(reasked) {
		return s.again(text, PromptData{Why: whyMalformed, Problem: f.Message})
	}
	return s.Fail(frame.ErrorOf(f), s.output())
}

// Conclude implements strategy.Concluder.
func (s *react) Conclude(string) delegation.Output { return s.output() }
