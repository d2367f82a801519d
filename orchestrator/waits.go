package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// Waiting is a run that waits for somebody. Whose it is, and since when it waits, says its head.
type Waiting struct {
	Head  checkpoint.Head
	Goal  string         // of the run
	Waits []machine.Wait // that nobody has answered yet, in the order in which they were asked; timers are none
}

// Waits yields the runs that wait for an answer, with all that they ask: it is an inbox for the
// people who answer. [Orchestrator.Answer] gives an answer, from any process.
//
// The query selects the runs. If it names no Status, those that wait and those that go on elsewhere
// while they ask are looked at. A wait whose answer is in the inbox of its run is left out. The
// journal of each run is read with the strategies of this Orchestrator; nobody who works on the run
// is disturbed.
//
// An error that comes with a Head is about that run alone, and the next run follows: it is one of
// [Orchestrator.Replay]. An error without is that of the list, and the last, as in
// [Orchestrator.Sessions].
func (o *Orchestrator) Waits(ctx context.Context, q checkpoint.Query) iter.Seq2[Waiting, error] {
	if q.Status == nil {
		q.Status = []checkpoint.Status{checkpoint.StatusWaiting, checkpoint.StatusRunning}
	}
	return func(yield func(Waiting, error) bool) {
		for head, err := range o.heads(ctx, q) {
			if err != nil {
				yield(Waiting{}, err)
				return
			}
			if len(head.Header.Waits) == 0 {
				continue
			}
			w := Waiting{Head: head}
			if err = o.askedBy(ctx, &w); err == nil && len(w.Waits) == 0 {
				continue
			}
			if !yield(w, err) {
				return
			}
		}
	}
}

// askedBy reads what a run asks and nobody has answered.
func (o *Orchestrator) askedBy(ctx context.Context, w *Waiting) error {
	rd, err := o.newReading(w.Head.Key, nil)
	if err != nil {
		return err
	}
	for stored, err := range rd.Records(ctx) {
		if err != nil {
			return err
		}
		rec, err := rd.Decode(stored)
		if err != nil {
			return err
		}
		if _, err := rd.Apply(ctx, rec); err != nil {
			return err
		}
	}
	if err := rd.Err(); err != nil {
		return err
	}
	w.Goal = rd.Machine.Started().Input.Goal
	w.Waits, err = o.openWaits(ctx, w.Head.Key, rd.Machine)
	return err
}

// openWaits returns what a run asks and nobody has answered.
func (o *Orchestrator) openWaits(ctx context.Context, key checkpoint.Key, m *machine.Machine) ([]machine.Wait, error) {
	if len(m.Waits()) == 0 {
		return nil, nil
	}
	answered, err := o.answeredWaits(ctx, key)
	return slices.DeleteFunc(slices.Clone(m.Waits()), func(one machine.Wait) bool {
		return one.Kind == machine.WaitTimer || answered[one.ID]
	}), err
}

// answeredWaits returns the waits of a run whose answers are in its inbox.
func (o *Orchestrator) answeredWaits(ctx context.Context, key checkpoint.Key) (map[string]bool, error) {
	box, ok := checkpoint.As[checkpoint.Inbox](o.cfg.Store)
	if !ok {
		return nil, nil
	}
	posted, err := box.Posted(ctx, key)
	if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) { // what can never be read is no answer
		return nil, storeError(key, err)
	}
	answered := map[string]bool{}
	for _, m := range posted {
		var p posting
		if json.Unmarshal(m.Data, &p) == nil && p.Reply != nil {
			answered[p.Reply.WaitID] = true
		}
	}
	return answered, nil
}
