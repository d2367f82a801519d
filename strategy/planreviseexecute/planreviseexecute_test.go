package planreviseexecute_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// model is a model for tests: a function from the last goal and the wanted tool to a reply.
type model func(goal, wanted string) (tool, args, text string)

func (m model) Complete(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
	wanted := ""
	if len(req.Tools) > 0 {
		wanted = req.Tools[0].Name
	}
	asked := ""
	for _, msg := range req.Messages {
		if u, ok := msg.(messages.User); ok {
			asked = u.Text()
		}
	}
	resp := &llmclient.Response{Usage: messages.Usage{Input: 2, Output: 1}}
	tool, args, text := m(asked, wanted)
	if tool != "" {
		resp.Message.Content = []messages.AssistantContent{messages.ToolCall{ID: "c", Name: tool, Arguments: args}}
		return resp, nil
	}
	if text == "" {
		return nil, &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"}
	}
	resp.Message = messages.AssistantText(text)
	return resp, nil
}

func run(t *testing.T, client llmclient.Client, set strategy.Set, root string, limits delegation.Limits) (orchestrator.Result, error) {
	t.Helper()
	o, err := orchestrator.New(orchestrator.Config{Client: client, Strategies: set, Limits: limits})
	require.NoError(t, err)
	return o.Run(t.Context(), orchestrator.Task{Strategy: root, Run: "r", Input: delegation.Input{Goal: "G"}})
}

func plan(goals ...string) string {
	data, err := json.Marshal(map[string]any{"steps": goals})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func planOf(t *testing.T, out delegation.Output) pre.Plan {
	t.Helper()
	var p pre.Plan
	ok, err := out.Metadata.Decode("plan", &p)
	require.NoError(t, err)
	require.True(t, ok)
	return p
}

// S0-20: without a goal, the plan is for the last user message.
func TestS0_20_newestQuestion(t *testing.T) {
	step := pre.New(pre.Config{})().Initialize(delegation.Input{Messages: messages.History{
		messages.UserText("old"), messages.AssistantText("answer"), messages.UserText("new"),
	}})
	asked := step.(nextstep.GetChatCompletion).Request.Messages
	require.Len(t, asked, 4)
	require.Contains(t, asked.Last().(messages.User).Text(), "Make a plan for this goal: new")
	require.NotContains(t, asked.Last().(messages.User).Text(), "old")
}

// A child sees of its parent what Share returns, and nothing else; the events show it.
func TestShare(t *testing.T) {
	for want, share := range map[machine.Share]delegation.Share{
		machine.ShareGoal:   nil,
		machine.ShareChosen: delegation.ShareLast(2),
		machine.ShareAll:    delegation.ShareAll,
	} {
		t.Run(string(want), func(t *testing.T) {
			var child *llmclient.Request
			client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
				if len(req.Tools) == 0 {
					asked := *req // the Orchestrator owns req and reuses it
					child = &asked
				}
				return model(func(_, wanted string) (string, string, string) {
					if wanted == "" {
						return "", "", "done"
					}
					return wanted, plan("A"), ""
				}).Complete(ctx, req, d)
			})
			o, err := orchestrator.New(orchestrator.Config{Client: client, Default: "plan", Strategies: strategy.Set{
				"complete-task": completetask.New(completetask.Config{}),
				"plan":          pre.New(pre.Config{Evaluation: pre.EvaluateNever, Share: share, System: "secret of the parent"}),
			}})
			require.NoError(t, err)
			for e, err := range o.Stream(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}}) {
				require.NoError(t, err)
				if d, ok := e.Detail.(machine.FrameEntered); ok && e.Depth == 2 {
					require.Equal(t, want, d.Context)
				}
			}
			require.Equal(t, messages.UserText("A"), child.Messages.Last())
			sees := fmt.Sprint(child.Messages)
			require.Equal(t, want == machine.ShareAll, strings.Contains(sees, "secret of the parent"))
		})
	}
}

// Each field of the limits of an executor comes before that of all steps.
func TestExecutorLimits(t *testing.T) {
	var usual, own delegation.Limits
	for i := range reflect.TypeFor[delegation.Limits]().NumField() {
		reflect.ValueOf(&usual).Elem().Field(i).SetInt(2)
		reflect.ValueOf(&own).Elem().Field(i).SetInt(int64(i % 2))
	}
	said := pre.New(pre.Config{StepLimits: usual, ExecutorLimits: map[string]delegation.Limits{"complete-task": own}})().(strategy.Bounder).Bounds()
	has := reflect.ValueOf(said.Delegates[0].Limits)
	for i := range has.NumField() {
		require.EqualValues(t, 2-i%2, has.Field(i).Int(), has.Type().Field(i).Name)
	}
}

func TestConfig_Check(t *testing.T) {
	for want, cfg := range map[string]pre.Config{
		`Evaluation: "x" is not one of`:         {Evaluation: "x"},
		`Results: "x" is not one of`:            {Results: "x"},
		`Answer: "x" is not one of`:             {Answer: "x"},
		`OnTooLong: "x" is not one of`:          {OnTooLong: "x"},
		`OnEmpty: "x" is not one of`:            {OnEmpty: "x"},
		"Evaluation is func, and Judge is nil":  {Evaluation: pre.EvaluateByFunc},
		"Judge and Reviewer are both set":       {Reviewer: "critic", Judge: func(pre.Plan) pre.Verdict { return pre.Verdict{} }},
		`ReviewTools: names ["a"] more than`:    {Reviewer: "critic", ReviewTools: []string{"a", "a"}},
		`ExecutorLimits: "writer" is none of`:   {ExecutorLimits: map[string]delegation.Limits{"writer": {}}},
		"MaxSteps is negative":                  {MaxSteps: -1},
		`StepTools: names ["a"] more than once`: {StepTools: []string{"a", "a"}},
		"can't evaluate field Nothing":          {Prompts: pre.Prompts{Plan: "{{.Nothing}}"}},
		"unclosed action":                       {Prompts: pre.Prompts{Step: "{{"}},
	} {
		s := pre.New(cfg)()
		require.ErrorContains(t, s.(strategy.Checker).Check(), want)
		require.ErrorContains(t, s.Initialize(delegation.Input{Goal: "g"}).(nextstep.ReportError).Err, want)
	}
}
