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

func TestTable(t *testing.T) { require.NoError(t, completetask.Table.Validate()) }

// S0-20: in a conversation that ends with the user's new question, the model is asked that
// question.
func TestS0_20_newestQuestion(t *testing.T) {
	history := messages.History{messages.UserText("old"), messages.AssistantText("answer"), messages.UserText("new")}
	_, step := start(t, completetask.Config{}, delegation.Input{Messages: history})
	require.Equal(t, history, step.(nextstep.GetChatCompletion).Request.Messages)
}

// S0-11, S0-12: a method out of turn reports an error and keeps the state; the right method still
// works.
func TestS0_11_S0_12_outOfTurn(t *testing.T) {
	s, _ := start(t, completetask.Config{}, delegation.Input{Goal: "go"}, "a")
	for _, step := range []nextstep.NextStep{
		s.ProcessToolResults(nil),
		s.ProcessDelegationResult(delegation.Output{}),
	} {
		require.IsType(t, nextstep.ReportError{}, step)
		require.EqualValues(t, "awaiting_model", s.(strategy.Tabler).FSM().State())
	}
	step := s.ProcessAPIResponse(reply(messages.Text{Text: "done"}))
	require.Equal(t, "done", step.(nextstep.Complete).Output.Text())
	require.IsType(t, nextstep.ReportError{}, s.ProcessAPIResponse(reply(messages.Text{Text: "more"})), "a reply after the end")
}

// Later steps do not change earlier requests, and a caller's changes of its copies have no effect.
func TestHistoriesAreClipped(t *testing.T) {
	s, step := start(t, completetask.Config{}, delegation.Input{Goal: "go"}, "a")
	first := step.(nextstep.GetChatCompletion).Request.Messages
	_ = append(first, messages.UserText("scribble"))
	s.ProcessAPIResponse(reply(messages.ToolCall{ID: "1", Name: "a"}))
	second := s.ProcessToolResults([]messages.ToolOutput{{CallID: "1"}}).(nextstep.GetChatCompletion).Request.Messages
	require.Len(t, first, 1)
	require.Len(t, second, 3)
	require.IsType(t, messages.Assistant{}, second[1])
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

// S4-19: a refused choice leads to one more request with auto, only once, and only if the choice
// was forced and was the reason for the refusal.
func TestS4_19_refusedChoice(t *testing.T) {
	forced := completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}}
	fails := forced
	fails.OnRefusedChoice = completetask.RefusedFail
	refused := nextstep.Failure{Code: "bad_request", Message: "This model does not support Tool Choice 'required'"}
	for name, tt := range map[string]struct {
		cfg     completetask.Config
		failure nextstep.Failure
		again   bool
	}{
		"refused":         {forced, refused, true},
		"not forced":      {completetask.Config{}, refused, false},
		"fails":           {fails, refused, false},
		"another problem": {forced, nextstep.Failure{Code: "bad_request", Message: "no such model"}, false},
		"another code":    {forced, nextstep.Failure{Code: "unavailable", Message: refused.Message}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := start(t, tt.cfg, delegation.Input{Goal: "go"}, "a")
			step := s.(strategy.FailureHandler).ProcessFailure(tt.failure)
			if !tt.again {
				require.IsType(t, nextstep.ReportError{}, step)
				return
			}
			require.Equal(t, llmclient.ToolChoice{Mode: llmclient.ChooseAuto}, step.(nextstep.GetChatCompletion).Request.ToolChoice)
			step = s.(strategy.FailureHandler).ProcessFailure(tt.failure)
			require.IsType(t, nextstep.ReportError{}, step, "once")
			require.JSONEq(t, "true", string(step.(nextstep.ReportError).Output.Metadata["unforced"]))
		})
	}
}

// Every prompt can be replaced.
func TestPrompts(t *testing.T) {
	s, _ := start(t, completetask.Config{OnEmpty: completetask.EmptyAsk, Prompts: completetask.Prompts{Empty: "Say something!"}}, delegation.Input{Goal: "go"})
	step := s.ProcessAPIResponse(llmclient.Response{})
	require.Equal(t, messages.UserText("Say something!"), step.(nextstep.GetChatCompletion).Request.Messages.Last())
}

// Whatever the model does, the documented bound is never exceeded.
func TestBound(t *testing.T) {
	cfg := completetask.Config{MaxModelCalls: 4, MaxRetries: 3, OnEmpty: completetask.EmptyAsk}
	s, step := start(t, cfg, delegation.Input{Goal: "go"}, "a")
	calls := 0
	for !step.Kind().Final() {
		if step.Kind() == nextstep.KindExecuteTools {
			step = s.ProcessToolResults([]messages.ToolOutput{{CallID: "1"}})
			continue
		}
		if calls++; calls <= 3 {
			step = s.ProcessAPIResponse(llmclient.Response{})
			continue
		}
		step = s.ProcessAPIResponse(reply(messages.ToolCall{ID: "1", Name: "a"}))
	}
	require.Equal(t, 4+3+1, calls)
}
