// Package segueotel makes traces and metrics of runs, by the API of OpenTelemetry alone: a program
// brings the SDK and the exporters. Without them nothing is recorded.
//
//	telemetry, err := segueotel.New(segueotel.Config{Provider: "openai"})
//	…
//	o, err := orchestrator.New(orchestrator.Config{
//		Observe:    telemetry.Observe,
//		Middleware: []orchestrator.Middleware{telemetry.Middleware()},
//		Store:      telemetry.Store(store),
//		…
//	})
//	…
//	o.Stream(ctx, telemetry.Task(ctx, task))
//
// # Traces
//
// Each strategy that works is a span invoke_agent, below that of whoever delegated to it; the root
// is below the span of the context that the run was given. Each request to a model is a span chat,
// each call of a tool a span execute_tool, below that of their strategy. Clients and tools get the
// context of their span.
//
// A span ends where the process stops working on the run. A resumed run begins new spans for the
// strategies that go on; that of the root links to the span of the context that [Telemetry.Task]
// was given. What a journal holds makes no spans again, and is not counted again.
//
// # Metrics
//
//	gen_ai.client.operation.duration   s        requests to models, by model and error
//	gen_ai.client.token.usage          {token}  tokens, by model and type
//	segue.run.ended                    {run}    runs that ended or wait, by status
//	segue.run.steps                    {step}   steps, by kind
//	segue.run.waits                    {wait}   waits that began, by kind
//	segue.run.compactions              {compaction}  conversations that became shorter, by kind
//	segue.run.retries                  {retry}  retries and fallbacks of models, by kind
//	segue.tool.duration                s        calls of tools, by tool and error
//	segue.store.duration               s        operations of the store, by operation and error
//	segue.run.oldest_waiting           s        how long the run that waits longest has waited
//
// # Names
//
// The conventions for generative AI are not stable yet. Spans have the names of version 1.36, as
// the conventions ask of instrumentation by default. With gen_ai_latest_experimental in the
// environment variable OTEL_SEMCONV_STABILITY_OPT_IN they have those of version 1.40.
//
// # Content
//
// Spans and metrics hold ids, names, counts and codes. Messages, arguments and results stand in
// spans only with Config.Content, and only with the newer names, since the older ones have none for
// them. orchestrator.Config.Redact does not apply to them: the middleware sees what it sees.
package segueotel
