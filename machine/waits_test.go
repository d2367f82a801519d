package machine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

var nobody = delegation.Error{Code: delegation.CodeFailed, Message: "nobody is there"}

// An effect that was suspended comes again with all replies, and with what it left, once the last
// of them is there. It is the same effect.
func TestWaits_suspended(t *testing.T) {
	for _, kind := range []string{"tool", "model", "remote"} {
		t.Run(kind, func(t *testing.T) {
			e := begin(t, map[string]func() *scene{"main": caller("q"), "away": far(delegation.Limits{})}, offering("q"), remote)
			id := "1"
			switch kind {
			case "tool":
				e.answer("1", calling("q"))
				id = "2/1"
			case "remote":
				e = drive(t, e.cfg, machine.Started{Strategy: "away"})
			}
			x := e.effect(id)
			e.suspend(id, question(&x, "a?"), question(&x, "b?"), question(&x, "a?"))
			require.Equal(t, machine.StatusWaiting, e.m.Status())
			require.Len(t, e.m.Waits(), 2, "the same is asked once")
			a, b := x.ID, x.ID
			a.Wait, b.Wait = 1, 2
			require.Equal(t, []string{a.String(), b.String()}, e.ids())
			e.reply(b.String(), machine.Reply{Text: "B"})
			require.Equal(t, machine.StatusWaiting, e.m.Status())
			w := e.effect(a.String())
			e.drop(w.ID)
			e.apply(machine.Replied{At: e.tick(), Reply: machine.Reply{WaitID: w.Wait.ID}, Err: &nobody})
			again := e.effect(id)
			require.Equal(t, x.Key(), again.Key())
			require.JSONEq(t, `{"was":1}`, string(again.State))
			require.Equal(t, "B", again.Replies[1].Reply.Text)
			require.Equal(t, &nobody, again.Replies[0].Err)
			require.Equal(t, 1, len(e.events(machine.EventToolStarted))+len(e.events(machine.EventFrameEntered))-map[string]int{"tool": 1}[kind], "it is told once that it was started")
			e.suspend(id, question(&x, "a?"))
			require.Equal(t, machine.StatusWaiting, e.m.Status(), "what was not answered can be asked again")
			e.replays(through)
		})
	}
}

// An effect that goes on and waits is answered as any other; with its answer nobody is asked any
// more.
func TestWaits_asked(t *testing.T) {
	e := begin(t, only(caller("l", "r")), offering("l", "r"))
	e.answer("1", calling("l", "r"))
	l := e.effect("2/1")
	e.ask("2/1", question(&l, "1?"))
	e.ask("2/1", question(&l, "2?"))
	e.reply("2/1/1", machine.Reply{Reason: "I do not say"})
	require.Contains(t, e.asking, l.ID, "one is open still")
	e.answer("2/1", result("c1", "without"))
	require.Equal(t, []machine.EffectID{{Seq: 2, Index: 1, Wait: 2}}, e.cut, "nobody is asked any more")
	require.Empty(t, e.m.Waits())
	ended := e.events(machine.EventWaitEnded)
	require.Equal(t, delegation.CodeStopped, ended[1].Detail.(machine.WaitEnded).Err.Code)
	e.answer("2/2", result("c2", "R"))
	e.replays(through)
}

// A question may be open no longer than it says.
func TestWaits_expire(t *testing.T) {
	e := begin(t, only(caller("q")), offering("q"))
	e.answer("1", calling("q"))
	x := e.effect("2/1")
	w := question(&x, "?")
	w.Expires = e.now.Add(time.Minute)
	w = w.Identified(x.ID)
	e.suspend("2/1", w)
	late := machine.Replied{At: e.now.Add(time.Hour), Reply: machine.Reply{WaitID: w.ID, Text: "late"}}
	wrong[*machine.ReplyError](t, e, late, "it has expired")
	e.open = nil
	e.apply(machine.Replied{At: late.At, Reply: machine.Reply{WaitID: w.ID}, Expired: true})
	require.ErrorContains(t, e.effect("2/1").Replies[0].Err, "nobody answered in time")
	e.replays(through)
}

// A call that may have had its effect, and has no result when the run is resumed, is not made again
// unless a person says so.
func TestUnknown(t *testing.T) {
	build := func() *engine {
		e := begin(t, only(caller("w", "r", "i")), tool(tools.Definition{Name: "w"}), offering("r"), tool(tools.Definition{Name: "i", Idempotent: true}))
		e.answer("1", calling("w", "r", "i"))
		e.crash(0)
		return e
	}
	rest := func(e *engine) {
		e.answer("2/2", result("c2", "R"))
		e.answer("2/3", result("c3", "I"))
		e.replays(through)
	}
	t.Run("asked", func(t *testing.T) {
		e := build()
		e.resume(machine.Resumed{})
		require.Equal(t, []string{"2/1/1", "2/2", "2/3"}, e.ids(), "what is safe is made again")
		first := e.effect("2/1/1").Wait
		e.crash(0)
		e.resume(machine.Resumed{})
		require.Equal(t, first.ID, e.effect("2/1/1").Wait.ID)
		e.reply("2/1/1", machine.Reply{Approve: true})
		require.Equal(t, []string{"2/1 allow", "2/1 allow"}, e.intents(), "each start has its own")
		require.Empty(t, e.effect("2/1").Replies, "the call itself hears nothing of it")
		// it breaks off once more: that is another question
		e.crash(0)
		e.resume(machine.Resumed{})
		require.NotEqual(t, first.ID, e.effect("2/1/2").Wait.ID)
		wrong[*machine.ReplyError](t, e, machine.Replied{At: e.now, Reply: machine.Reply{WaitID: first.ID, Approve: true}}, "does not wait for it")
		e.reply("2/1/2", machine.Reply{Text: "it was made"})
		require.Contains(t, e.finished(), "0 c1 unknown interrupted")
		rest(e)
		require.Contains(t, e.m.Output().Text(), "a person says: it was made")
	})
	t.Run("told", func(t *testing.T) {
		e := build()
		e.resume(machine.Resumed{Unknown: machine.UnknownTell})
		require.Equal(t, []string{"2/2", "2/3"}, e.ids())
		require.Equal(t, []string{"0 c1 unknown interrupted"}, e.finished())
		rest(e)
		require.Equal(t, 3, e.m.Output().Counts.ToolCalls)
	})
}

// So it is with one in a run that ends, and with one that had asked somebody: nobody performs it
// any more.
func TestUnknown_whereItWasAlone(t *testing.T) {
	t.Run("in a run that ends", func(t *testing.T) {
		e := begin(t, only(caller("w", "r")), tool(tools.Definition{Name: "w"}), offering("r"))
		e.answer("1", calling("w", "r"))
		e.stop(machine.Stopped{})
		e.crash(0)
		e.resume(machine.Resumed{})
		require.Equal(t, []string{"0 c1 unknown interrupted"}, e.finished())
		e.answer("2/2", result("c2", "R"))
		require.Equal(t, machine.StatusStopped, e.m.Status(), "a result that was cut off is none")
		e.replays(through)
	})
	t.Run("that had asked somebody", func(t *testing.T) {
		for _, replied := range []bool{false, true} {
			e := begin(t, only(caller("w", "r")), tool(tools.Definition{Name: "w"}), offering("r"), places(1))
			e.answer("1", calling("w", "r"))
			w := e.effect("2/1")
			e.ask("2/1", question(&w, "?"))
			if replied {
				e.reply("2/1/1", machine.Reply{Text: "yes"})
			}
			e.crash(0)
			e.resume(machine.Resumed{})
			require.Equal(t, machine.WaitUnknown, e.effect("2/1/2").Wait.Kind, "it is performed by nobody any more")
			e.crash(0)
			e.resume(machine.Resumed{})
			e.reply("2/1/2", machine.Reply{Approve: true})
			e.answer("2/2", result("c2", "R"))
			require.Equal(t, replied, len(e.effect("2/1").Replies) == 1)
			e.replays(through)
		}
	})
}

// A call that had returned, or whose start was not stored, has not had its effect.
func TestUnknown_isNotWhatIsKnown(t *testing.T) {
	t.Run("that had been suspended", func(t *testing.T) {
		e := begin(t, only(caller("w")), tool(tools.Definition{Name: "w"}))
		e.answer("1", calling("w"))
		w := e.effect("2/1")
		e.suspend("2/1", question(&w, "?"))
		e.crash(0)
		e.resume(machine.Resumed{})
		require.Equal(t, machine.WaitQuestion, e.effect("2/1/1").Wait.Kind, "it had returned, so that nothing is unknown")
		e.reply("2/1/1", machine.Reply{Text: "yes"})
		require.Equal(t, []string{"2/1 allow", "2/1 allow"}, e.intents())
		e.crash(0)
		e.resume(machine.Resumed{})
		require.Equal(t, machine.WaitUnknown, e.effect("2/1/2").Wait.Kind, "the start after the reply was stored")
	})
	t.Run("whose start was not stored", func(t *testing.T) {
		e := begin(t, only(caller("w")), tool(tools.Definition{Name: "w"}))
		e.answer("1", calling("w"))
		e.crash(1)
		require.Empty(t, e.m.Status())
		e.resume(machine.Resumed{})
		require.Equal(t, []string{"2/1"}, e.ids(), "it was not begun")
	})
}

// What was cut off when the run broke off is not performed again; what was only to come to its end
// is.
func TestResumed_inARunThatEnds(t *testing.T) {
	for _, now := range []bool{false, true} {
		e := begin(t, only(hungry("r")), offering("r"))
		e.answer("1", calling("r"))
		e.stop(machine.Stopped{Now: now})
		e.crash(0)
		e.resume(machine.Resumed{})
		if now {
			require.Equal(t, []string{"0 c1 failed interrupted"}, e.finished())
			require.Equal(t, machine.StatusStopped, e.m.Status())
			continue
		}
		e.answer("2/1", result("c1", "R"))
		require.Equal(t, machine.StatusDone, e.m.Status())
		e.replays(through)
	}
	e := begin(t, only(hungry()))
	e.stop(machine.Stopped{Now: true})
	e.crash(0)
	e.resume(machine.Resumed{})
	require.Equal(t, machine.StatusStopped, e.m.Status())
}

// A run can be resumed with other limits.
func TestResumed_withLimits(t *testing.T) {
	e := begin(t, only(looper), offering("r"), limited(delegation.Limits{ModelCalls: 2}))
	e.answer("1", said("x"))
	e.crash(0)
	e.resume(machine.Resumed{Limits: delegation.Limits{ModelCalls: 4}})
	for _, id := range []string{"2", "3", "4"} {
		e.answer(id, said("x"))
	}
	require.Equal(t, int64(4), limitOf(t, e.m.Output().Err, "model_calls").Max)
	e.replays(through)
}

// What there is to do again is the same, however often it is looked.
func TestResumed_lookingChangesNothing(t *testing.T) {
	e := begin(t, only(caller("w", "g", "q", "r")), tool(tools.Definition{Name: "w"}), tool(tools.Definition{Name: "g", NeedsApproval: true}), offering("q", "r"))
	e.answer("1", calling("w", "g", "q", "r"))
	q := e.effect("2/3")
	e.suspend("2/3", question(&q, "?"))
	var first []machine.Wait
	for i := range 3 {
		m := fold(t, e.cfg, e.records)
		require.NoError(t, m.Apply(machine.Resumed{At: e.now.Add(time.Second)}))
		if i == 0 {
			first = m.Waits()
			require.Len(t, first, 3)
		}
		require.Equal(t, first, m.Waits())
	}
}

// An effect that was answered to, and ends before it is handed out again, is not handed out again.
func TestWaits_endsBeforeItGoesOn(t *testing.T) {
	for _, suspends := range []bool{false, true} {
		m := machine.New(&machine.Config{Strategies: strategy.Set{"main": func() strategy.Strategy { return caller("q")() }}, Tools: []tools.Definition{{Name: "q"}}})
		apply := func(r machine.Record) { t.Helper(); require.NoError(t, m.Apply(r)) }
		apply(machine.Started{Run: "r"})
		apply(machine.Answered{Effect: machine.EffectID{Seq: 1}, Answer: calling("q")})
		apply(m.Ready().Intents[0])
		x := m.Ready().Effects[len(m.Ready().Effects)-1]
		m.Advance()
		apply(machine.Asked{Effect: x.ID, Wait: question(&x, "1?")})
		m.Advance()
		apply(machine.Replied{Reply: machine.Reply{WaitID: question(&x, "1?").ID, Text: "A"}})
		require.Len(t, m.Ready().Effects, 1)
		if suspends {
			apply(machine.Suspended{Effect: x.ID, Waits: []machine.Wait{question(&x, "2?")}})
			require.Len(t, m.Ready().Effects, 1)
			require.Equal(t, machine.EffectPerson, m.Ready().Effects[0].Kind)
			continue
		}
		apply(x.Answered(result("c1", "late"), time.Time{}, 0))
		for _, e := range m.Ready().Effects {
			require.NotEqual(t, x.ID, e.ID)
		}
	}
}
