package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

func task(rounds int, tools ...string) orchestrator.Task {
	return orchestrator.Task{Input: delegation.Input{Goal: goal(rounds, tools...)}}
}

// waiting returns the waits of a run once it has some.
func waiting(t *testing.T, e *Engine, key checkpoint.Key) []machine.Wait {
	t.Helper()
	ctx := soon(t)
	for {
		s, err := e.Orchestrator.Standing(ctx, key)
		require.NoError(t, err)
		require.False(t, checkpoint.Status(s.Status).Ended(), "the run has ended as %s", s.Status)
		if len(s.Waits) > 0 {
			return s.Waits
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// history returns how the workflow of a run ended, how many events its history has, and how many
// bytes.
func history(t *testing.T, c client.Client, key checkpoint.Key) (status enums.WorkflowExecutionStatus, events, bytes int64) {
	t.Helper()
	for {
		d, err := c.DescribeWorkflow(soon(t), workflowID(key), "")
		require.NoError(t, err)
		info := d.RawResponse.GetWorkflowExecutionInfo()
		if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return info.GetStatus(), info.GetHistoryLength(), info.GetHistorySizeBytes()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A web handler answers while no worker is there; the next worker goes on with the run. A page that
// follows it by server-sent events from another process sees all of that.
func TestAnswer_overARestart(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	stop := work(t, e)
	key, err := e.Start(soon(t), task(1, "grant", "look"))
	require.NoError(t, err)
	w := waiting(t, e, key)[0]
	require.ErrorContains(t, e.Answer(soon(t), key, machine.Reply{WaitID: "other", Approve: true}), "other")
	state, err := e.Query(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, []string{w.ID}, state.Waits)
	page := follow(t, s.engine(t, e.Client), key)
	stop()
	require.NoError(t, e.Answer(soon(t), key, machine.Reply{WaitID: w.ID, Approve: true}))
	work(t, s.engine(t, e.Client))
	res, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	seen := waittest.Receive(t, page)
	for _, name := range []string{"run_started", "wait_started", "wait_ended", "tool_finished", "run_finished"} {
		require.Contains(t, seen, "event: "+name+"\n")
	}
	keep(t, e.Client, workflowID(key), "answer")
	require.NoError(t, e.Answer(soon(t), key, machine.Reply{WaitID: w.ID, Approve: true}), "it was taken")
	_, ok := errors.AsType[*machine.ReplyError](e.Answer(soon(t), key, machine.Reply{WaitID: w.ID}))
	require.True(t, ok, "the run has ended")
}

// follow follows a run over HTTP, and returns what comes until its end.
func follow(t *testing.T, e *Engine, key checkpoint.Key) <-chan string {
	t.Helper()
	handler, err := sse.New(sse.Config{Follow: e.Orchestrator, Authorize: func(*http.Request, string) error { return nil }})
	require.NoError(t, err)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	res, err := web.Client().Get(web.URL + "?run=" + key.Run)
	require.NoError(t, err)
	page := make(chan string, 1)
	go func() {
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		page <- string(text)
	}()
	return page
}

// The first answer to a wait counts, and whoever comes second is told so.
func TestAnswer_once(t *testing.T) { eachStore(t, answeredOnce) }

func answeredOnce(t *testing.T, store checkpoint.Store) {
	s := &scene{store: store}
	e := s.engine(t, connect(t))
	work(t, e)
	key, err := e.Start(soon(t), task(1, "grant", "grant"))
	require.NoError(t, err)
	require.NoError(t, e.Note(soon(t), key, "quickly"))
	w := waiting(t, e, key)
	_, err = orchestrator.Collect(e.Orchestrator.Resume(soon(t), orchestrator.Resumption{Run: key.Run}))
	require.ErrorAs(t, err, new(*orchestrator.RunExistsError), "the loop leaves it alone")
	require.NoError(t, e.Answer(soon(t), key, machine.Reply{WaitID: w[0].ID, Approve: true}))
	_, ok := errors.AsType[*machine.ReplyError](e.Answer(soon(t), key, machine.Reply{WaitID: w[0].ID}))
	require.True(t, ok)
	require.NoError(t, e.Answer(soon(t), key, machine.Reply{WaitID: waiting(t, e, key)[0].ID, Reason: "no"}))
	res, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, "finished", res.Output.Text())
	keep(t, e.Client, workflowID(key), "parallel")
	if _, within := store.(*Store); within {
		keep(t, e.Client, recordsID(key), "records")
	}
}

// A run has the records that the loop writes.
func TestRecords(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) { recordsAsTheLoop(t, store) })
	t.Run("within, sealed", func(t *testing.T) {
		within := &Store{Client: connect(t), Queue: t.Name()}
		key, err := sealed.NewKey("k", make([]byte, sealed.SecretSize))
		require.NoError(t, err)
		store, err := sealed.New(within, sealed.Keys{Current: key})
		require.NoError(t, err)
		for r, err := range within.Read(soon(t), recordsAsTheLoop(t, store), 1) {
			require.NoError(t, err)
			require.NotContains(t, string(r.Data), "rounds")
		}
	})
}

func recordsAsTheLoop(t *testing.T, store checkpoint.Store) checkpoint.Key {
	records := func(s *scene, key checkpoint.Key) (all []string) {
		for r, err := range s.store.Read(soon(t), key, 1) {
			require.NoError(t, err)
			var form any
			require.NoError(t, json.Unmarshal(r.Data, &form))
			text, err := json.Marshal(timeless(form))
			require.NoError(t, err)
			all = append(all, r.Type+" "+string(text))
		}
		return all
	}
	run := task(3, "look", "pay")
	run.Run = fmt.Sprint(t.Name(), time.Now().UnixNano())
	byLoop, s := &scene{store: new(checkpoint.Memory), change: inTurn}, &scene{store: store, change: inTurn}
	want, err := byLoop.orchestrator(t).Run(soon(t), run)
	require.NoError(t, err)
	e := s.engine(t, connect(t))
	work(t, e)
	key, err := e.Start(soon(t), run)
	require.NoError(t, err)
	have, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, []any{want.Status, want.Output.Text(), want.Output.Counts, want.Left}, []any{have.Status, have.Output.Text(), have.Output.Counts, have.Left})
	require.Equal(t, records(byLoop, key), records(s, key))
	return key
}

// inTurn has calls follow one after the other, so that their answers are in order.
func inTurn(c *orchestrator.Config) { c.Parallel = 1 }

// timeless returns the form of a record without its times, and without digests, which cover times.
func timeless(form any) any {
	switch form := form.(type) {
	case map[string]any:
		for name, value := range form {
			if form[name] = timeless(value); name == "at" || name == "elapsed" || name == "digest" {
				delete(form, name)
			}
		}
	case []any:
		for i, value := range form {
			form[i] = timeless(value)
		}
	}
	return form
}

func TestStop(t *testing.T) { eachStore(t, stopped) }

func stopped(t *testing.T, store checkpoint.Store) {
	for _, now := range []bool{true, false} {
		began, stopped := make(chan struct{}), make(chan struct{})
		s := &scene{store: store, model: func(*llmclient.Request) scripted.Reply {
			close(began)
			if now {
				return scripted.Reply{Text: "late", Delay: time.Minute}
			}
			select {
			case <-stopped:
			case <-t.Context().Done():
			}
			return scripted.Calls(scripted.Call("look", `{"mark":"1"}`, ""))
		}}
		e := s.engine(t, connect(t))
		end := work(t, e)
		key, err := e.Start(soon(t), task(1, "look"))
		require.NoError(t, err)
		waittest.Receive(t, began)
		require.NoError(t, e.Stop(soon(t), key, "enough", now))
		close(stopped)
		res, err := e.Result(soon(t), key)
		require.Equal(t, machine.StatusStopped, res.Status, "now: %t, %s", now, res.Output.Text())
		require.ErrorContains(t, err, "enough")
		status, _, _ := history(t, e.Client, key)
		require.Equal(t, now, status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED, "%s", status)
		require.NoError(t, e.Stop(soon(t), key, "again", now))
		keep(t, e.Client, workflowID(key), fmt.Sprintf("stop-%t", now))
		end()
	}
}

// A wait that nobody answers ends in its time, by a timer of Temporal.
func TestWait_expires(t *testing.T) { eachStore(t, expires) }

func expires(t *testing.T, store checkpoint.Store) {
	s := &scene{store: store, change: func(c *orchestrator.Config) {
		c.Approve = &orchestrator.ApprovalConfig{Expires: 2 * time.Second}
	}}
	e := s.engine(t, connect(t))
	work(t, e)
	key, err := e.Start(soon(t), task(1, "grant"))
	require.NoError(t, err)
	res, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	_, events, _ := history(t, e.Client, key)
	require.Less(t, events, int64(40))
	keep(t, e.Client, workflowID(key), "expiry")
}

// A run whose strategy no worker knows is parked, which Query and the store say, until one comes
// that does.
func TestParked(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	stop := work(t, e)
	key, err := e.Start(soon(t), task(1, "grant"))
	require.NoError(t, err)
	w := waiting(t, e, key)[0]
	stop()
	changed := &scene{store: s.store, change: func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"other": completetask.New(completetask.Config{})}
	}}
	require.NoError(t, e.Orchestrator.Answer(soon(t), key, machine.Reply{WaitID: w.ID, Approve: true}))
	require.NoError(t, e.posted(soon(t), key))
	stop = work(t, changed.engine(t, e.Client))
	ctx := soon(t)
	for state := (State{}); state.Problem == ""; {
		state, err = e.Query(ctx, key) // fails for a while, until Temporal knows that the other worker is gone
		require.NoError(t, ctx.Err(), err)
		time.Sleep(20 * time.Millisecond)
	}
	head, err := s.store.Head(ctx, key)
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusParked, head.Header.Status, head.Header.Reason)
	stop()
	work(t, e)
	res, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
}

// What is posted in the store, as by the command segue, reaches the run; and a run whose workflow
// was never started gets one.
func TestForward(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	work(t, e)
	begun, err := e.Orchestrator.Begin(soon(t), task(1, "grant"))
	require.NoError(t, err)
	key, err := e.Start(soon(t), task(1, "grant"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(soon(t))
	done := make(chan error, 1)
	go func() { done <- e.Forward(ctx, s.store, 50*time.Millisecond, func(err error) { t.Log(err) }) }()
	for _, key := range []checkpoint.Key{key, begun.Key} {
		if key == begun.Key {
			require.NoError(t, e.Orchestrator.Note(ctx, key, "wake up"))
		}
		require.NoError(t, e.Orchestrator.Answer(ctx, key, machine.Reply{WaitID: waiting(t, e, key)[0].ID, Approve: true}))
		for status := checkpoint.Status(""); !status.Ended(); {
			head, err := s.store.Head(ctx, key)
			require.NoError(t, err)
			status = head.Header.Status
			time.Sleep(10 * time.Millisecond)
		}
	}
	cancel()
	require.NoError(t, waittest.Receive(t, done))
}

// If Temporal has lost its data, a run that waits gets a workflow again once its wait has expired.
func TestForward_lost(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory), change: func(c *orchestrator.Config) {
		c.Approve = &orchestrator.ApprovalConfig{Expires: time.Second}
	}}
	e := s.engine(t, connect(t))
	p, err := e.Orchestrator.Begin(soon(t), task(1, "grant"))
	require.NoError(t, err)
	p, err = e.Orchestrator.Step(soon(t), p.Key, p.Effects[0].ID, p.Epoch, nil)
	require.NoError(t, err)
	require.Equal(t, machine.StatusWaiting, p.Status)
	f := forwarder{engine: e, lister: s.store.(checkpoint.Lister)}
	require.NoError(t, f.adopt(soon(t), time.Now().Add(2*lost)))
	work(t, e)
	res, err := e.Result(soon(t), p.Key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
}

func TestStart_again(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	one := task(1, "look")
	one.Run, one.Namespace = "a/b", "tenant/"+t.Name()+time.Now().String()
	_, err := e.Orchestrator.Begin(soon(t), one) // a Start that was cut off
	require.NoError(t, err)
	key, err := e.Start(soon(t), one)
	require.NoError(t, err)
	_, err = e.Start(soon(t), one)
	_, ok := errors.AsType[*orchestrator.RunExistsError](err)
	require.True(t, ok, "%v", err)
	work(t, e)
	res, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
}
