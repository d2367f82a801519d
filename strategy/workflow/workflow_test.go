package workflow_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
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
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/tools"
)

type part = workflow.Part

func sequence(parts ...part) func() strategy.Strategy {
	return workflow.Sequence(workflow.SequenceConfig{Parts: parts})
}

// An invalid Config is reported, and a run with it fails with the same error.
func TestConfig_check(t *testing.T) {
	parts := []part{{Name: "a"}, {Name: "b"}}
	for want, factory := range map[string]func() strategy.Strategy{
		`part "x y": give it a Name of at most 40 letters`:       sequence(part{Name: "x y"}),
		`part "done": every strategy has a state of this name`:   sequence(part{Name: "done"}),
		`part "a": Strategy and Tool are both set`:               sequence(part{Name: "a", Strategy: "s", Tool: "t"}),
		`part "t": Tools, Limits and Model are for a`:            sequence(part{Tool: "t", Tools: []string{}}),
		`part "a": Prompt and Input are both set`:                sequence(part{Name: "a", Prompt: "x", Input: upper}),
		`part "a": Retries: -1 is not between 0 and 100`:         sequence(part{Name: "a", Retries: -1}),
		`part "a": Prompt: template: prompt:1`:                   sequence(part{Name: "a", Prompt: "{{.Nothing}}"}),
		`workflow: Tools: names ["x"] more than once`:            sequence(part{Name: "a", Tools: []string{"x", "x"}}),
		`workflow: OnFailure: "perhaps" is not one of`:           sequence(part{Name: "a", OnFailure: "perhaps"}),
		`two parts are called "complete-task"`:                   sequence(part{}, part{}),
		`the parts "a_b" and "a-b", or the Fallback of one`:      sequence(part{Name: "a_b"}, part{Name: "a-b"}),
		`the parts "c_d" and "c-d", or the Fallback of one`:      workflow.Parallel(workflow.ParallelConfig{Parts: []part{{Name: "c_d"}, {Name: "c-d"}}}),
		`the parts "x" and "x_fallback", or the Fallback of one`: workflow.Parallel(workflow.ParallelConfig{Parts: []part{{Name: "x", Fallback: "y"}, {Name: "x_fallback"}}}),
		`UntilName: "" is no name`:                               workflow.Loop(workflow.LoopConfig{Until: loud}),
		`Until is nil, and UntilName is not empty`:               workflow.Loop(workflow.LoopConfig{UntilName: "loud"}),
		`UntilName: compositions have a transition "submitted"`:  workflow.Loop(workflow.LoopConfig{Until: loud, UntilName: "submitted", Judge: &part{}}),
		`MaxRounds is negative`:                                  workflow.Loop(workflow.LoopConfig{MaxRounds: -1}),
		`RouteName: "by language" is no name`:                    workflow.Choose(workflow.ChooseConfig{Parts: parts, Route: byLanguage, RouteName: "by language"}),
		`Route and Router are both set`:                          workflow.Choose(workflow.ChooseConfig{Parts: parts, Route: byLanguage, RouteName: "language", Router: &part{}}),
		`Otherwise: there is no part "c"`:                        workflow.Choose(workflow.ChooseConfig{Parts: parts, Otherwise: "c"}),
		`two parts are called "reduce": give one another Name`:   workflow.Parallel(workflow.ParallelConfig{Parts: []part{{Name: "reduce"}}, Reduce: &part{}}),
		`state "working": is declared twice`:                     workflow.Parallel(workflow.ParallelConfig{Parts: parts, Reduce: &part{Name: "working"}}),
		`workflow: RouteName: "` + strings.Repeat("x", 41) + `"`: workflow.Choose(workflow.ChooseConfig{Parts: parts, Route: byLanguage, RouteName: strings.Repeat("x", 41)}),
	} {
		s := factory()
		require.ErrorContains(t, s.(strategy.Checker).Check(), want)
		require.NoError(t, s.(strategy.Tabler).FSM().Check(), "its error is that of the Config")
		step, ok := factory().Initialize(delegation.Input{Goal: "go"}).(nextstep.ReportError)
		require.True(t, ok, want)
		require.ErrorContains(t, step.Err, want)
		require.Error(t, factory().(strategy.Snapshotter).Restore([]byte(`{"v":1}`)))
	}
}

// The zero Configs run a complete-task.
func TestConfig_zero(t *testing.T) {
	for name, factory := range map[string]func() strategy.Strategy{
		"sequence": sequence(), "parallel": workflow.Parallel(workflow.ParallelConfig{}), "loop": workflow.Loop(workflow.LoopConfig{MaxRounds: 1}), "choose": workflow.Choose(workflow.ChooseConfig{}),
	} {
		model := scripted.Reply{Times: -1, Deltas: []string{"done"}}
		o, err := orchestrator.New(orchestrator.Config{Client: scripted.New(model), Strategies: strategy.Set{"main": factory, "complete-task": set["complete-task"]}, Default: "main"})
		require.NoError(t, err)
		res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go"}})
		require.NoError(t, err, name)
		require.Contains(t, res.Output.Text(), "done", name)
		require.Len(t, res.Output.Messages, 2, name)
	}
}

// A function that panics, and a prompt that fails on what there is, end the composition with what
// has been done.
func TestFunctions_fail(t *testing.T) {
	out := delegation.Output{Result: new("fine")}
	panics := func(workflow.Progress) delegation.Input { panic("a secret") }
	for want, s := range map[string]strategy.Strategy{
		`workflow: the Input of part "b" panicked with a string`: sequence(part{Name: "a"}, part{Name: "b", Input: panics})(),
		`workflow: part "b": template`:                           sequence(part{Name: "a"}, part{Name: "b", Prompt: `{{if gt (len .Results) 5}}{{else if eq .Last "fine"}}{{slice .Goal 99}}{{end}}`})(),
		`workflow: part "b": its input is empty`: sequence(part{Name: "a"}, part{Name: "b", Input: func(workflow.Progress) delegation.Input {
			return delegation.Input{}
		}})(),
		`workflow: Until panicked with a string`: workflow.Loop(workflow.LoopConfig{Until: func(workflow.Progress) bool { panic("a secret") }, UntilName: "good"})(),
	} {
		require.IsType(t, nextstep.Delegate{}, s.Initialize(delegation.Input{Goal: "go"}))
		step, ok := s.ProcessDelegationResult(out).(nextstep.ReportError)
		require.True(t, ok, want)
		require.ErrorContains(t, step.Err, want)
		require.Equal(t, "fine", step.Output.Text())
	}
	s := workflow.Choose(workflow.ChooseConfig{Route: func(workflow.Progress) string { panic("a secret") }, RouteName: "chance"})()
	require.ErrorContains(t, s.Initialize(delegation.Input{Goal: "go"}).(nextstep.ReportError).Err, "workflow: Route panicked with a string")
}

// A router may write the name of a part in another way.
func TestChoose_answers(t *testing.T) {
	for said, want := range map[string]string{
		"Maths.": "maths", `"maths"`: "maths", "**maths**": "maths", "_maths_": "maths", "-maths": "maths", "- maths: numbers": "maths", "`HELP-DESK`": "help-desk",
		"The choice is maths.": "maths", "```json\n{\"choice\": \"maths\"}\n```": "maths", `{"choice": "Maths."}`: "maths",
		"maths or help-desk": "", "mathematics": "", "neither": "",
	} {
		s := workflow.Choose(workflow.ChooseConfig{Parts: []part{{Name: "maths"}, {Name: "help-desk"}}, Router: &part{Strategy: "planner"}})()
		require.IsType(t, nextstep.Delegate{}, s.Initialize(delegation.Input{Goal: "go"}))
		s.ProcessDelegationResult(delegation.Output{Result: &said})
		state := string(s.(strategy.Tabler).FSM().State())
		if want == "" {
			require.Equal(t, "failed", state, said)
			continue
		}
		require.Equal(t, strings.ReplaceAll(want, "-", "_"), state, said)
	}
}

// The tables of other parts, and of functions of other names, have other fingerprints: a stored run
// is not resumed with them.
func TestTable_fingerprint(t *testing.T) {
	loop := func(name string) func() strategy.Strategy {
		return workflow.Loop(workflow.LoopConfig{Until: loud, UntilName: name})
	}
	sum := func(f func() strategy.Strategy) string { return f().(strategy.Tabler).FSM().Table().Fingerprint() }
	require.NotEqual(t, sum(loop("loud")), sum(loop("quiet")))
	require.Equal(t, sum(sequence(part{Name: "a"})), sum(sequence(part{Name: "a", Prompt: "again"})))
	require.NotEqual(t, sum(sequence(part{Name: "a"})), sum(sequence(part{Name: "b"})))
}

// The model of a part is that of all that it starts, at the same time or in another process, where
// a Config says no other.
func TestPart_model(t *testing.T) {
	cfg := &machine.Config{Tools: []tools.Definition{{Name: "pay", NeedsApproval: true}}, Durable: true, Strategies: strategy.Set{
		"main":  sequence(part{Strategy: "inner", Model: "large"}, part{Name: "last", Strategy: "plain"}),
		"inner": sequence(part{Strategy: "both"}, part{Name: "own", Strategy: "own"}),
		"both":  workflow.Parallel(workflow.ParallelConfig{Parts: []part{{Name: "one", Strategy: "plain"}, {Name: "two", Strategy: "plain", Model: "small"}}}),
		"plain": completetask.New(completetask.Config{}), "own": completetask.New(completetask.Config{Model: "mine"}),
	}}
	m := machine.New(cfg)
	apply := func(r machine.Record) {
		require.NoError(t, m.Apply(r))
		for len(m.Ready().Intents) > 0 {
			require.NoError(t, m.Apply(m.Ready().Intents[0]))
		}
		m.Advance()
	}
	apply(cfg.Start(machine.Started{Run: "r", Strategy: "main", Model: "usual", Input: delegation.Input{Goal: "go"}}))
	var models []string
	for !m.Done() {
		open := m.Open()
		e := open[len(open)-1]
		switch step, _ := e.Step.(nextstep.GetChatCompletion); {
		case m.Status() == machine.StatusWaiting:
			snapshot, err := m.Snapshot()
			require.NoError(t, err)
			text, err := machine.AppendSnapshot(nil, &snapshot)
			require.NoError(t, err)
			read, err := machine.ReadSnapshot(text)
			require.NoError(t, err)
			m = machine.New(cfg)
			apply(machine.Migrated{Snapshot: read})
			apply(machine.Replied{Reply: machine.Reply{WaitID: m.Waits()[0].ID, Approve: true}})
		case e.Kind == machine.EffectTool:
			apply(e.Answered(nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name, Output: "paid"}}, time.Time{}, 0))
		default:
			reply := messages.AssistantText("done")
			if models = append(models, step.Request.Model); len(models) == 2 {
				reply = messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "pay", Arguments: "{}"}}}
			}
			apply(e.Answered(nextstep.APIResponse{Response: &llmclient.Response{Message: reply}}, time.Time{}, 0))
		}
	}
	require.Equal(t, machine.StatusDone, m.Status())
	require.Equal(t, []string{"small", "large", "large", "mine", "usual"}, models)
}

// A memory that does not fit is refused.
func TestRestore_misfit(t *testing.T) {
	together := func() strategy.Strategy {
		return workflow.Parallel(workflow.ParallelConfig{Parts: []part{{Name: "a"}, {Name: "b"}}})()
	}
	for memory, want := range map[string]string{
		`{"v":1,"input":{},"results":[{"part":"c"}]}`:                     `a result of part "c"`,
		`{"v":1,"input":{},"tried":[{"part":"a"}]}`:                       "another number of parts",
		`{"v":1,"input":{},"tried":[{"part":"b"},{"part":"a"}]}`:          "other parts work",
		`{"v":1,"input":{},"tried":[{"part":""},{"part":""}],"open":[2]}`: "a part is at work that there is not",
		`{"v":2}`: "version 2",
	} {
		require.ErrorContains(t, together().(strategy.Snapshotter).Restore(json.RawMessage(memory)), want, memory)
	}
}

// A tool that is an agent leaves its whole output, with its work and its data.
func TestTool_agent(t *testing.T) {
	look := tools.New(tools.Definition{Name: "look", ReadOnly: true}, func(context.Context, struct{}) (string, error) { return "blue", nil })
	agent := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "helper", Description: "Helps."}, Strategy: "helps"})
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(scripted.Calls(scripted.Call("look", "{}", "c1")), scripted.Text("it is blue")), Tools: []tools.Tool{look, agent}, Default: "main",
		Strategies: strategy.Set{"main": sequence(part{Tool: "helper"}), "helps": completetask.New(completetask.Config{Tools: []string{"look"}})},
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "What colour?"}})
	require.NoError(t, err)
	require.Equal(t, "it is blue", res.Output.Text())
	require.Equal(t, "blue", res.Output.ToolMetas()[0].Output)
}

// A tool whose outcome is unknown is not called again, and nothing is run instead.
func TestUnknown_isFinal(t *testing.T) {
	s := sequence(part{Tool: "pay", Retries: 3, Fallback: "other"})()
	call := s.Initialize(delegation.Input{Goal: "go"}).(nextstep.ExecuteTools).Calls[0]
	step := s.ProcessToolResults([]messages.ToolOutput{{CallID: call.ID, ToolName: "pay", Status: messages.StatusUnknown, Output: "nobody knows"}})
	failed, ok := step.(nextstep.ReportError)
	require.True(t, ok)
	require.Equal(t, delegation.CodeUnknown, delegation.AsError(failed.Err).Code)
	require.Len(t, failed.Output.ToolMetas(), 1)
}

// A call that a person has refused is not made again; the fallback may do without it.
func TestRefused_isFinal(t *testing.T) {
	s := sequence(part{Tool: "pay", Retries: 3, Fallback: "other"})()
	call := s.Initialize(delegation.Input{Goal: "go"}).(nextstep.ExecuteTools).Calls[0]
	step := s.ProcessToolResults([]messages.ToolOutput{{CallID: call.ID, ToolName: "pay", Status: messages.StatusFailed, Reason: messages.ReasonRefused, Output: "no"}})
	require.Equal(t, "other", step.(nextstep.Delegate).Strategy)
}

// A tool may have nothing to say.
func TestTool_empty(t *testing.T) {
	s := sequence(part{Tool: "save"})()
	call := s.Initialize(delegation.Input{Goal: "go"}).(nextstep.ExecuteTools).Calls[0]
	done, ok := s.ProcessToolResults([]messages.ToolOutput{{CallID: call.ID, ToolName: "save", Status: messages.StatusOK}}).(nextstep.Complete)
	require.True(t, ok)
	require.Len(t, done.Output.Messages, 1)
	require.NoError(t, done.Output.Messages.Validate())
}

// Strategies that are missing are found at set-up.
func TestNames(t *testing.T) {
	_, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: strategy.Set{"main": sequence(part{Strategy: "nobody"})}, Default: "main"})
	require.ErrorContains(t, err, "nobody")
	_, err = orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: strategy.Set{"main": sequence(part{Tool: "nothing"})}, Default: "main"})
	require.ErrorContains(t, err, "nothing")
	m := machine.New(&machine.Config{Strategies: strategy.Set{"main": sequence(part{Strategy: "nobody", Retries: 2})}})
	require.NoError(t, m.Apply(machine.Started{Run: "r", Strategy: "main", Input: delegation.Input{Goal: "go"}}))
	require.True(t, m.Done(), "it is tried once")
	require.ErrorContains(t, m.Output().Err, "nobody")
}
