package orchestrator_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A store that fails stops the run at that place, and loses nothing that it has: whoever resumes
// the run asks no model again whose answer is stored, and pays again only if a person says so.
func TestJournal_storeFails(t *testing.T) {
	full := errors.New("the disk is full")
	ended := false
	for from := 1; !ended; from++ {
		t.Run(fmt.Sprintf("record %d", from), func(t *testing.T) {
			var looked, paid, asked atomic.Int32
			list := []tools.Tool{counted("look", &looked, tools.Definition{Name: "look", ReadOnly: true}), counted("pay", &paid)}
			build := func(store checkpoint.Store) *orchestrator.Orchestrator {
				return solver(t, always(func(req *llmclient.Request) scripted.Reply {
					asked.Add(1)
					switch len(req.Messages) {
					case 1:
						return scripted.Calls(callsTo("look")...)
					case 3:
						return scripted.Calls(callsTo("pay")...)
					default:
						return scripted.Text("done")
					}
				}), stored(store), with(list...))
			}
			disk := failsFrom(from, func() error { return full })
			res, err := build(disk).Run(t.Context(), task("go"))
			if ended = err == nil; ended {
				return
			}
			require.ErrorIs(t, err, full)
			if from == 1 {
				require.Equal(t, machine.StatusFailed, res.Status)
				require.Zero(t, asked.Load(), "nothing was begun")
				return
			}
			require.Equal(t, machine.StatusInterrupted, res.Status)
			require.Equal(t, delegation.CodeStorage, res.Output.Err.Code)
			before := paid.Load()
			res = goOn(t, build(disk.Memory), "r")
			if res.Status == machine.StatusWaiting {
				require.EqualValues(t, 1, before)
				require.EqualValues(t, 1, paid.Load(), "it is not paid again without a person's word")
				require.Equal(t, machine.WaitUnknown, res.Waits[0].Kind)
				res = goOn(t, build(disk.Memory), "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "it was paid"})
			}
			require.Equal(t, "done", res.Output.Text())
			require.EqualValues(t, 1, paid.Load())
			require.LessOrEqual(t, asked.Load(), int32(4), "only what was not stored is asked again")
			require.LessOrEqual(t, looked.Load(), int32(2))
		})
	}
}
