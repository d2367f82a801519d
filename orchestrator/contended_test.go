package orchestrator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// A thousand runs are left over when a server starts, each with a message: all of them come to
// their end, and each is taken up once although it is listed twice. Every test run has fewer.
func TestRecover_thousandRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := prove.DepthOr(200, 1000)
		store := new(checkpoint.Memory)
		client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Err: ctx.Err()}
			}
			return &llmclient.Response{Message: messages.AssistantText("done")}, nil
		})
		o := solver(t, client, stored(store))
		dead, die := context.WithCancelCause(context.Background())
		var all sync.WaitGroup
		for i := range runs {
			all.Go(func() {
				ta := task("go")
				ta.Run = fmt.Sprint("run ", i)
				_, _ = o.Run(dead, ta)
			})
		}
		time.Sleep(time.Millisecond)
		die(orchestrator.ErrInterrupted)
		all.Wait()
		for i := range runs {
			require.NoError(t, o.Note(t.Context(), checkpoint.Key{Run: fmt.Sprint("run ", i)}, "a note"))
		}
		startRecover(t, o, orchestrator.Recovery{})
		time.Sleep(5 * time.Minute)
		for i := range runs {
			head := headOf(t, store, fmt.Sprint("run ", i))
			require.Equal(t, checkpoint.StatusDone, head.Header.Status)
			require.EqualValues(t, 2, head.Epoch, "it was taken up once")
			require.Equal(t, []string{"a note"}, notesOf(t, store, head.Key))
		}
	})
}
