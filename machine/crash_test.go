package machine_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

// A run that breaks off after any of its records, and goes on from its journal, ends as it would
// have ended: where answers depend on nothing but the effect. A call whose result is stored is not
// made again.
func TestCrash_endsAsItWouldHave(t *testing.T) {
	cases(t, func(t *rapid.T) {
		cfg := policy(t, generated(program(t, false)))
		w := world{agreeable: chance(t, 2) == 0}
		whole := drive(t, cfg, machine.Started{
			Strategy: "p0", Input: delegation.Input{Goal: "go"}, Parallel: []int{1, 2, 4, 0}[chance(t, 4)],
			Limits: delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1, Handoffs: -1},
		})
		whole.finish(t, w)
		for range min(4, len(whole.records)-1) {
			cut := 1 + chance(t, len(whole.records)-1)
			e := &engine{t: t, cfg: cfg, now: whole.now, records: whole.records, known: maps.Clone(whole.known), made: map[string]int{}}
			e.crash(len(whole.records) - cut)
			if chance(t, 4) == 0 {
				e.looks(t)
			}
			e.resume(machine.Resumed{})
			e.finish(t, w)
			require.Equal(t, whole.m.Output(), e.m.Output(), "broken off after %d records", cut)
			for _, r := range whole.records[:cut] {
				if r, ok := r.(machine.Answered); ok {
					require.Zero(t, e.made[r.Effect.String()], "%s has its answer", r.Effect)
				}
			}
			e.replays(through)
		}
	})
}

// finish goes on with a run until it ends.
func (e *engine) finish(t *rapid.T, w world) {
	for turns := 0; !e.m.Done(); turns++ {
		require.Less(t, turns, 10_000)
		e.turn(w, chance(t, 1<<20))
	}
}

// looks folds the journal twice, as somebody does who wants to know what the run waits for, and
// holds that what people are asked is the same.
func (e *engine) looks(t *rapid.T) {
	look := func() (ids []string) {
		m := fold(t, e.cfg, e.records)
		require.NoError(t, m.Apply(machine.Resumed{At: e.now.Add(1)}))
		for _, w := range m.Waits() {
			ids = append(ids, fmt.Sprintf("%s %s", w.Kind, w.ID))
		}
		return ids
	}
	require.True(t, slices.Equal(look(), look()))
}
