package completetask_test

import (
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

// start makes a strategy and starts it.
func start(t *testing.T, cfg completetask.Config, in delegation.Input, offered ...string) (strategy.Strategy, nextstep.NextStep) {
	t.Helper()
	s := completetask.New(cfg)()
	var defs []tools.Definition
	for _, name := range offered {
		defs = append(defs, tools.Definition{Name: name})
	}
	s.(strategy.ToolUser).UseTools(defs)
	return s, s.Initialize(in)
}

func reply(parts ...messages.AssistantContent) llmclient.Response {
	return llmclient.Response{Message: messages.Assistant{Content: parts}}
}

// S0-20: in a conversation that ends with the user's new question, the model is asked that
// question.
func TestS0_20_newestQuestion(t *testing.T) {
	history := messages.History{messages.UserText("old"), messages.AssistantText("answer"), messages.UserText("new")}
	_, step := start(t, completetask.Config{}, delegation.Input{Messages: history})
	require.Equal(t, history, step.(nextstep.GetChatCompletion).Request.Messages)
}

func TestTools(t *testing.T) {
	names := func(step nextstep.NextStep) []string {
		var list []string
		for _, d := range step.(nextstep.GetChatCompletion).Request.Tools {
			list = append(list, d.Name)
		}
		return list
	}
	in := delegation.Input{Goal: "go"}
	_, step := start(t, completetask.Config{}, in, "a", "b")
	require.Equal(t, []string{"a", "b"}, names(step), "nil means all")
	_, step = start(t, completetask.Config{Tools: []string{"b"}}, in, "a", "b")
	require.Equal(t, []string{"b"}, names(step))
	_, step = start(t, completetask.Config{Tools: []string{}}, in, "a", "b")
	require.Empty(t, names(step), "empty means none")
	_, step = start(t, completetask.Config{Tools: []string{"c"}}, in, "a", "b")
	require.ErrorContains(t, step.(nextstep.ReportError).Err, `may not use the tools ["c"]`)
}

func TestConfig_Check(t *testing.T) {
	for want, cfg := range map[string]completetask.Config{
		`completetask: OnLength: "x" is not one of`: {OnLength: "x"},
		`completetask: OnEmpty: "x" is not one of`:  {OnEmpty: "x"},
		`completetask: OnLimit: "x" is not one of`:  {OnLimit: "x"},
		`completetask: Schema: the schema`:          {Schema: &llmclient.Schema{Schema: []byte(`{"type": 3}`)}},
		`completetask: Tools: names ["look"] more`:  {Tools: []string{"look", "look"}},
		`completetask: Prompts: template: Empty`:    {Prompts: completetask.Prompts{Empty: "{{"}},

		`completetask: OnRefusedChoice: "x" is not one of`:                                         {OnRefusedChoice: "x"},
		`completetask: ToolChoice: "sometimes" is not one of ["" "auto" "none" "required" "tool"]`: {ToolChoice: llmclient.ToolChoice{Mode: "sometimes"}},
		`completetask: ToolChoice: "tool" needs the Name of a tool`:                                {ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool}},
		`completetask: ToolChoice: the Name "look" is for "tool" alone, and the mode is ""`:        {ToolChoice: llmclient.ToolChoice{Name: "look"}},
	} {
		s := completetask.New(cfg)()
		require.ErrorContains(t, s.(strategy.Checker).Check(), want)
		step := s.Initialize(delegation.Input{Goal: "go"})
		require.ErrorContains(t, step.(nextstep.ReportError).Err, want, "and without a check it cannot be started")
	}
}

// A forced choice of a tool that is not offered is an error of the Config. Without tools a choice
// cannot be forced.
func TestToolChoice_notOffered(t *testing.T) {
	cfg := completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "b"}}
	in := delegation.Input{Goal: "go"}
	_, step := start(t, cfg, in, "a")
	require.ErrorContains(t, step.(nextstep.ReportError).Err, `completetask: ToolChoice: there is no tool "b" among those that are offered`)
	_, step = start(t, cfg, in, "a", "b")
	require.Equal(t, cfg.ToolChoice, step.(nextstep.GetChatCompletion).Request.ToolChoice)
	_, step = start(t, cfg, in)
	require.Zero(t, step.(nextstep.GetChatCompletion).Request.ToolChoice)
}
