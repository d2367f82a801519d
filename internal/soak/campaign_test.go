package soak

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/orchestrator"
)

// figures are what a campaign comes to.
type figures struct {
	Kills      int `json:"kills"`        // of the process that works
	Recovering int `json:"recovering"`   // of them, while a run was taken up that had not come further yet
	People     int `json:"people"`       // kills of the process that answers
	Runs       int `json:"runs"`         // that have ended, each as it ends uncut
	Acked      int `json:"acknowledged"` // records that a process was told are stored
	Records    int `json:"records"`      // that the journals hold
	Lost       int `json:"lost"`         // acknowledged records that are gone, gaps, and records that are others
	Twice      int `json:"twice"`        // places that two were told are theirs
	Effects    int `json:"effects"`      // of calls that are neither read-only nor idempotent
	Asked      int `json:"asked"`        // replies of people about such calls that may have had their effect
	Again      int `json:"again"`        // of them, that it is to be made again
	Wrong      int `json:"wrong"`        // effects that are missing, that came twice in silence, or that nobody has approved
	Parked     int `json:"parked"`       // runs that were parked, and resumed by hand
}

// campaign kills processes that work on runs, again and again, over one store.
type campaign struct {
	t      testing.TB
	random *rand.Rand
	plan   plan
	store  checkpoint.Store
	own    *orchestrator.Orchestrator // of the test, to look at runs that have ended
	ledger *ledger
	figures

	person *process
	turns  []int
	began  []int           // the process that was about to start when a slot's run began
	known  map[string]int  // how many records an open run had
	parked map[string]bool // runs that have been
	keeps  []string        // runs that have ended and are in the store
	sizes  map[string]int  // their records
}

// newCampaign begins a campaign over a store that is empty.
func newCampaign(t testing.TB, store string, seed uint64, lease time.Duration) *campaign {
	t.Helper()
	s, closer, err := openStore(t.Context(), store)
	require.NoError(t, err)
	t.Cleanup(func() { closeQuietly(closer) })
	own, err := build(s, new(memoryWorld))
	require.NoError(t, err)
	dir := t.TempDir()
	return &campaign{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), plan: plan{Store: store, Dir: dir, Lease: lease}, //nolint:gosec // a seed is what is wanted
		store: s, own: own, ledger: newLedger(dir),
		turns: make([]int, slots), began: make([]int, slots), known: map[string]int{}, parked: map[string]bool{}, sizes: map[string]int{},
	}
}

func closeQuietly(c io.Closer) {
	if c != nil {
		_ = c.Close()
	}
}

// next starts a process in a role.
func (c *campaign) next(role string, drain bool) *process {
	c.t.Helper()
	c.plan.Process++
	since := slices.Min(c.began)
	if c.person != nil {
		since = min(since, c.person.Process)
	}
	for ; c.plan.Since < since; c.plan.Since++ {
		for _, kind := range []string{ofAcks, ofEffects, ofAnswers} {
			_ = os.Remove(witnessPath(c.plan.Dir, kind, c.plan.Since))
		}
	}
	p := c.plan
	p.Role, p.Turns, p.Drain = role, c.turns, drain
	return start(c.t, p)
}

// answering has a person there.
func (c *campaign) answering() {
	if c.person == nil {
		c.person = c.next("person", false)
	}
}

// round starts a worker and kills it after a while.
func (c *campaign) round(most time.Duration) {
	c.t.Helper()
	c.answering()
	worker := c.next("worker", false)
	c.instant(worker, most)
	require.NoError(c.t, worker.cmd.Process.Kill(), "it has ended by itself")
	require.ErrorContains(c.t, waittest.Exit(c.t, worker.cmd), "killed")
	c.Kills++
	if c.random.IntN(8) == 0 {
		c.person.kill()
		c.ledger.add(c.t, c.person.Process)
		c.person = nil
		c.People++
	}
	c.look(worker)
}

// instant waits until a worker is to be killed: any time, or when it has just begun to take up
// runs.
func (c *campaign) instant(worker *process, most time.Duration) {
	after := time.Duration(c.random.Int64N(int64(most)))
	if c.random.IntN(2) == 0 {
		line := make(chan struct{})
		go func() {
			defer close(line)
			_, _ = worker.out.Read(make([]byte, 1))
		}()
		select {
		case <-line:
			after %= 12 * time.Millisecond
		case <-time.After(most):
			after = 0
		}
	}
	time.Sleep(after)
}

// look checks the runs that are open after a worker has gone, and what has ended meanwhile.
func (c *campaign) look(worker *process) {
	c.t.Helper()
	c.ledger.add(c.t, worker.Process)
	recovering := false
	for slot := range slots {
		for {
			run := runName(slot, c.turns[slot])
			head, err := c.store.Head(c.t.Context(), checkpoint.Key{Run: run})
			if err != nil {
				require.ErrorIs(c.t, err, checkpoint.ErrNotFound)
				require.Empty(c.t, c.ledger.acks[run], "the run %s is gone", run)
				break
			}
			if head.Recoveries > 0 {
				recovering = true
			}
			if head.Header.Status == checkpoint.StatusParked && !c.parked[run] {
				c.parked[run] = true
				c.Parked++
			}
			if !head.Header.Status.Ended() {
				c.lossesOf(run)
				break
			}
			c.ended(run)
			c.turns[slot]++
			c.began[slot] = worker.Process
		}
	}
	if recovering {
		c.Recovering++
	}
}

// lossesOf counts what is lost of a run, and returns how many records there are.
func (c *campaign) lossesOf(run string) int {
	c.t.Helper()
	n, wrong := c.ledger.losses(c.t.Context(), c.store, run)
	c.Lost += len(wrong)
	for _, w := range wrong {
		c.t.Errorf("after %d kills: %s", c.Kills, w)
	}
	return n
}

// ended checks a run that has ended.
func (c *campaign) ended(run string) {
	c.t.Helper()
	if c.person != nil {
		c.ledger.add(c.t, c.person.Process)
	}
	n := c.lossesOf(run)
	unsafe, wrong := c.ledger.acts(run)
	for _, w := range wrong {
		c.t.Errorf("after %d kills: %s", c.Kills, w)
	}
	res, err := orchestrator.Collect(c.own.Resume(c.t.Context(), orchestrator.Resumption{Run: run}))
	require.NoError(c.t, err)
	want, err := uncut(c.t.Context(), run)
	require.NoError(c.t, err)
	endingOf(res).requireSame(c.t, want)
	c.Runs++
	c.Records += n
	c.Acked += len(c.ledger.acks[run])
	c.Effects += unsafe
	c.Wrong += len(wrong)
	for _, d := range expected(run) {
		c.Again += c.ledger.again[d.mark]
	}
	c.keeps, c.sizes[run] = append(c.keeps, run), n
	c.ledger.forget(run)
	c.prune(c.t.Context())
}

// prune deletes the runs that ended long ago.
func (c *campaign) prune(ctx context.Context) {
	const keep = 400
	if len(c.keeps) < 2*keep {
		return
	}
	pruner, ok := checkpoint.As[checkpoint.Pruner](c.store)
	require.True(c.t, ok)
	var keys []checkpoint.Key
	for _, run := range c.keeps[:keep] {
		keys = append(keys, checkpoint.Key{Run: run})
		delete(c.sizes, run)
	}
	require.NoError(c.t, pruner.Delete(ctx, keys...))
	c.keeps = append([]string(nil), c.keeps[keep:]...)
}

// finish has the open runs end, and checks that those that have ended are still as they were.
func (c *campaign) finish() {
	c.t.Helper()
	c.answering()
	worker := c.next("worker", true)
	overtime := time.AfterFunc(time.Minute, func() {
		for slot := range slots {
			head, err := c.store.Head(context.WithoutCancel(c.t.Context()), checkpoint.Key{Run: runName(slot, c.turns[slot])})
			c.t.Logf("%s: %s since %v, %d records, waits %v, lease %v, %v", head.Key.Run, head.Header.Status, head.Updated, head.Last, head.Header.Waits, head.Lease, err)
		}
		_ = worker.cmd.Process.Kill()
	})
	require.NoError(c.t, worker.cmd.Wait(), "the runs that were open have not ended")
	overtime.Stop()
	c.look(worker)
	c.person.kill()
	c.ledger.add(c.t, c.person.Process)
	for _, run := range c.keeps {
		n, wrong := c.ledger.losses(c.t.Context(), c.store, run)
		require.Empty(c.t, wrong)
		require.Equal(c.t, c.sizes[run], n, run)
	}
	c.Twice, c.Asked = len(c.ledger.twice), c.ledger.asked
	for _, a := range c.ledger.twice {
		c.t.Errorf("record %d of %s was acknowledged to two", a.Seq, a.Run)
	}
}
