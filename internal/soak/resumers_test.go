package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// resumeAll is a process many goroutines of which resume one run until it has ended. Each has an
// Orchestrator of its own, as if it was a process. Some of them take the run over from whoever has
// it.
func resumeAll(ctx context.Context, p *plan) error {
	store, _, err := openStore(ctx, p.Store)
	if err != nil {
		return err
	}
	acks, err := openWitness(p.Dir, ofAcks, p.Process)
	if err != nil {
		return err
	}
	effects, err := openWitness(p.Dir, ofEffects, p.Process)
	if err != nil {
		return err
	}
	fmt.Println(`"ready"`)
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	go func() { // ends with the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	var all sync.WaitGroup
	errs := make(chan error, p.Many)
	for i := range p.Many {
		all.Go(func() {
			noted := &acknowledged{Store: store, acks: acks, reads: func() {}}
			o, err := build(noted, &filesWorld{plan: p, mine: effects}, func(c *orchestrator.Config) { c.Lease = p.Lease })
			if err == nil {
				err = resumeUntilDone(ctx, o, store, p.Run, i%8 == 0)
			}
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// resumeUntilDone resumes a run until it has ended, a few times by force. It answers what the run
// waits for, but never has a call made again.
func resumeUntilDone(ctx context.Context, o *orchestrator.Orchestrator, store checkpoint.Store, run string, force bool) error {
	var replies []machine.Reply
	pause := 30
	if raceEnabled { // else all look whether another has it, and none has time to make the run
		pause = 120
	}
	for i := 0; ; i++ {
		head, err := store.Head(ctx, checkpoint.Key{Run: run})
		if err != nil || head.Header.Status.Ended() {
			return err
		}
		res, err := orchestrator.Collect(o.Resume(ctx, orchestrator.Resumption{Run: run, Replies: replies, TakeOver: force && i < 4}))
		replies = nil
		for i := range res.Waits {
			w := &res.Waits[i]
			r := machine.Reply{WaitID: w.ID, Approve: granted(markOf(w.Arguments)), Reason: "as it is written"}
			if w.Kind == machine.WaitUnknown {
				r = machine.Reply{WaitID: w.ID, Text: "somebody looks after it"}
			}
			replies = append(replies, r)
		}
		switch {
		case err == nil, errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrLeased), errors.Is(err, orchestrator.ErrTakenOver):
		default:
			if _, ok := errors.AsType[*machine.ReplyError](err); !ok { // somebody else has replied
				return err
			}
		}
		time.Sleep(time.Duration(rand.IntN(pause)) * time.Millisecond)
	}
}

// Four processes resume one run at once, each on 32 goroutines, whose process was killed. Each
// place of the journal has one writer, and no effect of a call that is neither read-only nor
// idempotent comes twice.
func TestResumers(t *testing.T) {
	dir := t.TempDir()
	p := plan{Role: "begin", Store: newStore(t, "sqlite"), Dir: dir, Lease: 200 * time.Millisecond, Run: "s0-0", Many: 32}
	if raceEnabled { // which makes each of them ten times as slow
		p.Lease, p.Many = time.Second, 8
	}
	p.Process = 1
	p.At = atEffect
	first := start(t, p)
	require.Equal(t, atEffect, hear[string](t, first))
	first.kill()

	p.Role, p.At = "resume", ""
	var all []*process
	for i := range 4 {
		p.Process = 2 + i
		s := start(t, p)
		require.Equal(t, "ready", hear[string](t, s))
		all = append(all, s)
	}
	for _, s := range all {
		s.goOn(t)
	}
	for _, s := range all {
		require.NoError(t, waittest.Exit(t, s.cmd))
	}

	l := newLedger(dir)
	for process := range 6 {
		l.add(t, process)
	}
	require.Empty(t, l.twice, "a place that two have written")
	store, closer, err := openStore(t.Context(), p.Store)
	require.NoError(t, err)
	defer closer.Close()
	n, wrong := l.losses(t.Context(), store, p.Run)
	require.Empty(t, wrong)
	for _, d := range expected(p.Run) {
		keys := map[string]bool{}
		for _, e := range l.effects[d.mark] {
			keys[e.Key] = true
		}
		require.LessOrEqual(t, len(keys), 1, d.mark)
		if d.tool != "put" {
			require.LessOrEqual(t, len(l.effects[d.mark]), 1, d.mark)
		}
	}
	own, err := build(store, new(memoryWorld))
	require.NoError(t, err)
	res, err := orchestrator.Collect(own.Resume(t.Context(), orchestrator.Resumption{Run: p.Run}))
	require.NoError(t, err)
	want, err := uncut(t.Context(), p.Run)
	require.NoError(t, err)
	endingOf(res).requireSame(t, want)
	head, err := store.Head(t.Context(), checkpoint.Key{Run: p.Run})
	require.NoError(t, err)
	t.Logf("%d records, %d of them acknowledged, %d epochs", n, len(l.acks[p.Run]), head.Epoch)
}

// begin is the process that begins the run and is killed.
func begin(ctx context.Context, p *plan) error {
	o, _, _, err := open(ctx, p)
	if err != nil {
		return err
	}
	_, err = o.Run(ctx, taskOf(p.Run))
	return err
}
