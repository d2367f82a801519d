package segueotel

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/segue-go/segue/orchestrator"
)

// scopeName is the name of the instrumentation scope.
const scopeName = "github.com/segue-go/segue/otel"

// Config is what a [Telemetry] works with. The zero value is ready.
type Config struct {
	TracerProvider trace.TracerProvider // nil: the global one
	MeterProvider  metric.MeterProvider // nil: the global one
	Provider       string               // who serves the models, as the conventions name it, such as "openai"; "" is left out
	Content        bool                 // spans hold messages, arguments and results; see the package documentation
}

// Telemetry makes traces and metrics of runs. It is safe for concurrent use.
type Telemetry struct {
	tracer  trace.Tracer
	meter   metric.Meter
	names   names
	common  []attribute.KeyValue // of all that models do
	content bool
	metrics instruments
}

// instruments are those of the meter.
type instruments struct {
	duration, toolDuration, storeDuration metric.Float64Histogram
	tokens                                metric.Int64Histogram
	runs, steps, waits, retries           metric.Int64Counter
	compactions                           metric.Int64Counter
}

// New returns a Telemetry. The error is that of the meter provider.
func New(cfg Config) (*Telemetry, error) {
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = otel.GetTracerProvider()
	}
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	t := &Telemetry{
		tracer: cfg.TracerProvider.Tracer(scopeName), meter: cfg.MeterProvider.Meter(scopeName),
		names: chosenNames(), content: cfg.Content,
	}
	if cfg.Provider != "" {
		t.common = []attribute.KeyValue{t.names.provider.String(cfg.Provider)}
	}
	return t, t.makeInstruments()
}

// bounds of durations in seconds, as the conventions have them.
var bounds = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)

func (t *Telemetry) makeInstruments() error {
	var problems []error
	seconds := func(name, about string) metric.Float64Histogram {
		h, err := t.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), bounds)
		problems = append(problems, err)
		return h
	}
	count := func(name, unit, about string) metric.Int64Counter {
		c, err := t.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		problems = append(problems, err)
		return c
	}
	tokens, err := t.meter.Int64Histogram(metricTokens, metric.WithUnit("{token}"), metric.WithDescription("Tokens that a request used."),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	problems = append(problems, err)
	t.metrics = instruments{
		duration:      seconds(metricDuration, "Duration of requests to models."),
		toolDuration:  seconds("segue.tool.duration", "Duration of calls of tools."),
		storeDuration: seconds("segue.store.duration", "Duration of operations of the store of runs."),
		tokens:        tokens,
		runs:          count("segue.run.ended", "{run}", "Runs that ended or wait."),
		steps:         count("segue.run.steps", "{step}", "Steps of runs."),
		waits:         count("segue.run.waits", "{wait}", "Waits that began."),
		compactions:   count("segue.run.compactions", "{compaction}", "Conversations that became shorter."),
		retries:       count("segue.run.retries", "{retry}", "Retries and fallbacks of models."),
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("segueotel: %w", err)
	}
	return nil
}

// carrier is the form of a trace context: two entries of the metadata of a task, as W3C names them.
var carrier propagation.TraceContext

// Task returns a task that remembers the span of ctx in its Metadata, as traceparent and
// tracestate, so that the run links to it once it is resumed, in whatever process. Without a span
// it is the task as it was.
func (t *Telemetry) Task(ctx context.Context, task orchestrator.Task) orchestrator.Task {
	kept := propagation.MapCarrier{}
	carrier.Inject(ctx, kept)
	if len(kept) > 0 {
		task.Metadata = maps.Clone(task.Metadata)
		if task.Metadata == nil {
			task.Metadata = map[string]string{}
		}
		maps.Copy(task.Metadata, kept)
	}
	return task
}

// linkOf returns the span that the metadata of a task remember; false if there is none.
func linkOf(metadata map[string]string) (trace.Link, bool) {
	remembered := trace.SpanContextFromContext(carrier.Extract(context.Background(), propagation.MapCarrier(metadata)))
	return trace.Link{SpanContext: remembered}, remembered.IsValid()
}
