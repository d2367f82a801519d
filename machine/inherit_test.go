package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// heir is a caller of agents that receives their outputs.
type heir struct {
	*scene
	got    *[]strategy.BranchOutput
	breaks bool
}

func (h heir) InheritBranches(outs []strategy.BranchOutput) {
	*h.got = append(*h.got, outs...)
	if h.breaks {
		panic("no heir")
	}
}

// inheriting begins a run of an heir that has called an agent twice, in two branches each, and an
// agent whose strategy is unknown.
func inheriting(t *testing.T, breaks bool) (e *engine, got *[]strategy.BranchOutput) {
	got = new([]strategy.BranchOutput)
	main := caller("worker", "lost")
	worker := func() *scene {
		return &scene{
			Start: func(in delegation.Input) nextstep.NextStep { return ask(in.Goal) },
			Reply: func(r llmclient.Response) nextstep.NextStep { return done(r.Message.Text()) },
		}
	}
	e = begin(t, map[string]func() *scene{"main": main, "worker": worker}, agent("worker", "worker", fanOut(2)), agent("lost", "nobody"), func(c *machine.Config) {
		c.Strategies["main"] = func() strategy.Strategy { return heir{main(), got, breaks} }
	})
	e.answer("1", calling("worker", "lost", "worker"))
	return e, got
}

// The outputs of branches come in the order of their calls, whatever order they end in, with those
// that failed, and before the results.
func TestBranchInheritor(t *testing.T) {
	for name, order := range map[string][]int{"in order": {0, 1, 2, 3}, "in another": {3, 1, 2, 0}} {
		t.Run(name, func(t *testing.T) {
			e, got := inheriting(t, false)
			ids := e.ids()
			require.Len(t, ids, 4)
			for _, i := range order {
				require.Empty(t, *got)
				var answer nextstep.Answer = said("part " + string(rune('a'+i)))
				if i == 2 {
					answer = nextstep.Failure{Source: nextstep.SourceModel, Code: "unavailable", Message: "down"}
				}
				e.answer(ids[i], answer)
			}
			var shown []string
			for _, o := range *got {
				text := o.Output.Text()
				if o.Output.Err != nil {
					text = string(o.Output.Err.Code)
				}
				shown = append(shown, o.CallID+" "+text)
			}
			require.Equal(t, []string{"c1 part a", "c1 part b", "c2 invalid", "c3 unavailable", "c3 part d"}, shown)
			require.True(t, (*got)[2].NoChild)
			require.Equal(t, 1, (*got)[0].Output.Counts.ModelCalls)
			require.Equal(t, machine.StatusDone, e.m.Status())
		})
	}
}

// A stop passes the outputs of what had ended and of what is cut off, before Conclude.
func TestBranchInheritor_stopped(t *testing.T) {
	e, got := inheriting(t, false)
	ids := e.ids()
	e.answer(ids[0], said("a"))
	e.stop(machine.Stopped{Reason: "enough", Now: true})
	for _, id := range ids[1:] {
		e.answer(id, nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.CodeStopped, Message: "cut off"})
	}
	require.Len(t, *got, 5)
	require.Equal(t, "a", (*got)[0].Output.Text())
	require.Equal(t, delegation.CodeStopped, (*got)[1].Output.Err.Code)
	require.Equal(t, machine.StatusStopped, e.m.Status())
}

// A strategy that panics over them fails alone, and a stopped one ends.
func TestBranchInheritor_panics(t *testing.T) {
	e, _ := inheriting(t, true)
	for _, id := range e.ids() {
		e.answer(id, said("x"))
	}
	require.Equal(t, machine.StatusFailed, e.m.Status())
	require.Equal(t, delegation.CodePanic, e.m.Output().Err.Code)

	e, _ = inheriting(t, true)
	ids := e.ids()
	e.stop(machine.Stopped{Reason: "enough", Now: true})
	for _, id := range ids {
		e.answer(id, nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.CodeStopped, Message: "cut off"})
	}
	require.Equal(t, machine.StatusStopped, e.m.Status())
}
