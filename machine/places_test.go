package machine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// No more effects are performed at a time than there are places, and those that wait for one get it
// in the order in which they asked.
func TestPlaces_inOrder(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		e := begin(t, only(caller("r")), offering("r"), places(n))
		e.answer("1", calling("r", "r", "r", "r", "r", "r"))
		for i := 1; !e.m.Done(); i++ {
			require.Len(t, e.open, min(n, 7-i))
			require.Equal(t, fmt.Sprintf("2/%d", i), e.ids()[0])
			e.answer(e.ids()[0], result(fmt.Sprintf("c%d", i), "x"))
		}
		require.Equal(t, n, e.most)
		e.replays(through)
	}
}

// A frame that waits for calls of its own holds no place, so that agents several deep come to their
// end where there is one place.
func TestPlaces_callersHoldNone(t *testing.T) {
	set, edits := nested(4)
	e := begin(t, set, append(edits, places(1))...)
	e.answer("1", calling("a2", "a2"))
	for !e.m.Done() {
		require.Len(t, e.open, 1)
		x := e.open[0]
		switch {
		case x.Kind == machine.EffectTool:
			e.answer(x.ID.String(), result("c1", "deep"))
		case x.Depth == 4:
			e.answer(x.ID.String(), calling("r"))
		default:
			e.answer(x.ID.String(), calling(fmt.Sprintf("a%d", x.Depth+1)))
		}
	}
	require.Equal(t, machine.StatusDone, e.m.Status())
	require.Equal(t, 1, e.most)
	e.replays(through)
}

// A model cannot choose how many agents work at a time.
func TestPlaces_boundBranches(t *testing.T) {
	set, edits := nested(2)
	e := begin(t, set, append(edits, places(4), agent("fan", "a2", fanOut(20)), func(c *machine.Config) {
		c.Strategies["main"] = config(only(hungry("fan"))).Strategies["main"]
	})...)
	e.answer("1", calling("fan"))
	require.Equal(t, []string{"3", "4", "5", "6"}, e.ids())
	require.Equal(t, []string{"0.1", "0.2", "0.3", "0.4"}, []string{e.open[0].Frame, e.open[1].Frame, e.open[2].Frame, e.open[3].Frame})
	for !e.m.Done() {
		x := e.open[len(e.open)-1]
		if x.Kind == machine.EffectTool {
			e.answer(x.ID.String(), result("c1", "x"))
		} else {
			e.answer(x.ID.String(), calling("r"))
		}
	}
	require.Equal(t, 4, e.most)
	require.Len(t, e.events(machine.EventFrameEntered), 21)
	require.Equal(t, "fan", e.events(machine.EventFrameEntered)[20].Detail.(machine.FrameEntered).Tool)
	require.Equal(t, 21, e.m.Output().Counts.ToolCalls)
	e.replays(through)
}

// What waits for somebody holds no place. Once it has its reply it queues again.
func TestPlaces_waitsHoldNone(t *testing.T) {
	e := begin(t, only(caller("q", "l", "g", "r")), offering("q", "l", "r"), tool(tools.Definition{Name: "g", NeedsApproval: true}), places(1))
	e.answer("1", calling("q", "l", "g", "r", "r"))
	q := e.effect("2/1")
	e.suspend("2/1", question(&q, "?"))
	l := e.effect("2/2")
	e.ask("2/2", question(&l, "?"))
	require.ElementsMatch(t, []string{"2/3/1", "2/1/1", "2/2/1", "2/2", "2/4"}, e.ids())
	e.reply("2/2/1", machine.Reply{Text: "L"})
	e.reply("2/3/1", machine.Reply{Approve: true})
	e.reply("2/1/1", machine.Reply{Text: "Q"})
	require.ElementsMatch(t, []string{"2/2", "2/4"}, e.ids(), "2/4 has the place")
	for i, want := range []string{"2/4", "2/5", "2/2", "2/3", "2/1"} {
		x := e.effect(want)
		if i < 2 {
			require.Empty(t, x.Replies)
		}
		e.answer(want, result(x.Call.ID, want))
	}
	require.Equal(t, "2/1|2/2|2/3|2/4|2/5", e.m.Output().Text())
	e.replays(through)
}

// One that has left the queue has lost its place in it.
func TestPlaces_againAtTheEnd(t *testing.T) {
	e := begin(t, only(caller("g", "r")), offering("r"), tool(tools.Definition{Name: "g", NeedsApproval: true, ReadOnly: true}), places(1))
	e.answer("1", calling("r", "r", "g", "r"))
	e.reply("2/3/1", machine.Reply{Approve: true})
	for i, want := range []string{"2/1", "2/2", "2/4", "2/3"} {
		require.Equal(t, []string{want}, e.ids(), i)
		e.answer(want, result(e.open[0].Call.ID, ""))
	}
}

// The results of the branches of one call are a list, in their order. The call has failed if all of
// them have.
func TestBranches_ofOneCall(t *testing.T) {
	build := func(edit ...func(*machine.Config)) *engine {
		e := begin(t, map[string]func() *scene{"main": caller("fan"), "part": func() *scene { return &scene{} }}, append(edit, agent("fan", "part", fanOut(3)))...)
		e.answer("1", calling("fan"))
		return e
	}
	failure := nextstep.Failure{Message: "no luck"}
	e := build()
	e.answer("5", said("three"))
	e.answer("3", failure)
	e.answer("4", said("two"))
	require.Equal(t, []string{"0 c1 ok"}, e.finished())
	require.Equal(t, `["failed: machine: agent fan ended as failed: no luck","two","three"]`, e.m.Output().Text())
	e.replays(through)

	e = build()
	for _, id := range []string{"5", "4", "3"} {
		e.answer(id, failure)
	}
	require.Equal(t, []string{"0 c1 failed error"}, e.finished())

	e = build(func(c *machine.Config) { c.MaxResult = 10 })
	for _, id := range []string{"5", "4", "3"} {
		e.answer(id, said("many words"))
	}
	require.Contains(t, e.m.Output().Text(), "are left out]")
}

// A negative number is no bound.
func TestPlaces_unbounded(t *testing.T) {
	e := begin(t, only(caller("r")), offering("r"), places(-1))
	var names []string
	for range 100 {
		names = append(names, "r")
	}
	e.answer("1", calling(names...))
	require.Len(t, e.open, 100)
}

// A call that must not run beside others of its batch waits for all those before it, whatever they
// wait for, and those behind wait for it.
func TestSequential(t *testing.T) {
	def := tools.Definition{Name: "s", Sequential: true, ReadOnly: true}
	t.Run("among others", func(t *testing.T) {
		e := begin(t, only(caller("r", "s")), offering("r"), tool(def))
		e.answer("1", calling("r", "r", "s", "r", "s", "s", "r", "nobody"))
		for _, turn := range [][]string{{"2/1", "2/2"}, {"2/3"}, {"2/4"}, {"2/5"}, {"2/6"}, {"2/7"}} {
			require.Equal(t, turn, e.ids())
			for i, id := range slices.Backward(turn) {
				require.Equal(t, turn[:i+1], e.ids(), "all of them have to end first")
				e.answer(id, result(e.effect(id).Call.ID, id))
			}
		}
		require.Contains(t, e.m.Output().Text(), "2/1|2/2|2/3|2/4|2/5|2/6|2/7|there is no tool")
		e.replays(through)
	})
	t.Run("behind one that waits, and one that is refused", func(t *testing.T) {
		e := begin(t, only(caller("q", "s", "g")), offering("q"), tool(def), tool(tools.Definition{Name: "g", NeedsApproval: true}))
		e.answer("1", calling("q", "g", "s"))
		q := e.effect("2/1")
		e.suspend("2/1", question(&q, "?"))
		require.Equal(t, machine.StatusWaiting, e.m.Status())
		e.reply("2/2/1", machine.Reply{Reason: "no"})
		require.Equal(t, []string{"2/1/1"}, e.ids())
		e.reply("2/1/1", machine.Reply{Text: "yes"})
		require.Equal(t, []string{"2/1"}, e.ids())
		e.answer("2/1", result("c1", "Q"))
		require.Equal(t, []string{"2/3"}, e.ids())
		e.answer("2/3", result("c3", "S"))
		require.Equal(t, "Q|a person refused this call: no|S", e.m.Output().Text())
		e.replays(through)
	})
	t.Run("that waits itself", func(t *testing.T) {
		e := begin(t, only(caller("r", "s", "gs")), offering("r"), tool(def), tool(tools.Definition{Name: "gs", Sequential: true, NeedsApproval: true}))
		e.answer("1", calling("gs", "r", "s"))
		require.Equal(t, []string{"2/1/1"}, e.ids(), "nobody overtakes it")
		e.reply("2/1/1", machine.Reply{Approve: true})
		require.Equal(t, []string{"2/1"}, e.ids())
		e.answer("2/1", result("c1", ""))
		require.Equal(t, []string{"2/2"}, e.ids())
	})
	t.Run("approved before its turn", func(t *testing.T) {
		e := begin(t, only(caller("r", "gs")), offering("r"), tool(tools.Definition{Name: "gs", Sequential: true, NeedsApproval: true}))
		e.answer("1", calling("r", "gs"))
		e.reply("2/2/1", machine.Reply{Approve: true})
		require.Equal(t, []string{"2/1"}, e.ids())
		e.answer("2/1", result("c1", ""))
		require.Equal(t, []string{"2/2"}, e.ids())
	})
	t.Run("of agents", func(t *testing.T) {
		set, edits := nested(2)
		e := begin(t, set, append(edits, func(c *machine.Config) { c.Tools[len(c.Tools)-1].Sequential = true })...)
		e.answer("1", calling("a2", "a2", "r"))
		require.Equal(t, []string{"3"}, e.ids())
		e.answer("3", said("one"))
		require.Equal(t, []string{"4"}, e.ids())
		require.Equal(t, "0.2", e.open[0].Frame)
		e.answer("4", said("two"))
		require.Equal(t, []string{"2/3"}, e.ids())
		e.replays(through)
	})
}
