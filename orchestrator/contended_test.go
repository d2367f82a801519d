package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// unfair is a store that takes a while now and then, longer than a lease at times.
type unfair struct {
	checkpoint.Memory
}

func (s *unfair) pause(ctx context.Context) error {
	d := rand.N(3 * time.Millisecond)
	if rand.N(30) == 0 {
		d = rand.N(150 * time.Millisecond)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *unfair) Append(ctx context.Context, b checkpoint.Batch) error {
	if err := s.pause(ctx); err != nil {
		return err
	}
	err := s.Memory.Append(ctx, b)
	if err == nil && rand.N(20) == 0 {
		return errDisk // although it is there
	}
	return err
}

func (s *unfair) Lease(ctx context.Context, key checkpoint.Key, writer string, d time.Duration) (checkpoint.Head, error) {
	if err := s.pause(ctx); err != nil {
		return checkpoint.Head{}, err
	}
	return s.Memory.Lease(ctx, key, writer, d)
}

// Several servers with leases that are shorter than their store is slow work on the same runs, are
// shut down in the middle and begin anew, while others ask for notes and answers: every run comes
// to its end, no call that may be made once is made twice, and no message is lost or applied twice.
func TestRecover_contended(t *testing.T) {
	const runs, servers, calls = 12, 3, 2
	store := new(unfair)
	var mu sync.Mutex
	made := map[string]int{}
	pay := tools.NewRaw(tools.Definition{Name: "pay", NeedsApproval: true}, func(_ context.Context, args string) (string, error) {
		mu.Lock()
		made[args]++
		mu.Unlock()
		return "paid", nil
	})
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		select {
		case <-ctx.Done():
			return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Err: ctx.Err()}
		case <-time.After(rand.N(10 * time.Millisecond)):
		}
		goal, n := "", 0
		for _, m := range req.Messages {
			switch m := m.(type) {
			case messages.User:
				if goal == "" { // the others are notes
					goal = fmt.Sprint(m)
				}
			case messages.Tool:
				n++
			}
		}
		if n == calls {
			return &llmclient.Response{Message: messages.AssistantText("done")}, nil
		}
		call := messages.ToolCall{ID: fmt.Sprint(n), Name: "pay", Arguments: fmt.Sprintf(`{"for":%q,"n":%d}`, goal, n)}
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}}, nil
	})
	build := func() *orchestrator.Orchestrator {
		return solver(t, client, with(pay), func(c *orchestrator.Config) {
			c.Store, c.Lease, c.InboxEvery = store, 50*time.Millisecond, 5*time.Millisecond
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range servers {
		all.Go(func() {
			for ctx.Err() == nil {
				life, end := context.WithTimeout(ctx, 100*time.Millisecond+rand.N(400*time.Millisecond))
				_ = build().Recover(life, orchestrator.Recovery{Every: 10 * time.Millisecond, Unknown: machine.UnknownTell})
				end()
			}
		})
	}
	for i := range runs {
		all.Go(func() {
			ta := task(fmt.Sprint("goal ", i))
			ta.Run = fmt.Sprint("run ", i)
			_, _ = build().Run(ctx, ta)
		})
	}
	o := build()
	key := func(i int) checkpoint.Key { return checkpoint.Key{Run: fmt.Sprint("run ", i)} }
	posted := map[int]int{}
	require.Eventually(t, func() bool {
		ended := 0
		for i := range runs {
			h, err := store.Head(ctx, key(i))
			if err != nil {
				continue
			}
			if h.Header.Status.Ended() {
				ended++
				continue
			}
			if h.Header.Status == checkpoint.StatusParked { // its lease has run out too often: nobody can tell that from a death
				all.Go(func() {
					_, _ = orchestrator.Collect(o.Resume(ctx, orchestrator.Resumption{Run: key(i).Run, Unknown: machine.UnknownTell}))
				})
			}
			for _, w := range h.Header.Waits {
				reply := machine.Reply{WaitID: w.ID, Approve: true}
				for range 2 { // twice at once
					all.Go(func() {
						var refused *machine.ReplyError
						if err := build().Answer(ctx, key(i), reply); err != nil && !errors.As(err, &refused) && ctx.Err() == nil {
							t.Error(err)
						}
					})
				}
			}
			if posted[i] < 5 && len(h.Header.Waits) > 0 {
				require.NoError(t, o.Note(ctx, key(i), fmt.Sprint("note ", posted[i])))
				posted[i]++
			}
		}
		return ended == runs
	}, 50*time.Second, 20*time.Millisecond)
	cancel()
	all.Wait()
	for args, n := range made {
		require.Equal(t, 1, n, args)
	}
	for i := range runs {
		head, err := store.Head(t.Context(), key(i))
		require.NoError(t, err)
		require.Equal(t, checkpoint.StatusDone, head.Header.Status)
		have := notesOf(t, store, key(i))
		for n, text := range have {
			require.Equal(t, fmt.Sprint("note ", n), text)
		}
		left, err := store.Posted(t.Context(), key(i))
		require.NoError(t, err)
		if len(left) == 0 {
			require.Len(t, have, posted[i])
		}
	}
	t.Logf("%d calls, notes %v", len(made), posted)
}

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
		r := startRecover(t, o, orchestrator.Recovery{})
		time.Sleep(5 * time.Minute)
		for i := range runs {
			head := headOf(t, store, fmt.Sprint("run ", i))
			require.Equal(t, checkpoint.StatusDone, head.Header.Status)
			require.EqualValues(t, 2, head.Epoch, "it was taken up once")
			require.Equal(t, []string{"a note"}, notesOf(t, store, head.Key))
		}
		r.cancel()
		<-r.done
	})
}
