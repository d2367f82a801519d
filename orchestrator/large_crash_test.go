package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// mortal is a store whose process dies at one of its writes: before it, or after it, when nobody is
// told any more that it was made.
type mortal struct {
	*checkpoint.Memory
	after bool

	mu   sync.Mutex
	left int // writes that are made
}

var errDead = errors.New("the process is dead")

func (s *mortal) write(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.left--; {
	case s.left >= 0:
		return do()
	case s.left == -1 && s.after:
		_ = do()
		return errDead
	default:
		return errDead
	}
}

func (s *mortal) Append(ctx context.Context, b checkpoint.Batch) error {
	return s.write(func() error { return s.Memory.Append(ctx, b) })
}

func (s *mortal) PutValue(ctx context.Context, key checkpoint.Key, id string, data []byte) error {
	return s.write(func() error { return s.Memory.PutValue(ctx, key, id, data) })
}

// A process may die before and after each of its writes, between a put and the append that names
// the value among them. Another one goes on, and the run ends as if nothing had happened: each
// record that names a value finds it in the store.
func TestLargeResults_crashAnywhere(t *testing.T) {
	text := numberedLines(300)
	id := idOf(t, text)
	replies := []scripted.Reply{
		scripted.Calls(scripted.Call("dump", "{}", "1")), reads("2", `{"id":%q,"offset":2000,"length":20}`, id),
		scripted.Calls(scripted.Call("dump", "{}", "3"), scripted.Call("other", "{}", "4")), scripted.Text("done"),
	}
	build := func(store checkpoint.Store, from int) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies[from:]...), with(returning("dump", text), returning("other", text+"x")), stored(store),
			keeping(orchestrator.LargeResults{Keep: 7000, Show: 300}))
	}
	outputs := func(res orchestrator.Result) (all []string) {
		for _, o := range res.Output.ToolMetas() {
			all = append(all, fmt.Sprint(o.CallID, o.Kept, o.Output))
		}
		return all
	}
	res, err := build(new(checkpoint.Memory), 0).Run(t.Context(), task("go"))
	require.NoError(t, err)
	want, died := outputs(res), 0
	for _, after := range []bool{false, true} {
		for writes := 1; ; writes++ {
			store := &mortal{Memory: new(checkpoint.Memory), left: writes, after: after}
			if _, err := build(store, 0).Run(t.Context(), task("go")); err == nil {
				break
			}
			died++
			answered := 0 // requests that were answered, as the journal says
			for _, rec := range recordsIn(t, store.Memory, "r") {
				if a, ok := rec.(machine.Answered); ok && a.Kind == machine.EffectModel {
					answered++
				}
			}
			how := resuming("r")
			how.TakeOver = true
			res, err := orchestrator.Collect(build(store.Memory, answered).Resume(t.Context(), how))
			require.NoError(t, err)
			require.Equal(t, want, outputs(res), "died at write %d", writes)
			values, err := store.Values(t.Context(), inRun("r"))
			require.NoError(t, err)
			require.Len(t, values, 2, "the same text is kept once, however often it is put")
		}
	}
	require.Greater(t, died, 10)
}
