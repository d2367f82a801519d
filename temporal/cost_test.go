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
	const steps = 100 // of two a round
	byEngine := func(e *Engine, idOf ...func(checkpoint.Key) string) func(int) []string {
		return func(steps int) (ids []string) {
			key, err := e.Start(soon(t), task(1+steps/2, "look"))
			require.NoError(t, err)
			_, err = e.Result(soon(t), key)
			require.NoError(t, err)
			for _, id := range idOf {
				ids = append(ids, id(key))
			}
			return ids
		}
	}
	events, bytes, took := costOfStep(t, e.Client, steps, byEngine(e, workflowID))
	store := &Store{Client: e.Client, Queue: t.Name() + " within"}
	within := (&scene{store: store}).engine(t, e.Client)
	within.Queue = store.Queue
	work(t, within)
	allEvents, allBytes, allTook := costOfStep(t, e.Client, steps, byEngine(within, workflowID, recordsID))
	plainEvents, plainBytes, plainTook := costOfStep(t, e.Client, steps, func(steps int) []string {
		run, err := e.Client.ExecuteWorkflow(soon(t), client.StartWorkflowOptions{TaskQueue: "by hand"}, "by hand", 1+steps)
		require.NoError(t, err)
		require.NoError(t, run.Get(soon(t), nil))
		return []string{run.GetID()}
	})
	t.Logf("a step takes %d events, %d bytes and %v; by hand %d events, %d bytes and %v; with the records in Temporal %d events, %d bytes and %v",
		events, bytes, took, plainEvents, plainBytes, plainTook, allEvents, allBytes, allTook)
	require.LessOrEqual(t, events, int64(7))
	require.Less(t, bytes, int64(1200))
}

// costOfStep returns what a step of workflows costs, by the difference between two runs, which
// return the ids of their workflows.
func costOfStep(t *testing.T, c client.Client, steps int, run func(steps int) []string) (events, bytes int64, took time.Duration) {
	t.Helper()
	add := func(ids []string, sign int64) {
		for _, id := range ids {
			d, err := c.DescribeWorkflow(soon(t), id, "")
			require.NoError(t, err)
			events += sign * d.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength()
			bytes += sign * d.RawResponse.GetWorkflowExecutionInfo().GetHistorySizeBytes()
		}
	}
	run(0) // the first takes longer
	began := time.Now()
	few := run(0)
	short := time.Since(began)
	began = time.Now()
	many := run(steps)
	took = time.Since(began) - short
	add(many, 1)
	add(few, -1)
	return events / int64(steps), bytes / int64(steps), took / time.Duration(steps)
}

// A long run goes on in one workflow after the other. The last steps take no longer than the first.
func TestLongRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	eachStore(t, longRun)
}

func longRun(t *testing.T, store checkpoint.Store) {
	rounds := 2500
	if _, within := store.(*Store); within {
		rounds = 450
	}
	var times []time.Time
	s := &scene{store: store, steps: func() { times = append(times, time.Now()) }}
	e := s.engine(t, connect(t))
	work(t, e)
	key, err := e.Start(soon(t), task(rounds, "look"))
	require.NoError(t, err)
	res, err := e.Result(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	_, events, bytes := history(t, e.Client, key)
	require.Less(t, events, int64(10_000))
	part := rounds / 6
	first, last := times[part].Sub(times[0]), times[len(times)-1].Sub(times[len(times)-1-part])
	t.Logf("%d steps; the last workflow has %d events and %d bytes; %d steps took %v first and %v last",
		len(times)*2, events, bytes, 2*part, first, last)
	require.Less(t, last, 3*first)
}
