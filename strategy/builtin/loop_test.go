package builtin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
)

// loop is what a consumer that expects agent loops makes of the events of reason-act-observe.
type loop struct {
	state  strategy.State
	names  []string
	answer strings.Builder // the streamed part of the answer requested at the end
}

func (l *loop) event(e machine.Event) {
	switch d := e.Detail.(type) {
	case machine.RunStarted:
		l.names = append(l.names, "agent_start")
	case machine.StateChanged:
		switch d.From {
		case "reasoning":
			l.names = append(l.names, "agent_reason")
		case "observing":
			l.names = append(l.names, "agent_observe")
		default:
		}
		if l.state = d.To; d.To == "reasoning" {
			l.names = append(l.names, "agent_turn_start")
		}
	case machine.ToolStarted:
		l.names = append(l.names, "tool_start "+d.Call.Name)
	case machine.ToolFinished:
		l.names = append(l.names, "tool_complete "+d.Output.ToolName)
	case machine.RunFinished:
		l.names = append(l.names, "agent_completion")
	default:
		if e.Kind == machine.EventTextDelta && l.state == "concluding" {
			l.answer.WriteString(e.Text)
		}
	}
}

// looped runs reason-act-observe with at most two steps, and returns what a consumer has seen.
func looped(t *testing.T, replies ...scripted.Reply) (l loop, out delegation.Output) {
	t.Helper()
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(replies...),
		Strategies: strategy.Set{rao.Name: rao.New(rao.Config{MaxSteps: 2, OnLimit: rao.LimitAccept})},
		Tools:      composedTools[:1],
	})
	require.NoError(t, err)
	for e, err := range o.Stream(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Is it there?"}}) {
		require.NoError(t, err)
		l.event(e)
		if end, ok := e.Detail.(machine.RunFinished); ok {
			out = end.Output
		}
	}
	return l, out
}

func calls(name, arguments string) scripted.Reply {
	return scripted.Reply{Text: "So.", Calls: []messages.ToolCall{scripted.Call(name, arguments, "")}}
}

// S4-14: one tool, then the answer, with the event names of a loop with turns. The control tools
// are not reported as tools.
func TestS4_14_reasonActObserve(t *testing.T) {
	l, out := looped(t,
		calls(rao.DecideNext, `{"plan":"look"}`), calls("look", "{}"), calls(rao.ObserveDecide, `{"should_continue":true}`),
		calls(rao.DecideNext, `{"finish":true,"final_answer":"It is."}`))
	require.Equal(t, []string{
		"agent_start",
		"agent_turn_start", "agent_reason", "tool_start look", "tool_complete look", "agent_observe",
		"agent_turn_start", "agent_reason", "agent_completion",
	}, l.names)
	require.Equal(t, "It is.", out.Text())
	require.JSONEq(t, "2", string(out.Metadata["steps"]))
}

// S4-13: the answer that is requested when the steps are used up is streamed, and can be
// distinguished from everything said before.
func TestS4_13_streamedAnswer(t *testing.T) {
	step := []scripted.Reply{calls(rao.DecideNext, `{"plan":"look"}`), calls("look", "{}"), calls(rao.ObserveDecide, `{"should_continue":true}`)}
	l, out := looped(t, append(append(step, step...), scripted.Stream("As far ", "as I ", "can see."))...)
	require.Equal(t, "As far as I can see.", l.answer.String())
	require.Equal(t, "As far as I can see.", out.Text())
	turns, ends := 0, 0
	for _, name := range l.names {
		switch name {
		case "agent_turn_start":
			turns++
		case "agent_completion":
			ends++
		default:
		}
	}
	require.Equal(t, []int{2, 1}, []int{turns, ends})
	require.JSONEq(t, "2", string(out.Metadata["steps"]))
}
