package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// lateList lets something happen between a list and what its reader does with it.
type lateList struct {
	checkpoint.Store
	lister checkpoint.Lister
	then   func()
}

func (s *lateList) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	page, err := s.lister.List(ctx, q)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return page, err
}

// slowTurn begins the turn "a", whose model waits until release is closed.
func slowTurn(t *testing.T, store checkpoint.Store, change func(*orchestrator.Config)) (slow *orchestrator.Orchestrator, release chan struct{}, over chan orchestrator.Result) {
	t.Helper()
	asked := make(chan struct{})
	release, over = make(chan struct{}), make(chan orchestrator.Result, 1)
	slow = solver(t, always(func(*llmclient.Request) scripted.Reply {
		close(asked)
		<-release
		return scripted.Text("late")
	}), stored(store), change)
	go func() {
		res, _ := slow.Run(context.WithoutCancel(t.Context()), turn("a"))
		over <- res
	}()
	waittest.Receive(t, asked)
	return slow, release, over
}

// A turn that ended while the next one was to take it over stays as it ended.
func TestSession_endedBeforeTakeOver(t *testing.T) {
	none := func(c *orchestrator.Config) { c.Lease = -1 }
	store := new(checkpoint.Memory)
	_, release, over := slowTurn(t, store, none)
	list := &lateList{Store: store, lister: store, then: func() {
		close(release)
		require.Equal(t, machine.StatusDone, waittest.Receive(t, over).Status)
	}}
	next := turn("b")
	next.TakeOver = true
	ran(t, solver(t, scripted.New(scripted.Text("ok")), stored(list), none), next)
	head, err := store.Head(t.Context(), checkpoint.Key{Run: "chat.1"})
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusDone, head.Header.Status)
	require.Empty(t, head.Header.Reason)
}
