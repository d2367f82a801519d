package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// The loop makes a failure of what a middleware or a client answers wrongly.
func TestLoop_wrongAnswersAreFailures(t *testing.T) {
	refuses := func(t *testing.T, client llmclient.Client, answer func(nextstep.Answer) nextstep.Answer, want string) {
		t.Helper()
		o, err := orchestrator.New(orchestrator.Config{
			Client:     client,
			Strategies: strategy.Set{"solve": caller},
			Middleware: []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
				return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
					a, err := next(ctx, e)
					return answer(a), err
				}
			}},
		})
		require.NoError(t, err)
		res, err := o.Run(t.Context(), task("x"))
		require.ErrorContains(t, err, want)
		require.Equal(t, machine.StatusFailed, res.Status)
		require.GreaterOrEqual(t, res.Output.Usage.Total, int64(0))
	}
	same := func(a nextstep.Answer) nextstep.Answer { return a }
	t.Run("middleware", func(t *testing.T) {
		refuses(t, scripted.New(scripted.Text("x")), func(a nextstep.Answer) nextstep.Answer {
			resp := *a.(nextstep.APIResponse).Response
			resp.Usage.Output = -5
			return nextstep.APIResponse{Response: &resp}
		}, "its reply reports a negative usage")
	})
	negative := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Message: messages.AssistantText("x"), Usage: messages.Usage{Input: -1}}, nil
	})
	t.Run("client", func(t *testing.T) { refuses(t, negative, same, "the client's reply reports a negative usage") })
	failing := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return nil, &llmclient.Error{Code: llmclient.CodeAuth, Message: "no", Usage: messages.Usage{Input: -1}}
	})
	t.Run("error of a client", func(t *testing.T) { refuses(t, failing, same, "no") })
}
