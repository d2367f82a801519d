package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

func stored(store checkpoint.Store) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Store = store }
}

func approving(cfg orchestrator.ApprovalConfig) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Middleware = append(c.Middleware, orchestrator.Approve(cfg)) }
}

// counted is a tool that says how often it ran.
func counted(name string, runs *atomic.Int32, def ...tools.Definition) tools.Tool {
	d := tools.Definition{Name: name}
	if len(def) > 0 {
		d = def[0]
	}
	return tools.NewRaw(d, func(context.Context, string) (string, error) {
		runs.Add(1)
		return "did " + name, nil
	})
}

// resumed resumes a run and returns its events and error.
func resumed(t *testing.T, o *orchestrator.Orchestrator, run string, replies ...orchestrator.Reply) ([]orchestrator.Event, error) {
	t.Helper()
	return all(t, o.Resume(t.Context(), run, replies...))
}

func all(t *testing.T, seq iter.Seq2[orchestrator.Event, error]) ([]orchestrator.Event, error) {
	t.Helper()
	var events []orchestrator.Event
	var last error
	for e, err := range seq {
		require.NoError(t, last, "nothing comes after an error")
		events, last = append(events, e), err
	}
	return events, last
}

func question(text, id string) messages.ToolCall {
	args, _ := json.Marshal(map[string]string{"question": text})
	return scripted.Call(tools.AskUserName, string(args), id)
}

// Three calls of one batch: one needs nobody, one waits for approval, one for an answer. What has a
// result is not done again, and each wait is answered on its own, in another Orchestrator.
func TestResume_batch(t *testing.T) {
	store := new(checkpoint.Memory)
	var free, risky atomic.Int32
	build := func(replies ...scripted.Reply) (*orchestrator.Orchestrator, *scripted.Client) {
		model := scripted.New(replies...)
		return solver(t, model, stored(store), approving(orchestrator.ApprovalConfig{}),
			with(counted("free", &free, tools.Definition{Name: "free", ReadOnly: true}), counted("risky", &risky), tools.AskUser())), model
	}
	o, _ := build(scripted.Calls(scripted.Call("free", "{}", "1"), scripted.Call("risky", `{"a":1}`, "2"), question("Which file?", "3")))
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, orchestrator.StatusWaiting, res.Status)
	require.Len(t, res.Waits, 2)
	require.NoError(t, res.Output.Messages.Validate())
	require.EqualValues(t, 1, free.Load())
	require.Zero(t, risky.Load())
	approval, ask := res.Waits[0], res.Waits[1]
	require.Equal(t, orchestrator.WaitApproval, approval.Kind)
	require.Equal(t, `{"a":1}`, approval.Arguments)
	require.Equal(t, orchestrator.WaitQuestion, ask.Kind)
	require.Equal(t, "Which file?", ask.Text)

	o, model := build()
	events, err := resumed(t, o, "r", orchestrator.Reply{WaitID: approval.ID, Approve: true})
	require.NoError(t, err)
	end := finished(t, events)
	require.Equal(t, orchestrator.StatusWaiting, end.Status)
	require.Equal(t, []orchestrator.Wait{ask}, end.Waits, "the same wait as before")
	require.EqualValues(t, 1, risky.Load())
	require.Empty(t, model.Requests())
	require.Equal(t, orchestrator.EventRunResumed, events[0].Kind)
	require.Equal(t, orchestrator.EventWaitEnded, events[1].Kind)

	o, model = build(scripted.Text("done"))
	events, err = resumed(t, o, "r", orchestrator.Reply{WaitID: ask.ID, Text: "a.txt"})
	require.NoError(t, err)
	end = finished(t, events)
	require.Equal(t, orchestrator.StatusDone, end.Status)
	require.Equal(t, "done", end.Output.Text())
	metas := end.Output.ToolMetas()
	require.Equal(t, []string{"did free", "did risky", "a.txt"}, []string{metas[0].Output, metas[1].Output, metas[2].Output})
	require.EqualValues(t, 1, free.Load())
	require.EqualValues(t, 1, risky.Load())
	require.Len(t, model.Requests(), 1)

	events, err = resumed(t, o, "r")
	require.NoError(t, err)
	require.Len(t, events, 1, "a run that has ended says so again")
	require.Equal(t, "done", finished(t, events).Output.Text())
}

// A reply that fits nothing is refused, and loses nothing.
func TestResume_replies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		var runs atomic.Int32
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Text("done")),
			stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{Expires: time.Hour}))
		res, err := o.Run(t.Context(), task("go"))
		require.NoError(t, err)
		first := res.Waits[0]
		refused := func(problem string, replies ...orchestrator.Reply) {
			events, err := resumed(t, o, "r", replies...)
			var wrong *orchestrator.ReplyError
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, problem)
			require.Len(t, events, 1)
			require.Zero(t, events[0])
			require.Zero(t, runs.Load())
		}
		yes := orchestrator.Reply{WaitID: first.ID, Approve: true}
		refused("does not wait for it", orchestrator.Reply{WaitID: "another", Approve: true})
		refused("two replies", yes, yes)
		time.Sleep(2 * time.Hour)
		refused("expired", yes)

		events, err := resumed(t, o, "r")
		require.NoError(t, err)
		second := finished(t, events).Waits[0]
		require.NotEqual(t, first.ID, second.ID, "an approval that expired is not good for what is asked anew")
		refused("does not wait for it", yes)

		events, err = resumed(t, o, "r", orchestrator.Reply{WaitID: second.ID, Approve: true})
		require.NoError(t, err)
		require.Equal(t, orchestrator.StatusDone, finished(t, events).Status)
		require.EqualValues(t, 1, runs.Load())
		_, err = resumed(t, o, "r", orchestrator.Reply{WaitID: second.ID, Approve: true})
		require.ErrorContains(t, err, "the run has ended")
	})
}

// Of two who resume the same run one goes on, and the other is told.
func TestResume_twice(t *testing.T) {
	store := new(checkpoint.Memory)
	var runs atomic.Int32
	build := func() *orchestrator.Orchestrator {
		return solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Text("done")),
			stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{}))
	}
	res, err := build().Run(t.Context(), task("go"))
	require.NoError(t, err)
	yes := orchestrator.Reply{WaitID: res.Waits[0].ID, Approve: true}
	first := solver(t, scripted.New(scripted.Text("done")), stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{}))
	for e := range first.Resume(t.Context(), "r", yes) {
		if e.Kind == orchestrator.EventRunResumed {
			_, err := resumed(t, build(), "r", yes)
			require.ErrorContains(t, err, "it has been answered")
		}
	}
	require.EqualValues(t, 1, runs.Load())

	_, err = build().Run(t.Context(), task("again"))
	require.ErrorIs(t, err, checkpoint.ErrConflict, "a run id is taken once")
}

func TestResume_cannot(t *testing.T) {
	_, err := resumed(t, solver(t, scripted.New()), "r")
	var config *orchestrator.ConfigError
	require.ErrorAs(t, err, &config)
	require.ErrorContains(t, err, "Store")

	store := new(checkpoint.Memory)
	_, err = resumed(t, solver(t, scripted.New(), stored(store)), "nobody")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)

	var runs atomic.Int32
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1"))), stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{}))
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	changed := solver(t, scripted.New(), stored(store), with(counted("risky", &runs)), func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{System: "another prompt"})}
	})
	_, err = resumed(t, changed, "r", orchestrator.Reply{WaitID: res.Waits[0].ID, Approve: true})
	var replay *orchestrator.ReplayError
	require.ErrorAs(t, err, &replay)
	require.Equal(t, 1, replay.Seq)
	require.Equal(t, replay.Recorded.Kind, replay.Now.Kind)
	require.NotEqual(t, replay.Recorded.Digest, replay.Now.Digest)
	require.ErrorContains(t, err, `run "r"`)

	require.NoError(t, store.Append(t.Context(), "odd", checkpoint.Record{Seq: 1, Data: []byte(`{"v":9,"type":"start"}`)}))
	_, err = resumed(t, o, "odd")
	require.ErrorContains(t, err, "record 1: it has version 9")
}

// failing is a store that fails from some record on.
type failing struct {
	checkpoint.Memory
	from int
	err  error
}

func (f *failing) Append(ctx context.Context, run string, records ...checkpoint.Record) error {
	if records[0].Seq >= f.from {
		return f.err
	}
	return f.Memory.Append(ctx, run, records...)
}

// What cannot be stored did not happen; what was there comes back.
func TestJournal_cannotBeWritten(t *testing.T) {
	full := errors.New("the disk is full")
	o := solver(t, scripted.New(scripted.Text("never told")), stored(&failing{from: 1, err: full}))
	events, err := collect(t, o, task("go"))
	require.ErrorIs(t, err, full)
	require.Zero(t, events[0], "the run was not started")

	o = solver(t, scripted.New(scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Text("lost")), stored(&failing{from: 3, err: full}), with(echo("a")))
	events, err = collect(t, o, task("go"))
	require.ErrorIs(t, err, full)
	end := finished(t, events)
	require.Equal(t, orchestrator.StatusFailed, end.Status)
	require.Equal(t, delegation.CodeStorage, end.Output.Err.Code)
	require.Len(t, end.Output.Messages, 3, "the call that has no stored result is closed")
	require.NoError(t, end.Output.Messages.Validate())
}

// A run that was broken off goes on after its last stored answer: nothing is asked twice.
func TestResume_brokenOff(t *testing.T) {
	script := []scripted.Reply{scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Calls(scripted.Call("a", "{}", "2")), scripted.Text("done")}
	whole, err := solver(t, scripted.New(script...), with(echo("a"))).Run(t.Context(), task("go"))
	require.NoError(t, err)
	for steps := range 5 {
		store := new(checkpoint.Memory)
		model := scripted.New(script...)
		taken := 0
		for e := range solver(t, model, with(echo("a")), stored(store)).Stream(t.Context(), task("go")) {
			if e.Kind == orchestrator.EventStepTaken {
				taken++
			}
			if taken == steps && e.Kind != orchestrator.EventRunFinished {
				break
			}
		}
		events, err := resumed(t, solver(t, model, with(echo("a")), stored(store)), "r")
		require.NoError(t, err)
		require.Equal(t, timeless(whole.Output), timeless(finished(t, events).Output), "after %d steps", steps)
		model.AssertComplete(t)
	}
}

// S3-14, S4-5: a question at any depth ends the run as waiting, without an error; the answer goes
// on.
func TestS3_14_S4_5_question(t *testing.T) {
	store := new(checkpoint.Memory)
	deep := func(c *orchestrator.Config) {
		c.Strategies["outer"] = func() strategy.Strategy {
			return &scene{
				start: func(in delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "solve", Input: in}
				},
				child: func(out delegation.Output) nextstep.NextStep { return done("outer: " + out.Text()) },
			}
		}
		c.Default = "outer"
	}
	build := func(replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies...), stored(store), with(tools.AskUser()), deep)
	}
	events, err := collect(t, build(scripted.Calls(question("Which file?", "1"))), task("go"))
	require.NoError(t, err)
	end := finished(t, events)
	require.Equal(t, orchestrator.StatusWaiting, end.Status)
	require.Equal(t, "0.1", end.Waits[0].Frame)
	require.Equal(t, 1, count(events, orchestrator.EventWaitStarted))
	require.Equal(t, 1, count(events, orchestrator.EventToolStarted))
	require.Zero(t, count(events, orchestrator.EventToolFinished))

	events, err = resumed(t, build(scripted.Text("All set.")), "r", orchestrator.Reply{WaitID: end.Waits[0].ID, Text: "Use latest."})
	require.NoError(t, err)
	end = finished(t, events)
	require.Equal(t, "outer: All set.", end.Output.Text())
	require.Equal(t, 1, count(events, orchestrator.EventToolFinished))
	require.Zero(t, count(events, orchestrator.EventWaitStarted))
}

func count(events []orchestrator.Event, kind orchestrator.EventKind) (n int) {
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// S4-6: a stop of either kind while somebody is asked in the process ends the run at once, without
// a further model call.
func TestS4_6_stopWhileWaiting(t *testing.T) {
	for _, kind := range []string{"after this step", "now"} {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop := make(chan struct{})
			model := scripted.New(scripted.Calls(question("Which file?", "1"), scripted.Call("a", "{}", "2")))
			o := solver(t, model, with(tools.AskUser(), echo("a")), func(c *orchestrator.Config) {
				c.Reply = func(ctx context.Context, _ orchestrator.Wait) (orchestrator.Reply, error) {
					if kind == "now" {
						cancel()
					} else {
						close(stop)
					}
					<-ctx.Done()
					return orchestrator.Reply{Text: "too late"}, nil
				}
			})
			ta := task("go")
			ta.Stop = stop
			res, err := o.Run(ctx, ta)
			require.Error(t, err)
			require.Equal(t, orchestrator.StatusStopped, res.Status)
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

// S4-7: without an answer until the time limit the run ends as timed out.
func TestS4_7_noAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := solver(t, scripted.New(scripted.Calls(question("Which file?", "1"))), with(tools.AskUser()), func(c *orchestrator.Config) {
			c.Timeouts.Run = time.Minute
			c.Reply = func(ctx context.Context, _ orchestrator.Wait) (orchestrator.Reply, error) {
				<-ctx.Done()
				return orchestrator.Reply{}, ctx.Err()
			}
		})
		began := time.Now()
		res, err := o.Run(t.Context(), task("go"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "longer than 1m")
		require.Equal(t, orchestrator.StatusStopped, res.Status)
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// S4-18: a stop during a tool answers its call as interrupted, keeps what has finished, and closes
// the conversation with an assistant's message, behind which the next turn works.
func TestS4_18_stopDuringTool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := tools.NewRaw(tools.Definition{Name: "hang", ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("hang", "{}", "2"))), with(echo("a"), hang)).Run(ctx, task("go"))
	require.Error(t, err)
	h := res.Output.Messages
	require.Equal(t, messages.AssistantText("[stopped]"), h.Last())
	metas := res.Output.ToolMetas()
	require.Equal(t, "a{}", metas[0].Output)
	require.Equal(t, messages.ReasonInterrupted, metas[1].Reason)
	model := scripted.New(scripted.Text("done"))
	next := orchestrator.Task{Input: delegation.Input{Goal: "go on", Messages: h}}
	res, err = solver(t, model).Run(t.Context(), next)
	require.NoError(t, err)
	require.Equal(t, append(h.Clip(), messages.UserText("go on")), model.Requests()[0].Messages)
	require.Equal(t, "done", res.Output.Text())
}

// S1-6, S1-7, S1-8: an abort before the start, between two iterations, and inside a stream.
func TestS1_6_S1_7_S1_8_abort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	model := scripted.New()
	events := 0
	for e, err := range solver(t, model).Stream(ctx, task("go")) {
		if events++; e.Kind == orchestrator.EventRunFinished {
			require.ErrorContains(t, err, "stopped")
			require.Equal(t, orchestrator.StatusStopped, e.Detail.(orchestrator.RunFinished).Status)
		}
	}
	require.Positive(t, events)
	require.Empty(t, model.Requests())

	stop := make(chan struct{})
	ta := task("go")
	ta.Stop = stop
	model = scripted.New(scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Calls(scripted.Call("a", "{}", "2")), scripted.Text("never"))
	var end orchestrator.RunFinished
	rounds := 0
	for e := range solver(t, model, with(echo("a"))).Stream(t.Context(), ta) {
		if e.Kind == orchestrator.EventToolFinished {
			if rounds++; rounds == 2 {
				close(stop)
			}
		}
		end, _ = e.Detail.(orchestrator.RunFinished)
	}
	require.Equal(t, orchestrator.StatusStopped, end.Status)
	require.Len(t, end.Output.ToolMetas(), 2)
	require.JSONEq(t, "2", string(end.Output.Metadata["model_calls"]))

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan struct{})
	client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		defer close(gone)
		onDelta(llmclient.Delta{Text: "half"})
		<-ctx.Done()
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: messages.AssistantText("half"), Err: ctx.Err()}
	})
	var after []orchestrator.EventKind
	for e := range solver(t, client).Stream(ctx, task("go")) {
		if ctx.Err() != nil {
			after = append(after, e.Kind)
		}
		if e.Kind == orchestrator.EventTextDelta {
			cancel()
		}
		end, _ = e.Detail.(orchestrator.RunFinished)
	}
	<-gone
	require.NotContains(t, after, orchestrator.EventTextDelta)
	require.Equal(t, orchestrator.EventRunFinished, after[len(after)-1])
	require.Equal(t, "half", end.Output.Texts()[0])
}

// S1-31: a client that does not stream gives one delta for each text.
func TestS1_31_noStreaming(t *testing.T) {
	client := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
			messages.Thought{Text: "hm"}, messages.Text{Text: "whole"},
		}}}, nil
	})
	events, err := collect(t, solver(t, client), task("go"))
	require.NoError(t, err)
	var texts []string
	for _, e := range events {
		if e.Kind == orchestrator.EventTextDelta || e.Kind == orchestrator.EventThoughtDelta {
			texts = append(texts, string(e.Kind)+" "+e.Text)
		}
	}
	require.Equal(t, []string{"thought_delta hm", "text_delta whole"}, texts)
}

// Breaking out of a batch ends the work and not the run: what has finished is not done again, what
// was cut off and is safe is, and what may have had its effect is not.
func TestResume_brokenOffInABatch(t *testing.T) {
	store := new(checkpoint.Memory)
	var quick, safe, risky atomic.Int32
	hang := func(name string, runs *atomic.Int32, readOnly bool) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name, ReadOnly: readOnly}, func(ctx context.Context, _ string) (string, error) {
			if runs.Add(1) > 1 {
				return name + " again", nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		})
	}
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("quick", "{}", "1"), scripted.Call("safe", "{}", "2"), scripted.Call("risky", "{}", "3")), scripted.Text("done")),
		stored(store), with(counted("quick", &quick), hang("safe", &safe, true), hang("risky", &risky, false)))
	for e := range o.Stream(t.Context(), task("go")) {
		if d, ok := e.Detail.(orchestrator.ToolFinished); ok && d.Output.ToolName == "quick" {
			break
		}
	}
	events, err := resumed(t, o, "r")
	require.NoError(t, err)
	end := finished(t, events)
	require.Equal(t, orchestrator.StatusDone, end.Status)
	metas := end.Output.ToolMetas()
	require.Equal(t, "did quick", metas[0].Output)
	require.Equal(t, "safe again", metas[1].Output)
	require.Equal(t, messages.StatusUnknown, metas[2].Status)
	require.EqualValues(t, 1, quick.Load())
	require.EqualValues(t, 1, risky.Load())
}
