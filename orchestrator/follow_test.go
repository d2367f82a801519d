package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
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
	"github.com/segue-go/segue/tools"
)

// heard is what somebody has heard who follows a run.
type heard struct {
	events []machine.Event
	last   time.Time // when the last event came
	err    error
	over   atomic.Bool
}

func (h *heard) deltas() (text string) {
	for _, e := range h.events {
		if e.Kind == machine.EventTextDelta {
			text += e.Text
		}
	}
	return text
}

// startFollowing follows the run r on a goroutine of its own.
func startFollowing(ctx context.Context, o *orchestrator.Orchestrator, after orchestrator.Position, each func(machine.Event)) *heard {
	h := new(heard)
	go func() {
		defer h.over.Store(true)
		for e, err := range o.Follow(ctx, checkpoint.Key{Run: "r"}, after) {
			if h.err = err; e.Kind != "" {
				h.events, h.last = append(h.events, e), time.Now()
			}
			if each != nil {
				each(e)
			}
		}
	}()
	return h
}

// A run that has ended is told from any place in it.
func TestFollow_ended(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("look", "{}", "1")), scripted.Text("done")), stored(store), with(echo("look")))
	told := watched(t, o, task("go"))
	told = fromMachine(told)
	for i := range told {
		again, err := all(t, o.Follow(t.Context(), checkpoint.Key{Run: "r"}, orchestrator.PositionOf(told[i])))
		require.NoError(t, err)
		require.Equal(t, told[i+1:], append([]machine.Event{}, fromMachine(again)...), "behind %s", orchestrator.PositionOf(told[i]))
	}
	again, err := all(t, o.Follow(t.Context(), checkpoint.Key{Run: "r"}, orchestrator.Position{}))
	require.NoError(t, err)
	require.Equal(t, told, fromMachine(again))
	_, err = all(t, o.Follow(t.Context(), checkpoint.Key{Run: "nobody"}, orchestrator.Position{}))
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
}

// Who follows a run hears of it at once in its process, the deltas too, and within a second in
// another. A follower that takes a minute for each event loses none that the journal has, and the
// run does not wait for it.
func TestFollow_live(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		model := llmclient.ClientFunc(func(_ context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
			for _, piece := range []string{"We", "ll"} {
				time.Sleep(10 * time.Second)
				onDelta(llmclient.Delta{Kind: llmclient.DeltaText, Text: piece})
			}
			time.Sleep(10*time.Second + 500*time.Millisecond)
			return &llmclient.Response{Message: messages.AssistantText("Well")}, nil
		})
		here := solver(t, model, stored(store))
		elsewhere := solver(t, scripted.New(), stored(store))
		began := time.Now()
		var told []machine.Event
		over := make(chan time.Duration)
		go func() {
			for e := range here.Stream(t.Context(), task("go")) {
				told = append(told, e)
			}
			over <- time.Since(began)
		}()
		synctest.Wait()
		near := startFollowing(t.Context(), here, orchestrator.Position{}, nil)
		far := startFollowing(t.Context(), elsewhere, orchestrator.Position{}, nil)
		slow := startFollowing(t.Context(), here, orchestrator.Position{}, func(machine.Event) { time.Sleep(time.Minute) })
		gone := 0
		go func() {
			for range here.Follow(t.Context(), checkpoint.Key{Run: "r"}, orchestrator.Position{}) {
				if gone++; gone == 2 {
					return
				}
			}
		}()
		require.Equal(t, 30500*time.Millisecond, <-over)
		synctest.Wait()
		require.True(t, near.over.Load())
		require.Equal(t, 30500*time.Millisecond, near.last.Sub(began))
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, far.over.Load())
		require.Equal(t, 31*time.Second, far.last.Sub(began))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.True(t, slow.over.Load())
		require.Equal(t, 2, gone)
		for name, h := range map[string]*heard{"near": near, "far": far, "slow": slow} {
			require.NoError(t, h.err)
			require.Equal(t, fromMachine(told), fromMachine(h.events), name)
		}
		require.Equal(t, "Well", near.deltas())
		require.Empty(t, far.deltas(), "they are kept nowhere")
		require.Equal(t, "Well", slow.deltas(), "few enough to be kept for it")
		for name, h := range map[string]*heard{"near": near, "slow": slow} {
			list := kinds(h.events)
			require.Less(t, slices.Index(list, machine.EventTextDelta), slices.Index(list, machine.EventStepTaken), name)
		}
	})
}

// A run that waits is followed on, through the replies of other processes, to its end.
func TestFollow_waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		build := scriptedBy(t, stored(store), with(tools.AskUser()))
		res := ran(t, build(scripted.Calls(question("Which?", "1"))), task("go"))
		h := startFollowing(t.Context(), build(), orchestrator.Position{}, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.False(t, h.over.Load())
		require.Equal(t, machine.EventWaitStarted, h.events[len(h.events)-1].Kind)
		_, err := resumed(t, build(), "r")
		require.NoError(t, err, "somebody looks at it")
		watchedOn(t, build(scripted.Text("done")), "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "that"})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.True(t, h.over.Load())
		require.NoError(t, h.err)
		require.Equal(t, machine.StatusDone, finished(t, h.events).Status)
		seen := map[orchestrator.Position]bool{}
		for _, e := range h.events {
			require.False(t, seen[orchestrator.PositionOf(e)], "twice")
			seen[orchestrator.PositionOf(e)] = true
		}
	})
}

// Who follows outlives a store that fails for a while, and not one that fails for long. A context
// that is done ends it with its cause.
func TestFollow_storeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		store := troubledBy(func(_ context.Context, method string, _ *checkpoint.Batch) error {
			if method == "Read" && fails.Load() {
				return errors.New("no route")
			}
			return nil
		})
		o := solver(t, scripted.New(scripted.Calls(question("Which?", "1"))), with(tools.AskUser()), func(c *orchestrator.Config) { c.Store = store })
		ran(t, o, task("go"))
		h := startFollowing(t.Context(), o, orchestrator.Position{}, nil)
		time.Sleep(time.Minute)
		fails.Store(true)
		time.Sleep(8 * time.Second)
		fails.Store(false)
		time.Sleep(time.Minute)
		require.False(t, h.over.Load())
		fails.Store(true)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.True(t, h.over.Load())
		require.ErrorContains(t, h.err, "no route")

		fails.Store(false)
		ctx, cancel := context.WithCancelCause(t.Context())
		h = startFollowing(ctx, o, orchestrator.Position{}, nil)
		time.Sleep(time.Second)
		cancel(errors.New("enough"))
		synctest.Wait()
		require.True(t, h.over.Load())
		require.EqualError(t, h.err, "enough")
	})
}

func TestPosition(t *testing.T) {
	text, err := orchestrator.Position{Record: 7, Index: 2}.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "7/2", string(text))
	var p orchestrator.Position
	require.NoError(t, p.UnmarshalText(text))
	require.Equal(t, orchestrator.Position{Record: 7, Index: 2}, p)
	for _, wrong := range []string{"", "7", "/", "7/x", "-1/2", "1/-2", "1/2/3"} {
		require.Error(t, p.UnmarshalText([]byte(wrong)), wrong)
	}
}

// A client that cuts characters in two tells pieces that are no text. Who follows gets the whole
// reply when it is stored.
func TestFollow_halfCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reply = "aé日b"
		model := llmclient.ClientFunc(func(_ context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
			time.Sleep(time.Second)
			for i := range len(reply) {
				onDelta(llmclient.Delta{Kind: llmclient.DeltaText, Text: reply[i : i+1]})
			}
			time.Sleep(time.Second)
			return &llmclient.Response{Message: messages.AssistantText(reply)}, nil
		})
		o := solver(t, model, stored(new(checkpoint.Memory)))
		go func() {
			for range o.Stream(t.Context(), task("go")) { // to its end
			}
		}()
		synctest.Wait()
		text := ""
		for e, err := range o.Follow(t.Context(), keyOfRun, orchestrator.Position{}) {
			require.NoError(t, err)
			switch d := e.Detail.(type) {
			case machine.StepSnapshot:
				text = d.Text
			case nil:
				text += strings.ToValidUTF8(e.Text, "\ufffd") // as JSON does
			default:
			}
		}
		require.Equal(t, reply, text)
	})
}
