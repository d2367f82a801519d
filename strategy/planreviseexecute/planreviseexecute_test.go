package planreviseexecute_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

func TestTable(t *testing.T) { require.NoError(t, pre.Table.Validate()) }

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

// counted counts the requests to a model.
func counted(m model, n *int) llmclient.Client {
	return llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		*n++
		return m.Complete(ctx, req, d)
	})
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

// A plan of fifty steps, three levels deep, runs within its computed bound, and its usage is that
// of the whole tree.
func TestFiftyStepsThreeLevels(t *testing.T) {
	leaf := completetask.Config{MaxModelCalls: 2, MaxRetries: -1}
	inner := pre.Config{Evaluation: pre.EvaluateNever, MaxSteps: 2, MaxRevisions: -1, MaxRetries: -1}
	middle := inner
	middle.Executor = "inner"
	outer := pre.Config{Executor: "middle", MaxSteps: 50}
	set := strategy.Set{
		"complete-task": completetask.New(leaf), "inner": pre.New(inner), "middle": pre.New(middle), "outer": pre.New(outer),
	}
	var fifty []string
	for i := range 50 {
		fifty = append(fifty, fmt.Sprintf("part %d", i))
	}
	calls := 0
	client := counted(func(asked, wanted string) (string, string, string) {
		switch {
		case wanted == pre.SubmitEvaluation:
			return wanted, `{"approved":true}`, ""
		case wanted == pre.SubmitPlan && strings.HasPrefix(asked, "Make a plan for this goal: G\n"):
			return wanted, plan(fifty...), ""
		case wanted == pre.SubmitPlan:
			return wanted, plan("left", "right"), ""
		default:
			return "", "", "done: " + asked
		}
	}, &calls)
	res, err := run(t, client, set, "outer", delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1})
	require.NoError(t, err)
	require.Equal(t, 2+50*(1+2*(1+2)), calls)
	require.Equal(t, int64(3*calls), res.Output.Usage.Total, "usage sums over the subtree")
	require.Len(t, planOf(t, res.Output).Steps, 50)
}

// The worst model reaches the bound, and does not exceed it.
func TestBound_worstModel(t *testing.T) {
	leaf := completetask.Config{MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail}
	cfg := pre.Config{MaxSteps: 4, MaxRevisions: 3, MaxRetries: 2, Answer: pre.AnswerSynthesize}
	set := strategy.Set{"complete-task": completetask.New(leaf), "plan": pre.New(cfg)}
	calls, idle, executed := 0, 0, 0
	client := counted(func(_, wanted string) (string, string, string) {
		switch {
		case wanted != "" && idle < cfg.MaxRetries:
			idle++
			return "", "", "hm"
		case wanted == pre.SubmitEvaluation:
			return wanted, `{"approved":true}`, ""
		case wanted == pre.SubmitPlan:
			return wanted, plan("A", "B", "C", "D"), ""
		default: // as long as there are revisions, every step but the first of each plan fails
			executed++
			if executed <= 2*cfg.MaxRevisions && executed%2 == 0 {
				return "", "", ""
			}
			return "", "", "ok"
		}
	}, &calls)
	res, err := run(t, client, set, "plan", delegation.Limits{})
	require.NoError(t, err)
	require.Equal(t, 4+4+2+1+(4+3), calls)
	for _, s := range planOf(t, res.Output).Steps {
		require.Equal(t, pre.StepDone, s.Status)
	}
}

// Whatever the model does, there is an end, with the right error and everything done so far.
func TestBadModels(t *testing.T) {
	set := strategy.Set{
		"complete-task": completetask.New(completetask.Config{}),
		"plan":          pre.New(pre.Config{Executors: []string{"plan"}}),
	}
	approve := func(wanted string) bool { return wanted == pre.SubmitEvaluation }
	for name, test := range map[string]struct {
		model  model
		want   string
		status machine.Status
		done   int
	}{
		"always fails": {func(asked, wanted string) (string, string, string) {
			switch {
			case approve(wanted):
				return wanted, `{"approved":true}`, ""
			case wanted == pre.SubmitPlan:
				return wanted, plan("good", "bad"), ""
			case asked == "good":
				return "", "", "fine"
			default:
				return "", "", ""
			}
		}, `step "2" failed, and the plan was revised as often as allowed`, machine.StatusFailed, 1},
		"always rejects": {func(_, wanted string) (string, string, string) {
			if approve(wanted) {
				return wanted, `{"approved":false,"feedback":"never"}`, ""
			}
			return wanted, plan("A"), ""
		}, "the plan was rejected, and revised as often as allowed: never", machine.StatusFailed, 0},
		"never plans": {func(string, string) (string, string, string) { return "", "", "words" }, "did not submit a plan", machine.StatusFailed, 0},
		"never judges": {func(_, wanted string) (string, string, string) {
			if approve(wanted) {
				return "", "", "words"
			}
			return wanted, plan("A"), ""
		}, "did not judge the plan", machine.StatusFailed, 0},
		"plans itself for ever": {func(_, wanted string) (string, string, string) {
			if approve(wanted) {
				return wanted, `{"approved":true}`, ""
			}
			return wanted, `{"steps":[{"goal":"again","executor":"plan"}]}`, ""
		}, "limit of", machine.StatusLimit, 0},
		"calls another tool": {func(_, _ string) (string, string, string) { return "rm", "{}", "" }, "did not submit a plan", machine.StatusFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := run(t, test.model, set, "plan", delegation.Limits{})
			require.ErrorContains(t, err, test.want)
			require.Equal(t, test.status, res.Status)
			require.NoError(t, res.Output.Messages.Validate())
			done := 0
			for _, s := range planOf(t, res.Output).Steps {
				if s.Status == pre.StepDone {
					done++
				}
			}
			require.Equal(t, test.done, done)
			require.NotEmpty(t, res.Output.Metadata["phase"])
		})
	}
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

// The parent's requests never contain a child's messages, and a child's tools never reach the
// parent.
func TestNothingLeaks(t *testing.T) {
	look := tools.NewRaw(tools.Definition{Name: "look"}, func(context.Context, string) (string, error) { return "seen by the child", nil })
	var parent []llmclient.Request
	acted := false
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		if len(req.Tools) > 0 && req.Tools[0].Name != "look" {
			parent = append(parent, *req)
		}
		return model(func(_, wanted string) (string, string, string) {
			switch {
			case wanted == pre.SubmitPlan:
				return wanted, plan("A", "B"), ""
			case wanted == "look" && !acted:
				acted = true
				return wanted, "{}", ""
			default:
				return "", "", "the result alone"
			}
		}).Complete(ctx, req, d)
	})
	o, err := orchestrator.New(orchestrator.Config{Client: client, Default: "plan", Tools: []tools.Tool{look}, Strategies: strategy.Set{
		"complete-task": completetask.New(completetask.Config{}),
		"plan":          pre.New(pre.Config{Evaluation: pre.EvaluateNever}),
	}})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}})
	require.NoError(t, err)
	require.True(t, acted)
	require.NotEmpty(t, parent)
	for _, req := range parent {
		require.Len(t, req.Tools, 1)
		require.NotContains(t, fmt.Sprint(req.Messages), "seen by the child")
	}
	require.NotContains(t, fmt.Sprint(res.Output.Messages), "seen by the child")
	require.Equal(t, "the result alone", res.Output.Text())
}

func TestConfig_Check(t *testing.T) {
	for want, cfg := range map[string]pre.Config{
		`Evaluation: "x" is not one of`:         {Evaluation: "x"},
		`Results: "x" is not one of`:            {Results: "x"},
		`Answer: "x" is not one of`:             {Answer: "x"},
		`OnTooLong: "x" is not one of`:          {OnTooLong: "x"},
		`OnEmpty: "x" is not one of`:            {OnEmpty: "x"},
		"Evaluation is func, and Judge is nil":  {Evaluation: pre.EvaluateByFunc},
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

// Random plans with random outcomes: the run ends within its bound, done steps are never run again,
// and the metadata records what happened.
func TestRandomPlans(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := pre.Config{MaxSteps: 5, MaxRevisions: rapid.IntRange(-1, 3).Draw(rt, "revisions"), MaxRetries: rapid.IntRange(-1, 2).Draw(rt, "retries")}
		leaf := completetask.Config{MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail}
		ran := map[string]bool{}
		calls := 0
		client := counted(func(asked, wanted string) (string, string, string) {
			switch wanted {
			case pre.SubmitEvaluation:
				return wanted, rapid.SampledFrom([]string{`{"approved":true}`, `{"approved":true}`, `{"approved":false,"feedback":"x"}`, `{}`}).Draw(rt, "verdict"), ""
			case pre.SubmitPlan:
				if rapid.IntRange(0, 5).Draw(rt, "prose") == 0 {
					return "", "", "words"
				}
				return wanted, rapid.SampledFrom([]string{plan("A", "B", "C"), plan("B", "D"), plan(), plan("A", "A", "E"), `{"steps":[{"id":"q","goal":"Q","depends_on":["q"]}]}`}).Draw(rt, "plan"), ""
			default:
				if ran[asked] {
					rt.Fatalf("%q ran again", asked)
				}
				if rapid.IntRange(0, 3).Draw(rt, "outcome") == 0 {
					return "", "", ""
				}
				ran[asked] = len(asked) == 1 && asked != "A" // two steps of one plan may have the goal A
				return "", "", "ok"
			}
		}, &calls)
		o, err := orchestrator.New(orchestrator.Config{Client: client, Default: "plan", Strategies: strategy.Set{
			"complete-task": completetask.New(leaf), "plan": pre.New(cfg),
		}})
		if err != nil {
			rt.Fatal(err)
		}
		res, _ := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}})
		revisions, retries := max(0, cmp.Or(cfg.MaxRevisions, 3)), max(0, cmp.Or(cfg.MaxRetries, 3))
		if most := 2*(revisions+1) + retries + cfg.MaxSteps + revisions; calls > most {
			rt.Fatalf("%d calls, at most %d", calls, most)
		}
		if err := res.Output.Messages.Validate(); err != nil {
			rt.Fatal(err)
		}
		var p pre.Plan
		if _, err := res.Output.Metadata.Decode("plan", &p); err != nil {
			rt.Fatal(err)
		}
	})
}
