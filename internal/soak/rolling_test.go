package soak

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// release is the program in one of two versions. The newer one has another prompt, another
// description of a tool, one tool more, and another name for a strategy.
func release(p *plan, w world) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) {
		prompt, description, renamed := "You work.", "Grants.", "old-name"
		c.Version = p.Version
		c.Tools = nil
		if p.Version == "2" {
			prompt, description, renamed = "You work well.", "Grants what was asked for.", "new-name"
			c.Tools = []tools.Tool{acting(w, tools.Definition{Name: "new"})}
		}
		c.Tools = append(c.Tools, acting(w, tools.Definition{Name: "grant", Description: description, NeedsApproval: true}))
		c.Strategies = strategy.Set{
			"work":  completetask.New(completetask.Config{System: prompt}),
			renamed: completetask.New(completetask.Config{System: prompt}),
		}
		c.Default = "work"
		c.Client = client(func(req *llmclient.Request) scripted.Reply {
			job, _, rounds, _ := read(req)
			if rounds < 2 {
				return scripted.Calls(call(fmt.Sprint("c", rounds), "grant", mark(job, "work", fmt.Sprint(rounds))))
			}
			return scripted.Text("finished " + job)
		})
	}
}

// serve is the process that recovers the runs of everybody.
func serve(ctx context.Context, p *plan) error {
	o, _, _, err := open(ctx, p, func(c *orchestrator.Config) {
		w, err := openWitness(p.Dir, "effects-of-releases", p.Process)
		if err == nil {
			release(p, &filesWorld{plan: p, mine: w})(c)
		}
	})
	if err != nil {
		return err
	}
	fmt.Println(`"ready"`)
	return o.Recover(ctx, orchestrator.Recovery{Every: 20 * time.Millisecond})
}

// deployment is a store with runs that wait, and processes of two releases that recover them.
type deployment struct {
	t     *testing.T
	plan  plan
	store checkpoint.Store
	own   map[string]*orchestrator.Orchestrator // of the test, by version: begin runs, and answer
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, plan: plan{Role: "serve", Store: newStore(t, "sqlite"), Dir: t.TempDir(), Lease: 200 * time.Millisecond}}
	store, closer, err := openStore(t.Context(), d.plan.Store)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, closer.Close()) })
	d.store, d.own = store, map[string]*orchestrator.Orchestrator{}
	for _, version := range []string{"1", "2"} {
		o, err := build(store, new(memoryWorld), release(&plan{Version: version}, new(memoryWorld)))
		require.NoError(t, err)
		d.own[version] = o
	}
	return d
}

// serve starts a process of a version.
func (d *deployment) serve(version string) *process {
	d.t.Helper()
	d.plan.Process++
	p := d.plan
	p.Version = version
	s := start(d.t, p)
	require.Equal(d.t, "ready", hear[string](d.t, s))
	return s
}

// begin has a run begun by a version that waits for an approval.
func (d *deployment) begin(version, strategy, run string) {
	d.t.Helper()
	res, err := d.own[version].Run(d.t.Context(), orchestrator.Task{Run: run, Strategy: strategy, Input: delegation.Input{Goal: goal(run, "work")}})
	require.NoError(d.t, err)
	require.Equal(d.t, machine.StatusWaiting, res.Status)
}

func (d *deployment) head(run string) checkpoint.Head {
	d.t.Helper()
	head, err := d.store.Head(d.t.Context(), checkpoint.Key{Run: run})
	require.NoError(d.t, err)
	return head
}

// answer approves what a run waits for, once.
func (d *deployment) answer(run string) {
	d.t.Helper()
	for _, w := range d.head(run).Header.Waits {
		require.NoError(d.t, d.own["1"].Answer(d.t.Context(), checkpoint.Key{Run: run}, machine.Reply{WaitID: w.ID, Approve: true}))
	}
}

// until waits until a run stands in a way.
func (d *deployment) until(run string, is func(h *checkpoint.Head) bool) checkpoint.Head {
	d.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		head := d.head(run)
		require.NotEqual(d.t, checkpoint.StatusFailed, head.Header.Status, "%+v", head)
		if is(&head) {
			return head
		}
		require.True(d.t, time.Now().Before(deadline), "%+v", head)
	}
}

// status returns a condition for until.
func status(s checkpoint.Status) func(*checkpoint.Head) bool {
	return func(h *checkpoint.Head) bool { return h.Header.Status == s }
}

// finish answers a run until it is done.
func (d *deployment) finish(run string) {
	d.t.Helper()
	for range 2 {
		last := d.until(run, func(h *checkpoint.Head) bool {
			return h.Header.Status == checkpoint.StatusDone || len(h.Header.Waits) == 1
		})
		d.answer(run)
		d.until(run, func(h *checkpoint.Head) bool {
			return h.Header.Status == checkpoint.StatusDone || len(h.Header.Waits) == 1 && h.Header.Waits[0].ID != last.Header.Waits[0].ID
		})
	}
	d.until(run, status(checkpoint.StatusDone))
}

// check holds the effects of runs, and what was replied to them, to what was asked for once.
func (d *deployment) check(runs ...string) {
	d.t.Helper()
	effects := map[string]int{}
	for process := 1; process <= d.plan.Process; process++ {
		all, _, err := readWitness[effect](witnessPath(d.plan.Dir, "effects-of-releases", process), 0)
		require.NoError(d.t, err)
		for _, e := range all {
			effects[e.Mark]++
		}
	}
	for _, run := range runs {
		for _, round := range []string{"0", "1"} {
			require.Equal(d.t, 1, effects[mark(run, "work", round)], "%s in round %s", run, round)
		}
		replied := map[string]int{}
		for r, err := range d.store.Read(d.t.Context(), checkpoint.Key{Run: run}, 1) {
			require.NoError(d.t, err)
			rec, err := machine.ReadRecord(r.Data)
			require.NoError(d.t, err)
			if r, ok := rec.(machine.Replied); ok {
				replied[r.Reply.WaitID]++
			}
		}
		require.Len(d.t, replied, 2, run)
		for id, n := range replied {
			require.Equal(d.t, 1, n, "the wait %s of %s", id, run)
		}
	}
}

// Two releases work on one store while one replaces the other. Runs that wait go on with either of
// them where they can. A run whose strategy a release does not know is parked by that name, and
// goes on with the release that knows it. None fails, and none is answered twice.
func TestRollingDeployment(t *testing.T) {
	d := newDeployment(t)
	var runs []string
	for i := range 4 {
		for _, name := range []string{"work", "old-name"} {
			run := fmt.Sprint(name, i)
			d.begin("1", name, run)
			runs = append(runs, run)
		}
	}
	d.begin("2", "new-name", "new-name0")
	runs = append(runs, "new-name0")

	older, newer := d.serve("1"), d.serve("2") // both at once
	for _, run := range []string{"work0", "old-name0", "new-name0"} {
		d.finish(run)
	}
	older.kill() // the newer one alone
	for _, run := range []string{"work1", "work2"} {
		d.finish(run)
	}
	for _, run := range []string{"old-name1", "old-name2"} {
		d.answer(run)
		head := d.until(run, status(checkpoint.StatusParked))
		require.Contains(t, head.Header.Reason, `no strategy "old-name"`)
		require.Equal(t, "2", head.Header.Version)
	}
	newer.kill() // and back
	older = d.serve("1")
	for _, run := range []string{"old-name1", "old-name2"} {
		d.until(run, func(h *checkpoint.Head) bool {
			return h.Header.Status == checkpoint.StatusWaiting && len(h.Header.Waits) == 1
		})
		d.answer(run)
		d.until(run, status(checkpoint.StatusDone))
	}
	for _, run := range []string{"work3", "old-name3"} {
		d.finish(run)
	}
	older.kill()
	d.check(runs...)
}
