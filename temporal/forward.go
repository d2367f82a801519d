package temporal

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/segue-go/segue/checkpoint"
)

// Forward keeps the store and Temporal together, until ctx ends; it runs in one worker or in a few.
// It has runs take what others have posted to them in the store, such as the command segue: it
// looks each second, or as often as said. And it starts the workflows of runs that have none,
// because a Start was cut off or Temporal has lost them: a minute after their last record, or if
// they wait a minute after that has expired, or as soon as something is posted to them. Runs of the
// store that are not of an engine are left alone. Errors of the store and of Temporal are given to
// report, which may be nil; Forward goes on.
func (e *Engine) Forward(ctx context.Context, store checkpoint.Store, every time.Duration, report func(error)) error {
	lister, can := checkpoint.As[checkpoint.Lister](store)
	inbox, has := checkpoint.As[checkpoint.Inbox](store)
	if !can || !has {
		return errors.New("temporal: a store without a checkpoint.Lister and a checkpoint.Inbox cannot be looked through")
	}
	if every <= 0 {
		every = time.Second
	}
	if report == nil {
		report = func(error) {}
	}
	f := forwarder{engine: e, lister: lister, inbox: inbox, told: map[string]bool{}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var looked time.Time
	for {
		if err := f.posted(ctx); err != nil && ctx.Err() == nil {
			report(err)
		}
		if time.Since(looked) > lost {
			looked = time.Now()
			if err := f.adopt(ctx, looked); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// lost is after which time without what is due it is looked whether a run has a workflow.
const lost = time.Minute

// forwarder does the work of Forward.
type forwarder struct {
	engine *Engine
	lister checkpoint.Lister
	inbox  checkpoint.Inbox
	told   map[string]bool // messages that workflows were told of
}

// posted tells the workflows of runs what was posted to them.
func (f *forwarder) posted(ctx context.Context) error {
	var keys []checkpoint.Key
	open := []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting, checkpoint.StatusParked}
	for h, err := range checkpoint.Heads(ctx, f.lister, checkpoint.Query{All: true, Posted: true, Status: open}) {
		if err != nil {
			return err
		}
		if ofEngine(&h) {
			keys = append(keys, h.Key)
		}
	}
	if len(keys) == 0 {
		clear(f.told)
		return nil
	}
	messages, err := f.inbox.Posted(ctx, keys...)
	told, poked := map[string]bool{}, map[checkpoint.Key]error{}
	for _, m := range messages {
		if told[m.ID] = true; f.told[m.ID] {
			continue
		}
		if _, was := poked[m.Key]; !was {
			poked[m.Key] = f.poke(ctx, m.Key)
		}
		if poked[m.Key] != nil {
			err = errors.Join(err, poked[m.Key])
			delete(told, m.ID)
		}
	}
	f.told = told
	return err
}

// started returns nil for the error that a run has a workflow, or had one.
func started(err error) error {
	if _, exists := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); exists {
		return nil
	}
	return err
}

// adopt starts the workflows of runs that have none: of those that are in progress, and of those
// that wait and whose time is over. The others that wait get one by what is posted to them.
func (f *forwarder) adopt(ctx context.Context, now time.Time) (problems error) {
	for _, q := range []checkpoint.Query{
		{All: true, Status: []checkpoint.Status{checkpoint.StatusRunning}, Updated: now.Add(-lost)},
		{All: true, Status: []checkpoint.Status{checkpoint.StatusWaiting}, Due: now.Add(-lost)},
	} {
		for h, err := range checkpoint.Heads(ctx, f.lister, q) {
			if err == nil && ofEngine(&h) {
				_, err = f.engine.Client.ExecuteWorkflow(ctx, f.engine.options(h.Key), workflowName, State{Version: stateVersion, Namespace: h.Key.Namespace, Run: h.Key.Run})
				err = started(err)
			}
			problems = errors.Join(problems, err)
		}
	}
	return problems
}

// poke tells the workflow of a run to look into the inbox, and starts it if there is none.
func (f *forwarder) poke(ctx context.Context, key checkpoint.Key) error {
	s := State{Version: stateVersion, Namespace: key.Namespace, Run: key.Run}
	_, err := f.engine.Client.SignalWithStartWorkflow(ctx, workflowID(key), postedSignal, nil, f.engine.options(key), workflowName, s)
	return wrapped(key, started(err))
}

// ofEngine reports whether a run is driven by an engine.
func ofEngine(h *checkpoint.Head) bool { return strings.HasPrefix(h.Lease.Writer, "engine-") }
