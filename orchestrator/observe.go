package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Observation is how one run is observed while this process works on it; see Config.Observe. Nil
// fields are not used.
type Observation struct {
	Context context.Context     // the context of the run from now on, derived from the one given; its values reach middleware, models and tools
	Event   func(machine.Event) // gets each event of the run before the consumer does
	End     func()              // called once, after the last event: the process does not work on the run any more
}

// beginObservation has a run observed, and returns its context.
func (r *run) beginObservation(ctx context.Context, key checkpoint.Key) context.Context {
	observe := r.o.cfg.Observe
	if observe == nil {
		return ctx
	}
	r.observation = new(Observation)
	r.observes(func() { *r.observation = observe(ctx, key) })
	if own := r.observation.Context; own != nil {
		return own
	}
	return ctx
}

// observeEvent tells an event to whoever observes the run.
func (r *run) observeEvent(e machine.Event) {
	if event := r.observation.Event; event != nil {
		r.observes(func() { event(e) })
	}
}

// endObservation says that the run is not in progress here any more.
func (r *run) endObservation() {
	if r.observation != nil && r.observation.End != nil {
		r.observes(r.observation.End)
	}
}

// observes calls a function of the observer. One that panics is not called again, and neither are
// the others of this run, except End.
func (r *run) observes(call func()) {
	defer func() {
		if v := recover(); v != nil {
			r.observation.Event = nil
			ctx := r.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			r.o.panicked(ctx, &machine.PanicReport{Run: r.id, Where: "Config.Observe", Value: v, Stack: debug.Stack()})
		}
	}()
	call()
}

// consumer passes the events of a run to the code that reads them. It always yields on the
// goroutine of the loop.
type consumer struct {
	yield    func(machine.Event, error) bool
	log      func(machine.Event) // logs the events; may be nil
	observe  func(machine.Event) // observes the events; may be nil
	followed *run                // the run, if it has a journal, so that it can be followed; else nil
	cancel   context.CancelCauseFunc
	gone     bool // the consumer broke out, or got the last event

	yielding bool // the consumer is handling an event; stays true only if it panics
}

// deliver yields an event.
func (c *consumer) deliver(e *machine.Event) {
	if c.gone || c.yielding { // the consumer left or panicked
		return
	}
	if c.observe != nil {
		c.observe(*e)
	}
	if c.log != nil {
		c.log(*e)
	}
	if c.followed != nil {
		c.followed.tell(e)
	}
	c.yielding = true
	listens := c.yield(*e, nil)
	if c.yielding = false; !listens {
		c.gone = true
		c.cancel(errBreak)
	}
}

// last yields the last event, with the error of the run.
func (c *consumer) last(e *machine.Event, err error) {
	if !c.gone {
		c.gone = true
		if c.observe != nil {
			c.observe(*e)
		}
		if c.log != nil {
			c.log(*e)
		}
		c.yield(*e, err)
	}
}

// Collect reads the events of [Orchestrator.Stream] or [Orchestrator.Resume] to their end, and
// returns what [Orchestrator.Run] would have returned. For a run that could not be started or
// resumed it returns only the error, with an empty Result: a run that is in a journal stays as it
// was. If the events end without RunFinished and without an error, Collect returns an error that
// wraps [io.ErrUnexpectedEOF].
func Collect(events iter.Seq2[machine.Event, error]) (Result, error) {
	var res Result
	for e, err := range events {
		if end, ok := e.Detail.(machine.RunFinished); ok {
			return result(&end, e.Run), err
		}
		if err != nil {
			return res, err
		}
		res.Run, res.Status = e.Run, machine.StatusFailed
	}
	return res, fmt.Errorf("orchestrator: the events of run %.64q end before the run does: %w", res.Run, io.ErrUnexpectedEOF)
}

// result makes the Result of a run from its last event.
func result(f *machine.RunFinished, run string) Result {
	return Result{Run: run, Status: f.Status, Output: f.Output, Waits: f.Waits, Strategy: f.Strategy, Limits: f.Limits, Left: f.Left}
}

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
	case messages.ReasonRefused, machine.ReasonNotOffered, tools.ReasonUnknownTool:
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
