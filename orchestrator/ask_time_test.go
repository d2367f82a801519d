package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A person's time is not the tool's: while somebody is asked, the time-out of the tool stands
// still. Afterwards it goes on, and cuts off what takes too long, even if the tool takes no notice.
func TestAsk_timeIsNotTheTools(t *testing.T) {
	const timeout = time.Minute
	for name, tt := range map[string]struct {
		before, after time.Duration // for how long the tool works
		deaf          bool          // it takes no notice of its context
		wrapped       bool          // there is a middleware
		want          string        // the reason of the result
		elapsed       time.Duration
	}{
		"in time":           {before: 20 * time.Second, after: 39 * time.Second, elapsed: 59 * time.Second},
		"in a middleware":   {before: 20 * time.Second, after: 39 * time.Second, wrapped: true, elapsed: 59 * time.Second},
		"at the last":       {before: timeout - 1, elapsed: timeout - 1},
		"too long after it": {before: 20 * time.Second, after: time.Hour, want: tools.ReasonTimeout, elapsed: timeout},
		"deaf":              {before: 20 * time.Second, after: time.Hour, deaf: true, want: tools.ReasonTimeout, elapsed: timeout + tools.DefaultGrace},
		"too long before":   {before: 2 * timeout, want: tools.ReasonTimeout, elapsed: timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				work := func(ctx context.Context, d time.Duration) error {
					if tt.deaf {
						time.Sleep(d)
						return nil
					}
					select {
					case <-time.After(d):
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				slow := tools.NewRaw(tools.Definition{Name: "slow", Timeout: timeout}, func(ctx context.Context, _ string) (string, error) {
					if err := work(ctx, tt.before); err != nil {
						return "", err
					}
					word, err := tools.Ask(ctx, tools.Question{Text: "Which?"})
					return word, errors.Join(err, work(ctx, tt.after))
				})
				o := solver(t, scripted.New(scripted.Calls(scripted.Call("slow", "{}", "1")), scripted.Text("done")), with(slow), func(c *orchestrator.Config) {
					c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
						time.Sleep(10 * time.Hour)
						return machine.Reply{Text: "that"}, nil
					}
					if tt.wrapped {
						c.Middleware = []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler { return next }}
					}
				})
				res, err := o.Run(t.Context(), task("go"))
				require.NoError(t, err)
				got := res.Output.ToolMetas()[0]
				require.Equal(t, tt.want, got.Reason, got.Output)
				if tt.want == "" {
					require.Equal(t, "that", got.Output)
				} else {
					require.Equal(t, messages.StatusUnknown, got.Status)
				}
				require.Equal(t, tt.elapsed, got.Elapsed)
				time.Sleep(2 * time.Hour) // what took no notice ends
			})
		})
	}
}
