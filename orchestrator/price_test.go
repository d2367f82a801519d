package orchestrator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// servedBy gives each reply a model and a usage.
func servedBy(client llmclient.Client, model string) llmclient.Client {
	return llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := client.Complete(ctx, req, onDelta)
		if err == nil {
			resp.Model, resp.Usage = model, messages.Usage{Input: 1000, Output: 100}
		}
		return resp, err
	})
}

// What a run has cost stands in its output and its events, and is the same in another process that
// has other prices: it was charged when the answers came.
func TestRun_cost(t *testing.T) {
	store := new(checkpoint.Memory)
	build := func(price float64, replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, servedBy(scripted.New(replies...), "mine-2026-01-02"), stored(store), with(tools.AskUser()), func(c *orchestrator.Config) {
			c.Prices = llmclient.Prices{"mine": {Input: price, Output: 10}}
		})
	}
	events, err := collect(t, build(2, scripted.Calls(question("Which?", "1"))), orchestrator.Task{
		Run: "r", Input: delegation.Input{Goal: "go"}, Limits: delegation.Limits{Cost: messages.Dollar},
	})
	require.NoError(t, err)
	end := finished(t, events)
	require.Equal(t, messages.Cost(3000), end.Output.Cost)
	require.Equal(t, messages.Dollar-3000, end.Left.Cost)
	require.Equal(t, messages.Dollar, end.Limits.Cost)
	require.Equal(t, "solve", end.Strategy)
	require.Equal(t, messages.Dollar, events[0].Detail.(machine.RunStarted).Limits.Cost)
	require.Equal(t, messages.Dollar, events[1].Detail.(machine.FrameEntered).Limits.Cost)
	require.Equal(t, 16, events[1].Detail.(machine.FrameEntered).Limits.Depth)
	step := taken(t, events)
	require.Equal(t, messages.Cost(3000), step.Cost)
	require.Equal(t, messages.Dollar-3000, step.Left.Cost)
	require.Equal(t, 999, step.Left.Steps)

	events = watchedOn(t, build(4, scripted.Text("done")), "r", machine.Reply{WaitID: end.Waits[0].ID, Text: "that"})
	since := events[0].Detail.(machine.RunResumed)
	require.Equal(t, messages.Dollar-3000, since.Left.Cost)
	require.Equal(t, messages.Cost(3000), since.Cost, "what it has cost until now")
	require.Equal(t, messages.Usage{Input: 1000, Output: 100, Total: 1100}, since.Usage)
	require.Zero(t, since.Unpriced)
	end = finished(t, events)
	require.Equal(t, messages.Cost(3000+5000), end.Output.Cost)
	require.Zero(t, end.Output.Unpriced)
	require.Equal(t, messages.Dollar-8000, end.Left.Cost)

	events = watchedOn(t, build(9), "r")
	require.Equal(t, end, finished(t, events), "of a run that has ended, the same again")
}

// taken is the first step of a run that was performed.
func taken(t *testing.T, events []machine.Event) machine.StepTaken {
	t.Helper()
	for _, step := range details[machine.StepTaken](events) {
		return step
	}
	require.Fail(t, "no step was taken")
	return machine.StepTaken{}
}

// A model without a price costs nothing, and the output says so; prices of well-known models are
// there without any configuration.
func TestRun_unpriced(t *testing.T) {
	store := new(checkpoint.Memory)
	unheard := func(reply scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, servedBy(scripted.New(reply), "unheard-of"), stored(store), with(tools.AskUser()))
	}
	begin := task("go")
	begin.Run = "r"
	events := watched(t, unheard(scripted.Calls(question("Which?", "1"))), begin)
	require.Equal(t, 1, taken(t, events).Unpriced)
	events = watchedOn(t, unheard(scripted.Text("hi")), "r", machine.Reply{WaitID: finished(t, events).Waits[0].ID, Text: "that"})
	require.Equal(t, 1, events[0].Detail.(machine.RunResumed).Unpriced, "until now")
	left := events[len(events)-2].Detail.(machine.FrameLeft)
	require.Zero(t, left.Cost)
	require.Equal(t, 2, left.Unpriced)
	require.Equal(t, 2, finished(t, events).Output.Unpriced)

	res := ran(t, solver(t, servedBy(scripted.New(scripted.Text("hi")), "gpt-4.1-mini-2025-04-14")), task("go"))
	require.Equal(t, messages.Cost(560), res.Output.Cost)
	require.Zero(t, res.Output.Unpriced)
}

// A middleware reads what is left.
func TestLeft(t *testing.T) {
	var left delegation.Limits
	model := scripted.New(scripted.Calls(scripted.Call("look", "{}", "1")), scripted.Text("done"))
	o := solver(t, model, with(echo("look")), handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		if e.Kind == machine.EffectTool {
			left = e.Left
		}
		return next(ctx, e)
	}))
	ran(t, o, orchestrator.Task{Input: delegation.Input{Goal: "go"}, Limits: delegation.Limits{ToolCalls: 5, Steps: 9}})
	require.Equal(t, 4, left.ToolCalls, "its own call is used")
	require.Equal(t, 7, left.Steps)
}

func TestNew_prices(t *testing.T) {
	_, err := orchestrator.New(orchestrator.Config{Prices: llmclient.Prices{"m": {Input: -1}}})
	var refused *orchestrator.ConfigError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, `Prices: the price of model "m"`)
}

// A price is found by the name that a client has for its model, whatever name the server answers
// with, for a reply and for a failure that was billed.
func TestRun_costByTheNameAskedFor(t *testing.T) {
	const reply = `{"id":"1",%s"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],` +
		`"usage":{"prompt_tokens":1000,"completion_tokens":100}}`
	for name, answer := range map[string]string{
		"another name":       fmt.Sprintf(reply, `"model":"served-0709",`),
		"a well-known name":  fmt.Sprintf(reply, `"model":"gpt-4.1",`),
		"no name":            fmt.Sprintf(reply, ""),
		"a reply broken off": `{"model":"served-0709","choices":[{"index":0,"finish_reason":"error","message":{"role":"assistant"}}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answer)
			}))
			defer server.Close()
			client, err := openaichat.New(openaichat.Config{Model: "mine", BaseURL: server.URL + "/v1", NoEnvironment: true, MaxRetries: -1, HTTPClient: server.Client()})
			require.NoError(t, err)
			o := solver(t, client, func(c *orchestrator.Config) { c.Prices = llmclient.Prices{"mine": {Input: 2, Output: 10}} })
			res, _ := o.Run(t.Context(), task("go"))
			require.Zero(t, res.Output.Unpriced)
			require.Equal(t, messages.Cost(3000), res.Output.Cost, "%+v", res.Output)
		})
	}
}

// A reply that cannot be stored was billed: its tokens, its attempts and its cost count, so that a
// strategy that asks again comes to a limit.
func TestRun_repliesThatCannotBeStoredArePaid(t *testing.T) {
	broken := messages.Extras{"x": []byte("{no")}
	call := messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "1", Name: "a", Extras: broken}}}
	text := messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "x"}}, Extras: broken}
	u := messages.Usage{Input: 1000, Output: 100, Estimated: 1100}
	before := []llmclient.Attempt{{Model: "mine", Usage: messages.Usage{Input: 500}}}
	below := u
	below.Cached = -1
	for name, reply := range map[string]func() (*llmclient.Response, error){
		"a reply": func() (*llmclient.Response, error) {
			return &llmclient.Response{Model: "mine", Message: text, Usage: u, Attempts: before}, nil
		},
		"a call": func() (*llmclient.Response, error) {
			return &llmclient.Response{Model: "mine", Message: call, Usage: u, Attempts: before}, nil
		},
		"what broke off": func() (*llmclient.Response, error) {
			return nil, &llmclient.Error{Code: llmclient.CodeTruncated, Model: "mine", Partial: text, Usage: u, Attempts: before}
		},
		"wrapped": func() (*llmclient.Response, error) {
			return nil, fmt.Errorf("mine: %w", &llmclient.Error{Code: llmclient.CodeTruncated, Model: "mine", Partial: call, Usage: u, Attempts: before})
		},
		"a count below zero": func() (*llmclient.Response, error) {
			return &llmclient.Response{Model: "mine", Message: messages.AssistantText("x"), Usage: below, Attempts: before}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
				return reply()
			})
			for _, store := range []func(*orchestrator.Config){func(*orchestrator.Config) {}, stored(new(checkpoint.Memory))} {
				o := solver(t, client, atAPrice, store)
				res, err := o.Run(t.Context(), task("go"))
				require.Error(t, err)
				require.Equal(t, messages.Usage{Input: 1500, Output: 100, Total: 1600, Estimated: 1100}, res.Output.Usage)
				require.Equal(t, 2, res.Output.Counts.ModelCalls)
				require.EqualValues(t, 2500, res.Output.Cost)
				require.Zero(t, res.Output.Unpriced)
			}
		})
	}
	silent := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Model: "mine", Message: text}, nil
	})
	res, err := solver(t, silent, atAPrice).Run(t.Context(), task("go"))
	require.Error(t, err)
	require.Zero(t, res.Output.Usage, "nothing was billed")
	require.Zero(t, res.Output.Cost)
}
