package machine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// hungry asks a model with tools on offer, makes its calls, and goes on until a reply has none. It
// completes with whatever it was told, so that a stop which looked like success would be one.
func hungry(offered ...string) func() *scene {
	return func() *scene {
		s := &scene{}
		s.Start = func(in delegation.Input) nextstep.NextStep { return ask(in.Goal, offered...) }
		s.Reply = func(r llmclient.Response) nextstep.NextStep {
			if len(r.Message.Calls()) == 0 {
				return done(r.Message.Text())
			}
			return nextstep.ExecuteTools{Calls: r.Message.Calls()}
		}
		s.Results = func(r []messages.ToolOutput) nextstep.NextStep { return done("all is well: " + texts(r)) }
		return s
	}
}

// nested is a set of levels of agents: main calls a2, which calls a3, and so on; the last calls r.
func nested(levels int) (map[string]func() *scene, []func(*machine.Config)) {
	set := map[string]func() *scene{}
	edits := []func(*machine.Config){offering("r"), tool(tools.Definition{Name: "w"})}
	for i := 1; i <= levels; i++ {
		name := fmt.Sprintf("a%d", i)
		if i == 1 {
			name = "main"
		} else {
			edits = append(edits, agent(name, name))
		}
		set[name] = hungry("r", "w", fmt.Sprintf("a%d", i+1))
	}
	return set, edits
}

// A stop inside agents, however deep they are, is never told to be success: the frames above do not
// take what was cut off for a result.
func TestStop_insideAgentsIsNeverSuccess(t *testing.T) {
	for depth := 1; depth <= 4; depth++ {
		for _, now := range []bool{false, true} {
			for _, at := range []string{"a model", "a read-only tool", "another tool", "a queued tool", "a wait"} {
				t.Run(fmt.Sprintf("%d %v %s", depth, now, at), func(t *testing.T) {
					set, edits := nested(depth)
					e := begin(t, set, append(edits, places(1))...)
					for i := 2; i <= depth; i++ {
						e.answer(e.ids()[0], calling(fmt.Sprintf("a%d", i)))
					}
					switch at {
					case "a model":
						if !now {
							t.Skip("an answer that a stop waits for is heard")
						}
					case "a read-only tool":
						e.answer(e.ids()[0], calling("r"))
						if !now {
							t.Skip("a result that a stop waits for is heard")
						}
					case "another tool":
						e.answer(e.ids()[0], calling("w"))
						if !now {
							t.Skip("a result that a stop waits for is heard")
						}
					case "a queued tool":
						e.answer(e.ids()[0], calling("r", "r"))
					case "a wait":
						e.answer(e.ids()[0], calling("r"))
						x := e.open[0]
						e.suspend(x.ID.String(), question(&x, "?"))
					}
					e.stop(machine.Stopped{Now: now})
					for !e.m.Done() {
						x := e.open[0]
						if now {
							e.answer(x.ID.String(), nextstep.Failure{Message: "cut off"})
						} else {
							e.answer(x.ID.String(), result(x.Call.ID, "fine"))
						}
					}
					require.Equal(t, machine.StatusStopped, e.m.Status())
					require.Nil(t, e.m.Output().Result)
					for _, ev := range e.events(machine.EventFrameLeft) {
						require.Equal(t, delegation.CodeStopped, ev.Detail.(machine.FrameLeft).Err.Code, "frame %s", ev.Frame)
					}
					require.NoError(t, e.m.Output().Messages.Validate())
					e.replays(through)
				})
			}
		}
	}
}

// A gentle stop lets what is performed come to its end, whatever depth it is at, and gives the
// answer to its strategy; the next step is refused.
func TestStop_gentleWaitsForWhatIsPerformed(t *testing.T) {
	set, edits := nested(3)
	heard := ""
	last := set["a3"]
	set["a3"] = func() *scene {
		s := last()
		s.Results = func(r []messages.ToolOutput) nextstep.NextStep { heard = texts(r); return ask("more") }
		return s
	}
	e := begin(t, set, edits...)
	e.answer("1", calling("a2", "r"))
	e.answer("3", calling("a3"))
	e.answer("5", calling("r"))
	e.stop(machine.Stopped{})
	require.Empty(t, e.cut)
	require.ElementsMatch(t, []string{"2/2", "6/1"}, e.ids())
	e.answer("6/1", result("c1", "deep"))
	require.Equal(t, "deep", heard)
	require.False(t, e.m.Done(), "a sibling is performed still")
	e.answer("2/2", result("c2", "near"))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	require.Equal(t, "near", e.m.Output().ToolMetas()[1].Output)
	require.Equal(t, messages.StatusFailed, e.m.Output().ToolMetas()[0].Status)
	e.replays(through)
}

// A stop that hurries after a gentle one cuts off what is still performed.
func TestStop_gentleAndThenNow(t *testing.T) {
	e := begin(t, only(hungry("r", "w")), offering("r"), tool(tools.Definition{Name: "w"}))
	e.answer("1", calling("r", "w"))
	e.stop(machine.Stopped{})
	require.Empty(t, e.cut)
	e.stop(machine.Stopped{Now: true, Reason: "at once"})
	require.Equal(t, []machine.EffectID{{Seq: 2, Index: 1}, {Seq: 2, Index: 2}}, e.cut)
	e.answer("2/1", nextstep.Failure{Message: "cut"})
	e.answer("2/2", nextstep.Failure{Message: "cut"})
	require.Equal(t, []string{"0 c1 failed interrupted", "0 c2 unknown interrupted"}, e.finished())
	require.ErrorContains(t, e.m.Output().Err, "enough", "the first reason is the reason")
	e.replays(through)
}

// Above a frame that is stopped at once a gentle stop cuts nothing off; within it the cut holds.
func TestStop_ofAFrameCutsWithinAGentleStop(t *testing.T) {
	set, edits := nested(2)
	e := begin(t, set, edits...)
	e.answer("1", calling("a2", "r"))
	e.stop(machine.Stopped{})
	e.stop(machine.Stopped{Frame: "0.1", Now: true})
	require.Equal(t, []machine.EffectID{{Seq: 3}}, e.cut)
	e.answer("3", nextstep.Failure{Message: "cut", Partial: messages.AssistantText("half")})
	require.Equal(t, []string{"0 c1 failed error"}, e.finished())
	e.answer("2/2", result("c2", "whole"))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	e.replays(through)
}

// One branch that is stopped is a failed call for its caller, which goes on.
func TestStop_ofOneBranch(t *testing.T) {
	goesOn := func(t *testing.T, e *engine, other string) {
		require.Contains(t, e.finished(), "0 c1 failed error")
		require.False(t, e.m.Done())
		e.answer(other, said("the other"))
		require.Equal(t, machine.StatusDone, e.m.Status())
		require.Contains(t, e.m.Output().Text(), "machine: agent a2 ended as stopped: machine: the run was stopped: enough")
		require.Contains(t, e.m.Output().Text(), "|the other")
		e.replays(through)
	}
	t.Run("at once", func(t *testing.T) {
		set, edits := nested(3)
		e := begin(t, set, edits...)
		e.answer("1", calling("a2", "a2"))
		e.answer("3", calling("a3", "r"))
		require.ElementsMatch(t, []string{"4", "5/2", "6"}, e.ids())
		e.stop(machine.Stopped{Frame: "0.1", Now: true})
		require.Equal(t, []machine.EffectID{{Seq: 5, Index: 2}, {Seq: 6}}, e.cut)
		e.answer("6", nextstep.Failure{Message: "cut"})
		e.answer("5/2", nextstep.Failure{Message: "cut"})
		goesOn(t, e, "4")
	})
	t.Run("after what is performed", func(t *testing.T) {
		set, edits := nested(2)
		e := begin(t, set, append(edits, places(2))...)
		e.answer("1", calling("a2", "a2"))
		e.answer("3", calling("r", "r"))
		e.stop(machine.Stopped{Frame: "0.1"})
		require.Empty(t, e.cut)
		e.answer("5/1", result("c1", "R"))
		goesOn(t, e, "4")
	})
}

// A frame that sleeps below a child can be stopped too: its parent is told.
func TestStop_ofADelegation(t *testing.T) {
	var heard delegation.Output
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "mid"} },
				Child: func(o delegation.Output) nextstep.NextStep { heard = o; return done("went on") },
			}
		},
		"mid": func() *scene {
			return &scene{Start: func(delegation.Input) nextstep.NextStep {
				return nextstep.Delegate{Strategy: "leaf", Input: delegation.Input{Goal: "x"}}
			}}
		},
		"leaf": func() *scene { return &scene{} },
	})
	e.stop(machine.Stopped{Frame: "0.1", Now: true})
	e.answer("3", nextstep.Failure{Message: "cut"})
	require.Equal(t, machine.StatusDone, e.m.Status())
	require.Equal(t, "went on", e.m.Output().Text())
	require.Equal(t, delegation.CodeStopped, heard.Err.Code)
	e.replays(through)
}

// A stop closes what waits, and nobody is asked any more.
func TestStop_whileWaitsAreOpen(t *testing.T) {
	e := begin(t, only(hungry("q", "g", "l", "r")), offering("q", "l", "r"), tool(tools.Definition{Name: "g", NeedsApproval: true}))
	e.answer("1", calling("q", "g", "l"))
	q, l := e.effect("2/1"), e.effect("2/3")
	e.suspend("2/1", question(&q, "1?"), question(&q, "2?"))
	e.ask("2/3", question(&l, "3?"))
	require.Len(t, e.m.Waits(), 4)
	require.Empty(t, e.m.Status(), "one that asked is performed")
	e.stop(machine.Stopped{})
	require.Empty(t, e.m.Waits())
	require.ElementsMatch(t, []machine.EffectID{{Seq: 2, Index: 2, Wait: 1}, {Seq: 2, Index: 1, Wait: 1}, {Seq: 2, Index: 1, Wait: 2}, {Seq: 2, Index: 3, Wait: 1}}, e.cut)
	require.Equal(t, []string{"0 c1 failed interrupted", "0 c2 failed interrupted"}, e.finished())
	require.Equal(t, 2, e.m.Output().Counts.ToolCalls, "the call that was to be approved was never begun")
	require.False(t, e.m.Done())
	e.answer("2/3", result("c3", "nobody said"))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	e.replays(through)
}

// A call that asked somebody, has its reply, and waits for a place, is performed by somebody: a
// stop lets it go on with the reply, and the run does not end over it.
func TestStop_whileACallWithItsReplyWaitsForAPlace(t *testing.T) {
	e := begin(t, only(hungry("l", "r")), offering("l", "r"), places(1))
	e.answer("1", calling("l", "r"))
	l := e.effect("2/1")
	e.ask("2/1", question(&l, "?"))
	e.reply("2/1/1", machine.Reply{Text: "yes"})
	require.Equal(t, []string{"2/1", "2/2"}, e.ids())
	require.Contains(t, e.asking, l.ID, "r has the place")
	e.stop(machine.Stopped{})
	require.Equal(t, "yes", e.effect("2/1").Replies[0].Reply.Text)
	e.answer("2/2", result("c2", "R"))
	require.False(t, e.m.Done())
	e.answer("2/1", result("c1", "L"))
	require.Equal(t, machine.StatusDone, e.m.Status(), "nothing was cut off")
	e.replays(through)
}

// Nor is one performed that had asked and was then said not to be begun: a stop closes it.
func TestStop_ofWhatHadAskedAndWasNotBegun(t *testing.T) {
	e := begin(t, only(hungry("w", "r")), tool(tools.Definition{Name: "w"}), offering("r"), places(1))
	e.answer("1", calling("w", "r"))
	for _, id := range []string{"2/1", "2/2"} {
		x := e.effect(id)
		e.ask(id, question(&x, id))
	}
	e.reply("2/1/1", machine.Reply{Text: "yes"})
	e.reply("2/2/1", machine.Reply{Text: "yes"})
	require.Len(t, e.effect("2/1").Replies, 1, "it goes on with its reply, and has the place")
	e.notBegun("2/1")
	e.stop(machine.Stopped{Now: true})
	require.Equal(t, []string{"2/2"}, e.ids())
	require.Equal(t, []string{"0 c1 failed interrupted"}, e.finished())
	e.answer("2/2", result("c2", "R"))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	e.replays(through)
}

// What a remote was cut off with is no result: the frame that asked for it ends, and inherits it.
func TestStop_ofARemote(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
			Child: func(o delegation.Output) nextstep.NextStep { return done("far said " + o.Text()) },
		}
	}), func(c *machine.Config) { c.Remote = []string{"far"} })
	e.stop(machine.Stopped{Now: true})
	half := "half"
	e.answer("1", nextstep.DelegationResult{Output: delegation.Output{Result: &half, Err: &delegation.Error{Code: delegation.CodeStopped, Message: "cut"}}})
	require.Equal(t, machine.StatusStopped, e.m.Status())
	require.Nil(t, e.m.Output().Result)
}

// A call that may have had its effect is never told to have failed: not when a stop closes the
// question about it, nor when it was to be made again.
func TestStop_leavesUnknownUnknown(t *testing.T) {
	build := func() *engine {
		e := begin(t, only(hungry("w", "r")), offering("r"), tool(tools.Definition{Name: "w"}), places(1))
		e.answer("1", calling("w", "r"))
		e.crash(0)
		e.resume(machine.Resumed{})
		return e
	}
	t.Run("while somebody is asked", func(t *testing.T) {
		e := build()
		require.Equal(t, machine.WaitUnknown, e.effect("2/1/1").Wait.Kind)
		e.stop(machine.Stopped{})
		e.answer("2/2", result("c2", "R"))
		require.Contains(t, e.finished(), "0 c1 unknown interrupted")
		require.Equal(t, 2, e.m.Output().Counts.ToolCalls, "what was begun is not given back")
	})
	t.Run("while it waits for its place again", func(t *testing.T) {
		e := build()
		e.reply("2/1/1", machine.Reply{Approve: true})
		require.Equal(t, []string{"2/2"}, e.ids())
		e.stop(machine.Stopped{})
		e.answer("2/2", result("c2", "R"))
		require.Contains(t, e.finished(), "0 c1 unknown interrupted")
	})
	t.Run("when it was released and not begun", func(t *testing.T) {
		e := build()
		e.answer("2/2", result("c2", "R"))
		e.reply("2/1/1", machine.Reply{Approve: true})
		e.stop(machine.Stopped{})
		e.notBegun("2/1")
		require.Contains(t, e.finished(), "0 c1 unknown interrupted")
		require.Equal(t, 2, e.m.Output().Counts.ToolCalls)
	})
}

// What was to be decided when a stop came is decided by that. Nobody was handed it.
func TestStop_beforeAVerdictIsStored(t *testing.T) {
	e := begin(t, only(caller("r", "w")), offering("r"), tool(tools.Definition{Name: "w"}))
	e.answer("1", calling("r"))
	e = e.under(machine.AskAlways)
	require.NoError(t, e.m.Apply(machine.Resumed{At: e.now}))
	require.Len(t, e.m.Ready().Intents, 1)
	require.NoError(t, e.m.Apply(machine.Stopped{At: e.now, Now: true, Reason: "enough"}))
	require.Empty(t, e.m.Ready().Withdrawn)
	require.Empty(t, e.m.Ready().Effects)
	require.NoError(t, e.m.Apply(e.m.Ready().Intents[0]))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	require.Empty(t, e.m.Waits())
	require.Zero(t, e.m.Output().Counts.ToolCalls)
}

// A wait that is over before anybody could be asked is not handed out, and nobody is told to drop
// it.
func TestStop_ofAWaitThatNobodyHeardOf(t *testing.T) {
	e := begin(t, map[string]func() *scene{"main": hungry("g", "work"), "part": looper}, tool(tools.Definition{Name: "g", NeedsApproval: true}),
		agent("work", "part"), limited(delegation.Limits{ModelCalls: 1}))
	e.answer("1", calling("g", "work"))
	require.Equal(t, machine.StatusLimit, e.m.Status())
	require.Len(t, e.events(machine.EventWaitStarted), 1)
	require.Len(t, e.events(machine.EventWaitEnded), 1)
	require.Empty(t, e.cut)
	require.Len(t, e.known, 1, "the model")
}

// An effect that is suspended while its frame ends is closed at once.
func TestStop_ofWhatIsSuspendedThen(t *testing.T) {
	e := begin(t, only(hungry("q")), offering("q"))
	e.answer("1", calling("q"))
	x := e.effect("2/1")
	e.stop(machine.Stopped{})
	e.suspend("2/1", question(&x, "?"))
	require.Equal(t, []string{"0 c1 failed interrupted"}, e.finished())
	require.Equal(t, machine.StatusStopped, e.m.Status())
	require.Equal(t, 1, e.m.Output().Counts.ToolCalls)
	require.Empty(t, e.events(machine.EventWaitStarted))
	e.replays(through)
}

// One that had asked, and is performed by nobody any more, is closed like any other that waits for
// a place: since it was suspended, or since the run broke off.
func TestStop_ofWhatHadAskedBefore(t *testing.T) {
	for _, how := range []string{"suspended", "broken off"} {
		e := begin(t, only(hungry("l", "r")), offering("l", "r"), places(1))
		e.answer("1", calling("l", "r"))
		l := e.effect("2/1")
		e.ask("2/1", question(&l, "?"))
		if how == "suspended" {
			e.suspend("2/1", question(&l, "?"))
		} else {
			e.crash(0)
			e.resume(machine.Resumed{})
		}
		e.reply("2/1/1", machine.Reply{Text: "yes"})
		require.Equal(t, []string{"2/2"}, e.ids())
		e.stop(machine.Stopped{})
		require.Equal(t, []string{"0 c1 failed interrupted"}, e.finished(), how)
		e.answer("2/2", result("c2", "R"))
		require.Equal(t, machine.StatusStopped, e.m.Status())
		e.replays(through)
	}
}
