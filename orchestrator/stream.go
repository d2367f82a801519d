package orchestrator

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/segue-go/segue/machine"
)

// consumer passes the events of a run to the code that reads them. It always yields on the
// goroutine of the loop.
type consumer struct {
	yield    func(machine.Event, error) bool
	log      func(machine.Event) // logs the events; may be nil
	observe  func(machine.Event) // observes the events; may be nil
	followed *run                // the run, if it has a journal, so that it can be followed; else nil
	cancel   context.CancelCauseFunc
	gone     bool // the consumer broke out, or got the last event

	yielding bool // the consumer is handling an event; stays true only if it panics
}

// deliver yields an event.
func (c *consumer) deliver(e *machine.Event) {
	if c.gone || c.yielding { // the consumer left or panicked
		return
	}
	if c.observe != nil {
		c.observe(*e)
	}
	if c.log != nil {
		c.log(*e)
	}
	if c.followed != nil {
		c.followed.tell(e)
	}
	c.yielding = true
	listens := c.yield(*e, nil)
	if c.yielding = false; !listens {
		c.gone = true
		c.cancel(errBreak)
	}
}

// last yields the last event, with the error of the run.
func (c *consumer) last(e *machine.Event, err error) {
	if !c.gone {
		c.gone = true
		if c.observe != nil {
			c.observe(*e)
		}
		if c.log != nil {
			c.log(*e)
		}
		c.yield(*e, err)
	}
}

// Collect reads the events of [Orchestrator.Stream] or [Orchestrator.Resume] to their end, and
// returns what [Orchestrator.Run] would have returned. For a run that could not be started or
// resumed it returns only the error, with an empty Result: a run that is in a journal stays as it
// was. If the events end without RunFinished and without an error, Collect returns an error that
// wraps [io.ErrUnexpectedEOF].
func Collect(events iter.Seq2[machine.Event, error]) (Result, error) {
	var res Result
	for e, err := range events {
		if end, ok := e.Detail.(machine.RunFinished); ok {
			return result(&end, e.Run), err
		}
		if err != nil {
			return res, err
		}
		res.Run, res.Status = e.Run, machine.StatusFailed
	}
	return res, fmt.Errorf("orchestrator: the events of run %.64q end before the run does: %w", res.Run, io.ErrUnexpectedEOF)
}

// result makes the Result of a run from its last event.
func result(f *machine.RunFinished, run string) Result {
	return Result{Run: run, Status: f.Status, Output: f.Output, Waits: f.Waits, Strategy: f.Strategy, Limits: f.Limits, Left: f.Left}
}
