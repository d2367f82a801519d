package reasonactobserve_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
)

// Whatever a reply contains: the strategy returns a step, and the conversation obeys the laws.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"finish":"true","final_answer":{"a":[1]}}`, `{"request_input":"Which?"}`, `{"request_input":{"question":["a"],"options":[1,"b",null]}}`,
		"```json\n{\"should_continue\":\"no\"}\n``` and so on", `{"finish":`, `{"final_answer":null,"finish":1}`, `[{"finish":true}]`, ``,
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		for _, state := range []strategy.State{"reasoning", "observing"} {
			s, name := rao.New(rao.Config{Tools: []string{}})(), rao.DecideNext
			s.Initialize(delegation.Input{Goal: "go"})
			if state == "observing" {
				name = rao.ObserveDecide
				s.ProcessAPIResponse(calling(rao.DecideNext, `{}`))
			}
			require.Equal(t, state, s.(strategy.Tabler).FSM().State())
			step := s.ProcessAPIResponse(llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
				messages.Text{Text: text}, messages.ToolCall{ID: "1", Name: name, Arguments: args},
			}}})
			switch step := step.(type) {
			case nextstep.GetChatCompletion:
				require.NoError(t, step.Request.Messages.Validate())
			case nextstep.ExecuteTools:
				require.True(t, json.Valid([]byte(step.Calls[0].Arguments)))
			case nextstep.Complete:
				require.NoError(t, step.Output.Messages.Validate())
				require.NotEmpty(t, step.Output.Text())
			default:
				t.Fatalf("a %T", step)
			}
		}
	})
}
