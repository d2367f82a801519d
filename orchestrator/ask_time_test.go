package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A person's time is not the tool's: while somebody is asked, the time-out of the tool stands
// still, and goes on afterwards, with a middleware and without one.
func TestAsk_timeIsNotTheTools(t *testing.T) {
	const timeout = time.Minute
	for _, wrapped := range []bool{false, true} {
		for after, want := range map[time.Duration]string{39 * time.Second: "", time.Hour: tools.ReasonTimeout} {
			synctest.Test(t, func(t *testing.T) {
				slow := tools.NewRaw(tools.Definition{Name: "slow", Timeout: timeout}, func(ctx context.Context, _ string) (string, error) {
					time.Sleep(20 * time.Second)
					word, err := tools.Ask(ctx, tools.Question{Text: "Which?"})
					select {
					case <-time.After(after):
						return word, err
					case <-ctx.Done():
						return "", context.Cause(ctx)
					}
				})
				o := solver(t, scripted.New(scripted.Calls(scripted.Call("slow", "{}", "1")), scripted.Text("done")), with(slow), func(c *orchestrator.Config) {
					c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
						time.Sleep(10 * time.Hour)
						return machine.Reply{Text: "that"}, nil
					}
					if wrapped {
						c.Middleware = []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler { return next }}
					}
				})
				res := ran(t, o, task("go"))
				got := res.Output.ToolMetas()[0]
				require.Equal(t, want, got.Reason, got.Output)
				require.Equal(t, min(20*time.Second+after, timeout), got.Elapsed)
			})
		}
	}
}
