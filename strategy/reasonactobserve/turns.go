package reasonactobserve

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// reason asks for a decision.
func (s *reasonActObserve) reason() nextstep.GetChatCompletion {
	data := s.deciding()
	data.Tool = DecideNext
	offered := append([]tools.Definition{s.decide}, s.ownCall()...)
	return s.forced(s.request(s.with(s.History, "Reason", data), offered...), DecideNext)
}

// ownCall returns the tool that the strategy will call itself in the act turn, if there is one. It
// must be offered in the request before the call.
func (s *reasonActObserve) ownCall() []tools.Definition {
	if s.consult == nil {
		return nil
	}
	return []tools.Definition{s.consult.tool}
}

func (s *reasonActObserve) deciding() PromptData {
	data := PromptData{CanAsk: !s.NoInput}
	for _, d := range s.Search.Offered() {
		data.Tools = append(data.Tools, d.Name)
	}
	return data
}

// forced changes a request so that the model must call the control tool, if the provider supports
// this.
func (s *reasonActObserve) forced(step nextstep.GetChatCompletion, tool string) nextstep.GetChatCompletion {
	step.Request.ToolChoice = llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: tool}
	if s.unforced {
		step.Request.ToolChoice = llmclient.ToolChoice{Mode: llmclient.ChooseAuto}
	}
	return step
}

// reasoned processes the reply of the reason turn.
func (s *reasonActObserve) reasoned(reply messages.Assistant) nextstep.NextStep {
	s.record(reply, "NotRun")
	d, ok := readDecision(reply, DecideNext, decideKeys)
	switch {
	case !ok && strings.TrimSpace(reply.Text()) == "" && s.Can(silent):
		return s.then(silent, s.request(s.with(s.History, "Decide", s.deciding()), s.ownCall()...))
	case d.FinalAnswer != "":
		return s.done(string(d.FinalAnswer))
	case d.Finish == yes && !d.prose && d.beside != "":
		return s.done(d.beside)
	case d.Finish == yes:
		return s.answer()
	case d.RequestInput != nil && d.RequestInput.Question != "" && !s.NoInput:
		return s.ask(*d.RequestInput)
	default:
		return s.act()
	}
}

// answer asks for the answer in plain words.
func (s *reasonActObserve) answer() nextstep.NextStep {
	s.TellNotes()
	s.say("Answer", PromptData{})
	return s.then(satisfied, s.request(s.History))
}

// ask asks the user. The call is not in the conversation: the model asked in its decision.
func (s *reasonActObserve) ask(q input) nextstep.NextStep {
	arguments, err := json.Marshal(q)
	if err != nil {
		return s.Abort(delegation.CodeInvalid, err)
	}
	call := messages.ToolCall{ID: "input_" + strconv.Itoa(s.step), Name: RequestInput, Arguments: string(arguments)}
	return s.then(asked, nextstep.ExecuteTools{Calls: []messages.ToolCall{call}})
}

// replied adds the user's answer to the conversation.
func (s *reasonActObserve) replied(results []messages.ToolOutput) nextstep.NextStep {
	for _, r := range results {
		if r.OK() {
			s.History = append(s.History, messages.UserText(r.Output))
		} else {
			s.say("NoAnswer", PromptData{Problem: r.Output})
		}
	}
	return s.next()
}

// observe shows the model what this step did, and asks what it means. The full results are in the
// conversation after s.before; here they are shortened.
func (s *reasonActObserve) observe() nextstep.GetChatCompletion {
	h := s.with(s.History[:s.before], "Observe", PromptData{Tool: ObserveDecide, Results: s.results})
	return s.forced(s.request(h, observeDefinition), ObserveDecide)
}

// observed processes the reply of the observe turn.
func (s *reasonActObserve) observed(reply messages.Assistant) nextstep.NextStep {
	s.record(reply, "NotRun")
	d, _ := readDecision(reply, ObserveDecide, observeKeys)
	switch {
	case d.FinalAnswer != "":
		return s.done(string(d.FinalAnswer))
	case d.ShouldContinue != no:
		return s.next()
	case d.beside != "":
		return s.done(d.beside)
	case d.Observation != "":
		return s.done(string(d.Observation))
	default:
		return s.answer()
	}
}

// next begins the next step, or ends if none is left.
func (s *reasonActObserve) next() nextstep.NextStep {
	s.TellNotes()
	why := frame.MustConclude(s.History)
	switch {
	case why == "" && s.Can(again):
		s.step++
		s.results = nil
		return s.askModel(again, s.reason())
	case s.OnLimit == LimitFail:
		return s.Then(gaveUp, s.limited(why, nil))
	default:
		s.say("Conclude", PromptData{Why: why})
		if why != "" { // a compaction would forget why
			step := s.request(s.History)
			if why == messages.ReasonRepetition {
				step.Request.Messages, step.Anew = frame.InWords(s.History, DecideNext, ObserveDecide)
			}
			return s.then(exhausted, step)
		}
		return s.askModel(exhausted, s.request(s.History))
	}
}
