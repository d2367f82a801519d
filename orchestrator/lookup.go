package orchestrator

import (
	"context"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// lookUp looks up the calls that may have had their effect when the process died, if their tools
// can. A call that had its effect gets its result; a call that had none will be made. The outcome
// of the other calls stays unknown.
func (r *run) lookUp() error {
	for _, e := range r.m.Open() {
		if e.Kind != machine.EffectTool || e.Safe() {
			continue
		}
		x := r.newExecution(&e, false)
		l := lookuperOf(x.tool)
		if l == nil {
			continue
		}
		rec := machine.Answered{At: r.now, Effect: e.ID, NotBegun: true}
		switch output, found := r.askTool(l, x); {
		case output.Status != messages.StatusOK:
			continue
		case found:
			rec = e.Answered(x.keepLarge(r.ctx, nextstep.ToolResult{Output: output}), r.now, 0)
		}
		if err := r.apply(rec); err != nil {
			return err
		}
	}
	return nil
}

// askTool lets a tool look up one of its calls, within the time-out of a call.
func (r *run) askTool(l tools.Lookuper, x *execution) (messages.ToolOutput, bool) {
	e := &x.effect
	found := make(chan bool, 1)
	runner := r.o.runner
	runner.OnPanic = func(call messages.ToolCall, value any, stack []byte) {
		r.o.panicked(r.ctx, &machine.PanicReport{Run: r.id, Frame: e.Frame, Seq: e.ID.Seq, Where: "the Lookup of the tool " + call.Name, Value: value, Stack: stack})
	}
	c := runner.Begin(r.ctx, toolrun.Job{Call: e.Call, Key: e.Key(), MaxResult: x.mostKept(e.Call.Name), Tool: &lookup{Lookuper: l, key: e.Key(), found: found}})
	done := make(chan messages.ToolOutput, 1)
	go func() {
		returned := false
		defer func() {
			if !returned {
				done <- c.Exited()
			}
		}()
		output := c.Perform()
		returned = true
		done <- output
	}()
	var late <-chan time.Time
	if at, ok := c.Due(); ok {
		timer := time.NewTimer(time.Until(at) + max(0, runner.Grace))
		defer timer.Stop()
		late = timer.C
	}
	var output messages.ToolOutput
	select {
	case output = <-done:
	case <-late:
		output = c.Abandon(tools.ReasonTimeout)
	}
	select {
	case yes := <-found:
		return output, yes
	default:
		return messages.ToolOutput{}, false
	}
}

// lookup is a tool whose call looks up another call.
type lookup struct {
	tools.Lookuper
	key   string
	found chan<- bool
}

// Definition returns the definition of the tool, as read-only.
func (l *lookup) Definition() tools.Definition {
	def := l.Lookuper.Definition()
	def.ReadOnly = true
	return def
}

// Call implements [tools.Tool].
func (l *lookup) Call(ctx context.Context, arguments string) (string, error) {
	result, found, err := l.Lookup(ctx, l.key, arguments)
	if err == nil {
		l.found <- found
	}
	return result, err
}

// lookuperOf returns the Lookuper that a tool is, or wraps; nil: there is none.
func lookuperOf(t tools.Tool) tools.Lookuper {
	for t != nil {
		if l, ok := t.(tools.Lookuper); ok {
			return l
		}
		w, ok := t.(interface{ Unwrap() tools.Tool })
		if !ok {
			return nil
		}
		t = w.Unwrap()
	}
	return nil
}
