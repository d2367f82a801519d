package segueotel_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	segueotel "github.com/segue-go/segue/otel"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// A run is a span of its strategy, with one of each request below it.
func Example() {
	spans := tracetest.NewInMemoryExporter() // or one that sends them somewhere
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	telemetry, err := segueotel.New(segueotel.Config{TracerProvider: provider, Provider: "openai"})
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text("hello")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{Model: "small"})},
		Observe:    telemetry.Observe,
		Middleware: []orchestrator.Middleware{telemetry.Middleware()},
		Store:      telemetry.Store(new(checkpoint.Memory)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	res, err := o.Run(ctx, telemetry.Task(ctx, orchestrator.Task{Input: delegation.Input{Goal: "Say hello."}}))
	fmt.Println(res.Output.Text(), err)
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	// Output:
	// hello <nil>
	// chat small
	// invoke_agent solve
}
