package completetask_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// The model receives the error of Validate, in whichever mode the answer was requested.
func TestValidate(t *testing.T) {
	for _, mode := range []completetask.AnswerMode{completetask.AnswerNative, completetask.AnswerTool} {
		s, _ := start(t, completetask.Config{Schema: citySchema, Answer: mode, Validate: func(answer json.RawMessage) error {
			if strings.Contains(string(answer), "Paris") {
				return errors.New("not Paris again")
			}
			return nil
		}}, delegation.Input{Goal: "go"})
		say := func(answer string) nextstep.NextStep {
			if mode == completetask.AnswerTool {
				return s.ProcessAPIResponse(reply(messages.ToolCall{ID: answer, Name: completetask.FinalTool, Arguments: answer}))
			}
			return s.ProcessAPIResponse(reply(messages.Text{Text: answer}))
		}
		step := say(`{"city":"Paris","inhabitants":1}`).(nextstep.GetChatCompletion)
		require.Equal(t, mode == completetask.AnswerTool, step.Request.Schema == nil)
		last, err := json.Marshal(step.Request.Messages.Last())
		require.NoError(t, err)
		require.Contains(t, string(last), "not Paris again")
		out := say(`{"city":"Rome","inhabitants":1}`).(nextstep.Complete).Output
		require.JSONEq(t, `{"city":"Rome","inhabitants":1}`, string(out.Data))
		require.NoError(t, out.Messages.Validate())
	}
}

// The final tool needs a schema of type object, and a name that no tool of the run has.
func TestAnswer_tool(t *testing.T) {
	list := &llmclient.Schema{Name: "list", Schema: []byte(`{"type":"array"}`)}
	check := completetask.New(completetask.Config{Schema: list, Answer: completetask.AnswerTool})().(strategy.Checker).Check
	require.ErrorContains(t, check(), `must be of "type":"object"`)
	_, step := start(t, completetask.Config{Schema: citySchema, Answer: completetask.AnswerTool}, delegation.Input{Goal: "go"}, "final")
	require.ErrorContains(t, step.(nextstep.ReportError).Err, `the run has a tool "final" of its own`)

	refused := nextstep.Failure{Code: delegation.Code(llmclient.CodeBadRequest), Message: "response_format: no"}
	for name, c := range map[string]struct {
		schema *llmclient.Schema
		tool   string
	}{"not of objects": {list, "look"}, "the name is taken": {citySchema, "final"}, "no schema": {nil, "look"}} {
		s, _ := start(t, completetask.Config{Schema: c.schema}, delegation.Input{Goal: "go"}, c.tool)
		require.IsType(t, nextstep.ReportError{}, s.(strategy.FailureHandler).ProcessFailure(refused), name)
	}
	s, _ := start(t, completetask.Config{Schema: citySchema, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseNone}}, delegation.Input{Goal: "go"}, "look")
	again := s.(strategy.FailureHandler).ProcessFailure(refused).(nextstep.GetChatCompletion).Request
	require.Len(t, again.Tools, 1, "the others may not be called")
	require.Equal(t, llmclient.ToolChoice{}, again.ToolChoice)
}

func TestBound_answer(t *testing.T) {
	require.Equal(t, 53, completetask.Config{}.Bound())
	require.Equal(t, 54, completetask.Config{Schema: citySchema}.Bound())
	require.Equal(t, 53, completetask.Config{Schema: citySchema, Answer: completetask.AnswerNative}.Bound())
	require.Equal(t, 53, completetask.Config{Schema: citySchema, Answer: completetask.AnswerTool}.Bound())
}
