package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// telling is an echo that tells when it has been called.
func telling(name string, called chan<- struct{}) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, func(_ context.Context, args string) (string, error) {
		close(called)
		return name + args, nil
	})
}

// S4-6: a stop of either kind while somebody is asked in the process ends the run at once, without
// a further model call.
func TestS4_6_stopWhileWaiting(t *testing.T) {
	for _, kind := range []string{"after this step", "now"} {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop, made := make(chan struct{}), make(chan struct{})
			model := scripted.New(scripted.Calls(question("Which file?", "1"), scripted.Call("a", "{}", "2")))
			o := solver(t, model, with(tools.AskUser(), telling("a", made)), func(c *orchestrator.Config) {
				c.Reply = func(ctx context.Context, _ machine.Wait) (machine.Reply, error) {
					<-made
					if kind == "now" {
						cancel()
					} else {
						close(stop)
					}
					<-ctx.Done()
					return machine.Reply{Text: "too late"}, nil
				}
			})
			ta := task("go")
			ta.Stop = stop
			res, err := o.Run(ctx, ta)
			require.Error(t, err)
			require.Equal(t, machine.StatusStopped, res.Status)
			require.Len(t, model.Requests(), 1)
			require.NoError(t, res.Output.Messages.Validate())
			metas := res.Output.ToolMetas()
			require.Equal(t, messages.StatusFailed, metas[0].Status)
			require.Equal(t, messages.ReasonInterrupted, metas[0].Reason)
			require.NotContains(t, metas[0].Output, "too late")
			require.Equal(t, "a{}", metas[1].Output)
		})
	}
}

// S4-18: a stop during a tool answers its call as interrupted, keeps what has finished, and closes
// the conversation with an assistant's message, behind which the next turn works.
func TestS4_18_stopDuringTool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	made := make(chan struct{})
	hang := tools.NewRaw(tools.Definition{Name: "hang", ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
		<-made
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("hang", "{}", "2"))), with(telling("a", made), hang)).Run(ctx, task("go"))
	require.Error(t, err)
	h := res.Output.Messages
	require.Equal(t, messages.AssistantText("[stopped]"), h.Last())
	metas := res.Output.ToolMetas()
	require.Equal(t, "a{}", metas[0].Output)
	require.Equal(t, messages.ReasonInterrupted, metas[1].Reason)
	model := scripted.New(scripted.Text("done"))
	next := orchestrator.Task{Input: delegation.Input{Goal: "go on", Messages: h}}
	res = ran(t, solver(t, model), next)
	require.Equal(t, append(h.Clip(), messages.UserText("go on")), model.Requests()[0].Messages)
	require.Equal(t, "done", res.Output.Text())
}

// S1-6, S1-8: an abort before the start, and inside a stream.
func TestS1_6_S1_8_abort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	model := scripted.New()
	events := 0
	for e, err := range solver(t, model).Stream(ctx, task("go")) {
		if events++; e.Kind == machine.EventRunFinished {
			require.ErrorContains(t, err, "stopped")
			require.Equal(t, machine.StatusStopped, e.Detail.(machine.RunFinished).Status)
		}
	}
	require.Positive(t, events)
	require.Empty(t, model.Requests())

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan struct{})
	client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		defer close(gone)
		onDelta(llmclient.Delta{Text: "half"})
		<-ctx.Done()
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: messages.AssistantText("half"), Err: ctx.Err()}
	})
	var after []machine.EventKind
	var end machine.RunFinished
	for e := range solver(t, client).Stream(ctx, task("go")) {
		if ctx.Err() != nil {
			after = append(after, e.Kind)
		}
		if e.Kind == machine.EventTextDelta {
			cancel()
		}
		end, _ = e.Detail.(machine.RunFinished)
	}
	waittest.Receive(t, gone)
	require.NotContains(t, after, machine.EventTextDelta)
	require.Equal(t, machine.EventRunFinished, after[len(after)-1])
	require.Equal(t, "half", end.Output.Texts()[0])
}

// S1-31: a client that does not stream gives one delta for each text.
func TestS1_31_noStreaming(t *testing.T) {
	client := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
			messages.Thought{Text: "hm"}, messages.Text{Text: "whole"},
		}}}, nil
	})
	events := watched(t, solver(t, client), task("go"))
	var texts []string
	for _, e := range events {
		if e.Kind == machine.EventTextDelta || e.Kind == machine.EventThoughtDelta {
			texts = append(texts, string(e.Kind)+" "+e.Text)
		}
	}
	require.Equal(t, []string{"thought_delta hm", "text_delta whole"}, texts)
}
