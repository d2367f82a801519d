package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// engine drives a run as a workflow service does: any effect in any of several processes, which may
// die.
type engine struct {
	t       *testing.T
	os      []*orchestrator.Orchestrator // the processes
	rng     *rand.Rand
	kills   bool
	pokes   bool                             // the run gets notes and, perhaps, a stop
	answers func(machine.Wait) machine.Reply // nil: the run is left when it waits

	mu      sync.Mutex // of rng
	most    int        // effects that were in progress at once
	unclear int        // how often it was not known what had become of one
}

// stepped is what became of a Step.
type stepped struct {
	id       machine.EffectID
	standing orchestrator.Standing
	err      error
}

func (e *engine) chance(n int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rng.IntN(n) == 0
}

func (e *engine) any() *orchestrator.Orchestrator {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.os[e.rng.IntN(len(e.os))]
}

// run drives the run of a task to its end, or until it waits and nobody answers.
func (e *engine) run(task orchestrator.Task) orchestrator.Standing {
	e.t.Helper()
	s, err := e.any().Begin(e.t.Context(), task)
	require.NoError(e.t, err)
	if e.kills { // nobody heard of it
		s, err = e.any().Begin(e.t.Context(), task)
		require.NoError(e.t, err)
	}
	return e.drive(s)
}

func (e *engine) drive(s orchestrator.Standing) orchestrator.Standing {
	e.t.Helper()
	var err error
	busy, lost := map[machine.EffectID]bool{}, map[machine.EffectID]bool{}
	ends := make(chan stepped, 100)
	for {
		for _, x := range s.Effects {
			if !busy[x.ID] && !lost[x.ID] {
				busy[x.ID] = true
				go e.step(s.Key, x, s.Epoch, ends)
			}
		}
		e.most = max(e.most, len(busy))
		if e.pokes && s.Status == "" && e.chance(4) {
			s = e.tell(s, orchestrator.Continuation{Notes: []string{"well"}, Stop: e.chance(6), Now: e.chance(2)})
		}
		switch {
		case len(busy) > 0:
			end := <-ends
			delete(busy, end.id)
			if end.err == nil {
				s = end.standing
				break
			}
			safe := slices.ContainsFunc(s.Effects, func(x machine.Effect) bool { return x.ID == end.id && x.Safe() })
			if lost[end.id] = !safe && !errors.Is(end.err, orchestrator.ErrNotBegun); lost[end.id] {
				e.unclear++
			}
			s, err = e.any().Standing(e.t.Context(), s.Key)
			require.NoError(e.t, err)
		case len(lost) > 0:
			clear(lost)
			s = e.tell(s, orchestrator.Continuation{Unclear: true, Epoch: s.Epoch})
		case s.Status == machine.StatusWaiting && e.answers != nil:
			how := orchestrator.Continuation{}
			for _, w := range s.Waits {
				how.Replies = append(how.Replies, e.answers(w))
			}
			s = e.tell(s, how)
		default:
			require.NotEmpty(e.t, s.Status, "nothing is left to do")
			return s
		}
	}
}

// tell tells the run something, twice if the process dies before anybody hears that it has.
func (e *engine) tell(s orchestrator.Standing, how orchestrator.Continuation) orchestrator.Standing {
	e.t.Helper()
	how.After = s.Records
	key := s.Key
	for {
		s, err := e.any().Continue(e.t.Context(), key, how)
		if _, late := errors.AsType[*machine.ReplyError](err); late && e.pokes { // it has ended meanwhile
			s, err = e.any().Standing(e.t.Context(), key)
		}
		require.NoError(e.t, err)
		if !e.kills || e.chance(2) {
			return s
		}
	}
}

// step performs an effect. Its process may die before the answer is stored, or behind that.
func (e *engine) step(key checkpoint.Key, x machine.Effect, epoch int64, ends chan<- stepped) {
	ctx, cancel := context.WithCancel(e.t.Context())
	defer cancel()
	if e.kills && e.chance(4) {
		ctx = context.WithValue(ctx, dies{}, cancel)
	}
	s, err := e.any().Step(ctx, key, x.ID, epoch, nil)
	if e.kills && err == nil && x.Safe() && e.chance(3) {
		s, err = e.any().Step(e.t.Context(), key, x.ID, epoch, nil)
	}
	ends <- stepped{x.ID, s, err}
}

// dies is the key of a function in the context of an effect that its process does not survive.
type dies struct{}

// dying ends an effect together with its process, behind what it has done.
func dying(ctx context.Context, x machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
	a, err := next(ctx, x)
	if die, ok := ctx.Value(dies{}).(context.CancelFunc); ok {
		die()
		return nil, context.Canceled
	}
	return a, err
}

// journalLines returns the records of a run without what differs between two runs.
func journalLines(t *testing.T, store checkpoint.Store, run string) (lines []string) {
	t.Helper()
	for rec, err := range store.Read(t.Context(), checkpoint.Key{Run: run}, 1) {
		require.NoError(t, err)
		lines = append(lines, timelessJSON(t, rec.Data))
	}
	return lines
}

// toldOf returns the events of a run that its records tell.
func toldOf(t *testing.T, o *orchestrator.Orchestrator, run string) (lines []string) {
	t.Helper()
	for e, err := range o.Follow(t.Context(), checkpoint.Key{Run: run}, orchestrator.Position{}) {
		if require.NotEmpty(t, e.Kind, "%v", err); e.Index > 0 {
			text, err := json.Marshal(e)
			require.NoError(t, err)
			lines = append(lines, timelessJSON(t, text))
		}
	}
	return lines
}

func timelessJSON(t *testing.T, text []byte) string {
	t.Helper()
	var all any
	require.NoError(t, json.Unmarshal(text, &all))
	dropTimes(all)
	text, err := json.Marshal(all)
	require.NoError(t, err)
	return string(text)
}

func dropTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"at", "elapsed", "time"} {
			delete(v, name)
		}
		for _, inner := range v {
			dropTimes(inner)
		}
	case []any:
		for _, inner := range v {
			dropTimes(inner)
		}
	}
}

// A run that another engine drives, in several processes that die, comes to what it comes to in the
// loop. If one effect is in progress at a time, and nobody dies, its records and events are the
// same.
func TestEngine_asTheLoop(t *testing.T) {
	for seed := range uint64(prove.CasesOr(100)) {
		rng := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a seed is what is wanted
		p := drawProgram(rng)
		here, there := world{paid: map[string]int{}}, world{paid: map[string]int{}}
		byLoop, byEngine := new(checkpoint.Memory), new(checkpoint.Memory)

		loop := p.process(t, &here, byLoop)
		want, err := loop.Run(t.Context(), task("go"))
		for want.Status == machine.StatusWaiting && err == nil {
			var replies []machine.Reply
			for _, w := range want.Waits {
				replies = append(replies, here.reply(w))
			}
			want, err = orchestrator.Collect(loop.Resume(t.Context(), resuming("r", replies...)))
		}
		e := engine{t: t, rng: rng, kills: seed%2 == 1, answers: there.reply}
		for range 3 {
			e.os = append(e.os, p.process(t, &there, byEngine))
		}
		got := e.run(task("go"))
		require.Equal(t, want.Status, got.Status, "seed %d", seed)
		require.Equal(t, timeless(want.Output).Text(), timeless(got.Result.Output).Text(), "seed %d: %v", seed, p)
		for key, n := range there.paid {
			require.True(t, n == 1 || e.kills, "seed %d: %s was done %d times", seed, key, n)
		}
		if !e.kills && e.most == 1 {
			require.Equal(t, journalLines(t, byLoop, "r"), journalLines(t, byEngine, "r"), "seed %d", seed)
			require.Equal(t, toldOf(t, loop, "r"), toldOf(t, e.any(), "r"), "seed %d", seed)
		}
		head := headOf(t, byEngine, "r")
		require.True(t, head.Header.Status.Ended())
		require.Zero(t, head.Lease, "nobody has it any more")
	}
}
