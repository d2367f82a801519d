package completetask

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// FinalTool is the name of the tool with which a model gives its answer; see [AnswerTool]. In that
// mode no tool of the run may have this name.
const FinalTool = "final"

// finalDefinition returns the tool for answers of a schema. ok is false if the schema is not of
// type object, as the schema of arguments must be.
func finalDefinition(schema json.RawMessage) (def tools.Definition, ok bool) {
	var top struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &top) != nil || top.Type != "object" {
		return def, false
	}
	return tools.Definition{
		Name:        FinalTool,
		Description: "Gives the answer to the task, which ends the work. Call it once, alone, when the answer is whole.",
		Parameters:  schema,
		ReadOnly:    true,
	}, true
}

// offered returns the tools of the next request. They do not include the final tool as long as a
// forced choice requires another, and no other tool if the choice is none. The final tool stays
// where it was first offered: what is found later comes after it.
func (s *completeTask) offered() []tools.Definition {
	switch {
	case !s.final, s.mustAct():
		return s.Search.Offered()
	case s.ToolChoice.Mode == llmclient.ChooseNone:
		return []tools.Definition{s.answerTool}
	default:
		all := s.Search.Offered()
		if !s.Search.Active() {
			return append(all, s.answerTool)
		}
		if s.finalAt == 0 {
			s.finalAt = s.Search.Count() + 1
		}
		return slices.Insert(slices.Clone(all), len(all)-s.Search.Count()+s.finalAt-1, s.answerTool)
	}
}

// finalCall returns the index of the call that gives the answer, or -1 if there is none.
func (s *completeTask) finalCall(calls []messages.ToolCall) int {
	if !s.final {
		return -1
	}
	return slices.IndexFunc(calls, func(c messages.ToolCall) bool { return c.Name == FinalTool })
}

// submitted uses the arguments of a call as the answer. No other call of the reply is run. If that
// may matter, the model is told and asked again.
func (s *completeTask) submitted(calls []messages.ToolCall, at int) nextstep.NextStep {
	answer := calls[at].Arguments
	wrong := s.check(answer)
	again := wrong == nil && s.matters(calls, at) && s.Can(reasked)
	for i, c := range calls {
		data := map[string]any{"Final": FinalTool}
		switch {
		case again && i == at:
			s.History = append(s.History, frame.NotRun(c, "not_run", s.prompt("NotAlone", data)))
		case again && c.Name == FinalTool:
			s.drop(c, "NotAlone", data)
		case i != at:
			s.drop(c, "NotRun", data)
		case wrong != nil:
			said := s.prompt("Arguments", map[string]any{"Final": FinalTool, "Problem": bare(wrong)})
			s.History = append(s.History, frame.NotRun(c, tools.ReasonArguments, said))
		default:
			s.History = append(s.History, messages.Tool{ToolOutput: messages.ToolOutput{
				CallID: c.ID, ToolName: c.Name, Output: s.prompt("Received", nil),
			}})
		}
	}
	switch {
	case wrong == nil && !again && s.HasNews(noted):
		return s.answerAgain(answer)
	case wrong == nil && !again:
		return s.done(answer, []byte(answer))
	case s.Can(reasked):
		s.pieces, s.refused = nil, answer
		return s.AskModel(reasked, s.request())
	default:
		return s.invalid(answer, wrong)
	}
}

// matters reports whether it may matter to the model that the calls beside an answer are not run:
// one of them has an effect, hands over, or gives another answer.
func (s *completeTask) matters(calls []messages.ToolCall, at int) bool {
	return slices.ContainsFunc(s.Search.Rest(calls), func(c messages.ToolCall) bool {
		if c.Name == FinalTool {
			return c.Arguments != calls[at].Arguments
		}
		reads := slices.ContainsFunc(s.Defs, func(d tools.Definition) bool { return d.Name == c.Name && d.ReadOnly })
		return !reads || s.handsOff([]messages.ToolCall{c})
	})
}

// drop answers a call that is not run beside a call that ends the work, and names it in the output.
func (s *completeTask) drop(c messages.ToolCall, prompt string, data map[string]any) {
	data["Tool"] = c.Name
	s.History = append(s.History, frame.NotRun(c, "not_run", s.prompt(prompt, data)))
	s.dropped = append(s.dropped, c.Name)
}

// check checks an answer against the schema and with the Config's Validate.
func (s *completeTask) check(answer string) error {
	if err := s.schema.Check(answer); err != nil || s.Validate == nil {
		return err
	}
	return s.Validate(json.RawMessage(answer))
}

// bare is what is wrong with an answer, without the prefix that the text has as an error.
func bare(wrong error) string { return strings.TrimPrefix(wrong.Error(), "tools: ") }

// answerError is the end with an answer that is not as it should be.
type answerError struct{ wrong error }

func (e *answerError) Error() string {
	return "completetask: the answer is not as it was asked for: " + bare(e.wrong)
}

func (e *answerError) Unwrap() error { return e.wrong }

// invalid ends with an invalid answer.
func (s *completeTask) invalid(answer string, wrong error) nextstep.NextStep {
	step := s.Abort(delegation.CodeInvalid, &answerError{wrong})
	return withResult(step, answer)
}

// fallsBack reports whether a failed request is repeated with the final tool instead of the
// response format.
func (s *completeTask) fallsBack(f nextstep.Failure) bool {
	taken := slices.ContainsFunc(s.Defs, func(d tools.Definition) bool { return d.Name == FinalTool })
	return !s.final && !taken && frame.RefusesSchema(f) && s.Can(unformatted)
}

// form is how a request asks, as far as this changes.
type form struct {
	asked       bool // there is a request
	final       bool // the answer is requested by the final tool
	offersFinal bool // that tool is offered
	found       int  // how many tools were found
}

// form returns the form of a request in this state.
func (s *completeTask) form() form {
	return form{true, s.final, s.final && !s.mustAct(), s.Search.Count()}
}

// mustAct reports whether the next request requires a call of another tool than the final one.
func (s *completeTask) mustAct() bool {
	return frame.Forced(s.ToolChoice) && !s.acted && !s.unforced && s.refused == "" && len(s.Defs) > 0
}

// Why a request does not extend the last one.
var (
	anewFinal      = new("the answer is asked for by a tool instead of a response format")
	anewOffered    = new("the tool for the answer is offered from now on")
	anewConclusion = new("the conclusion is asked for without tools")
)

// anew returns why the next request does not extend the last one, or nil.
func (s *completeTask) anew() *string {
	now := s.form()
	switch {
	case !s.was.asked || s.was == now:
		return nil
	case s.was.final != now.final:
		return anewFinal
	}
	news := s.Search.News(s.was.found)
	switch {
	case s.was.offersFinal == now.offersFinal:
		return news
	case news != nil:
		return new(*anewOffered + "; " + *news)
	default:
		return anewOffered
	}
}
