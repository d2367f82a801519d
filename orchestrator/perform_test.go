package orchestrator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// An engine of one's own drives a Machine, and has the orchestrator perform the effects.
func ExampleOrchestrator_Perform() {
	add := tools.New(tools.Definition{Name: "add", ReadOnly: true}, func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	})
	strategies := strategy.Set{"assistant": completetask.New(completetask.Config{})}
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Calls(scripted.Call("add", `{"A":19,"B":23}`, "1")), scripted.Text("It is 42.")),
		Strategies: strategies,
		Tools:      []tools.Tool{add},
	})
	if err != nil {
		panic(err)
	}

	cfg := &machine.Config{Strategies: strategies, Tools: []tools.Definition{add.Definition()}}
	m := machine.New(cfg)
	apply := func(rec machine.Record) {
		if err := m.Apply(rec); err != nil {
			panic(err)
		}
	}
	apply(cfg.Start(machine.Started{At: time.Now(), Run: "run-1", Input: delegation.Input{Goal: "What is 19 + 23?"}}))
	for !m.Done() {
		rd := m.Ready()
		if len(rd.Intents) > 0 {
			apply(rd.Intents[0])
			continue
		}
		e := rd.Effects[0] // this run has one at a time
		m.Advance()
		begun := time.Now()
		answer, err := o.Perform(context.Background(), e)
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Kind)
		apply(e.Answered(answer, time.Now(), time.Since(begun)))
	}
	fmt.Println(m.Output().Text())
	// Output:
	// model
	// tool
	// model
	// It is 42.
}

// callOf is an effect that calls a tool.
func callOf(name string) machine.Effect {
	return machine.Effect{ID: machine.EffectID{Seq: 2}, Run: "r", Frame: "0", Kind: machine.EffectTool, Call: messages.ToolCall{ID: "1", Name: name, Arguments: "{}"}}
}

// Whatever becomes of a call, it has one result, as in a run.
func TestPerform_tools(t *testing.T) {
	around := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			if e.Call.Name == "breaks" {
				panic("middleware")
			}
			return next(ctx, e)
		}
	}
	for _, wrapped := range []bool{false, true} {
		for name, want := range map[string]string{
			"works": "", "panics": tools.ReasonPanic, "hangs": tools.ReasonTimeout, "nothing": tools.ReasonUnknownTool, "breaks": "",
		} {
			t.Run(fmt.Sprintf("%s, wrapped %v", name, wrapped), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					list := []tools.Tool{
						raw("works", func(context.Context, string) (string, error) { return "A", nil }),
						raw("panics", func(context.Context, string) (string, error) { panic("no") }),
						tools.NewRaw(tools.Definition{Name: "hangs", Timeout: time.Second}, func(context.Context, string) (string, error) {
							time.Sleep(time.Hour)
							return "", nil
						}),
					}
					cfg := orchestrator.Config{Client: scripted.New(), Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}, Tools: list}
					if wrapped {
						cfg.Middleware = []orchestrator.Middleware{around}
					}
					o, err := orchestrator.New(cfg)
					require.NoError(t, err)
					answer, err := o.Perform(t.Context(), callOf(name))
					time.Sleep(2 * time.Hour) // what was abandoned ends
					require.NoError(t, err)
					if name == "breaks" && wrapped {
						require.Equal(t, delegation.CodePanic, answer.(nextstep.Failure).Code)
						return
					}
					out := answer.(nextstep.ToolResult).Output
					if name == "breaks" {
						want = tools.ReasonUnknownTool
					}
					require.Equal(t, want, out.Reason)
					require.Equal(t, name == "works", out.Output == "A")
				})
			})
		}
	}
}

// A tool that asks suspends its effect, whether the Config can ask people or not, and has the reply
// when it is performed again.
func TestPerform_suspended(t *testing.T) {
	for _, reply := range []func(context.Context, machine.Wait) (machine.Reply, error){nil, func(context.Context, machine.Wait) (machine.Reply, error) {
		panic("nobody is asked")
	}} {
		asks := raw("asks", func(ctx context.Context, _ string) (string, error) {
			return tools.Ask(ctx, tools.Question{Text: "Which?"})
		})
		o, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}, Tools: []tools.Tool{asks}, Reply: reply})
		require.NoError(t, err)
		e := callOf("asks")
		_, err = o.Perform(t.Context(), e)
		var waits *orchestrator.SuspendedError
		require.ErrorAs(t, err, &waits)
		require.ErrorIs(t, err, tools.ErrSuspended)
		require.Equal(t, "Which?", waits.Waits[0].Text)
		e.Replies = []machine.Exchange{{Wait: waits.Waits[0], Reply: machine.Reply{WaitID: waits.Waits[0].ID, Text: "this one"}}}
		answer, err := o.Perform(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, "this one", answer.(nextstep.ToolResult).Output.Output)
	}
}

// A client that fails, panics, or is cut off answers with a Failure. A person is not performed.
func TestPerform_models(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ask := machine.Effect{ID: machine.EffectID{Seq: 1}, Run: "r", Frame: "0", Kind: machine.EffectModel, Step: nextstep.GetChatCompletion{}}
	for want, complete := range map[delegation.Code]llmclient.ClientFunc{
		delegation.CodePanic: func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			panic("no")
		},
		delegation.Code(llmclient.CodeUnavailable): func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			return nil, &llmclient.Error{Code: llmclient.CodeUnavailable}
		},
		delegation.CodeFailed: func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		o, err := orchestrator.New(orchestrator.Config{Client: complete, Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}})
		require.NoError(t, err)
		in := t.Context()
		if want == delegation.CodeFailed {
			in = ctx
		}
		answer, err := o.Perform(in, ask)
		require.NoError(t, err)
		require.Equal(t, nextstep.SourceModel, answer.(nextstep.Failure).Source)
		require.Equal(t, want, answer.(nextstep.Failure).Code)
		_, err = o.Perform(in, machine.Effect{Kind: machine.EffectPerson})
		require.Error(t, err)
	}
}
