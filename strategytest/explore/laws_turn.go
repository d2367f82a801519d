package explore

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// outOfTurn calls methods of the live strategies out of turn, and names one that did not refuse.
// The walk cannot be used afterwards.
func (w *walk) outOfTurn(views []machine.FrameView) string {
	for i := range views {
		kind := openKind(&views[i])
		st := w.live[views[i].Name]
		if rule := ruleOf(st); kind == 0 || st == nil || rule != nil && rule.Awaits != kind {
			continue
		}
		if problem := refuses(st, kind); problem != "" {
			return "frame " + views[i].Name + ": " + problem
		}
	}
	return ""
}

// refuses returns the problem of a strategy that accepts an answer to a step of another kind.
func refuses(st strategy.Strategy, open nextstep.Kind) (problem string) {
	before := memoryOf(st)
	if again := memoryOf(st); !bytes.Equal(again.text, before.text) {
		return "" // another law
	}
	for _, m := range []struct {
		kind nextstep.Kind
		call func() nextstep.NextStep
	}{
		{nextstep.KindGetChatCompletion, func() nextstep.NextStep { return st.ProcessAPIResponse(llmclient.Response{}) }},
		{nextstep.KindGetChatCompletion, func() nextstep.NextStep {
			return st.ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText("nobody asked"), Finish: llmclient.FinishStop})
		}},
		{nextstep.KindExecuteTools, func() nextstep.NextStep { return st.ProcessToolResults(nil) }},
		{nextstep.KindExecuteTools, func() nextstep.NextStep {
			return st.ProcessToolResults([]messages.ToolOutput{{CallID: "of nobody", ToolName: "nothing", Output: "nobody asked", Status: messages.StatusFailed}})
		}},
		{nextstep.KindDelegate, func() nextstep.NextStep { return st.ProcessDelegationResult(delegation.Output{}) }},
		{nextstep.KindDelegate, func() nextstep.NextStep {
			return st.ProcessDelegationResult(delegation.Output{Result: new("nobody asked")})
		}},
	} {
		if m.kind == open {
			continue
		}
		step, panicked := calmly(m.call)
		if panicked != nil {
			return fmt.Sprintf("while %s is open it panicked at an answer to %s: %v", open, m.kind, panicked)
		}
		if _, refused := step.(nextstep.ReportError); !refused {
			return fmt.Sprintf("while %s is open it took an answer to %s", open, m.kind)
		}
		if now := memoryOf(st); !reflect.DeepEqual(now.Position, before.Position) || !bytes.Equal(now.text, before.text) {
			return fmt.Sprintf("while %s is open an answer to %s has changed it", open, m.kind)
		}
	}
	return ""
}

// remembered is the memory of a strategy, as far as the strategy reports it.
type remembered struct {
	strategy.Position
	text []byte
}

func memoryOf(st strategy.Strategy) (r remembered) {
	if t, ok := st.(strategy.Tabler); ok {
		r.Position = t.FSM().Position()
	}
	if s, ok := st.(strategy.Snapshotter); ok {
		defer func() { _ = recover() }() // another law
		r.text, _ = s.Snapshot()
		r.text = bytes.Clone(r.text)
	}
	return r
}

// calmly calls a method, and returns the value of its panic.
func calmly(call func() nextstep.NextStep) (step nextstep.NextStep, panicked any) {
	defer func() { panicked = recover() }()
	return call(), nil
}
