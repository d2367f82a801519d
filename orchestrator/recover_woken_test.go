package orchestrator_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// What is posted to a run on which nobody works wakes a Recover of the same Orchestrator; another
// one finds it when it looks next.
func TestRecover_woken(t *testing.T) {
	post := map[string]func(*testing.T, *orchestrator.Orchestrator, machine.Wait) error{
		"a reply": func(t *testing.T, o *orchestrator.Orchestrator, w machine.Wait) error {
			return o.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: w.ID, Approve: true})
		},
		"a stop": func(t *testing.T, o *orchestrator.Orchestrator, _ machine.Wait) error {
			return o.Stop(t.Context(), keyOfRun, "enough", true)
		},
	}
	for name, post := range post {
		for _, here := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", here), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := new(checkpoint.Memory)
					w := waitingRun(t, store)
					o := goingOn(t, store, scripted.Text("done"))
					startRecover(t, o, orchestrator.Recovery{Every: time.Minute})
					time.Sleep(time.Second)
					by := o
					if !here {
						by = goingOn(t, store)
					}
					require.NoError(t, post(t, by, w))
					synctest.Wait()
					require.Equal(t, here, headOf(t, store, "r").Header.Status.Ended())
					time.Sleep(2 * time.Minute)
					require.True(t, headOf(t, store, "r").Header.Status.Ended())
				})
			})
		}
	}
}

// A Recover that is woken again and again looks for runs of dead processes as often as before.
func TestRecover_wokenOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		waitingRun(t, store)
		o := goingOn(t, store, scripted.Text("done"))
		startRecover(t, o, orchestrator.Recovery{Every: 10 * time.Second})
		time.Sleep(time.Second)
		dead := checkpoint.Key{Run: "dead"}
		require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
			Key: dead, Writer: "dead", Epoch: 1, Header: &checkpoint.Header{Status: checkpoint.StatusRunning}, Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: []byte("{}")}},
		}))
		for range 15 {
			require.NoError(t, o.Note(t.Context(), keyOfRun, "a note"))
			time.Sleep(time.Second)
		}
		require.Equal(t, checkpoint.StatusParked, headOf(t, store, "dead").Header.Status, "it has no records")
	})
}

// A reply to a wait that there is not, or to none, is told which waits there are.
func TestReply_namesTheWaits(t *testing.T) {
	store := new(checkpoint.Memory)
	w := waitingRun(t, store)
	o := goingOn(t, store, scripted.Text("done"))
	for id, problem := range map[string]string{
		"other": `machine: run "r": the reply to the wait "other" cannot be taken: the run does not wait for it; its waits are "` + w.ID + `" (approval`,
		"":      `machine: run "r": the reply cannot be taken: it names no wait; its waits are "` + w.ID + `" (approval`,
	} {
		_, resumed := orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: id, Approve: true})))
		posted := o.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: id, Approve: true})
		require.EqualError(t, resumed, problem+" of risky)")
		require.EqualError(t, posted, problem+")")
	}
	require.ErrorContains(t, o.Note(t.Context(), keyOfRun, ""), `machine: run "r": this cannot be said to it: `)
}
