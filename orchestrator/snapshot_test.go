package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// repeating is a model that says a piece every second, so many times.
func repeating(piece string, times int) llmclient.Client {
	return llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		for range times {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, &llmclient.Error{Code: llmclient.CodeTimeout, Partial: messages.AssistantText("cut"), Err: ctx.Err()}
			}
			if onDelta != nil {
				onDelta(llmclient.Delta{Text: piece})
			}
		}
		return &llmclient.Response{Message: messages.AssistantText(strings.Repeat(piece, times))}, nil
	})
}

// joinedOf returns the text that a reader has of the first step, and how often it was replaced.
func (h *heard) joinedOf() (text string, snapshots []machine.StepSnapshot) {
	for _, e := range h.events {
		if d, ok := e.Detail.(machine.StepSnapshot); ok {
			text, snapshots = d.Text, append(snapshots, d)
		}
		if e.Kind == machine.EventTextDelta {
			text += e.Text
		}
	}
	return text, snapshots
}

// Who comes in the middle of a step has one snapshot of what has come, and then the rest of it; who
// comes too late, or far away, or to a run that is not streamed, has it whole, and is told so
// before.
func TestFollow_snapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		here, far := solver(t, repeating("ab", 10), stored(store)), solver(t, scripted.New(), stored(store))
		go func() { _, _ = collect(t, here, task("go")) }() //nolint:testifylint // it ends before the test
		synctest.Wait()
		first := startFollowing(t.Context(), here, orchestrator.Position{}, nil)
		time.Sleep(3500 * time.Millisecond)
		near := startFollowing(t.Context(), here, orchestrator.Position{}, nil)
		back := startFollowing(t.Context(), here, orchestrator.Position{Record: 1, Index: 2}, nil)
		away := startFollowing(t.Context(), far, orchestrator.Position{}, nil)
		time.Sleep(time.Minute)
		late := startFollowing(t.Context(), far, orchestrator.Position{Record: 1, Index: 2}, nil)
		synctest.Wait()
		whole := strings.Repeat("ab", 10)
		for h, want := range map[*heard][]machine.StepSnapshot{
			first: nil,
			near:  {{Text: "ababab"}},
			back:  {{Text: "ababab"}},
			away:  {{Later: true}, {Text: whole, Whole: true}},
			late:  {{Text: whole, Whole: true}},
		} {
			require.True(t, h.over.Load())
			text, snapshots := h.joinedOf()
			require.Equal(t, whole, text)
			require.Equal(t, want, snapshots)
		}
		require.Empty(t, away.deltas())
	})
}

// A follower that is further behind than is kept for it, and a reply that is longer than is kept.
func TestFollow_behind(t *testing.T) {
	for name, c := range map[string]struct {
		piece string
		times int
		later bool
	}{"many pieces": {"x", 3000, false}, "a long reply": {strings.Repeat("y", 1<<19), 10, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := solver(t, repeating(c.piece, c.times), stored(new(checkpoint.Memory)), func(cfg *orchestrator.Config) { cfg.Timeouts.Model, cfg.Repetition.Times = -1, -1 })
				go func() { _, _ = collect(t, o, task("go")) }() //nolint:testifylint // it ends before the test
				synctest.Wait()
				busy := startFollowing(t.Context(), o, orchestrator.Position{}, func(e machine.Event) {
					if e.Text != "" {
						time.Sleep(time.Duration(c.times-100) * time.Second)
					}
				})
				time.Sleep(5500 * time.Millisecond)
				joins := startFollowing(t.Context(), o, orchestrator.Position{}, nil)
				time.Sleep(10 * time.Hour * 3000)
				synctest.Wait()
				for _, h := range []*heard{busy, joins} {
					require.True(t, h.over.Load())
					text, snapshots := h.joinedOf()
					require.Equal(t, c.times, strings.Count(text, c.piece), name)
					if h == joins {
						require.Equal(t, c.later, snapshots[0].Later)
					}
				}
			})
		})
	}
}

// A step that is begun again, by whoever, does not continue what was told of it before.
func TestFollow_stepBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := struct{ checkpoint.Store }{new(checkpoint.Memory)} // without leases: another process takes a run over at once
		here, there := solver(t, repeating("old", 100), stored(store)), solver(t, repeating("new", 10), stored(store))
		go func() { _, _ = collect(t, here, task("go")) }() //nolint:testifylint // it ends before the test
		synctest.Wait()
		both := map[string]*heard{
			"here": startFollowing(t.Context(), here, orchestrator.Position{}, nil), "there": startFollowing(t.Context(), there, orchestrator.Position{}, nil),
		}
		time.Sleep(5500 * time.Millisecond)
		go func() { _, _ = resumed(t, there, "r") }() //nolint:testifylint // it ends before the test
		time.Sleep(time.Hour)
		synctest.Wait()
		for name, h := range both {
			require.True(t, h.over.Load(), name)
			text, snapshots := h.joinedOf()
			require.Equal(t, strings.Repeat("new", 10), text, "%s %s", name, fmt.Sprint(snapshots))
		}
	})
}
