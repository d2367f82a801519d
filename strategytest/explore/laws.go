package explore

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The laws, by the names that violations have.
const (
	lawTaken     = "the machine takes every answer that fits"
	lawProtocol  = "a strategy keeps to the protocol: no panic, no nil, no step that its table forbids"
	lawNoStart   = "nothing starts after a stop"
	lawStopped   = "a stopped run is done only if its strategy has completed"
	lawStuck     = "no run is stuck"
	lawOpen      = "no run ends over open effects"
	lawAwaits    = "the open step is of the kind that the state awaits"
	lawRequest   = "a request is a valid conversation, with each call answered once"
	lawOutput    = "the conversation of an output is valid"
	lawJSON      = "every step has a JSON form"
	lawLimits    = "no limit and no cap is passed"
	lawSame      = "the same answers give the same steps"
	lawDecoded   = "answers from a journal give the same steps"
	lawScribbled = "what lies behind a returned slice is not the strategy's"
)

// holds checks the laws of a state, after the last reaction of the path. It reports whether the
// state may be explored further.
func (x *exploration) holds(path []choice) bool {
	law, problem := x.run.check()
	if law != "" {
		x.violate(law, path, problem)
	}
	return law == ""
}

// check returns the first law that the state breaks, and how; "" if there is none.
func (w *walk) check() (law, problem string) {
	for i := range w.events {
		if left, ok := w.events[i].Detail.(machine.FrameLeft); ok && left.Err != nil && isDefect(left.Err) {
			return lawProtocol, fmt.Sprintf("frame %s of %q: %s", w.events[i].Frame, left.Strategy, causeOf(left.Err))
		}
	}
	if w.started {
		return lawNoStart, "it started " + w.pending()
	}
	if w.prefix.broken != "" {
		return lawPrefix, w.prefix.broken
	}
	if w.m.Done() {
		return w.checkEnd()
	}
	if len(w.open) == 0 {
		return lawStuck, "nothing is open, and the run has not ended"
	}
	frames := w.frames()
	for i := range frames {
		f := &frames[i]
		if problem := w.misplaced(f); problem != "" {
			return lawAwaits, problem
		}
		if problem := w.exceeded(f); problem != "" {
			return lawLimits, problem
		}
	}
	for i := range w.open {
		if law, problem := checkRequest(&w.open[i]); law != "" {
			return law, problem
		}
	}
	return "", ""
}

// checkEnd is check for a run that has ended.
func (w *walk) checkEnd() (law, problem string) {
	out := w.m.Output()
	if len(w.open) > 0 {
		return lawOpen, "it has ended over " + w.pending()
	}
	if w.stopped && w.m.Status() == machine.StatusDone && !w.completed() {
		return lawStopped, "its status is done"
	}
	if err := out.Messages.Validate(); err != nil {
		return lawOutput, err.Error()
	}
	return "", ""
}

// completed reports whether the state of the root's strategy is one of completion, or unknown.
func (w *walk) completed() bool {
	rule := ruleOf(w.root)
	return rule == nil || rule.Awaits == nextstep.KindComplete
}

// ruleOf returns the rule of the state in which a strategy is; nil if it has no table.
func ruleOf(st strategy.Strategy) *strategy.StateRule {
	t, ok := st.(strategy.Tabler)
	if !ok || t.FSM().Table() == nil {
		return nil
	}
	states, now := t.FSM().Table().States, t.FSM().State()
	for i := range states {
		if states[i].Name == now {
			return &states[i]
		}
	}
	return nil
}

// isDefect reports whether an error says that a strategy broke the protocol.
func isDefect(err *delegation.Error) bool {
	return err.Code == delegation.CodeDefect || err.Code == delegation.CodePanic
}

// causeOf describes an error of a strategy, with what it panicked with.
func causeOf(err *delegation.Error) string {
	if p, ok := errors.AsType[*machine.PanicError](err); ok {
		return fmt.Sprintf("%s: %v", err.Message, p.Value)
	}
	return err.Message
}

// misplaced says how a frame's open step differs from what its state awaits; "" if it does not.
func (w *walk) misplaced(f *machine.FrameView) string {
	rule := ruleOf(w.live[f.Name])
	if rule == nil {
		return ""
	}
	kind := nextstep.KindDelegate
	if f.Child == "" {
		if len(f.Effects) == 0 {
			return ""
		}
		switch f.Effects[0].Kind {
		case machine.EffectModel:
			kind = nextstep.KindGetChatCompletion
		case machine.EffectTool:
			kind = nextstep.KindExecuteTools
		}
	}
	if rule.Awaits != kind {
		return fmt.Sprintf("frame %s is in state %q, which awaits %s, and its step is %s", f.Name, rule.Name, rule.Awaits, kind)
	}
	return ""
}

// exceeded says which limit or cap of a frame was passed; "" if none was.
func (w *walk) exceeded(f *machine.FrameView) string {
	for _, l := range []struct {
		name        string
		used, limit int
	}{
		{"steps", f.Used.Steps, f.Limits.Steps},
		{"model calls", f.Used.ModelCalls, f.Limits.ModelCalls},
		{"tool calls", f.Used.ToolCalls, f.Limits.ToolCalls},
	} {
		if l.limit >= 0 && l.used > l.limit {
			return fmt.Sprintf("frame %s has used %d %s, and its limit is %d", f.Name, l.used, l.name, l.limit)
		}
	}
	return ""
}

// checkRequest checks a step that asks a model.
func checkRequest(e *machine.Effect) (law, problem string) {
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return "", ""
	}
	if err := ask.Request.Messages.Validate(); err != nil {
		return lawRequest, err.Error()
	}
	return "", ""
}
