package segueotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	segueotel "github.com/segue-go/segue/otel"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "4111-1111-1111-1111"

// lab is a program with an SDK that keeps spans and metrics in memory.
type lab struct {
	t         *testing.T
	spans     *tracetest.InMemoryExporter
	provider  *sdktrace.TracerProvider
	reader    *sdkmetric.ManualReader
	telemetry *segueotel.Telemetry
}

func newLab(t *testing.T, edit ...func(*segueotel.Config)) *lab {
	t.Helper()
	l := &lab{t: t, spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	l.provider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(l.spans))
	cfg := segueotel.Config{TracerProvider: l.provider, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.reader)), Provider: "openai"}
	for _, e := range edit {
		e(&cfg)
	}
	telemetry, err := segueotel.New(cfg)
	require.NoError(t, err)
	l.telemetry = telemetry
	return l
}

func (l *lab) orchestrator(store checkpoint.Store, replies []scripted.Reply, list ...tools.Tool) *orchestrator.Orchestrator {
	l.t.Helper()
	cfg := orchestrator.Config{
		Client: scripted.New(replies...), Tools: list, Observe: l.telemetry.Observe, Middleware: []orchestrator.Middleware{l.telemetry.Middleware()},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{Model: "small"}), "again": retry.New(retry.Config{Strategy: "solve"})}, Default: "solve",
	}
	if store != nil {
		cfg.Store = l.telemetry.Store(store)
	}
	o, err := orchestrator.New(cfg)
	require.NoError(l.t, err)
	return o
}

func (l *lab) span(name string) tracetest.SpanStub {
	l.t.Helper()
	for _, s := range l.spans.GetSpans() {
		if s.Name == name {
			return s
		}
	}
	require.Fail(l.t, "no span "+name, "%v", l.tree())
	return tracetest.SpanStub{}
}

// tree returns the spans, each below its parent, in the order in which they began.
func (l *lab) tree() (lines []string) {
	spans := l.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var add func(parent trace.SpanID, indent string)
	add = func(parent trace.SpanID, indent string) {
		for _, s := range spans {
			if s.Parent.SpanID() == parent {
				lines = append(lines, indent+s.Name)
				add(s.SpanContext.SpanID(), indent+"  ")
			}
		}
	}
	add(trace.SpanID{}, "")
	return lines
}

// all is all that spans and metrics say.
func (l *lab) all() string {
	l.t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(l.t, l.reader.Collect(l.t.Context(), &data))
	return fmt.Sprintf("%+v %+v", l.spans.GetSpans(), data)
}

// sums returns the sums and counts of the metrics, by name and labels.
func (l *lab) sums() map[string]float64 {
	l.t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(l.t, l.reader.Collect(l.t.Context(), &data))
	sums := map[string]float64{}
	for _, scope := range data.ScopeMetrics {
		require.Equal(l.t, "github.com/segue-go/segue/otel", scope.Scope.Name)
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					sums[labelled(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					sums[labelled(m.Name, p.Attributes)] = float64(p.Sum)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					sums[labelled(m.Name, p.Attributes)] = float64(p.Count)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					sums[labelled(m.Name, p.Attributes)] = p.Value
				}
			default:
				require.Fail(l.t, "unknown", "%T", d)
			}
		}
	}
	return sums
}

func labelled(name string, set attribute.Set) string {
	for _, kv := range set.ToSlice() {
		name += " " + string(kv.Key) + "=" + kv.Value.String()
	}
	return name
}

func attributes(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, kv := range s.Attributes {
		all[string(kv.Key)] = kv.Value.String()
	}
	return all
}

func reply(text string) scripted.Reply {
	r := scripted.Text(text)
	r.Usage = messages.Usage{Input: 100, Output: 20}
	return r
}

func task(strategy string) orchestrator.Task {
	return orchestrator.Task{Run: "r", Strategy: strategy, Input: delegation.Input{Goal: "Charge " + canary}}
}

// Strategies, requests and calls are spans below each other; clients and tools are in theirs.
func TestTrace(t *testing.T) {
	l := newLab(t)
	look := tools.NewRaw(tools.Definition{Name: "look"}, func(ctx context.Context, _ string) (string, error) {
		_, span := l.provider.Tracer("mine").Start(ctx, "inside")
		span.End()
		return canary, nil
	})
	fails := tools.NewRaw(tools.Definition{Name: "fails"}, func(context.Context, string) (string, error) { return "", errors.New(canary) })
	o := l.orchestrator(nil, []scripted.Reply{
		scripted.Calls(scripted.Call("look", `"`+canary+`"`, "1")), scripted.Calls(scripted.Call("fails", "{}", "2")), reply(canary),
	}, look, fails)
	ctx, request := l.provider.Tracer("mine").Start(t.Context(), "request")
	_, err := o.Run(ctx, task("again"))
	require.NoError(t, err)
	request.End()
	require.Equal(t, []string{
		"request", "  invoke_agent again", "    invoke_agent solve",
		"      chat small", "      execute_tool look", "        inside", "      chat small", "      execute_tool fails", "      chat small",
	}, l.tree())

	require.Equal(t, map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.system": "openai", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "1", "gen_ai.tool.type": "function",
		"segue.run.id": "r", "segue.frame": "0.1", "segue.effect": l.effect("execute_tool look"),
	}, attributes(l.span("execute_tool look")))
	failed := l.span("execute_tool fails")
	require.Equal(t, codes.Error, failed.Status.Code)
	require.Equal(t, "error", attributes(failed)["error.type"])
	agent := attributes(l.span("invoke_agent solve"))
	require.Equal(t, "solve", agent["gen_ai.agent.name"])
	require.Equal(t, "100", agent["gen_ai.usage.input_tokens"])
	require.Equal(t, "done", attributes(l.span("invoke_agent again"))["segue.status"])
	require.NotContains(t, l.all(), canary, "content is off")

	sums := l.sums()
	for name, want := range map[string]float64{
		"gen_ai.client.operation.duration":               3,
		"gen_ai.client.token.usage":                      120,
		"segue.run.ended segue.status=done":              1,
		"segue.run.steps segue.kind=get_chat_completion": 3,
		"segue.tool.duration":                            2,
	} {
		got := 0.0
		for have, n := range sums {
			if strings.HasPrefix(have, name) {
				got += n
			}
		}
		require.InDelta(t, want, got, 0, "%s in %v", name, sums)
	}
}

func (l *lab) effect(span string) string { return attributes(l.span(span))["segue.effect"] }

// With the switch spans have the newer names, and only with them and Config.Content what was said.
func TestNames_switch(t *testing.T) {
	for _, optIn := range []string{"", "http, gen_ai_latest_experimental"} {
		for _, content := range []bool{false, true} {
			t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", optIn)
			l := newLab(t, func(c *segueotel.Config) { c.Content = content })
			look := tools.NewRaw(tools.Definition{Name: "look"}, func(context.Context, string) (string, error) { return canary, nil })
			_, err := l.orchestrator(nil, []scripted.Reply{scripted.Calls(scripted.Call("look", `"`+canary+`"`, "1")), reply("ok")}, look).Run(t.Context(), task("solve"))
			require.NoError(t, err)
			chat, tool := attributes(l.span("chat small")), attributes(l.span("execute_tool look"))
			latest := optIn != ""
			require.Equal(t, latest, chat["gen_ai.provider.name"] == "openai")
			require.Equal(t, !latest, chat["gen_ai.system"] == "openai")
			require.Equal(t, latest && content, strings.Contains(chat["gen_ai.input.messages"], canary))
			require.Equal(t, latest && content, strings.Contains(chat["gen_ai.output.messages"], "look"))
			require.Equal(t, latest && content, tool["gen_ai.tool.call.arguments"] == `"`+canary+`"`)
			require.Equal(t, latest && content, tool["gen_ai.tool.call.result"] == canary)
			require.Equal(t, latest && content, strings.Contains(l.all(), canary))
		}
	}
}

// A run that is resumed in another process links to the trace in which it began. What its journal
// holds makes no span again, and a run that has ended makes none at all.
func TestResume_links(t *testing.T) {
	store := new(checkpoint.Memory)
	first := newLab(t)
	ctx, request := first.provider.Tracer("mine").Start(t.Context(), "request")
	o := first.orchestrator(store, []scripted.Reply{scripted.Calls(scripted.Call("ask_user", `{"question":"Which?"}`, "1"))}, tools.AskUser())
	given := task("again")
	given.Metadata = map[string]string{"mine": "yes"}
	res, err := o.Run(ctx, first.telemetry.Task(ctx, given))
	require.NoError(t, err)
	request.End()
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Equal(t, map[string]string{"mine": "yes"}, given.Metadata)
	require.Equal(t, []string{"request", "  invoke_agent again", "    invoke_agent solve", "      chat small", "      execute_tool ask_user"}, first.tree())
	require.Equal(t, "true", attributes(first.span("execute_tool ask_user"))["segue.suspended"])
	require.Equal(t, "waiting", attributes(first.span("invoke_agent again"))["segue.status"])
	require.Equal(t, codes.Unset, first.span("invoke_agent again").Status.Code)

	second := newLab(t)
	resume := func(replies ...machine.Reply) {
		o := second.orchestrator(store, []scripted.Reply{reply("ok")}, tools.AskUser())
		_, err := orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: replies}))
		require.NoError(t, err)
	}
	resume(machine.Reply{WaitID: res.Waits[0].ID, Text: "this"})
	want := []string{"invoke_agent again", "  invoke_agent solve", "    execute_tool ask_user", "    chat small"}
	require.Equal(t, want, second.tree())
	root := second.span("invoke_agent again")
	require.Len(t, root.Links, 1)
	require.Equal(t, request.SpanContext().SpanID(), root.Links[0].SpanContext.SpanID())
	require.Equal(t, request.SpanContext().TraceID(), root.Links[0].SpanContext.TraceID())
	require.Equal(t, "true", attributes(root)["segue.resumed"])
	require.Equal(t, "true", attributes(second.span("invoke_agent solve"))["segue.resumed"])
	resume()
	require.Equal(t, want, second.tree())
}

// Retries and waits are counted by their kind, and failures by their code.
func TestMetrics_ofTrouble(t *testing.T) {
	l := newLab(t)
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		llmclient.Notify(ctx, llmclient.Notice{Kind: llmclient.NoticeRetry, Model: req.Model, Attempt: 1})
		return nil, &llmclient.Error{Code: llmclient.CodeRateLimited, Message: canary}
	})
	o, err := orchestrator.New(orchestrator.Config{
		Client: client, Observe: l.telemetry.Observe, Middleware: []orchestrator.Middleware{l.telemetry.Middleware()},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{Model: "small"})},
	})
	require.NoError(t, err)
	_, err = o.Run(t.Context(), task("solve"))
	require.Error(t, err)
	_, err = l.orchestrator(new(checkpoint.Memory), []scripted.Reply{scripted.Calls(scripted.Call("ask_user", `{"question":"Which?"}`, "1"))}, tools.AskUser()).Run(t.Context(), task("solve"))
	require.NoError(t, err)
	sums := l.sums()
	for _, name := range []string{
		"segue.run.retries segue.kind=retry", "segue.run.waits segue.kind=question", "segue.run.ended segue.status=failed", "segue.run.ended segue.status=waiting",
		"segue.run.steps error.type=rate_limited segue.kind=get_chat_completion",
		"gen_ai.client.operation.duration error.type=rate_limited gen_ai.operation.name=chat gen_ai.request.model=small gen_ai.system=openai",
	} {
		require.InDelta(t, 1, sums[name], 0, "%s in %v", name, sums)
	}
	failed := l.span("chat small")
	require.Equal(t, codes.Error, failed.Status.Code)
	require.Equal(t, "rate_limited", attributes(failed)["error.type"])
	require.NotContains(t, l.all(), canary)
}

// A consumer that leaves, and a handler that panics, leave no span open.
func TestTrace_brokenOff(t *testing.T) {
	l := newLab(t)
	for range l.orchestrator(nil, []scripted.Reply{reply("ok")}).Stream(t.Context(), task("again")) {
		if len(l.spans.GetSpans()) == 0 {
			continue
		}
		break // in the midst of it
	}
	require.Contains(t, strings.Join(l.tree(), "\n"), "invoke_agent again")

	l = newLab(t)
	handler := l.telemetry.Middleware()(func(context.Context, machine.Effect) (nextstep.Answer, error) { panic("x") })
	require.Panics(t, func() {
		_, _ = handler(t.Context(), machine.Effect{Kind: "tool", Call: messages.ToolCall{Name: "look"}})
	})
	require.Equal(t, []string{"execute_tool look"}, l.tree())
}

func TestStore_conforms(t *testing.T) {
	checkpointtest.Test(t, func(t *testing.T) checkpoint.Store { return newLab(t).telemetry.Store(new(checkpoint.Memory)) })
}

// The time of each operation of the store is measured, with the kind of its error.
func TestStore_latency(t *testing.T) {
	l := newLab(t)
	store := new(checkpoint.Memory)
	_, err := l.orchestrator(store, []scripted.Reply{reply("ok")}).Run(t.Context(), task("solve"))
	require.NoError(t, err)
	measured := l.telemetry.Store(store)
	_, err = measured.Head(t.Context(), checkpoint.Key{Run: "none"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	for range measured.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
		break
	}
	sums := l.sums()
	require.GreaterOrEqual(t, sums["segue.store.duration segue.store.operation=append"], 2.0)
	require.InDelta(t, 1, sums["segue.store.duration segue.store.operation=read"], 0)
	require.InDelta(t, 1, sums["segue.store.duration error.type=not_found segue.store.operation=head"], 0)
}

// The age of the oldest waiting run is found among many, whatever the order in which they were
// created.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		store := new(checkpoint.Memory)
		registered, err := l.telemetry.Waiting(store)
		require.NoError(t, err)
		const metric = "segue.run.oldest_waiting"
		require.InDelta(t, 0, l.sums()[metric], 0)
		put := func(run string, seq int, status checkpoint.Status) {
			require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
				Key: checkpoint.Key{Namespace: run, Run: run}, Records: []checkpoint.Record{{Seq: seq}}, Header: &checkpoint.Header{Status: status}, Writer: "w", Epoch: 1,
			}))
		}
		put("eldest", 1, checkpoint.StatusWaiting)
		put("done", 1, checkpoint.StatusDone)
		time.Sleep(time.Hour)
		put("oldest", 1, checkpoint.StatusWaiting)
		for i := range 20 {
			time.Sleep(time.Minute)
			put(fmt.Sprint(i), 1, checkpoint.StatusWaiting)
		}
		put("eldest", 2, checkpoint.StatusWaiting) // it went on, and waits again
		time.Sleep(30 * 24 * time.Hour)
		require.InDelta(t, (30*24*time.Hour + 20*time.Minute).Seconds(), l.sums()[metric], 2)
		require.NoError(t, registered.Unregister())
		require.NotContains(t, l.sums(), metric)
	})
}
