package builtin_test

import (
	"context"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

// replayAndFork replays the run, and forks it at a record that the seed chooses: the fork goes on
// to an end that obeys the laws. The events of the first records were told; w.resume may have added
// more.
func (w *composed) replayAndFork(told int) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), caseKey{}, w))
	defer cancel()
	w.stop, w.Fails = func() {}, 0 // the run has ended
	asked, billed, hidden, usage := w.asked, w.billed, w.hidden, w.usage
	w.asked, w.billed, w.hidden, w.usage = 0, 0, 0, messages.Usage{} // the fork counts anew
	defer func() { w.asked, w.billed, w.hidden, w.usage = asked, billed, hidden, usage }()
	key := checkpoint.Key{Run: composedRun}
	var again []string
	for e, err := range w.o.Replay(ctx, key) {
		if e.Kind == "" {
			w.blame("the run cannot be replayed: %v", err)
			return
		}
		if e.Record <= told {
			again = append(again, line(&e))
		}
	}
	if !w.Whole {
		w.compare(again)
	}
	head, err := w.store.Head(ctx, key)
	if err != nil {
		w.blame("the run has no head: %v", err)
		return
	}
	at := 1 + int(w.Seed%uint64(head.Last)) //nolint:gosec // it is small
	fork, err := runs.Fork(ctx, w.o, runs.ForkConfig{From: key, At: at, Run: "fork"})
	if err != nil {
		w.blame("the run cannot be forked at record %d of %d: %v", at, head.Last, err)
		return
	}
	w.goOnWithFork(ctx, fork)
}

// records returns how many records the run has.
func (w *composed) records() int {
	head, err := w.store.Head(context.Background(), checkpoint.Key{Run: composedRun})
	if err != nil {
		w.blame("the run has no head: %v", err)
	}
	return head.Last
}

// goOnWithFork resumes a fork, and holds its end against the laws. What a model is asked depends on
// no name of a run, so the fork asks in the same words.
func (w *composed) goOnWithFork(ctx context.Context, fork checkpoint.Head) {
	res, err := orchestrator.Collect(func(yield func(machine.Event, error) bool) {
		for e, err := range w.o.Resume(ctx, orchestrator.Resumption{Run: fork.Key.Run, Unknown: machine.UnknownTell}) {
			if d, ok := e.Detail.(machine.Drifted); ok {
				w.blame("the fork has drifted: %s", d.What)
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if res.Run == "" {
		w.blame("the fork at record %d cannot go on: %v", fork.Header.Origin.Record, err)
		return
	}
	w.sound("the fork", res.Output.Err)
	if err := res.Output.Messages.Validate(); err != nil {
		w.blame("the output of the fork breaks the laws: %v", err)
	}
	w.again(res.Output)
	for _, err := range w.o.Replay(ctx, fork.Key) {
		if err != nil && res.Output.Err == nil {
			w.blame("the fork cannot be replayed: %v", err)
			return
		}
	}
}
