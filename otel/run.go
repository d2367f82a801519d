package segueotel

import (
	"context"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// run is one run that this process works on.
type run struct {
	t   *Telemetry
	key checkpoint.Key
	ctx context.Context // that the run was given

	mu     sync.Mutex
	frames map[string]trace.Span // of the strategies that work now
}

type runKey struct{}

// Observe is for orchestrator.Config.Observe.
func (t *Telemetry) Observe(ctx context.Context, key checkpoint.Key) orchestrator.Observation {
	r := &run{t: t, key: key, ctx: ctx, frames: map[string]trace.Span{}}
	return orchestrator.Observation{Context: context.WithValue(ctx, runKey{}, r), Event: r.event, End: r.end}
}

// event makes spans and counts of an event.
func (r *run) event(e machine.Event) {
	metrics := &r.t.metrics
	switch d := e.Detail.(type) {
	case machine.RunResumed:
		r.resumed(&e, &d)
	case machine.FrameEntered:
		r.enter(&e, d.Strategy)
	case machine.FrameLeft:
		r.leave(&e, &d)
	case machine.StepTaken:
		metrics.steps.Add(r.ctx, 1, metric.WithAttributes(append(errorOf(d.Err), keyKind.String(d.Kind.String()))...))
	case machine.WaitStarted:
		metrics.waits.Add(r.ctx, 1, metric.WithAttributes(keyKind.String(d.Wait.Kind)))
	case machine.RetryWaiting:
		metrics.retries.Add(r.ctx, 1, metric.WithAttributes(keyKind.String(string(d.Kind))))
	case machine.Compacted:
		metrics.compactions.Add(r.ctx, 1, metric.WithAttributes(keyKind.String(d.How)))
	case machine.RunFinished:
		metrics.runs.Add(r.ctx, 1, metric.WithAttributes(keyStatus.String(string(d.Status))))
		r.finished(&e, &d)
	default: // the middleware sees it, or it is no work
	}
}

// errorOf returns the attribute of an error; none for nil.
func errorOf(err *delegation.Error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	return []attribute.KeyValue{keyErrorType.String(string(err.Code))}
}

// enter begins the span of a strategy.
func (r *run) enter(e *machine.Event, strategy string, opts ...trace.SpanStartOption) {
	attributes := append([]attribute.KeyValue{
		keyOperation.String(operationAgent), keyAgentName.String(strategy), keyRun.String(r.key.Run), keyFrame.String(e.Frame),
	}, r.t.common...)
	if r.key.Namespace != "" {
		attributes = append(attributes, keyNamespace.String(r.key.Namespace))
	}
	opts = append(opts, trace.WithTimestamp(e.Time), trace.WithAttributes(attributes...))
	_, span := r.t.tracer.Start(r.below(r.ctx, parentOf(e.Frame)), operationAgent+" "+strategy, opts...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames[e.Frame] = span
}

// resumed begins the spans of the strategies that go on with a run that began elsewhere. That of
// the root links to the trace in which the run began.
func (r *run) resumed(e *machine.Event, d *machine.RunResumed) {
	opts := []trace.SpanStartOption{trace.WithAttributes(keyResumed.Bool(true))}
	root := opts
	if link, ok := linkOf(d.Metadata); ok {
		root = append(root, trace.WithLinks(link))
	}
	r.enter(e, d.Strategy, root...)
	for _, open := range d.Open {
		if at := *e; open.Frame != e.Frame {
			at.Frame = open.Frame
			r.enter(&at, open.Strategy, opts...)
		}
	}
}

// parentOf returns the frame above another; "" above the root.
func parentOf(frame string) string {
	if at := strings.LastIndexByte(frame, '.'); at >= 0 {
		return frame[:at]
	}
	return ""
}

// below returns a context whose span is that of a frame, or of the nearest one above it that has
// one, or the span of ctx.
func (r *run) below(ctx context.Context, frame string) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; frame != ""; frame = parentOf(frame) {
		if span := r.frames[frame]; span != nil {
			return trace.ContextWithSpan(ctx, span)
		}
	}
	return ctx
}

// leave ends the span of a strategy. That of the root goes on until the run says how it ended.
func (r *run) leave(e *machine.Event, d *machine.FrameLeft) {
	r.mu.Lock()
	defer r.mu.Unlock()
	span := r.frames[e.Frame]
	if span == nil {
		return
	}
	span.SetAttributes(usage(d.Usage)...)
	fail(span, d.Err)
	if parentOf(e.Frame) != "" || d.Handoff != "" {
		delete(r.frames, e.Frame)
		span.End(trace.WithTimestamp(e.Time))
	}
}

// finished says on the root how the run ended here, and ends what is still open.
func (r *run) finished(e *machine.Event, d *machine.RunFinished) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for frame, span := range r.frames {
		if parentOf(frame) == "" {
			span.SetAttributes(keyStatus.String(string(d.Status)))
			if d.Status != machine.StatusWaiting {
				fail(span, d.Output.Err)
			}
		}
		span.End(trace.WithTimestamp(e.Time))
	}
	clear(r.frames)
}

// end ends the spans of a run that was broken off.
func (r *run) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range r.frames {
		span.End()
	}
	clear(r.frames)
}

// fail marks a span as failed, by the code of an error; nil does nothing. The text of the error may
// quote what was said.
func fail(span trace.Span, err *delegation.Error) {
	if err != nil {
		span.SetStatus(codes.Error, string(err.Code))
		span.SetAttributes(errorOf(err)...)
	}
}

func usage(u messages.Usage) []attribute.KeyValue {
	return []attribute.KeyValue{keyInputTokens.Int64(u.Input), keyOutputTokens.Int64(u.Output)}
}
