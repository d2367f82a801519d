package temporal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// A model call and a tool call cost six events each, and a kilobyte. What they take is reported
// beside a workflow that is written by hand, with one activity a step that does nothing and says
// nothing.
func TestCost(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory)}
	e := s.engine(t, connect(t))
	work(t, e)
	byHand := func(ctx workflow.Context, steps int) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		for range steps {
			if err := workflow.ExecuteActivity(ctx, "nothing").Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	}
	w := worker.New(e.Client, "by hand", worker.Options{})
	w.RegisterWorkflowWithOptions(byHand, workflow.RegisterOptions{Name: "by hand"})
	w.RegisterActivityWithOptions(func() error { return nil }, activity.RegisterOptions{Name: "nothing"})
	require.NoError(t, w.Start())
	defer w.Stop()
	const rounds = 50 // of two steps
	events, bytes, took := costOfStep(t, e.Client, 2*rounds, func(steps int) checkpoint.Key {
		key, err := e.Start(soon(t), task(1+steps/2, "look"))
		require.NoError(t, err)
		_, err = e.Result(soon(t), key)
		require.NoError(t, err)
		return key
	})
	plainEvents, plainBytes, plainTook := costOfStep(t, e.Client, 2*rounds, func(steps int) checkpoint.Key {
		run, err := e.Client.ExecuteWorkflow(soon(t), client.StartWorkflowOptions{TaskQueue: "by hand"}, "by hand", 1+steps)
		require.NoError(t, err)
		require.NoError(t, run.Get(soon(t), nil))
		return checkpoint.Key{Run: run.GetID()}
	})
	t.Logf("a step takes %d events, %d bytes and %v; by hand %d events, %d bytes and %v", events, bytes, took, plainEvents, plainBytes, plainTook)
	require.LessOrEqual(t, events, int64(7))
	require.Less(t, bytes, int64(1200))
}

// costOfStep returns what a step of a workflow costs, by the difference between two runs.
func costOfStep(t *testing.T, c client.Client, steps int, run func(steps int) checkpoint.Key) (events, bytes int64, took time.Duration) {
	t.Helper()
	run(0) // the first takes longer
	began := time.Now()
	key := run(0)
	short := time.Since(began)
	_, fewEvents, fewBytes := history(t, c, key)
	began = time.Now()
	key = run(steps)
	took = time.Since(began) - short
	_, events, bytes = history(t, c, key)
	n := int64(steps)
	return (events - fewEvents) / n, (bytes - fewBytes) / n, took / time.Duration(n)
}

// A long run goes on in one workflow after the other. The last steps take no longer than the first.
func TestLongRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	var times []time.Time
	s := &scene{store: new(checkpoint.Memory), steps: func() { times = append(times, time.Now()) }}
	e := s.engine(t, connect(t))
	work(t, e)
	key, err := e.Start(soon(t), task(2500, "look"))
	require.NoError(t, err)
	res, err := e.Result(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	_, events, bytes := history(t, e.Client, key)
	require.Less(t, events, int64(10_000))
	const part = 400
	first, last := times[part].Sub(times[0]), times[len(times)-1].Sub(times[len(times)-1-part])
	t.Logf("%d steps; the last workflow has %d events and %d bytes; %d steps took %v first and %v last",
		len(times)*2, events, bytes, 2*part, first, last)
	require.Less(t, last, 3*first)
}
