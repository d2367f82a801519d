// Package completetask is the strategy that works on a task by calling tools until it can answer.
// It asks the model, runs the tools that the model calls, and asks again with their results, until
// the model answers without a call.
//
// It makes at most MaxModelCalls + MaxRetries + 1 model calls; the last is for a conclusion without
// tools. [Config.Compact] adds those for summaries. A forced ToolChoice adds one if the provider
// refuses it, and a Schema adds one if the provider refuses the response format.
//
// The strategy never invents an answer. An empty reply has a nil Result. A reply that was cut off,
// was withheld, or came after the last allowed call is an error that keeps the text. If an answer
// was cut off or did not fit the schema, and nothing better follows, that answer is kept too.
//
// The metadata of an output holds "model_calls" (a number; a call whose failure ends the run does
// not count). If they apply it also holds "finish" (why the model stopped, if not by itself),
// "truncated" (true), "compactions" (how often the conversation became shorter) and
// "summaries_failed" (how often the summary for that failed), "unforced" (true: the provider
// refused the forced tool choice, so the model could answer without a call), "answer_tool" (true:
// the provider refused the response format, so the tool "final" was used for the answer),
// "repaired" (the repairs of the input messages), and "not_run" (the tools whose calls were not
// run, because the same reply called the tool "final" or handed over).
package completetask

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	_ strategy.Strategy       = (*completeTask)(nil)
	_ strategy.FailureHandler = (*completeTask)(nil)
	_ strategy.Concluder      = (*completeTask)(nil)
	_ strategy.CallEditor     = (*completeTask)(nil)
	_ strategy.ToolUser       = (*completeTask)(nil)
	_ strategy.Namer          = (*completeTask)(nil)
)

type completeTask struct {
	strategy.Defaults
	*settings
	frame.Conversation

	was      form     // of the last request, while its answer is processed
	finalAt  int      // number of found tools before the final tool, plus one; 0: it was not offered beside a search
	goal     string   // for a successor
	acted    bool     // a tool was called
	unforced bool     // the provider refuses a forced tool choice
	final    bool     // the answer is requested by the final tool, not by a response format
	pieces   []string // of an answer that was cut off and continued
	refused  string   // the last answer that was not taken
	dropped  []string // tools whose calls were not run beside one that ends the work
}

// UseTools implements strategy.ToolUser.
func (s *completeTask) UseTools(defs []tools.Definition) {
	s.Use(defs, s.Tools)
	s.addHandoffs()
	is := func(d tools.Definition) bool { return d.Name == s.ToolChoice.Name }
	s.final = s.schema != nil && s.Answer == AnswerTool
	if s.final && slices.ContainsFunc(s.Defs, func(d tools.Definition) bool { return d.Name == FinalTool }) {
		s.ToolsErr = errors.Join(s.ToolsErr, fmt.Errorf("completetask: Answer: the run has a tool %q of its own: rename it, or leave it out of Tools", FinalTool))
	}
	if s.ToolsErr == nil && s.ToolChoice.Name != "" && len(s.Defs) > 0 && !slices.ContainsFunc(s.Defs, is) {
		s.ToolsErr = fmt.Errorf("completetask: ToolChoice: there is no tool %q among those that are offered", s.ToolChoice.Name)
	}
	s.startSearch()
}

// Names implements strategy.Namer.
func (s *completeTask) Names() strategy.Names {
	names := strategy.Names{Tools: s.Plan.Names(s.Tools)}
	offersNone := s.Tools != nil && len(s.Tools) == 0 // then there is no choice
	if s.ToolChoice.Name != "" && !offersNone {
		names.Tools = append(slices.Clone(names.Tools), s.ToolChoice.Name)
	}
	for i := range s.Handoffs {
		names.Handoffs = append(names.Handoffs, s.Handoffs[i].Strategy)
	}
	return names
}

// Initialize implements strategy.Strategy.
func (s *completeTask) Initialize(in delegation.Input) nextstep.NextStep {
	if err := s.Open(in, s.System, s.KeepSystem); err != nil {
		return s.Abort(delegation.CodeInvalid, err)
	}
	s.goal = in.Question()
	if len(s.History) == 0 {
		return s.Abort(delegation.CodeInvalid, errors.New("completetask: there is nothing to do: the input has neither a goal nor messages"))
	}
	return s.AskModel(started, s.request())
}

// choice returns the tool choice for the next request with tools. A forced choice ends with the
// first call, or if it is refused.
func (s *completeTask) choice() llmclient.ToolChoice {
	switch forced := frame.Forced(s.ToolChoice); {
	case len(s.Defs) == 0, forced && s.acted, s.final && s.ToolChoice.Mode == llmclient.ChooseNone:
		return llmclient.ToolChoice{}
	case forced && s.unforced:
		return llmclient.ToolChoice{Mode: llmclient.ChooseAuto}
	default:
		return s.ToolChoice
	}
}

// request asks the model, with tools.
func (s *completeTask) request() nextstep.GetChatCompletion {
	s.TellNotes()
	schema := s.Schema
	if s.final {
		schema = nil
	}
	return nextstep.GetChatCompletion{Anew: s.anew(), Request: llmclient.Request{
		Model:       s.Model,
		Messages:    s.History.Clip(),
		Tools:       s.offered(),
		ToolFormat:  s.ToolFormat,
		ToolChoice:  s.choice(),
		Schema:      schema,
		Temperature: s.Temperature,
		MaxTokens:   s.MaxTokens,
	}}
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *completeTask) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	switch s.State() {
	case awaitingModel:
	case frame.Compacting:
		return s.Summarized(resp)
	case frame.Concluding:
		return s.conclusion(resp)
	default:
		return s.OutOfTurn()
	}
	s.Compact.Answered(resp.Usage)
	resp = s.Once(resp, s.History)
	s.was = s.form()
	s.Asked++
	s.Finish = resp.Finish
	if !resp.Message.Empty() {
		s.History = append(s.History, resp.Message)
	}
	calls := resp.Message.Calls()
	switch {
	case resp.Finish == llmclient.FinishContentFilter:
		s.closeCalls(calls)
		step := s.Abort(delegation.Code(llmclient.CodeContentFilter), errors.New("completetask: the provider withheld the reply, or a part of it"))
		return withResult(step, s.reached(resp.Message.Text()))
	case len(calls) > 0 && frame.CutOff(resp.Finish):
		return s.reissue(calls)
	case s.finalCall(calls) >= 0:
		return s.submitted(calls, s.finalCall(calls))
	case s.handsOff(calls):
		return s.handOver(calls)
	case len(calls) == 0 && s.HasNews(noted):
		return s.answerAgain(resp.Message.Text())
	case len(calls) > 0:
		return s.act(calls)
	default:
		return s.answer(resp.Message.Text())
	}
}

// ProcessToolResults implements strategy.Strategy.
func (s *completeTask) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if s.State() != awaitingTools {
		return s.OutOfTurn()
	}
	s.was = s.form()
	s.acted = true
	if s.Search.Active() {
		results = s.Search.Complete(frame.OpenCalls(s.History), results)
	}
	s.History = frame.Results(s.History, results)
	s.TellNotes()
	return s.goOn(answered, exhausted)
}

// goOn asks again or, if no model call with tools or no call of a tool is left, for a conclusion.
func (s *completeTask) goOn(on, last strategy.Trigger) nextstep.NextStep {
	why := frame.MustConclude(s.History)
	switch {
	case why == "" && s.Can(on):
		return s.AskModel(on, s.request())
	case s.OnLimit == LimitFail:
		return s.Then(gaveUp, s.limited(why, s.reached("")))
	default:
		s.say("Conclude", map[string]any{"Calls": s.Asked, "Why": why})
		if why != "" { // a compaction would forget why
			return s.Then(last, s.concluding())
		}
		return s.AskModel(last, s.concluding())
	}
}

// concluding asks the model for a conclusion, without tools.
func (s *completeTask) concluding() nextstep.GetChatCompletion {
	step := s.request()
	step.Request.Tools, step.Request.ToolChoice = nil, llmclient.ToolChoice{}
	if step.Anew = nil; len(s.Defs) > 0 || s.was.offersFinal {
		step.Anew = anewConclusion
	}
	if frame.MustConclude(s.History) == messages.ReasonRepetition {
		step.Request.Messages, step.Anew = frame.InWords(s.History)
	}
	return step
}

// answer processes a reply without calls.
func (s *completeTask) answer(text string) nextstep.NextStep {
	switch {
	case frame.CutOff(s.Finish):
		return s.cutOff(text)
	case text == "" && len(s.pieces) == 0:
		return s.empty()
	case s.schema != nil && s.Finish != llmclient.FinishRefusal:
		return s.checked(s.joined(text))
	default:
		return s.done(s.joined(text), nil)
	}
}

// joined appends the last piece of an answer to the pieces that were cut off.
func (s *completeTask) joined(text string) string {
	return strings.Join(append(s.pieces, text), "")
}

// reached returns the available part of an answer, including the last text, or "" if there is none.
func (s *completeTask) reached(last string) string { return cmp.Or(s.joined(last), s.refused) }

// cutOff processes a text that ended at the token limit.
func (s *completeTask) cutOff(text string) nextstep.NextStep {
	switch {
	case s.OnLength == LengthAccept:
		return s.done(s.joined(text), nil)
	case s.OnLength == LengthContinue && text != "" && s.Can(reasked):
		s.pieces = append(s.pieces, text)
		return s.again("Continue", nil)
	default:
		step := s.Abort(delegation.CodeTruncated, errors.New("completetask: the answer was cut off "+frame.CutWhere(s.Finish)))
		return withResult(step, s.reached(text))
	}
}

// reissue answers calls that were cut off, which are not run, and asks the model to make them
// again.
func (s *completeTask) reissue(calls []messages.ToolCall) nextstep.NextStep {
	s.closeCalls(calls)
	if !s.Can(reasked) {
		step := s.Abort(delegation.CodeTruncated, errors.New("completetask: the model's tool calls were cut off "+frame.CutWhere(s.Finish)))
		return withResult(step, s.reached(""))
	}
	return s.AskModel(reasked, s.request())
}

// closeCalls answers calls that are not run.
func (s *completeTask) closeCalls(calls []messages.ToolCall) {
	for _, c := range calls {
		s.History = append(s.History, frame.NotRun(c, "cut_off", s.prompt("CutCall", map[string]any{"Tool": c.Name})))
	}
}

// empty processes an empty reply.
func (s *completeTask) empty() nextstep.NextStep {
	switch {
	case s.OnEmpty == EmptyAccept && s.schema == nil:
		return s.Then(finished, nextstep.Complete{Output: s.Reached()})
	case s.OnEmpty != EmptyFail && s.Can(reasked):
		return s.again("Empty", nil)
	default:
		return withResult(s.Abort(delegation.CodeFailed, errors.New("completetask: the model's reply was empty")), s.refused)
	}
}

// checked checks an answer against the schema.
func (s *completeTask) checked(text string) nextstep.NextStep {
	data := unfenced(text)
	wrong := s.check(data)
	switch {
	case wrong == nil:
		return s.done(text, []byte(data))
	case !s.Can(reasked):
		return s.invalid(text, wrong)
	case s.final:
		s.pieces, s.refused = nil, text
		return s.again("Final", map[string]any{"Final": FinalTool})
	default:
		s.pieces, s.refused = nil, text
		return s.again("Schema", map[string]any{"Problem": bare(wrong)})
	}
}

// unfenced removes a fenced code block around JSON. Models write one although they are asked not
// to.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "```") || !strings.HasSuffix(text, "```") || len(text) < 6 {
		return text
	}
	_, inside, ok := strings.Cut(strings.TrimSuffix(text, "```"), "\n")
	if !ok {
		return text
	}
	return strings.TrimSpace(inside)
}

// conclusion processes the last reply. Calls in it are not run.
func (s *completeTask) conclusion(resp llmclient.Response) nextstep.NextStep {
	why := frame.MustConclude(s.History)
	s.Asked++
	resp, _ = frame.Once(resp, nil)
	s.Finish = resp.Finish
	if !resp.Message.Empty() {
		s.History = append(s.History, resp.Message)
		s.closeCalls(resp.Message.Calls())
	}
	return s.Then(concluded, s.limited(why, cmp.Or(resp.Message.Text(), s.reached(""))))
}

// ProcessFailure implements strategy.FailureHandler. A forced choice that the provider refuses is
// not forced again. A refused response format is replaced by the final tool. A call that the
// provider could not read is returned to the model for correction.
func (s *completeTask) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	s.was = s.form()
	if step := s.TooLong(f); step != nil {
		return step
	}
	if frame.RefusesChoice(f) && frame.Forced(s.choice()) && s.Can(unforced) {
		s.Asked++
		s.unforced = true
		return s.Then(unforced, s.request())
	}
	if s.fallsBack(f) {
		s.Asked++
		s.final = true
		return s.Then(unformatted, s.request())
	}
	if f.Code == delegation.Code(llmclient.CodeMalformedToolCall) && s.Can(reasked) {
		s.Asked++
		if text := f.Partial.Text(); text != "" {
			s.History = append(s.History, messages.AssistantText(text)) // the model's text, for it to learn from
		}
		return s.again("Malformed", map[string]any{"Problem": f.Message, "Generated": f.Partial.Text()})
	}
	out := s.Conclude("") // otherwise the Machine has the messages, including the received part of a reply
	if out.Messages != nil && s.State() == frame.Concluding && !f.Partial.Empty() {
		out.Messages = append(out.Messages, f.Partial)
	}
	return s.Fail(frame.ErrorOf(f), out)
}

// Conclude implements strategy.Concluder.
func (s *completeTask) Conclude(string) delegation.Output {
	return delegation.Output{Result: textOf(s.reached("")), Metadata: s.metadata(), Messages: s.compacting()}
}

// say adds a prompt of the strategy to the conversation.
func (s *completeTask) say(prompt string, data map[string]any) {
	s.History = append(s.History, messages.UserText(s.prompt(prompt, data)))
}

// again tells the model what was wrong and asks again.
func (s *completeTask) again(prompt string, data map[string]any) nextstep.NextStep {
	s.say(prompt, data)
	return s.AskModel(reasked, s.request())
}
