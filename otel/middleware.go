package segueotel

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// Middleware returns the middleware that makes spans of requests to models, of calls of tools and
// of delegations to other services. Let it be the first, so that its spans hold what others do.
func (t *Telemetry) Middleware() orchestrator.Middleware {
	return func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			o := t.operation(&e)
			if o == nil {
				return next(ctx, e)
			}
			outer := ctx
			if r, ok := ctx.Value(runKey{}).(*run); ok {
				outer = r.below(ctx, e.Frame)
			}
			own, span := t.tracer.Start(outer, o.name, trace.WithSpanKind(o.kind), trace.WithAttributes(o.attributes...))
			defer span.End() // also if next panics
			began := time.Now()
			answer, err := next(own, e)
			o.ended(ctx, span, answer, err, time.Since(began))
			return answer, err
		}
	}
}

// operation is an effect as the conventions see it.
type operation struct {
	t          *Telemetry
	name       string // of its span
	kind       trace.SpanKind
	attributes []attribute.KeyValue
	labels     []attribute.KeyValue // of its metrics
	measures   metric.Float64Histogram
}

// operation returns the operation of an effect; nil for one that nobody performs.
func (t *Telemetry) operation(e *machine.Effect) *operation {
	switch step := e.Step.(type) {
	case nextstep.GetChatCompletion:
		if e.Kind == machine.EffectModel {
			return t.chat(e, &step.Request)
		}
	case nextstep.Delegate:
		if e.Kind == machine.EffectRemote {
			o := t.make(e, operationAgent, step.Strategy, trace.SpanKindClient)
			o.attributes = append(o.attributes, keyAgentName.String(step.Strategy))
			return o
		}
	}
	if e.Kind != machine.EffectTool {
		return nil
	}
	o := t.make(e, operationTool, e.Call.Name, trace.SpanKindInternal)
	o.labels = append(o.labels, keyToolName.String(e.Call.Name))
	o.attributes = append(o.attributes, keyToolName.String(e.Call.Name), keyToolCallID.String(e.Call.ID), keyToolType.String("function"))
	o.attributes = t.withContent(o.attributes, t.names.toolArguments, func() string { return e.Call.Arguments })
	o.measures = t.metrics.toolDuration
	return o
}

// make returns an operation with what all have.
func (t *Telemetry) make(e *machine.Effect, operationName, subject string, kind trace.SpanKind) *operation {
	name := operationName
	if subject != "" {
		name += " " + subject
	}
	labels := append([]attribute.KeyValue{keyOperation.String(operationName)}, t.common...)
	return &operation{t: t, name: name, kind: kind, labels: labels, attributes: append(slices.Clone(labels),
		keyRun.String(e.Run), keyFrame.String(e.Frame), keyEffect.String(e.ID.String()))}
}

func (t *Telemetry) chat(e *machine.Effect, req *llmclient.Request) *operation {
	o := t.make(e, operationChat, req.Model, trace.SpanKindClient)
	if req.Model != "" {
		o.labels = append(o.labels, keyRequestModel.String(req.Model))
		o.attributes = append(o.attributes, keyRequestModel.String(req.Model))
	}
	o.attributes = t.withContent(o.attributes, t.names.input, func() string { return textOf(req.Messages) })
	o.measures = t.metrics.duration
	return o
}

// withContent adds what somebody said, if that is wanted and has a name.
func (t *Telemetry) withContent(to []attribute.KeyValue, key attribute.Key, text func() string) []attribute.KeyValue {
	if !t.content || key == "" {
		return to
	}
	return append(to, key.String(text()))
}

// textOf returns messages as JSON; "" for what has none.
func textOf(h messages.History) string {
	text, err := json.Marshal(h)
	if err != nil {
		return ""
	}
	return string(text)
}

// ended says on the span, and in the metrics, how the operation ended.
func (o *operation) ended(ctx context.Context, span trace.Span, answer nextstep.Answer, err error, elapsed time.Duration) {
	var failed *delegation.Error
	switch {
	case errors.Is(err, tools.ErrSuspended):
		span.SetAttributes(keySuspended.Bool(true))
		return
	case err != nil:
		failed = o.failed(ctx, span, err)
	}
	switch a := answer.(type) {
	case nextstep.APIResponse:
		if a.Response != nil {
			o.replied(ctx, span, a.Response)
		}
	case nextstep.ToolResult:
		if !a.Output.OK() {
			failed = &delegation.Error{Code: delegation.Code(a.Output.Reason)}
		}
		span.SetAttributes(o.t.withContent(nil, o.t.names.toolResult, func() string { return a.Output.Output })...)
	case nextstep.DelegationResult:
		failed = a.Output.Err
		span.SetAttributes(usage(a.Output.Usage)...)
	default: // there is no answer
	}
	fail(span, failed)
	if o.measures != nil {
		o.measures.Record(ctx, elapsed.Seconds(), metric.WithAttributes(append(errorOf(failed), o.labels...)...))
	}
}

// failed returns the kind of an error, and says what it cost all the same.
func (o *operation) failed(ctx context.Context, span trace.Span, err error) *delegation.Error {
	e, ok := errors.AsType[*llmclient.Error](err)
	if !ok {
		return &delegation.Error{Code: delegation.AsError(err).Code}
	}
	o.used(ctx, span, e.Usage)
	return &delegation.Error{Code: delegation.Code(e.Code)}
}

// replied says what a model's reply was.
func (o *operation) replied(ctx context.Context, span trace.Span, r *llmclient.Response) {
	if r.Model != "" {
		o.labels = append(o.labels, keyResponseModel.String(r.Model))
		span.SetAttributes(keyResponseModel.String(r.Model))
	}
	if r.ID != "" {
		span.SetAttributes(keyResponseID.String(r.ID))
	}
	if r.Finish != "" {
		span.SetAttributes(keyFinishReasons.StringSlice([]string{string(r.Finish)}))
	}
	o.used(ctx, span, r.Usage)
	span.SetAttributes(o.t.withContent(nil, o.t.names.output, func() string { return textOf(messages.History{r.Message}) })...)
}

// used says how many tokens a request used.
func (o *operation) used(ctx context.Context, span trace.Span, u messages.Usage) {
	span.SetAttributes(usage(u)...)
	for kind, n := range map[string]int64{"input": u.Input, "output": u.Output} {
		if n > 0 {
			o.t.metrics.tokens.Record(ctx, n, metric.WithAttributes(append(slices.Clone(o.labels), keyTokenType.String(kind))...))
		}
	}
}
