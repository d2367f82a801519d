package soak

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/orchestrator"
)

// slots is how many runs a worker has in flight.
const slots = 8

// work is the process that is killed: it recovers runs, and has one in flight in each slot.
func work(ctx context.Context, p *plan) error {
	o, _, store, err := open(ctx, p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	recovered := make(chan error, 1)
	go func() { recovered <- o.Recover(ctx, orchestrator.Recovery{Every: p.Lease / 4}) }()
	errs := make(chan error, slots)
	var all sync.WaitGroup
	for slot := range slots {
		all.Go(func() {
			for turn := p.Turns[slot]; ; turn++ {
				err := workOn(ctx, o, store, runName(slot, turn))
				if err != nil || p.Drain {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	cancel()
	<-recovered
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// workOn begins a run unless it has begun, and returns when it has ended. Others take it up where
// it waits or was left; one that was parked is resumed here.
func workOn(ctx context.Context, o *orchestrator.Orchestrator, store checkpoint.Store, run string) error {
	for {
		head, err := store.Head(ctx, checkpoint.Key{Run: run})
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			_, err = o.Run(ctx, taskOf(run))
			if errors.Is(err, orchestrator.ErrTakenOver) {
				err = nil
			}
		case err != nil:
		case head.Header.Status.Ended():
			return nil
		case head.Header.Status == checkpoint.StatusParked:
			_, err = orchestrator.Collect(o.Resume(ctx, orchestrator.Resumption{Run: run}))
			if _, ok := errors.AsType[*orchestrator.RunExistsError](err); ok || errors.Is(err, orchestrator.ErrTakenOver) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
