package soak

import (
	"context"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// person is the process that answers what runs wait for.
type person struct {
	o       *orchestrator.Orchestrator
	world   *filesWorld
	answers *witness
	asked   map[string]time.Time // when a wait was answered
}

// answerAll answers every wait of every run until the process ends.
func answerAll(ctx context.Context, p *plan) error {
	o, w, store, err := open(ctx, p)
	if err != nil {
		return err
	}
	answers, err := openWitness(p.Dir, ofAnswers, p.Process)
	if err != nil {
		return err
	}
	lister, _ := checkpoint.As[checkpoint.Lister](store)
	who := &person{o: o, world: w, answers: answers, asked: map[string]time.Time{}}
	for {
		page, err := lister.List(ctx, checkpoint.Query{All: true, Status: []checkpoint.Status{checkpoint.StatusWaiting}, Unleased: true})
		if err != nil {
			return err
		}
		for i := range page.Heads {
			if err := who.look(ctx, &page.Heads[i]); err != nil {
				return err
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// look answers what a run waits for. That it has waited for some time says that an answer was not
// taken: the process that took it was killed.
func (a *person) look(ctx context.Context, head *checkpoint.Head) error {
	fresh := false
	for _, w := range head.Header.Waits {
		fresh = fresh || time.Since(a.asked[w.ID]) > time.Second
	}
	if !fresh {
		return nil
	}
	res, err := orchestrator.Collect(a.o.Resume(ctx, orchestrator.Resumption{Run: head.Key.Run}))
	if err != nil {
		return nil //nolint:nilerr // somebody else has it: later
	}
	for i := range res.Waits {
		w := &res.Waits[i]
		reply, err := a.decide(w)
		if err != nil {
			return err
		}
		line := said{Run: w.Run, Wait: w.ID, Kind: w.Kind, Mark: markOf(w.Arguments), Approve: reply.Approve}
		if err := a.answers.note(line); err != nil {
			return err
		}
		a.asked[w.ID] = time.Now()
		_ = a.o.Answer(ctx, head.Key, reply) // the run may have been answered by the one before
	}
	return nil
}

// decide says yes or no to a call. Of a call that may have had its effect it finds out whether it
// had; now and then it has such a call made again although it had.
func (a *person) decide(w *machine.Wait) (machine.Reply, error) {
	m := markOf(w.Arguments)
	if w.Kind != machine.WaitUnknown {
		return machine.Reply{WaitID: w.ID, Approve: granted(m), Reason: "as it is written"}, nil
	}
	did, err := a.world.did(m)
	if did && number(w.ID)%8 > 0 {
		return machine.Reply{WaitID: w.ID, Text: "it was done"}, err
	}
	return machine.Reply{WaitID: w.ID, Approve: true}, err
}
