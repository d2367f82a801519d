package temporal

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// job is the input of an activity.
type job struct {
	Namespace string `json:"namespace,omitempty"`
	Run       string `json:"run"`
	Epoch     int64  `json:"epoch,omitempty"`
	Effect    string `json:"effect,omitempty"`  // to perform it
	After     int    `json:"after,omitempty"`   // to go on: the records that are known
	Unclear   bool   `json:"unclear,omitempty"` // to go on: effects ended without a result
	Stop      bool   `json:"stop,omitempty"`    // to go on: the workflow was canceled
}

func (j *job) key() checkpoint.Key { return checkpoint.Key{Namespace: j.Namespace, Run: j.Run} }

// step performs an effect of a run.
func (e *Engine) step(ctx context.Context, j job) (State, error) {
	var id machine.EffectID
	if err := id.UnmarshalText([]byte(j.Effect)); err != nil {
		return State{}, sdk.NewNonRetryableApplicationError(err.Error(), "EffectID", err)
	}
	defer heartbeat(ctx)()
	p, err := e.Orchestrator.Step(ctx, j.key(), id, j.Epoch, e.Observe)
	return e.outcome(&p, err)
}

// goOn has a run go on by what is in its inbox, by time, and by what the job says.
func (e *Engine) goOn(ctx context.Context, j job) (State, error) {
	defer heartbeat(ctx)()
	p, err := e.Orchestrator.Continue(ctx, j.key(), orchestrator.Continuation{
		After: j.After, Expire: true, Stop: j.Stop, Now: j.Stop, Unclear: j.Unclear, Epoch: j.Epoch,
	})
	return e.outcome(&p, err)
}

// The types of errors.
const (
	notBegun = "not begun" // the effect was not begun
	noRun    = "no run"    // final: nobody has the run any more
	noRoom   = "no room"   // final: the run is too large for its Store, or somebody ended that
	problem  = "problem"   // the effect may have been performed
	refused  = "refused"   // of an update: the run has no such wait
)

// outcome returns what an activity returns.
func (e *Engine) outcome(p *orchestrator.Standing, err error) (State, error) {
	kind := problem
	switch {
	case err == nil:
		return e.stateOf(p), nil
	case errors.Is(err, checkpoint.ErrNotFound):
		kind = noRun
	case errors.Is(err, errNoRoom), errors.Is(err, errEnded):
		kind = noRoom
	case errors.Is(err, orchestrator.ErrNotBegun):
		kind = notBegun
	}
	return State{}, sdk.NewApplicationErrorWithOptions(err.Error(), kind, sdk.ApplicationErrorOptions{NonRetryable: kind == noRun || kind == noRoom})
}

// heartbeat tells Temporal that an activity is in progress, until the returned function is called.
// A worker that stops telling it loses the activity to another.
func heartbeat(ctx context.Context) (stop func()) {
	every := activity.GetInfo(ctx).HeartbeatTimeout / 3
	if every <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
