package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A run may have any id that a store takes, also one that is no id for Temporal.
func TestStart_ids(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	work(t, e)
	now := time.Now().String()
	for _, key := range []checkpoint.Key{
		{Run: "ünï☃ " + now},
		{Run: "two\nlines" + now},
		{Run: "//" + now},
		{Namespace: strings.Repeat("/", checkpoint.MaxRunID), Run: now + strings.Repeat("r", 400)},
	} {
		one := task(1, "look")
		one.Run, one.Namespace = key.Run, key.Namespace
		_, err := e.Start(soon(t), one)
		require.NoError(t, err)
		res, err := e.Result(soon(t), key)
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
	}
}

// The effects of a strategy that has a queue of its own are performed by those who poll it.
func TestStrategies_queue(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory), change: func(c *orchestrator.Config) {
		c.Strategies["helper"] = c.Strategies["solve"]
		c.Tools = append(c.Tools, orchestrator.AgentTool(orchestrator.Agent{
			Definition: tools.Definition{Name: "help", Parameters: json.RawMessage(`{"type":"object"}`)}, Strategy: "helper",
			Input: func(string) (delegation.Input, error) { return delegation.Input{Goal: goal(1, "look")}, nil },
		}))
	}}
	e := s.engine(t, connect(t))
	e.Strategies = map[string]workflow.ActivityOptions{"helper": {TaskQueue: t.Name() + " helpers"}}
	work(t, e)
	other := *e
	other.Queue = t.Name() + " helpers"
	work(t, &other)
	one := task(1, "help", "look")
	one.Strategy = "solve"
	key, err := e.Start(soon(t), one)
	require.NoError(t, err)
	res, err := e.Result(soon(t), key)
	require.NoError(t, err)
	require.Equal(t, "finished", res.Output.Text())
	queues := map[string]int{}
	for events := e.Client.GetWorkflowHistory(soon(t), workflowID(key), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(t, err)
		if began := event.GetActivityTaskScheduledEventAttributes(); began != nil {
			queues[began.GetTaskQueue().GetName()]++
		}
	}
	require.Equal(t, map[string]int{t.Name(): 3, t.Name() + " helpers": 3}, queues)
}

// A stop at once cuts off what is in progress, also while it is unclear what became of another
// call.
func TestStop_unclear(t *testing.T) {
	began, done := make(chan struct{}, 100), make(chan struct{})
	defer close(done)
	s := &scene{store: new(checkpoint.Memory), steps: func() {
		began <- struct{}{}
		<-done
	}}
	e := s.engine(t, connect(t))
	e.Activities = map[machine.EffectKind]workflow.ActivityOptions{machine.EffectTool: {
		StartToCloseTimeout: time.Second, RetryPolicy: &sdk.RetryPolicy{InitialInterval: time.Minute},
	}}
	work(t, e)
	key, err := e.Start(soon(t), task(1, "pay", "look"))
	require.NoError(t, err)
	waittest.Receive(t, began)
	waittest.Receive(t, began)
	time.Sleep(2 * time.Second) // pay has ended, and look waits for its next attempt
	require.NoError(t, e.Stop(soon(t), key, "enough", true))
	ctx, cancel := context.WithTimeout(soon(t), 20*time.Second)
	defer cancel()
	res, err := e.Result(ctx, key)
	require.Equal(t, machine.StatusStopped, res.Status, "%v", err)
}

// slowInbox tells of each message that is posted, before the post has returned.
type slowInbox struct {
	*checkpoint.Memory
	posted func(checkpoint.Key)
}

func (s *slowInbox) Post(ctx context.Context, m checkpoint.Message) error {
	err := s.Memory.Post(ctx, m)
	if err == nil {
		s.posted(m.Key)
	}
	return err
}

// A reply that the run has taken because of something else, such as a Forward, is not refused.
func TestAnswer_takenAlready(t *testing.T) {
	store := &slowInbox{Memory: new(checkpoint.Memory)}
	s := &scene{store: store}
	e := s.engine(t, connect(t))
	store.posted = func(key checkpoint.Key) {
		require.NoError(t, e.posted(soon(t), key))
		for {
			if head, err := store.Head(soon(t), key); err != nil || len(head.Header.Waits) < 2 {
				time.Sleep(100 * time.Millisecond)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	work(t, e)
	key, err := e.Start(soon(t), task(1, "grant", "grant"))
	require.NoError(t, err)
	for len(waiting(t, e, key)) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	w := waiting(t, e, key)[0]
	require.NoError(t, e.Answer(soon(t), key, machine.Reply{WaitID: w.ID, Approve: true}))
}

// An error says what has failed, and what is stored.
func TestErrors(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	for want, broken := range map[string]*Engine{
		"Engine.Client: is nil":       {Orchestrator: e.Orchestrator, Queue: e.Queue},
		"Engine.Orchestrator: is nil": {Client: e.Client, Queue: e.Queue},
		"Engine.Queue: is empty":      {Client: e.Client, Orchestrator: e.Orchestrator},
	} {
		key, err := broken.Start(soon(t), task(1, "look"))
		require.ErrorContains(t, err, want)
		require.Zero(t, key, "nothing is stored")
	}

	away, err := client.NewLazyClient(client.Options{HostPort: freeAddress(t), Logger: quiet{}})
	require.NoError(t, err)
	t.Cleanup(away.Close)
	unreached := s.engine(t, away)
	key, err := unreached.Start(soon(t), task(1, "grant"))
	require.ErrorContains(t, err, "it is stored, and a Start of the same task with this id, or a Forward, goes on with it")
	require.ErrorContains(t, unreached.Note(soon(t), key, "hello"), "what was said to it is stored, and a Forward tells it")

	one := task(1, "look")
	one.Run = t.Name() + time.Now().String()
	key, err = e.Start(soon(t), one)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(soon(t), 2*time.Second)
	defer cancel()
	_, err = e.Query(ctx, key)
	require.ErrorContains(t, err, `does a worker poll the queue "TestErrors"?`)
	work(t, e)
	_, err = e.Result(soon(t), key)
	require.NoError(t, err)
	_, err = e.Start(soon(t), one)
	exists, ok := errors.AsType[*orchestrator.RunExistsError](err)
	require.True(t, ok, "%v", err)
	require.False(t, exists.InProgress, "it has ended")
}

// A reply that the run refuses is not reported as taken.
func TestAnswer_refused(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	work(t, e)
	key, err := e.Start(soon(t), task(1, "grant"))
	require.NoError(t, err)
	w := waiting(t, e, key)[0]
	_, ok := errors.AsType[*machine.ReplyError](e.Answer(soon(t), key, machine.Reply{WaitID: w.ID, Approve: true, Arguments: `{"mark":7}`}))
	require.True(t, ok)
	require.NoError(t, e.Answer(soon(t), key, machine.Reply{WaitID: w.ID, Approve: true}))
}
