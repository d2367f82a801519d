package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// log writes a record to Config.Logger, if there is one. A panic of the logger's handler is
// ignored.
func (o *Orchestrator) log(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
	if o.cfg.Logger == nil {
		return
	}
	defer func() { _ = recover() }()
	o.cfg.Logger.LogAttrs(ctx, level, text, attrs...)
}

// line is a record of the log about a run.
type line struct {
	level slog.Level
	text  string
	attrs []slog.Attr
	open  bool // content may be logged
}

// add adds keys and their values, except empty texts.
func (l *line) add(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			l.attrs = append(l.attrs, slog.Any(pairs[i].(string), pairs[i+1]))
		}
	}
}

// content adds values that are logged only with Config.LogContent.
func (l *line) content(pairs ...any) {
	if l.open {
		l.add(pairs...)
	}
}

// failed adds the code of an error, and its text as content.
func (l *line) failed(err *delegation.Error) {
	if err != nil {
		l.add("code", string(err.Code))
		l.content("error", err.Message)
	}
}

// logEvent logs an event of the run.
func (r *run) logEvent(e machine.Event) {
	l := line{open: r.o.cfg.LogContent, attrs: []slog.Attr{
		slog.String("run", e.Run), slog.String("frame", e.Frame), slog.Int("seq", e.Seq),
	}}
	if r.describe(&l, e.Detail); l.text == "" {
		return
	}
	r.o.log(r.ctx, l.level, l.text, l.attrs...)
}

// describe fills in the log line of an event; it does nothing if the event is not logged.
func (r *run) describe(l *line, detail machine.Detail) {
	l.level = slog.LevelInfo
	switch d := detail.(type) {
	case machine.RunStarted:
		l.text = "run began"
		l.add("strategy", d.Strategy)
		l.content("goal", d.Goal)
	case machine.RunResumed:
		l.text = "run goes on"
		l.add("strategy", d.Strategy)
		l.content("goal", d.Goal)
	case machine.RunFinished:
		l.text = "run ended"
		if d.Status != machine.StatusDone && d.Status != machine.StatusWaiting {
			l.level = slog.LevelWarn
		}
		l.add("status", string(d.Status), "waits", len(d.Waits), "tokens", d.Output.Usage.Total, "elapsed", d.Output.Elapsed)
		l.failed(d.Output.Err)
		l.content("result", d.Output.Text())
	case machine.WaitStarted:
		l.text = "wait began"
		l.add("wait", d.Wait.ID, "kind", d.Wait.Kind, "call", d.Wait.CallID, "tool", d.Wait.Tool)
		l.content("arguments", d.Wait.Arguments, "question", d.Wait.Text)
	case machine.WaitEnded:
		l.text = "wait ended"
		l.add("wait", d.WaitID, "answered", d.Reply != nil)
		if d.Reply != nil {
			l.add("approve", d.Reply.Approve)
			l.content("reply", d.Reply.Text, "reason", d.Reply.Reason)
		}
		l.failed(d.Err)
	case machine.RetryWaiting:
		l.level, l.text = slog.LevelWarn, "model asked again"
		l.add("kind", string(d.Kind), "model", d.Model, "attempt", d.Attempt, "wait", d.Wait)
		l.content("error", d.Error)
	case machine.ToolFinished:
		l.called(&d.Output, slices.Contains(r.o.toolNames, d.Output.ToolName))
	default:
		l.describeStep(detail)
	}
}

// describeStep is describe for the events of each step.
func (l *line) describeStep(detail machine.Detail) {
	l.level = slog.LevelDebug
	switch d := detail.(type) {
	case machine.StepTaken:
		l.text = "step taken"
		l.add("kind", d.Kind.String(), "model", d.Model, "calls", d.Calls, "tokens", d.Usage.Total, "elapsed", d.Elapsed)
		l.failed(d.Err)
	case machine.FrameEntered:
		l.text = "strategy began"
		l.add("strategy", d.Strategy)
		l.content("goal", d.Goal)
	case machine.FrameLeft:
		l.text = "strategy ended"
		l.add("strategy", d.Strategy)
		if d.Handoff != "" {
			l.add("successor", d.Handoff)
		}
		l.failed(d.Err)
	default: // not logged
	}
}

// called describes how a tool call ended. The name of an unknown tool counts as content, because a
// model wrote it.
func (l *line) called(o *messages.ToolOutput, hasTool bool) {
	l.level, l.text = slog.LevelDebug, "call ended"
	switch o.Reason {
	case machine.ReasonRefused, machine.ReasonNotOffered, tools.ReasonUnknownTool:
		l.level, l.text = slog.LevelWarn, "call refused"
	}
	l.add("call", o.CallID)
	if hasTool {
		l.add("tool", o.ToolName)
	} else {
		l.content("tool", o.ToolName)
	}
	l.add("status", string(o.Status), "reason", o.Reason, "bytes", len(o.Output), "elapsed", o.Elapsed)
	l.content("output", o.Output)
}

// logEventRefused logs an event of a middleware that was dropped. It is called from any goroutine.
func (r *run) logEventRefused(e *machine.Effect, kind machine.EventKind, problem string) {
	if r.o.cfg.Logger == nil {
		return
	}
	l := line{open: r.o.cfg.LogContent, attrs: []slog.Attr{slog.String("run", e.Run), slog.String("frame", e.Frame), slog.Int("seq", e.ID.Seq)}}
	if kind.Reserved() {
		l.add("kind", string(kind))
	} else {
		l.content("kind", string(kind))
	}
	l.add("problem", problem)
	r.o.log(r.ctx, slog.LevelWarn, "event refused", l.attrs...)
}

// logReplyRefused logs a reply that was rejected. It is called from any goroutine.
func (r *run) logReplyRefused(ctx context.Context, e *machine.ReplyError) {
	r.o.log(ctx, slog.LevelWarn, "reply refused", slog.String("run", e.Run), slog.String("wait", e.WaitID), slog.String("problem", e.Problem))
}

// logStoreFault logs that a store failed, unless another process owns the run.
func (r *run) logStoreFault(ctx context.Context, text string, err error) {
	if r.o.cfg.Logger == nil {
		return
	}
	l := line{level: slog.LevelError, open: r.o.cfg.LogContent}
	if errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound) {
		l.level = slog.LevelWarn
	}
	if e, ok := errors.AsType[*JournalError](err); ok {
		l.add("run", e.Run, "record", e.Record)
	}
	l.add("conflict", errors.Is(err, checkpoint.ErrConflict))
	l.content("error", err.Error())
	r.o.log(ctx, l.level, text, l.attrs...)
}
