package temporal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// A workflow refuses replies only by what the store says, and not while it has to ask the store.
func TestAnswerable(t *testing.T) {
	for name, c := range map[string]struct {
		i       interpreter
		problem string
	}{
		"it waits for another":    {interpreter{State: State{Waits: []string{"other"}}}, `the run has no wait "w"`},
		"it waits for it":         {interpreter{State: State{Waits: []string{"w"}}}, ""},
		"it has ended":            {interpreter{State: State{Status: machine.StatusDone}}, "the run has ended"},
		"effects in progress":     {interpreter{flying: map[string]workflow.CancelFunc{"1/1": nil}}, ""},
		"the store is asked":      {interpreter{looking: true}, ""},
		"it will be asked":        {interpreter{look: true}, ""},
		"effects have no outcome": {interpreter{unclear: true}, ""},
	} {
		if err := c.i.answerable(nil, "w"); c.problem == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.problem, name)
		}
	}
}

// A run of which many effects failed together goes on at once; one whose effects fail again and
// again goes on ever later, and a stop does not wait for that.
func TestPause(t *testing.T) {
	second := time.Second
	for want, tools := range map[int][]string{
		0: {"pay", "pay", "pay", "pay", "pay", "pay", "pay", "pay"}, // a person is asked about each
		8: {"look"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &Engine{Orchestrator: (&scene{store: new(checkpoint.Memory)}).orchestrator(t), Queue: "agents"}
			p, err := e.Orchestrator.Begin(t.Context(), task(1, tools...))
			require.NoError(t, err)
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(quiet{})
			env := suite.NewTestWorkflowEnvironment()
			pauses := []time.Duration{}
			env.SetOnTimerScheduledListener(func(_ string, d time.Duration) { pauses = append(pauses, d) })
			env.SetTestTimeout(2 * time.Hour)
			began, stop, gone := env.Now(), 630*second, true
			env.RegisterDelayedCallback(func() {
				gone = false
				env.CancelWorkflow()
			}, stop)
			e.Activities = map[machine.EffectKind]workflow.ActivityOptions{machine.EffectTool: {RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: 1}}}
			e.Register(env)
			env.OnActivity(effectPrefix+string(machine.EffectTool), mock.Anything, mock.Anything).Return(func(ctx context.Context, j job) (State, error) {
				if gone {
					return State{}, errors.New("the worker is gone")
				}
				return e.step(ctx, j)
			})
			env.ExecuteWorkflow(workflowName, e.stateOf(&p))
			require.Less(t, env.Now().Sub(began)-stop, second)
			all := []time.Duration{second, 2 * second, 4 * second, 8 * second, 16 * second, 32 * second, 60 * second, 60 * second}
			require.Equal(t, all[:want], pauses[:min(len(pauses), len(all))])
		})
	}
}
