package planreviseexecute_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

// goOn applies a record, and performs the effects of the run until it ends, or waits for people:
// step B fails, and step A calls pay.
func goOn(t *testing.T, m *machine.Machine, first machine.Record) {
	t.Helper()
	apply := func(r machine.Record) {
		require.NoError(t, m.Apply(r))
		for len(m.Ready().Intents) > 0 {
			require.NoError(t, m.Apply(m.Ready().Intents[0]))
		}
		m.Advance()
	}
	reply := func(a messages.Assistant) nextstep.Answer {
		return nextstep.APIResponse{Response: &llmclient.Response{Message: a}}
	}
	call := func(name, arguments string) nextstep.Answer {
		return reply(messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: name, Arguments: arguments}}})
	}
	apply(first)
	for {
		open := m.Open()
		at := 0
		for at < len(open) && open[at].Kind == machine.EffectPerson {
			at++
		}
		if at == len(open) {
			return
		}
		e := open[at]
		if e.Kind == machine.EffectTool {
			out := messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name, Output: "paid"}
			if e.Tool != nil {
				out.Output, _ = e.Tool.Call(context.Background(), e.Call.Arguments)
			}
			apply(e.Answered(nextstep.ToolResult{Output: out}, time.Time{}, time.Second))
			continue
		}
		h := e.Step.(nextstep.GetChatCompletion).Request.Messages
		last, _ := h.Last().(messages.User)
		asked := last.Text()
		var a nextstep.Answer
		switch {
		case strings.HasPrefix(asked, "Make a plan"):
			a = call(pre.SubmitPlan, `{"steps":[{"goal":"A","depends_on":[]},{"goal":"B","depends_on":[]}]}`)
		case strings.HasPrefix(asked, "Step 2 of the plan failed"):
			a = call(pre.SubmitPlan, `{"steps":[{"goal":"C","depends_on":["1"]}]}`)
		case asked == "A":
			a = call("pay", "{}")
		case asked == "B":
			a = nextstep.Failure{Source: nextstep.SourceModel, Code: "unavailable", Message: "down", Partial: messages.AssistantText("half")}
		default:
			a = reply(messages.AssistantText("done"))
		}
		apply(e.Answered(a, time.Time{}, time.Second))
	}
}

// A snapshot of a run that waits in one of two steps holds what has become of the other one: the
// code of its error, its time and its messages.
func TestStepsTogether_snapshot(t *testing.T) {
	cfg := &machine.Config{
		Strategies: strategy.Set{"main": set["together"], "complete-task": set["complete-task"]},
		Tools:      []tools.Definition{{Name: "pay", NeedsApproval: true}}, Durable: true,
	}
	m := machine.New(cfg)
	goOn(t, m, cfg.Start(machine.Started{Run: "r", Strategy: "main", Input: delegation.Input{Goal: "G"}}))
	require.Equal(t, machine.StatusWaiting, m.Status())

	snapshot, err := m.Snapshot()
	require.NoError(t, err)
	text, err := machine.AppendSnapshot(nil, &snapshot)
	require.NoError(t, err)
	read, err := machine.ReadSnapshot(text)
	require.NoError(t, err)
	carried := machine.New(cfg)
	require.NoError(t, carried.Apply(machine.Migrated{Snapshot: read}))

	for _, run := range []*machine.Machine{m, carried} {
		goOn(t, run, machine.Replied{Reply: machine.Reply{WaitID: run.Waits()[0].ID, Approve: true}})
		require.Equal(t, machine.StatusDone, run.Status())
	}
	require.Equal(t, m.Output(), carried.Output())
	steps := planOf(t, m.Output()).Steps
	require.Equal(t, []string{"A", "C"}, goals(pre.Plan{Steps: steps}))
	var revisions []pre.Revision
	_, err = m.Output().Metadata.Decode("revisions", &revisions)
	require.NoError(t, err)
	failed := revisions[0].Plan.Steps[1]
	require.Equal(t, delegation.Code("unavailable"), failed.Err.Code)
	require.Equal(t, time.Second, failed.Elapsed)
	var names []string
	for _, p := range m.Output().Parts {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"1", "2", "2"}, names, "in the order of the plan; C has the free number")
}

// What stands in the metadata does not depend on which step ends first.
func TestStepsTogether_anyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outputs []string
		for _, slow := range []string{"A", "B", "C"} {
			client := llmclient.ClientFunc(func(ctx context.Context, r *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
				last, _ := r.Messages.Last().(messages.User)
				if len(r.Tools) > 0 {
					return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{
						ID: "c", Name: pre.SubmitPlan, Arguments: `{"steps":[{"goal":"A","depends_on":[]},{"goal":"B","depends_on":[]},{"goal":"C","depends_on":[]}]}`,
					}}}}, nil
				}
				if last.Text() == slow {
					time.Sleep(time.Second)
				}
				return &llmclient.Response{Message: messages.AssistantText("did " + last.Text())}, nil
			})
			o, err := orchestrator.New(orchestrator.Config{Client: client, Strategies: set, Default: "together-once"})
			require.NoError(t, err)
			res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}})
			require.NoError(t, err)
			p := planOf(t, res.Output)
			for i := range p.Steps {
				p.Steps[i].Elapsed = 0
			}
			var text strings.Builder
			for _, part := range append(p.Steps, pre.Step{}) {
				if part.Result != nil {
					text.WriteString(part.ID + *part.Result + "\n")
				}
			}
			outputs = append(outputs, text.String()+res.Output.Text()+strings.Join(res.Output.Texts(), "|"))
		}
		require.Equal(t, outputs[0], outputs[1])
		require.Equal(t, outputs[0], outputs[2])
		require.Contains(t, outputs[0], "1did A\n2did B\n3did C\ndid C")
	})
}

// Who asks people before calls is not asked about the steps themselves, unless every call is asked
// about; a step that is refused has failed.
func TestStepsTogether_refused(t *testing.T) {
	plan := scripted.Calls(scripted.Call(pre.SubmitPlan, `{"steps":[{"goal":"A","depends_on":[]},{"goal":"B","depends_on":[]}]}`, "p"))
	for name, test := range map[string]struct {
		policy machine.ApprovalPolicy
		status pre.StepStatus
	}{
		"changing": {machine.AskIfChanging, pre.StepDone},
		"refuse": {func(r machine.ApprovalRequest) machine.Verdict {
			if r.Definition.Name == pre.ExecuteStep {
				return machine.VerdictRefuse
			}
			return machine.VerdictAllow
		}, pre.StepFailed},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := orchestrator.New(orchestrator.Config{
				Client: scripted.New(plan, scripted.Text("x"), scripted.Text("x")), Strategies: set, Default: "together-once",
				Approve: &orchestrator.ApprovalConfig{Default: test.policy},
			})
			require.NoError(t, err)
			res, _ := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}})
			for _, s := range planOf(t, res.Output).Steps {
				require.Equal(t, test.status, s.Status, "%+v", s.Err)
			}
		})
	}
}

// An executor that is not in the Set of the run is found before it.
func TestStepsTogether_remote(t *testing.T) {
	_, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(),
		Strategies: strategy.Set{"plan": pre.New(pre.Config{Executor: "far", Parallel: 2}), "complete-task": completetask.New(completetask.Config{})},
		Remote: map[string]orchestrator.Remote{"far": func(context.Context, nextstep.Delegate) (delegation.Output, error) {
			return delegation.Output{}, nil
		}},
	})
	require.ErrorContains(t, err, `agent tool "execute_step"`)
}
