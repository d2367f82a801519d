package builtin_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/stepagent"
)

// The system prompt belongs to the agent: an agent that receives the conversation of another one
// uses its own prompt. Without one, or with keep_system, it uses the prompt of the conversation.
func TestSystem_ofTheAgent(t *testing.T) {
	asks := func(stepagent.Step) stepagent.StepResult {
		return stepagent.Ask(llmclient.Request{}, func(llmclient.Response) stepagent.StepResult { return stepagent.Finish("") })
	}
	for _, c := range []struct{ name, config, want string }{
		{"its own", `{"system":"You are B."}`, "You are B."},
		{"none", `{}`, "You are A."},
		{"kept", `{"system":"You are B.","keep_system":true}`, "You are A."},
	} {
		factories := strategy.Set{}
		for _, name := range builtin.Names() {
			if strings.Contains(string(builtin.Schema(name)), `"system"`) {
				factory, err := builtin.New(name, json.RawMessage(c.config))
				require.NoError(t, err, name)
				factories[name] = factory
			}
		}
		own := stepagent.Config{Step: asks}
		require.NoError(t, json.Unmarshal([]byte(c.config), &own))
		factories[stepagent.Name] = stepagent.New(own)
		require.Len(t, factories, 9)

		for name, factory := range factories {
			model := scripted.New(scripted.Reply{Err: errors.New("enough")})
			set := strategy.Set{"complete-task": builtin.All()["complete-task"]} // carries out plans
			set[name] = factory
			o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: set, Default: name})
			require.NoError(t, err, name)
			_, err = o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Who are you?", Messages: messages.History{
				messages.System{Text: "You are A."}, messages.UserText("hello"), messages.AssistantText("I am A."),
			}}})
			require.Error(t, err)
			said := model.Requests()[0].Messages
			system := said[0].(messages.System).Text
			require.True(t, strings.HasPrefix(system, c.want), "%s, %s: %q", name, c.name, system)
			require.Equal(t, messages.UserText("hello"), said[1], "%s, %s", name, c.name)
		}
	}
}
