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
	"github.com/segue-go/segue/tools"
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

// pay is not read-only, look is.
var payAndLook = []tools.Definition{{Name: "pay"}, {Name: "look", ReadOnly: true}}

func byTool(cfg completetask.Config) strategy.Strategy {
	cfg.Schema, cfg.Answer = citySchema, completetask.AnswerTool
	s := completetask.New(cfg)()
	s.(strategy.ToolUser).UseTools(payAndLook)
	s.Initialize(delegation.Input{Goal: "go"})
	return s
}

// The model takes a call beside the final one for made, and learns that it was not.
func TestFinal_besideAnEffect(t *testing.T) {
	paris, rome := `{"city":"Paris","inhabitants":1}`, `{"city":"Rome","inhabitants":2}`
	call := func(id, name, arguments string) messages.ToolCall {
		return messages.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	handoff := []completetask.Handoff{{Strategy: "refunds"}}
	for name, c := range map[string]struct {
		calls []messages.AssistantContent
		told  []string // the results that the model reads; none: it is not asked again
		names string   // "not_run" of the output
	}{
		"an effect": {[]messages.AssistantContent{call("1", "pay", `{}`), call("2", "final", paris)}, []string{
			"This call was not run: final was called in the same reply. Call final alone, when the answer is whole.",
			"This answer was not taken: other calls of the reply were not run. Call final once and alone, when the answer is whole.",
		}, `["pay"]`},
		"after it": {[]messages.AssistantContent{call("1", "final", paris), call("2", "no_such", `{}`)}, []string{
			"This answer was not taken: other calls of the reply were not run. Call final once and alone, when the answer is whole.",
			"This call was not run: final was called in the same reply. Call final alone, when the answer is whole.",
		}, `["no_such"]`},
		"twice": {[]messages.AssistantContent{call("1", "final", paris), call("2", "final", rome)}, []string{
			"This answer was not taken: other calls of the reply were not run. Call final once and alone, when the answer is whole.",
			"This answer was not taken: other calls of the reply were not run. Call final once and alone, when the answer is whole.",
		}, `["final"]`},
		"a handoff": {[]messages.AssistantContent{call("1", "transfer_to_refunds", `{}`), call("2", "final", paris)}, []string{
			"This call was not run: final was called in the same reply. Call final alone, when the answer is whole.",
			"This answer was not taken: other calls of the reply were not run. Call final once and alone, when the answer is whole.",
		}, `["transfer_to_refunds"]`},
		"it alone":        {calls: []messages.AssistantContent{messages.Text{Text: "so"}, call("1", "final", paris)}},
		"the same answer": {calls: []messages.AssistantContent{call("1", "final", paris), call("2", "final", paris)}, names: `["final"]`},
		"what only reads": {calls: []messages.AssistantContent{call("1", "look", `{}`), call("2", "final", paris)}, names: `["look"]`},
	} {
		s := byTool(completetask.Config{Handoffs: handoff})
		step := s.ProcessAPIResponse(reply(c.calls...))
		if c.told != nil {
			request := step.(nextstep.GetChatCompletion).Request
			require.NoError(t, request.Messages.Validate(), name)
			results := request.Messages[len(request.Messages)-len(c.told):]
			for i, text := range c.told {
				require.Equal(t, text, results[i].(messages.Tool).Output, name)
				require.Equal(t, "not_run", results[i].(messages.Tool).Reason, name)
			}
			memory, err := s.(strategy.Snapshotter).Snapshot()
			require.NoError(t, err)
			again := completetask.New(completetask.Config{Schema: citySchema, Answer: completetask.AnswerTool, Handoffs: handoff})()
			again.(strategy.ToolUser).UseTools(payAndLook)
			require.NoError(t, again.(strategy.Snapshotter).Restore(memory))
			require.NoError(t, again.(strategy.Tabler).FSM().SetPosition(s.(strategy.Tabler).FSM().Position()))
			step = again.ProcessAPIResponse(reply(call("3", "final", rome)))
		}
		out := step.(nextstep.Complete).Output
		want := paris
		if c.told != nil {
			want = rome
		}
		require.JSONEq(t, want, out.Text(), name)
		require.Equal(t, c.names, string(out.Metadata["not_run"]), name)
	}

	// Without a retry the answer is taken, and what was not run is named all the same.
	s := byTool(completetask.Config{MaxRetries: -1})
	out := s.ProcessAPIResponse(reply(call("1", "pay", `{}`), call("2", "final", paris), call("3", "final", rome))).(nextstep.Complete).Output
	require.JSONEq(t, paris, out.Text())
	require.Equal(t, `["pay","final"]`, string(out.Metadata["not_run"]))
	require.NoError(t, out.Messages.Validate())

	// A model that does not learn it does not go on for ever.
	s = byTool(completetask.Config{})
	for range 2 {
		require.IsType(t, nextstep.GetChatCompletion{}, s.ProcessAPIResponse(reply(call("1", "pay", `{}`), call("2", "final", paris))))
	}
	require.IsType(t, nextstep.Complete{}, s.ProcessAPIResponse(reply(call("1", "pay", `{}`), call("2", "final", paris))))
}

// Who takes over reads of a call beside the handoff nothing that needs a tool which it has not.
func TestHandoff_besideAnotherCall(t *testing.T) {
	for _, history := range []completetask.HandoffHistory{completetask.HistoryAll, completetask.HistoryLast} {
		handoffs := []completetask.Handoff{{Strategy: "refunds", History: history}, {Strategy: "sales", History: history}}
		s := completetask.New(completetask.Config{Handoffs: handoffs})()
		s.(strategy.ToolUser).UseTools(payAndLook)
		s.Initialize(delegation.Input{Goal: "go"})
		step := s.ProcessAPIResponse(reply(
			messages.ToolCall{ID: "1", Name: "look", Arguments: `{}`}, messages.ToolCall{ID: "2", Name: "transfer_to_refunds", Arguments: `{}`},
			messages.ToolCall{ID: "3", Name: "transfer_to_sales", Arguments: `{}`},
		)).(nextstep.Complete)
		require.Equal(t, "refunds", step.Handoff.Strategy)
		given := step.Handoff.Input.Messages
		require.NoError(t, given.Validate())
		var read []string
		for _, m := range given[len(given)-3:] {
			read = append(read, m.(messages.Tool).Output)
		}
		require.Equal(t, []string{
			"This call was not run: the conversation was handed over in the same reply.",
			"The conversation is handed over to refunds.",
			"This call was not run: the conversation was handed over in the same reply.",
		}, read)
		require.Equal(t, `["look","transfer_to_sales"]`, string(step.Output.Metadata["not_run"]))
	}
}
