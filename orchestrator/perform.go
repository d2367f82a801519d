package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Perform performs one effect as a run does: with the middleware and the time-outs of the Config,
// and with panics contained. It is for an engine of one's own that drives a [machine.Machine], such
// as a workflow service, and for tests. Records, events, waits and approvals are the engine's: a
// call of Perform belongs to no run, and tells no events.
//
// The answer is for [machine.Effect.Answered]. An effect that failed, took too long, or whose ctx
// ended has an answer, too: a [nextstep.Failure], or the failed result of its call. A tool that does
// not return then is abandoned.
//
// An error says that there is no answer. A [*SuspendedError] says that the effect waits for people,
// for Perform asks nobody: record a [machine.Suspended]. The Machine releases the effect again with
// the replies, and Perform passes them on. It is an error to perform a [machine.EffectPerson].
func (o *Orchestrator) Perform(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
	if e.Kind == machine.EffectPerson {
		return nil, fmt.Errorf("orchestrator: an effect of kind %q is not performed: apply the reply of the person", e.Kind)
	}
	r := &run{o: o, id: e.Run, now: time.Now(), m: new(machine.Machine), large: new(large)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.consumer.gone = true
	defer r.close()
	r.launch(&e, false)
	m := r.outcome()
	return r.performed(&e, &m)
}

// outcome waits until the only effect of a run has ended, and returns its mail. Nobody is asked.
func (r *run) outcome() mail {
	for {
		mails := r.box.collect()
		for i := range mails {
			switch m := &mails[i]; {
			case m.ask != nil:
				m.ask.answer <- answered{err: &SuspendedError{Waits: []machine.Wait{m.ask.wait}}}
			case m.event != nil:
				r.receive(m)
			default:
				return *m
			}
		}
		if r.ctx.Err() != nil {
			r.ending = stopsNow
		}
		r.overdue()
		if len(mails) == 0 {
			r.await()
		}
	}
}

// performed returns the answer of an effect that has ended.
func (r *run) performed(e *machine.Effect, m *mail) (nextstep.Answer, error) {
	if m.err == nil {
		return m.answer, nil
	}
	if waits(m.err) {
		if s, ok := errors.AsType[*SuspendedError](m.err); ok && s != nil && len(s.Waits) > 0 {
			return nil, s
		}
		return nil, &SuspendedError{Waits: []machine.Wait{{Kind: machine.WaitStep, Text: m.err.Error()}}}
	}
	return r.failure(e.Kind, m.err), nil
}

// waits reports whether the error of an effect says that it waits for people. What a panic wraps
// does not count.
func waits(err error) bool {
	_, broke := err.(*panicked) //nolint:errorlint // see above
	return !broke && errors.Is(err, tools.ErrSuspended)
}
