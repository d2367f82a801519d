package explore

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// count counts what an answer has used, and notes where it brings text from outside.
func (w *walk) count(e *machine.Effect, r *machine.Answered) {
	if r.NotBegun {
		return
	}
	if e.Kind == machine.EffectModel {
		w.spent.ModelCalls++
	}
	if e.Kind == machine.EffectTool {
		w.spent.ToolCalls++
	}
	switch a := r.Answer.(type) {
	case nextstep.ToolResult:
		w.outside[e.Frame] = w.outside[e.Frame] || a.Output.Untrusted
	case nextstep.DelegationResult:
		w.spent.ModelCalls += a.Output.Counts.ModelCalls
		w.spent.ToolCalls += a.Output.Counts.ToolCalls
		w.outside[e.Frame] = w.outside[e.Frame] || a.Output.Untrusted
	}
}

// overspent names a limit of the run that was passed, by the world's own count.
func (w *walk) overspent() string {
	for _, l := range []struct {
		name        string
		spent, most int
		given       func(delegation.Limits) int
	}{
		{"model calls", w.spent.ModelCalls, w.most.ModelCalls, func(l delegation.Limits) int { return l.ModelCalls }},
		{"tool calls", w.spent.ToolCalls, w.most.ToolCalls, func(l delegation.Limits) int { return l.ToolCalls }},
	} {
		if l.most <= 0 {
			continue
		}
		if l.spent > l.most {
			return fmt.Sprintf("%d %s were made, and the limit of the run is %d", l.spent, l.name, l.most)
		}
		for i := range w.open {
			d, ok := w.open[i].Step.(nextstep.Delegate)
			if !ok {
				continue
			}
			if n := l.given(d.Limits); n < 0 || n > l.most-l.spent {
				return fmt.Sprintf("a child is given %d %s, and of the limit of the run %d are left", n, l.name, l.most-l.spent)
			}
		}
	}
	return ""
}

// trusts names a frame that has read text from outside and is not marked so.
func (w *walk) trusts(views []machine.FrameView) string {
	for i := range views {
		if f := &views[i]; w.outside[f.Name] && !f.Untrusted && len(w.results) == 0 { // a batch tells when it is over
			return "frame " + f.Name + " has read some, and is not"
		}
	}
	return ""
}

// narrow notes which tools a frame may use: those of its agent, or of the frame above it.
func (w *walk) narrow(frame string, entered *machine.FrameEntered) {
	names, narrowed := w.allowed[above(frame)]
	if agent := w.agents[entered.Tool]; entered.CallID != "" && agent != nil && agent.Tools != nil {
		names, narrowed = agent.Tools, true
	}
	if narrowed {
		w.allowed[frame] = names
	}
}

// above returns the name of the frame above one; "" if there is none.
func above(frame string) string {
	return frame[:max(0, strings.LastIndexByte(frame, '.'))]
}

// oversteps names an open call that its frame may not make.
func (w *walk) oversteps([]machine.FrameView) string {
	for i := range w.open {
		e := &w.open[i]
		names, narrowed := w.allowed[e.Frame]
		if e.Kind == machine.EffectTool && narrowed && !w.own[e.Call.Name] && !slices.Contains(names, e.Call.Name) {
			return fmt.Sprintf("frame %s calls %s, and may use %v", e.Frame, e.Call.Name, names)
		}
	}
	return ""
}

// badOutput returns the problem of the conversation with which a run ends.
func (w *walk) badOutput([]machine.FrameView) string {
	if !w.m.Done() {
		return ""
	}
	if err := w.m.Output().Messages.Validate(); err != nil {
		return err.Error()
	}
	return ""
}

// takesAnything gives the first open effect answers that do not fit. It names one that was accepted
// or that changed the run.
func (x *exploration) takesAnything(signature string) string {
	w := &x.run
	if x.nearer.wrong[signature] || len(w.open) == 0 {
		return ""
	}
	x.nearer.wrong[signature] = true
	before, _ := w.checksum()
	e := w.open[0]
	for _, a := range misfits(&e) {
		if w.m.Apply(e.Answered(a, time.Time{}, 0)) == nil {
			return fmt.Sprintf("%s was answered with %+v", e.Kind, a)
		}
		if now, _ := w.checksum(); now != before {
			return fmt.Sprintf("%s was refused %+v, and something else is open now", e.Kind, a)
		}
	}
	return ""
}

// misfits returns answers that do not fit an effect.
func misfits(e *machine.Effect) []nextstep.Answer {
	says := func(r llmclient.Response) nextstep.Answer { return nextstep.APIResponse{Response: &r} }
	calls := func(parts ...messages.AssistantContent) nextstep.Answer {
		return says(llmclient.Response{Message: messages.Assistant{Content: parts}})
	}
	switch e.Kind {
	case machine.EffectModel:
		return []nextstep.Answer{
			nil,
			nextstep.APIResponse{},
			nextstep.ToolResult{},
			nextstep.DelegationResult{},
			calls(call(0, "a", "{}"), call(0, "b", "{}")),
			calls(messages.ToolCall{Name: "a"}),
			calls(nil),
			says(llmclient.Response{Usage: messages.Usage{Input: -1}}),
			says(llmclient.Response{Usage: messages.Usage{Total: math.MinInt64}}),
		}
	case machine.EffectTool:
		other := e.Call
		other.Name += "x"
		return []nextstep.Answer{
			nil,
			nextstep.APIResponse{Response: &llmclient.Response{}},
			nextstep.DelegationResult{},
			nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID + "x"}},
			nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, ToolName: other.Name}},
			nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, Status: "so so"}},
			nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID}, Call: &other},
		}
	case machine.EffectRemote:
		return []nextstep.Answer{
			nil,
			nextstep.APIResponse{Response: &llmclient.Response{}},
			nextstep.ToolResult{},
			nextstep.DelegationResult{Output: delegation.Output{Counts: delegation.Counts{Steps: -1}}},
			nextstep.DelegationResult{Output: delegation.Output{Usage: messages.Usage{Output: -1}}},
		}
	default:
		return nil
	}
}
