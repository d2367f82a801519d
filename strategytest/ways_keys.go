package strategytest

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// keys gives the steps that are effects names that do not depend on how a run is made. The numbers
// of steps depend on the order in which branches take them; the key is the frame, and the number of
// its earlier steps that were effects.
type keys struct {
	mu    sync.Mutex
	steps map[string][]int // the numbers of these steps, by frame
}

// newKeys returns the keys of a run that continues after these records. Effects without an answer
// in them are performed again.
func newKeys(records []machine.Record) *keys {
	k := &keys{steps: map[string][]int{}}
	for _, r := range records {
		if a, ok := r.(machine.Answered); ok {
			k.of(a.Frame, a.Effect.Seq)
		}
	}
	return k
}

// of returns the key of a step. A new step is the next of its frame.
func (k *keys) of(frame string, seq int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.Index(k.steps[frame], seq)
	if i < 0 {
		i = len(k.steps[frame])
		k.steps[frame] = append(k.steps[frame], seq)
	}
	return frame + "#" + strconv.Itoa(i+1)
}

// last returns the key of the last such step of a frame.
func (k *keys) last(frame string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return frame + "#" + strconv.Itoa(len(k.steps[frame]))
}

// keyed is the context key for the key of an effect's step.
type keyed struct{}

// around is a middleware that adds to the context of each effect its key.
func (k *keys) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		return next(context.WithValue(ctx, keyed{}, k.of(e.Frame, e.ID.Seq)), e)
	}
}

// keyOf returns the key in a context.
func keyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyed{}).(string)
	return key
}

// passed reports whether a run continued after a step in which it should be stopped: it was broken
// off in between, and the journal has the answer but not the stop.
func (k *keys) passed(records []machine.Record, key string) (passed bool) {
	for _, r := range records {
		switch r := r.(type) {
		case machine.Stopped:
			return false
		case machine.Answered:
			passed = passed || r.Effect.Index <= 1 && k.of(r.Frame, r.Effect.Seq) == key
		}
	}
	return passed
}
