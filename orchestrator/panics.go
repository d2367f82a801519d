package orchestrator

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/segue-go/segue/messages"
)

// PanicReport is a panic that was contained: its call or its step failed, and the process goes on.
// What a run tells of it leaves out the value, which may hold a secret, and the stack.
type PanicReport struct {
	Run   string // the run's id; "" where there is none yet
	Frame string // whose step or strategy it was; "" where that is over
	Seq   int    // of the step
	Where string // what panicked, for people: "the tool search", "the strategy solve in Initialize", "the client", …
	Value any
	Stack []byte // where it was recovered
}

// panicked tells Config.OnPanic and the log of a panic. OnPanic may panic, too.
func (o *Orchestrator) panicked(ctx context.Context, p *PanicReport) {
	if o.logger != nil {
		attrs := []slog.Attr{
			slog.String("run", p.Run), slog.String("frame", p.Frame), slog.Int("seq", p.Seq), slog.String("where", p.Where),
			slog.String("type", fmt.Sprintf("%T", p.Value)), slog.String("stack", string(p.Stack)),
		}
		if o.logContent {
			attrs = append(attrs, slog.Any("value", p.Value))
		}
		o.log(ctx, slog.LevelError, "contained a panic", attrs...)
	}
	if o.onPanic == nil {
		return
	}
	defer func() { _ = recover() }()
	o.onPanic(ctx, *p)
}

// panicked reports a panic of the step in progress.
func (r *run) panicked(where string, value any, stack []byte) {
	r.o.panicked(r.ctx, &PanicReport{Run: r.m.Run(), Frame: r.call.Frame, Seq: r.call.Seq, Where: where, Value: value, Stack: stack})
}

// toolPanicked reports a panic of a tool, on the tool's goroutine.
func (r *run) toolPanicked(call messages.ToolCall, value any, stack []byte) {
	step, _ := r.people.step(0) // the one whose tools run
	r.o.panicked(r.ctx, &PanicReport{Run: step.Run, Frame: step.Frame, Seq: step.Seq, Where: "the tool " + call.Name, Value: value, Stack: stack})
}

// strategyPanicked returns what is told of the panics of strategies; nil if nobody wants to know.
func (o *Orchestrator) strategyPanicked(ctx context.Context) func(*PanicReport) {
	if o.onPanic == nil && o.logger == nil {
		return nil
	}
	return func(p *PanicReport) { o.panicked(ctx, p) }
}
