package temporal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// interpreter is the workflow of a run: it starts the effects that the store says are open, and
// waits for what the run waits for.
type interpreter struct {
	State
	engine *Engine
	ctx    workflow.Context // goes on when the workflow is canceled

	flying   map[string]workflow.CancelFunc // effects in progress
	looking  bool                           // the store is being asked how the run goes on
	look     bool                           // it must be asked
	asked    int                            // how often it was to be asked
	taken    int                            // up to which of them it was
	unclear  bool                           // effects ended without a result that the store knows of
	failing  bool                           // effects failed since the store was last asked
	failures int                            // how often that was so, one after another
	others   bool                           // a worker has not begun an effect: any other may be the one that can
	stop     bool                           // the workflow was canceled, and the store does not know it yet
	failed   error                          // ends the workflow

	timer   workflow.CancelFunc // for Due; nil: there is none
	rings   time.Time           // when it does
	changes int
}

// workflow is the workflow of a run.
func (e *Engine) workflow(ctx workflow.Context, s State) error {
	if s.Version > stateVersion { // Temporal tries again until a worker comes that reads it
		panic(fmt.Sprintf("temporal: the state has version %d, and this worker reads up to %d", s.Version, stateVersion))
	}
	lasting, _ := workflow.NewDisconnectedContext(ctx)
	i := &interpreter{State: s, engine: e, ctx: lasting, flying: map[string]workflow.CancelFunc{}}
	// What the signals said that this workflow got before it went on as a new one is in the inbox.
	i.look = s.Records == 0 || workflow.GetInfo(ctx).ContinuedExecutionRunID != ""
	if err := i.listen(ctx); err != nil {
		return err
	}
	for !i.ended() && i.failed == nil {
		if i.next() {
			return workflow.NewContinueAsNewError(lasting, workflowName, i.State)
		}
		if err := i.await(func(seen int) bool { return i.changes != seen }); err != nil {
			return err
		}
	}
	if err := i.await(func(int) bool { return i.quiet() && workflow.AllHandlersFinished(lasting) }); err != nil {
		return err
	}
	if e, ok := errors.AsType[*sdk.ApplicationError](i.failed); ok && e.Type() == noRoom { // its Store ends, too
		key := checkpoint.Key{Namespace: i.Namespace, Run: i.Run}
		_ = workflow.RequestCancelExternalWorkflow(lasting, recordsID(key), "").Get(lasting, nil) // it may have ended
	}
	if i.failed == nil && i.Status == machine.StatusStopped {
		return ctx.Err() // nil unless the workflow was canceled
	}
	return i.failed
}

// await waits until something is so, which is given the number of changes so far.
func (i *interpreter) await(is func(changes int) bool) error {
	seen := i.changes
	return workflow.Await(i.ctx, func() bool { return is(seen) })
}

// listen begins to take signals, updates and queries, and the cancellation of ctx.
func (i *interpreter) listen(ctx workflow.Context) error {
	posted := workflow.GetSignalChannel(i.ctx, postedSignal)
	workflow.Go(i.ctx, func(own workflow.Context) {
		for posted.Receive(own, nil) {
			i.ask()
		}
	})
	workflow.Go(i.ctx, func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		i.stop = true
		i.ask()
	})
	if err := workflow.SetQueryHandler(i.ctx, stateQuery, func() (State, error) { return i.State, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(i.ctx, answerUpdate, i.answered, workflow.UpdateHandlerOptions{
		Validator: i.answerable, Description: "takes the posted reply to a wait, by the id of the wait",
	})
}

// ask has the store asked how the run goes on.
func (i *interpreter) ask() {
	i.look = true
	i.asked++
	i.changes++
}

// quiet reports whether nothing of the run is in progress, so that the state is that of the store.
func (i *interpreter) quiet() bool { return len(i.flying) == 0 && !i.looking }

// answerable refuses replies to what the run does not wait for, by what the store has said.
func (i *interpreter) answerable(_ workflow.Context, wait string) error {
	switch {
	case i.ended():
		return sdk.NewApplicationError("the run has ended", refused)
	case i.quiet() && !i.look && !i.unclear && !slices.Contains(i.Waits, wait):
		return sdk.NewApplicationError(fmt.Sprintf("the run has no wait %.64q", wait), refused)
	default:
		return nil
	}
}

// answered has a posted reply taken, and returns once it is.
func (i *interpreter) answered(ctx workflow.Context, wait string) error {
	defer func() { i.changes++ }()
	i.ask()
	mine := i.asked
	lasting, _ := workflow.NewDisconnectedContext(ctx)
	err := workflow.Await(lasting, func() bool { return i.taken >= mine || i.ended() || i.failed != nil })
	if err == nil && i.taken >= mine && slices.Contains(i.Waits, wait) {
		err = sdk.NewApplicationError("the run has refused it and waits on: Arguments must fit the tool", refused)
	}
	return err
}

// next starts what is due. It reports whether the workflow is to be continued as a new one, because
// its history is long: nothing is in progress then.
func (i *interpreter) next() (anew bool) {
	long := workflow.GetInfo(i.ctx).GetContinueAsNewSuggested()
	switch {
	case i.look && !i.looking, i.unclear && i.quiet():
		i.goOn()
	case long && i.quiet():
		return workflow.AllHandlersFinished(i.ctx)
	}
	if !long && !i.unclear && !i.failing && (i.failures == 0 || !i.looking) {
		for _, x := range i.Effects {
			i.start(x)
		}
	}
	i.setTimer()
	return false
}

// start starts the activity of an effect, unless it is in progress.
func (i *interpreter) start(x Effect) {
	if i.flying[x.ID] != nil {
		return
	}
	o := i.engine.scheduling(x)
	o.DisableEagerExecution = o.DisableEagerExecution || i.others // else it goes to the worker of this workflow
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(i.ctx, o))
	i.flying[x.ID] = cancel
	do := workflow.ExecuteActivity(ctx, effectPrefix+string(x.Kind), job{Namespace: i.Namespace, Run: i.Run, Epoch: i.Epoch, Effect: x.ID})
	workflow.Go(i.ctx, func(own workflow.Context) {
		var s State
		err := do.Get(own, &s)
		delete(i.flying, x.ID)
		i.changes++
		if err == nil {
			i.failing, i.failures = false, 0
			i.merge(s)
			return
		}
		i.failing = true
		failure, _ := errors.AsType[*sdk.ApplicationError](err)
		switch {
		case failure != nil && (failure.Type() == noRun || failure.Type() == noRoom):
			i.failed = err
		case failure != nil && failure.Type() == notBegun:
			i.others = true
			i.ask()
		default:
			i.unclear = true
		}
	})
}

// scheduling returns the options of the activity of an effect.
func (e *Engine) scheduling(x Effect) workflow.ActivityOptions {
	o, own := e.Strategies[x.Strategy]
	if !own || x.Strategy == "" {
		o = e.Activities[x.Kind]
	}
	d := Defaults()
	o.TaskQueue = cmp.Or(o.TaskQueue, e.Queue)
	o.StartToCloseTimeout = cmp.Or(o.StartToCloseTimeout, d.StartToCloseTimeout)
	o.HeartbeatTimeout = cmp.Or(o.HeartbeatTimeout, d.HeartbeatTimeout)
	o.RetryPolicy = cmp.Or(o.RetryPolicy, d.RetryPolicy)
	o.WaitForCancellation, o.ActivityID, o.Summary = true, "", x.ID
	if x.Tool != "" {
		o.Summary += " " + x.Tool
	}
	if !x.Safe {
		o.RetryPolicy = &sdk.RetryPolicy{MaximumAttempts: 1}
	}
	return o
}

// goOn asks the store how the run goes on, until there is an answer.
func (i *interpreter) goOn() {
	unclear := i.unclear && i.quiet() // else what is in progress ends first
	if i.failing {
		i.failures++
	}
	i.looking, i.failing = true, false
	ctx := workflow.WithActivityOptions(i.ctx, workflow.ActivityOptions{
		TaskQueue: i.engine.Queue, StartToCloseTimeout: time.Hour, HeartbeatTimeout: Defaults().HeartbeatTimeout,
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		if pause := i.pause(); pause > 0 {
			_, _ = workflow.AwaitWithTimeout(ctx, pause, func() bool { return i.stop })
		}
		j := job{Namespace: i.Namespace, Run: i.Run, Epoch: i.Epoch, After: i.Records, Unclear: unclear, Stop: i.stop}
		upto := i.asked
		i.look = false
		var s State
		err := workflow.ExecuteActivity(ctx, continueName, j).Get(ctx, &s)
		i.looking = false
		i.changes++
		if err != nil {
			i.failed = err
			return
		}
		i.taken = upto
		i.unclear, i.stop = i.unclear && !j.Unclear, i.stop && !j.Stop
		i.merge(s)
	})
}

// pause returns how long to wait until a run goes on of which activities have failed.
func (i *interpreter) pause() time.Duration {
	if i.failures < 2 {
		return 0
	}
	return min(time.Second<<min(i.failures-2, 6), time.Minute)
}

// merge takes over the state that an activity has found, unless a later one is known.
func (i *interpreter) merge(s State) {
	if s.Records < i.Records || s.Epoch < i.Epoch {
		return
	}
	i.State = s
	for _, x := range s.Effects {
		if cut := i.flying[x.ID]; cut != nil && x.Cut {
			cut()
		}
	}
	workflow.SetCurrentDetails(i.ctx, i.details())
}

// setTimer sets the timer for Due.
func (i *interpreter) setTimer() {
	if i.look || i.looking || i.rings.Equal(i.Due) {
		return
	}
	if i.timer != nil {
		i.timer()
		i.timer = nil
	}
	if i.rings = i.Due; i.Due.IsZero() {
		return
	}
	ctx, cancel := workflow.WithCancel(i.ctx)
	i.timer = cancel
	// By the clock of a worker it may not be over yet.
	rings := workflow.NewTimer(ctx, max(0, i.Due.Sub(workflow.Now(ctx)))+100*time.Millisecond)
	workflow.Go(ctx, func(own workflow.Context) {
		if rings.Get(own, nil) == nil {
			i.rings, i.timer = time.Time{}, nil
			i.ask()
		}
	})
}

// details is what the user interface of Temporal shows of the run.
func (i *interpreter) details() string {
	text := fmt.Sprintf("%s after %d records", cmp.Or(i.Status, "running"), i.Records)
	if len(i.Waits) > 0 {
		text += "; waits for " + strings.Join(i.Waits, ", ")
	}
	return text
}
