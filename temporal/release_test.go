package temporal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// release returns a release of a program, whose strategy has a name; migrate lets it go on with the
// runs of the release before.
func (s *scene) release(name string, migrate bool) *scene {
	set := strategy.Set{name: completetask.New(completetask.Config{MaxModelCalls: -1})}
	return &scene{store: s.store, witness: s.witness, change: func(c *orchestrator.Config) {
		c.Strategies, c.Default, c.Version, c.Snapshots = set, name, name, true
		if migrate {
			c.Migrate = func(s *machine.Snapshot) error {
				for f := range s.Of("solve") {
					f.Become(set, name)
				}
				return nil
			}
		}
	}}
}

// While a run waits, a release comes that names its strategy otherwise. Its runs go on beside the
// release before, also if that has their workflows; and once that is gone, Migrate carries over
// what still waits. No call is made twice.
func TestRelease(t *testing.T) {
	s := &scene{store: new(checkpoint.Memory), witness: filepath.Join(t.TempDir(), "witness")}
	e := s.release("solve", false).engine(t, connect(t))
	begin := func(e *Engine, tools ...string) checkpoint.Key {
		key, err := e.Start(soon(t), task(1, tools...))
		require.NoError(t, err)
		return key
	}
	ended := func(e *Engine, key checkpoint.Key) {
		res, err := e.Result(soon(t), key)
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
	}
	at := func(e *Engine, o worker.Options) (stop func()) {
		w := worker.New(e.Client, e.Queue, o)
		e.Register(w)
		require.NoError(t, w.Start())
		return w.Stop
	}
	stop := at(e, worker.Options{MaxConcurrentActivityTaskPollers: 1})
	left := begin(e, "grant", "pay")
	reply := machine.Reply{WaitID: waiting(t, e, left)[0].ID, Approve: true}
	after := s.release("settle", false).engine(t, e.Client)
	key := begin(after, "pay")
	ctx := soon(t)
	for state := (State{}); state.Problem == ""; time.Sleep(20 * time.Millisecond) {
		state, _ = after.Query(ctx, key)
		require.NoError(t, ctx.Err())
	}
	stopAfter := at(after, worker.Options{MaxConcurrentActivityTaskPollers: 10})
	ended(after, key)
	stop()
	stopAfter()
	migrating := s.release("settle", true).engine(t, e.Client)
	work(t, migrating)
	require.NoError(t, migrating.Answer(soon(t), left, reply))
	ended(migrating, left)
	text, err := os.ReadFile(s.witness)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "pay "), "%s", text)
}

// A wait of 30 days, for which time is skipped, ends by the timer of its workflow.
func TestWait_days(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const month = 30 * 24 * time.Hour
		s := &scene{store: new(checkpoint.Memory), change: func(c *orchestrator.Config) {
			c.Approve = &orchestrator.ApprovalConfig{Expires: month}
		}}
		e := &Engine{Orchestrator: s.orchestrator(t), Queue: "agents"}
		began := time.Now()
		p, err := e.Orchestrator.Begin(t.Context(), task(1, "grant"))
		require.NoError(t, err)
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(quiet{})
		env := suite.NewTestWorkflowEnvironment()
		env.SetTestTimeout(2 * month).SetStartTime(began)
		env.SetOnTimerFiredListener(func(string) {
			time.Sleep(time.Until(env.Now())) // the environment has skipped the time of its own clock
		})
		e.Register(env)
		env.ExecuteWorkflow(workflowName, e.stateOf(&p))
		require.NoError(t, env.GetWorkflowError())
		end, err := e.Orchestrator.Standing(context.Background(), p.Key)
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, end.Status)
		require.Less(t, time.Since(began)-month, time.Second)
		require.GreaterOrEqual(t, time.Since(began), month)
	})
}
