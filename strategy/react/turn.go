package react

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// judge acts on a reply.
func (s *react) judge(resp llmclient.Response) nextstep.NextStep {
	resp = s.Once(resp, s.History)
	s.Finish = resp.Finish
	turn, err := s.read(resp.Message)
	s.scrap = strings.TrimSpace(resp.Message.Text())
	if turn.Answer != nil && strings.TrimSpace(*turn.Answer) != "" {
		s.part = turn.Answer
	}
	switch {
	case resp.Finish == llmclient.FinishContentFilter:
		return s.Abort(delegation.Code(llmclient.CodeContentFilter), errors.New("react: the provider withheld the reply, or a part of it"))
	case frame.CutOff(resp.Finish) && !whole(turn, s.scrap):
		return s.cutOff()
	case err != nil:
		return s.unread(turn, err)
	case turn.Action != nil:
		return s.act(resp.Message, turn)
	case turn.Answer == nil || strings.TrimSpace(*turn.Answer) == "":
		return s.unread(turn, nil)
	case s.HasNews(noted):
		return s.answerAgain(resp.Message, turn)
	default:
		return s.answer(resp.Message, turn)
	}
}

// read reads a reply. A model may call a tool natively although none was offered natively; the
// first such call is the action.
func (s *react) read(m messages.Assistant) (markdownpolicy.Turn, error) {
	calls := m.Calls()
	if len(calls) == 0 {
		return s.policy.ParseTurn(m.Text())
	}
	return markdownpolicy.Turn{Thought: m.Text(), Action: &calls[0]}, nil
}

// whole reports whether a turn is complete although the reply was cut off: text follows the turn.
// The reply has no surrounding blanks.
func whole(turn markdownpolicy.Turn, text string) bool {
	return turn.Kept != "" && turn.Missing == "" && !strings.HasSuffix(text, turn.Kept)
}

// act runs the action of a turn, or tells the model that the tool is unknown.
func (s *react) act(m messages.Assistant, turn markdownpolicy.Turn) nextstep.NextStep {
	call := *turn.Action
	own := s.Search.Own(call)
	known := own || slices.ContainsFunc(s.Defs, func(d tools.Definition) bool { return d.Name == call.Name })
	call.ID = "unknown"
	if known {
		call.ID = s.newID()
	}
	said := asSaid(m, turn.Thought, call)
	if turn.Kept == "" { // the reply was not text
		kept, _, err := s.written(said, messages.ToolOutput{})
		if err != nil {
			return s.Abort(delegation.CodeInvalid, err)
		}
		turn.Kept = kept
	}
	s.steps++
	s.text = append(s.text, messages.AssistantText(turn.Kept))
	if !known {
		return s.mistake(said, call)
	}
	s.History, s.scrap = append(s.History, said), ""
	s.aside, s.asideNotes = 0, 0
	if own {
		return s.took(s.Search.Answers([]messages.ToolCall{call}), searched)
	}
	return s.Then(acted, nextstep.ExecuteTools{Calls: []messages.ToolCall{call}})
}

// mistake tells the model that the tool is unknown.
func (s *react) mistake(said messages.Assistant, call messages.ToolCall) nextstep.NextStep {
	known, err := s.prompt("Unknown", PromptData{Tool: call.Name})
	if err == nil {
		err = s.observe(said, messages.ToolOutput{Status: messages.StatusFailed, Reason: "not_offered", Output: known})
	}
	if err != nil {
		return s.Abort(delegation.CodeInvalid, err)
	}
	s.aside += 2 // the reply and the observation
	s.used = append(s.used, ToolUse{Tool: call.Name})
	return s.goOn(mistaken)
}

// answer ends with the answer of a turn.
func (s *react) answer(m messages.Assistant, turn markdownpolicy.Turn) nextstep.NextStep {
	s.steps++
	s.keep(m, turn)
	out := s.Reached()
	out.Result = turn.Answer
	_ = out.Metadata.Set("finished", true)
	return s.Then(finished, nextstep.Complete{Output: out})
}

// keep adds an answer to the messages.
func (s *react) keep(m messages.Assistant, turn markdownpolicy.Turn) {
	s.implicit, s.scrap = turn.Implicit, ""
	s.History = append(s.History, asSaid(m, turn.Thought, messages.Text{Text: *turn.Answer}))
}

// cutOff processes a reply that ended at the token limit, before the end of its turn.
func (s *react) cutOff() nextstep.NextStep {
	if s.Can(reasked) {
		return s.again(s.scrap, PromptData{Why: whyCutOff})
	}
	return s.Abort(delegation.CodeTruncated, errors.New("react: the reply was cut off "+frame.CutWhere(s.Finish)))
}

// unread processes a reply that is neither an action nor an answer. err is nil if its answer is
// blank.
func (s *react) unread(turn markdownpolicy.Turn, err error) nextstep.NextStep {
	data := PromptData{Missing: turn.Missing}
	parse, ok := errors.AsType[*markdownpolicy.ParseError](err)
	switch {
	case ok:
		data.Why, data.Problem = whyNoTurn, parse.Feedback()
	case err != nil:
		data.Why, data.Problem = whyUnread, err.Error()
	case turn.Kept == "":
		data.Why, data.Missing, err = whyEmpty, "Action", errors.New("it is empty")
	default:
		data.Why, data.Missing, err = whyNoAnswer, "Final Answer", errors.New("its answer is empty")
	}
	if s.Can(reasked) {
		return s.again(turn.Kept, data)
	}
	return s.Abort(delegation.CodeFailed, fmt.Errorf("react: the reply is neither an action nor an answer: %w", err))
}

// again shows the model its reply, says what was wrong with it, and asks again.
func (s *react) again(reply string, data PromptData) nextstep.NextStep {
	if reply != "" {
		s.text = append(s.text, messages.AssistantText(reply))
		s.aside++
	}
	if err := s.say("Again", data); err != nil {
		return s.Abort(delegation.CodeInvalid, err)
	}
	return s.AskModel(reasked, s.request())
}

// conclusion processes the last reply. An action in it is not run.
func (s *react) conclusion(resp llmclient.Response) nextstep.NextStep {
	why := frame.MustConclude(s.History)
	resp, _ = frame.Once(resp, nil)
	s.Finish = resp.Finish
	turn, err := s.read(resp.Message)
	if err != nil || turn.Answer == nil || strings.TrimSpace(*turn.Answer) == "" {
		s.scrap = strings.TrimSpace(resp.Message.Text())
		return s.Then(concluded, s.limited(why, s.part))
	}
	s.keep(resp.Message, turn)
	return s.Then(concluded, s.limited(why, turn.Answer))
}

// asSaid returns a turn as a message: native thoughts of the model, the turn's thought, and its
// action or answer.
func asSaid(m messages.Assistant, thought string, does messages.AssistantContent) messages.Assistant {
	var parts []messages.AssistantContent
	for _, c := range m.Content {
		if t, ok := c.(messages.Thought); ok {
			parts = append(parts, t)
		}
	}
	if thought != "" {
		parts = append(parts, messages.Thought{Text: thought})
	}
	return messages.Assistant{Content: append(parts, does)}
}
