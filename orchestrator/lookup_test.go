package orchestrator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A call that may have had its effect when the process died is looked up, where its tool can: it is
// not made again, or made since it had no effect, or a person is asked as ever.
func TestLookup(t *testing.T) {
	cases := map[string]struct {
		look   func(context.Context, string, string) (string, bool, error)
		result string
		paid   int32
		waits  bool
	}{
		"had its effect": {func(_ context.Context, key, _ string) (string, bool, error) { return "paid as " + key, true, nil }, "paid as r/2/1", 0, false},
		"had none":       {func(context.Context, string, string) (string, bool, error) { return "", false, nil }, "did pay", 1, false},
		"cannot be known": {func(context.Context, string, string) (string, bool, error) {
			return "", false, errors.New("the bank is closed")
		}, "", 0, true},
		"panics": {func(context.Context, string, string) (string, bool, error) { panic("bank") }, "", 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			whole := new(checkpoint.Memory)
			var paid atomic.Int32
			build := func(store checkpoint.Store, look func(context.Context, string, string) (string, bool, error), script ...scripted.Reply) *orchestrator.Orchestrator {
				return solver(t, scripted.New(script...), stored(store), with(tools.WithLookup(counted("pay", &paid), look)))
			}
			ran(t, build(whole, c.look, scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done")), task("go"))
			paid.Store(0)
			left := died(t, whole, 3, 0) // started, answered, intended
			res := goOn(t, build(left, c.look, scripted.Text("done")), "r")
			require.Equal(t, c.paid, paid.Load())
			if c.waits {
				require.Equal(t, machine.WaitUnknown, res.Waits[0].Kind)
				return
			}
			require.Equal(t, machine.StatusDone, res.Status)
			require.Equal(t, c.result, res.Output.ToolMetas()[0].Output)
			require.Equal(t, messages.StatusOK, res.Output.ToolMetas()[0].Status)
		})
	}
}
