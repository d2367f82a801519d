package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// planned is a strategy that wants one step after the other, whatever it is answered.
type planned struct{ steps []nextstep.NextStep }

func plan(steps ...nextstep.NextStep) func() strategy.Strategy {
	return func() strategy.Strategy { return &planned{steps} }
}

func (p *planned) next() nextstep.NextStep {
	step := p.steps[0]
	p.steps = p.steps[1:]
	return step
}

func (p *planned) Initialize(delegation.Input) nextstep.NextStep               { return p.next() }
func (p *planned) ProcessAPIResponse(llmclient.Response) nextstep.NextStep     { return p.next() }
func (p *planned) ProcessToolResults([]messages.ToolOutput) nextstep.NextStep  { return p.next() }
func (p *planned) ProcessDelegationResult(delegation.Output) nextstep.NextStep { return p.next() }

var toolsOfTree = []tools.Definition{{Name: "helper"}, {Name: "look", ReadOnly: true}, {Name: "pay", NeedsApproval: true}}

func asks(text string) nextstep.NextStep {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: messages.History{messages.UserText(text)}, Tools: toolsOfTree}}
}

// tree is a run with a branch, a delegation in it, and a wait.
func tree(t *testing.T, durable bool) *Machine {
	t.Helper()
	cfg := &Config{
		Strategies: strategy.Set{
			"lead": plan(asks("lead"), nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "a", Name: "helper"}, {ID: "b", Name: "look"}, {ID: "c", Name: "pay"}}}),
			"sub":  plan(nextstep.Delegate{Strategy: "deep", Limits: delegation.Limits{Steps: 7}}),
			"deep": plan(asks("deep"), nextstep.Complete{}),
		},
		Tools: toolsOfTree,
		Agents: map[string]*Agent{"helper": {Strategy: "sub", Limits: delegation.Limits{ModelCalls: 5}, Inputs: func(string) ([]delegation.Input, bool, error) {
			return []delegation.Input{{Goal: "one"}, {Goal: "two"}}, true, nil
		}}},
		Durable: durable,
	}
	m := New(cfg)
	read := messages.Tool{ToolOutput: messages.ToolOutput{CallID: "x", Untrusted: true}}
	require.NoError(t, m.Apply(Started{At: at, Run: "r", Strategy: "lead", Input: delegation.Input{Messages: messages.History{read}}, Limits: delegation.Limits{Steps: 20, TotalTokens: 100}}))
	require.Equal(t, "0 lead() #1 [1 model open]", text(m.Frames()))
	reply := nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("go"), Usage: messages.Usage{Input: 10}}}
	require.NoError(t, m.Apply(m.Open()[0].Answered(reply, at, 5)))
	for _, r := range append([]Record(nil), m.Ready().Intents...) {
		require.NoError(t, m.Apply(r))
	}
	return m
}

// text is what a person would want to see of frames.
func text(views []FrameView) string {
	var lines []string
	for _, v := range views {
		line := fmt.Sprintf("%s %s(%s) #%d", v.Name, v.Strategy, v.State, v.Seq)
		if v.Branch {
			line += " for " + v.Call.String()
		}
		var effects []string
		for _, e := range v.Effects {
			effects = append(effects, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", e.ID, e.Kind, e.Tool, e.State)), " "))
		}
		if len(effects) > 0 {
			line += " [" + strings.Join(effects, ", ") + "]"
		}
		if v.Child != "" {
			line += " over " + v.Child
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestMachine_Frames(t *testing.T) {
	m := New(&Config{})
	require.Empty(t, m.Frames())

	m = tree(t, false)
	views := m.Frames()
	require.Equal(t, strings.TrimSpace(`
0 lead() #2 [2/1 tool helper nested, 2/2 tool look open, 2/3 tool pay waiting]
0.1 sub() #3 for 2/1 over 0.1.1
0.1.1 deep() #5 [5 model open]
0.2 sub() #4 for 2/1 over 0.2.1
0.2.1 deep() #6 [6 model open]`), text(views))

	root, branch, deep := views[0], views[1], views[2]
	require.Equal(t, []string{m.Waits()[0].ID}, root.Effects[2].Waits)
	require.Equal(t, delegation.Counts{Steps: 6, ModelCalls: 3, ToolCalls: 3}, root.Used)
	require.Equal(t, messages.Usage{Input: 10, Total: 10}, root.Usage)
	require.EqualValues(t, 5, root.Elapsed)
	require.Equal(t, []int{1, 2, 3}, []int{root.Depth, branch.Depth, deep.Depth})
	require.True(t, root.Untrusted)
	require.Equal(t, "the input", deep.Source)
	require.Equal(t, 20, root.Limits.Steps)
	require.Equal(t, 7, deep.Limits.Steps)
	require.Equal(t, 6, deep.Left.Steps, "of its own")
	require.Equal(t, 4, deep.Left.ModelCalls, "of the branch above it")
	require.EqualValues(t, 90, deep.Left.TotalTokens, "of the run")
	require.Equal(t, 13, deep.Left.Depth)

	left, ok := m.Left("0.1.1")
	require.True(t, ok)
	require.Equal(t, deep.Left, left)
	left, ok = m.Left("0.2")
	require.True(t, ok)
	require.Equal(t, views[3].Left, left)
	_, ok = m.Left("0.3")
	require.False(t, ok)

	views[0].Effects[0].Tool = "scribbled"
	require.Equal(t, "helper", m.Frames()[0].Effects[0].Tool, "a view is a copy")
}

func TestMachine_Frames_ofARunThatEnds(t *testing.T) {
	m := tree(t, false)
	require.NoError(t, m.Apply(Stopped{At: at, Reason: "enough"}))
	for _, v := range m.Frames() {
		require.Equal(t, "enough", v.Ending, v.Name)
	}
	require.Equal(t, "[2/1 tool helper nested, 2/2 tool look open]", text(m.Frames())[len("0 lead() #2 "):][:44])
	for len(m.Open()) > 0 {
		require.NoError(t, m.Apply(m.Open()[0].Answered(nextstep.Failure{}, at, 0)))
	}
	require.True(t, m.Done())
	require.Empty(t, m.Frames())
}

// Every state of an effect that can be seen has a name.
func TestEffectStates(t *testing.T) {
	require.Len(t, effectStates, int(ended))
	for s := range ended {
		require.NotEmpty(t, effectStates[s], "state %d", s)
	}
}

// Names are places: the tenth child stands behind the second.
func TestByPlace(t *testing.T) {
	require.Negative(t, byPlace("0.2", "0.10"))
	require.Negative(t, byPlace("0.2", "0.2.1"))
	require.Negative(t, byPlace("0.2.9", "0.3"))
	require.Zero(t, byPlace("0.2", "0.2"))
}

// A run without a journal makes no digests; asked for, they are those that one with a journal
// makes.
func TestMachine_Digest(t *testing.T) {
	durable, plain := tree(t, true), tree(t, false)
	for _, e := range durable.Open() {
		got, ok := plain.Digest(e.ID)
		if e.Kind == EffectPerson {
			require.False(t, ok)
			continue
		}
		require.True(t, ok)
		require.NotEmpty(t, got)
		require.Equal(t, e.Digest, got, e.ID)
		again, _ := plain.Digest(e.ID)
		require.Equal(t, got, again)
		kept, _ := durable.Digest(e.ID)
		require.Equal(t, got, kept)
	}
	for _, id := range []EffectID{{}, {Seq: 1}, {Seq: 99}, {Seq: 2, Index: 9}} {
		_, ok := plain.Digest(id)
		require.False(t, ok, id)
	}
	one, _ := plain.Digest(EffectID{Seq: 2, Index: 2})
	other, _ := plain.Digest(EffectID{Seq: 2, Index: 3})
	require.NotEqual(t, one, other)
}
