package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// callTool makes a call. Without middleware it was prepared with the effect.
func (x *execution) callTool(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	if x.run.o.wrapped {
		return x.callChanged(ctx, e)
	}
	return x.finished(x.running(), x.running().Perform(), nil)
}

// callChanged makes a call that a middleware may have changed, if the changed call is allowed.
func (x *execution) callChanged(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	o, was := x.run.o, &x.effect
	if e.Call.ID != was.Call.ID || e.Call.Name != was.Call.Name {
		return nil, fmt.Errorf("orchestrator: a middleware made the call %.64q of %.64q another one", was.Call.ID, was.Call.Name)
	}
	var made *messages.ToolCall
	if e.Call.Arguments != was.Call.Arguments {
		if why := o.refusesChanged(was, e); why != "" {
			return x.refuse(why), nil
		}
		made = &e.Call
	}
	c := x.beginCall(ctx, e)
	if !x.arm(c) {
		return nil, fmt.Errorf("orchestrator: the call %.64q of %.64q was made already, and a tool that is neither read-only nor idempotent is called once", was.Call.ID, was.Call.Name)
	}
	if _, ok := c.Due(); ok {
		x.run.box.post(mail{execution: x, event: &machine.Event{}}) // wakes the loop, which sets the deadline
	}
	return x.finished(c, c.Perform(), made)
}

// refuse returns the result of a call that is not allowed as a middleware changed it.
func (x *execution) refuse(why string) nextstep.Answer {
	c := &x.effect.Call
	return nextstep.ToolResult{Output: messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: machine.ReasonRefused, Output: why}}
}

// refusesChanged says why a changed call is not allowed; "" if it is.
func (o *Orchestrator) refusesChanged(was, e *machine.Effect) string {
	if was.Approved {
		return "the call is not what a person approved: its arguments were changed"
	}
	if o.approve == nil || was.Definition == nil {
		return ""
	}
	v := o.approve(machine.ApprovalRequest{
		Run: was.Run, Frame: was.Frame, Strategy: was.Strategy, Seq: was.ID.Seq, Call: e.Call, Definition: *was.Definition, Untrusted: was.Untrusted,
	})
	if v == machine.VerdictAllow {
		return ""
	}
	return "the arguments of the call were changed, and as it is now it is not allowed"
}

// finished converts the result of a call to an answer.
func (x *execution) finished(c *toolrun.Running, out messages.ToolOutput, made *messages.ToolCall) (nextstep.Answer, error) {
	if out.Reason == tools.ReasonSuspended {
		if s, ok := c.Suspended(); ok {
			return x.suspendedCall(&s)
		}
		return nil, x.suspension(&out)
	}
	out.Untrusted = out.Untrusted || x.readUntrusted.Load()
	return nextstep.ToolResult{Output: out, Call: made}, nil
}

// suspension returns the waits of a tool that returned without a result.
func (x *execution) suspension(out *messages.ToolOutput) *SuspendedError {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waits) > 0 {
		return &SuspendedError{Waits: x.waits}
	}
	return &SuspendedError{Waits: []machine.Wait{{Kind: machine.WaitQuestion, Text: out.Output}}} // the tool did not use Ask
}

// beginCall prepares the call of the effect, which a middleware may have changed. An inline tool
// neither asks questions nor reports progress.
func (x *execution) beginCall(ctx context.Context, e *machine.Effect) *toolrun.Running {
	o := x.run.o
	job := toolrun.Job{Call: e.Call, Tool: x.tool, Names: o.names, MaxResult: x.mostKept(e.Call.Name)}
	runner := o.runner
	runner.OnPanic = x.toolPanicked
	if !x.toolInline {
		job.Key, job.Ask, job.Resumption = x.effect.Key(), x.ask, x.resumption()
		if x.run.streams {
			job.Progress = x.progress
		}
	}
	return runner.Begin(ctx, job)
}

func (x *execution) toolPanicked(call messages.ToolCall, value any, stack []byte) {
	x.panicked("the tool "+call.Name, value, stack)
}

// progress emits the progress of a tool, unless the consumer is far behind.
func (x *execution) progress(text string) {
	if x.run.o.heldBack() {
		return
	}
	e := x.event()
	e.Time, e.Kind, e.Text = time.Now(), machine.EventToolProgress, text
	e.Detail = machine.ToolProgress{CallID: x.effect.Call.ID, ToolName: x.effect.Call.Name}
	x.run.box.try(mail{execution: x, event: &e})
}

// toolOf returns the tool of a call, and whether the call is inline: it needs no context of its own.
// The call of an unknown tool counts as inline.
func (o *Orchestrator) toolOf(e *machine.Effect) (tool tools.Tool, inline bool) {
	if tool = e.Tool; tool == nil {
		tool, _ = o.tools.Lookup(e.Call.Name)
	}
	p, ok := tool.(interface{ Inline() bool })
	if !ok {
		return tool, tool == nil
	}
	defer func() {
		if recover() != nil {
			inline = false
		}
	}()
	return tool, p.Inline() && len(e.Call.Arguments) <= toolrun.DefaultMaxArguments
}
