package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/orchestrator"
)

// A run with a message that nobody can read is not taken each time that Recover looks.
func TestRecover_unreadableMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troubledBy(func(_ context.Context, method string, _ *checkpoint.Batch) error {
			if method == "Posted" {
				return checkpoint.ErrCorrupt
			}
			return nil
		})
		waitingRun(t, store)
		require.NoError(t, store.Post(t.Context(), checkpoint.Message{ID: "m", Key: keyOfRun, Data: []byte("?")}))
		startRecover(t, goingOn(t, store), orchestrator.Recovery{Every: time.Second})
		time.Sleep(10 * time.Minute)
		require.InDelta(t, 600/3, headOf(t, store, "r").Epoch, 20)
		require.Equal(t, checkpoint.StatusWaiting, headOf(t, store, "r").Header.Status)
	})
}
