package toolrun

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// outcome describes how a tool ended.
type outcome struct {
	text     string // the result, or the text of the error
	failed   bool   // the tool returned an error
	reason   string // the reason of the error: tools.ReasonArguments or tools.ReasonSuspended; "" for any other
	unsure   bool   // the error wraps tools.ErrEffectUnknown
	panicked bool
	exited   bool // it ended its goroutine
	value    any  // of the panic
	stack    []byte
}

// callTool calls the tool. It reads all it needs from an error, whose methods may panic, and does
// not keep the error.
func (c *Running) callTool(ctx context.Context, o *outcome) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(o, v)
		}
	}()
	text, err := c.tool.Call(ctx, c.call.Arguments)
	if o.text = text; err != nil {
		o.text, o.failed, o.reason = err.Error(), true, reasonOf(err)
		o.unsure = guard.Finite(err) && errors.Is(err, tools.ErrEffectUnknown)
	}
}

// panicked sets the outcome of a tool that panicked, and reports the panic.
func (c *Running) panicked(o *outcome, value any) {
	*o = outcome{panicked: true, value: value, stack: debug.Stack()}
	c.reportPanic(o)
}

// reasonOf returns the reason that an error implies.
func reasonOf(err error) string {
	if !guard.Finite(err) {
		return ""
	}
	if _, ok := errors.AsType[*tools.ArgumentError](err); ok {
		return tools.ReasonArguments
	}
	if errors.Is(err, tools.ErrSuspended) {
		return tools.ReasonSuspended
	}
	return ""
}

// reportPanic calls Runner.OnPanic, which may itself panic.
func (c *Running) reportPanic(o *outcome) {
	if c.onPanic == nil {
		return
	}
	defer func() { _ = recover() }()
	c.onPanic(c.call, o.value, o.stack)
}

func (c *Running) output(status messages.Status, reason, text string) messages.ToolOutput {
	return messages.ToolOutput{CallID: c.call.ID, ToolName: c.call.Name, Output: text, Status: status, Reason: reason}
}

// result converts the outcome of a tool to the result of its call, in out. The reason says why the
// call's context was done when the tool returned; "" means that it was not done.
func (c *Running) result(o *outcome, elapsed time.Duration, reason string, out *messages.ToolOutput) {
	*out = c.output(messages.StatusFailed, "", o.text)
	switch {
	case o.panicked:
		out.Reason, out.Output = tools.ReasonPanic, fmt.Sprintf("tools: %s panicked: %s", c.call.Name, panicText(o.value))
	case o.exited:
		out.Reason, out.Output = tools.ReasonPanic, fmt.Sprintf("tools: %s ended its goroutine and left no result", c.call.Name)
	case !o.failed:
		out.Status, out.Untrusted = messages.StatusOK, c.untrusted
	case o.reason != "":
		out.Reason = o.reason
	case reason != "":
		out.Status, out.Reason, out.Untrusted = c.cutStatus(), reason, c.untrusted
		out.Output = fmt.Sprintf("tools: %s %s: %s", c.call.Name, c.cutText(reason), o.text)
	default:
		out.Reason, out.Untrusted = tools.ReasonError, c.untrusted
		if o.unsure {
			out.Status = c.cutStatus()
		}
		if o.text == "" {
			out.Output = fmt.Sprintf("tools: %s failed and did not say why", c.call.Name)
		}
	}
	out.Output, out.Elapsed = textcut.Fit(out.Output, c.maxResult), elapsed
}

// panicText describes the value of a panic. Only errors of the Go runtime are shown in full: other
// values may contain secrets.
func panicText(value any) string {
	if text, ok := guard.RuntimeText(value); ok {
		return text
	}
	return fmt.Sprintf("with a %T", value)
}

// cutStatus returns the status of a call that was cut off.
func (c *Running) cutStatus() messages.Status {
	if c.safe {
		return messages.StatusFailed
	}
	return messages.StatusUnknown
}

func (c *Running) cutText(reason string) string {
	text := "was interrupted"
	if reason == tools.ReasonTimeout {
		text = fmt.Sprintf("was stopped after its time-out of %v", c.timeout)
	}
	if !c.safe {
		text += ", and whether it had an effect is unknown"
	}
	return text
}

func (c *Running) abandoned(reason string, elapsed time.Duration) messages.ToolOutput {
	text := fmt.Sprintf("tools: %s %s; it did not stop, was abandoned and may still be running", c.call.Name, c.cutText(reason))
	out := c.output(c.cutStatus(), reason, text)
	out.Elapsed = elapsed
	return out
}

func (c *Running) notStarted(reason string) messages.ToolOutput {
	text := "tools: the run was interrupted before this call was started"
	if reason == tools.ReasonTimeout {
		text = "tools: the time was over before this call was started"
	}
	return c.output(messages.StatusFailed, reason, text)
}

func (c *Running) tooLong(most int) *messages.ToolOutput {
	err := &tools.ArgumentError{Tool: c.call.Name, Problems: []tools.Problem{{Message: fmt.Sprintf("%d bytes are too long: at most %d", len(c.call.Arguments), most)}}}
	out := c.output(messages.StatusFailed, tools.ReasonArguments, err.Error())
	return &out
}

// unknown answers a call of an unknown tool.
func (c *Running) unknown(names func() []string) *messages.ToolOutput {
	const most = 2000
	text := fmt.Sprintf("tools: there is no tool %q", textcut.Short(c.call.Name, 24))
	if names != nil {
		if known := names(); len(known) > 0 {
			text += "; there are: " + textcut.Short(strings.Join(known, ", "), most)
		} else {
			text += "; there are none"
		}
	}
	out := c.output(messages.StatusFailed, tools.ReasonUnknownTool, text)
	return &out
}
