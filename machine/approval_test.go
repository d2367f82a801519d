package machine_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// byName is a policy that goes by the name of the tool: "ask…", "refuse…"; anything else is
// allowed.
func byName(r machine.ApprovalRequest) machine.Verdict {
	switch r.Call.Name[:3] {
	case "ask":
		return machine.VerdictAsk
	case "ref":
		return machine.VerdictRefuse
	}
	return machine.VerdictAllow
}

// intents returns the records of what was decided, as "2/1 ask".
func (e *engine) intents() (all []string) {
	for _, r := range e.records {
		if r, ok := r.(machine.Intended); ok {
			all = append(all, r.Effect.String()+" "+r.Verdict.String())
		}
	}
	return all
}

// A policy learns which strategy makes the call that it judges, and the engine does.
func TestApproval_strategy(t *testing.T) {
	var judges []string
	e := begin(t, only(caller("write")), tool(tools.Definition{Name: "write"}), judged(func(r machine.ApprovalRequest) machine.Verdict {
		judges = append(judges, r.Strategy)
		return machine.VerdictAllow
	}))
	e.answer("1", calling("write"))
	of := e.m.Frames()[0].Strategy
	require.NotEmpty(t, of)
	require.Contains(t, judges, of)
	require.Len(t, slices.Compact(judges), 1)
	require.Equal(t, of, e.effect("2/1").Strategy)
}

// A call is allowed, asked about, or refused, before anything is done about it. Each verdict that
// is not simply to allow a call is stored first, and so is each start of a call that may have an
// effect.
func TestApproval(t *testing.T) {
	e := begin(t, only(caller("ask", "ask2", "refuse", "read", "write")), offering("ask", "refuse", "read"),
		tool(tools.Definition{Name: "ask2"}), tool(tools.Definition{Name: "write", NeedsApproval: true}), judged(byName))
	e.answer("1", calling("ask", "ask2", "refuse", "read", "write"))
	require.Equal(t, []string{"2/1 ask", "2/2 ask", "2/3 refuse", "2/5 allow"}, e.intents(), "a policy says of every tool")
	require.ElementsMatch(t, []string{"2/1/1", "2/2/1", "2/4", "2/5"}, e.ids())
	require.Equal(t, []string{"0 c3 failed refused"}, e.finished())
	w := e.effect("2/2/1").Wait
	require.Equal(t, machine.WaitApproval, w.Kind)
	require.Equal(t, []string{"ask2", "{}", "c2"}, []string{w.Tool, w.Arguments, w.CallID})
	require.Equal(t, 24*time.Hour, w.Expires.Sub(e.now).Truncate(time.Hour)+time.Hour)

	e.reply("2/2/1", machine.Reply{Approve: true})
	require.Equal(t, "2/2 allow", e.intents()[4], "it is started now")
	require.True(t, e.effect("2/2").Approved)
	require.False(t, e.effect("2/4").Approved)
	e.reply("2/1/1", machine.Reply{Reason: "too dear"})
	e.answer("2/5", result("c5", "5"))
	e.answer("2/4", result("c4", "4"))
	e.answer("2/2", result("c2", "2"))
	require.Equal(t, "a person refused this call: too dear|2|this call is not allowed here|4|5", e.m.Output().Text())
	require.Equal(t, 3, e.m.Output().Counts.ToolCalls, "calls that were not made are given back")
	started := e.events(machine.EventToolStarted)
	require.Len(t, started, 3)
	e.replays(through)
}

// Without a policy people are asked about the tools that say so.
func TestApproval_ofTheDefinition(t *testing.T) {
	e := begin(t, only(caller("g", "r")), offering("r"), tool(tools.Definition{Name: "g", NeedsApproval: true, ReadOnly: true}))
	e.answer("1", calling("g", "r"))
	require.Equal(t, []string{"2/1 ask"}, e.intents())
	require.ElementsMatch(t, []string{"2/1/1", "2/2"}, e.ids())
}

// Nobody who could be asked is a refusal, and so is a reply that never came.
func TestApproval_withoutAReply(t *testing.T) {
	for want, r := range map[string]machine.Replied{
		"nobody approved this call in time":          {Expired: true, At: began.Add(25 * time.Hour)},
		"nobody could be asked to approve this call": {Err: &nobody},
	} {
		e := begin(t, only(caller("g")), tool(tools.Definition{Name: "g", NeedsApproval: true}))
		e.answer("1", calling("g"))
		x := e.effect("2/1/1")
		e.drop(x.ID)
		r.Reply.WaitID = x.Wait.ID
		e.apply(r)
		require.Equal(t, want, e.m.Output().Text())
		require.Zero(t, e.m.Output().Counts.ToolCalls)
		e.replays(through)
	}
}

// A wait is bound to run, effect, tool and arguments: a reply to another one fits nowhere.
func TestApproval_isBound(t *testing.T) {
	ids := map[string]bool{}
	for _, run := range []string{"r", "q"} {
		for _, args := range []string{`{"a":1}`, `{"a":2}`} {
			e := drive(t, config(only(caller("g")), tool(tools.Definition{Name: "g", NeedsApproval: true})), machine.Started{Run: run, Strategy: "main"})
			a := calling("g", "g")
			for i, part := range a.Response.Message.Content {
				c := part.(messages.ToolCall)
				c.Arguments = args
				a.Response.Message.Content[i] = c
			}
			e.answer("1", a)
			for _, w := range e.m.Waits() {
				ids[w.ID] = true
			}
		}
	}
	require.Len(t, ids, 8)
}

// An approval that has expired is asked for anew when the run is resumed, and the reply to the old
// wait is refused.
func TestApproval_expires(t *testing.T) {
	e := begin(t, only(caller("g")), tool(tools.Definition{Name: "g", NeedsApproval: true}), func(c *machine.Config) { c.Expires = time.Hour })
	e.answer("1", calling("g"))
	old := e.effect("2/1/1").Wait
	e.crash(0)
	e.now = e.now.Add(30 * time.Minute)
	e.resume(machine.Resumed{})
	require.Equal(t, old.ID, e.effect("2/1/1").Wait.ID, "it is good still")
	e.crash(0)
	e.now = e.now.Add(time.Hour)
	e.resume(machine.Resumed{})
	require.Equal(t, []string{"2/1/2"}, e.ids())
	fresh := e.effect("2/1/2").Wait
	require.NotEqual(t, old.ID, fresh.ID)
	wrong[*machine.ReplyError](t, e, machine.Replied{At: e.now, Reply: machine.Reply{WaitID: old.ID, Approve: true}}, fresh.ID)
	e.reply("2/1/2", machine.Reply{Approve: true})
	e.answer("2/1", result("c1", "made"))
	require.Equal(t, "made", e.m.Output().Text())
	e.replays(through)
}

// under goes on with the run of a journal under another policy.
func (e *engine) under(p machine.ApprovalPolicy) *engine {
	cfg := *e.cfg
	cfg.Approve = p
	other := &engine{t: e.t, cfg: &cfg, now: e.now, records: e.records, known: maps.Clone(e.known), made: map[string]int{}}
	other.crash(0)
	return other
}

// fourCalls begins a run under a policy that makes four calls, two at a time.
func fourCalls(t *testing.T, p machine.ApprovalPolicy) *engine {
	e := begin(t, only(caller("a", "b", "w", "q")), offering("a", "b", "q"), tool(tools.Definition{Name: "w"}), judged(p), places(2))
	e.answer("1", calling("a", "w", "b", "q"))
	return e
}

// askOf has a person asked about one tool.
func askOf(name string) machine.ApprovalPolicy {
	return func(r machine.ApprovalRequest) machine.Verdict {
		if r.Call.Name == name {
			return machine.VerdictAsk
		}
		return machine.VerdictAllow
	}
}

// For the calls that are open when a run is resumed a stricter policy wins.
func TestApproval_ofAStricterPolicy(t *testing.T) {
	t.Run("stricter", func(t *testing.T) {
		e := fourCalls(t, nil)
		e.answer("2/1", result("c1", "A"))
		require.Equal(t, []string{"2/2", "2/3"}, e.ids())
		e = e.under(machine.AllowNever)
		e.resume(machine.Resumed{})
		require.ElementsMatch(t, []string{"2/2/1"}, e.ids(), "what may have had its effect is a question, and the rest is refused")
		require.Contains(t, e.intents(), "2/3 refuse")
		require.Contains(t, e.intents(), "2/4 refuse")
		e.reply("2/2/1", machine.Reply{Text: "it had"})
		require.Contains(t, e.m.Output().Text(), "A|the run broke off while this call was made")
		e.replays(through)
	})
	t.Run("stricter about what is made again", func(t *testing.T) {
		e := fourCalls(t, nil)
		e.crash(0)
		e.resume(machine.Resumed{})
		e.reply("2/2/1", machine.Reply{Approve: true})
		e = e.under(machine.AllowNever)
		e.resume(machine.Resumed{})
		require.Contains(t, e.finished(), "0 c2 unknown refused", "it may have had its effect all the same")
	})
	t.Run("stricter about what was suspended", func(t *testing.T) {
		e := fourCalls(t, nil)
		a := e.effect("2/1")
		e.suspend("2/1", question(&a, "?"))
		e = e.under(machine.AskAlways)
		e.resume(machine.Resumed{})
		require.Contains(t, e.ids(), "2/1/1")
		require.Contains(t, e.ids(), "2/1/2", "it has to be approved as well")
		e.reply("2/1/1", machine.Reply{Text: "x"})
		require.NotContains(t, e.ids(), "2/1")
		e.reply("2/1/2", machine.Reply{Approve: true})
		require.Contains(t, e.ids(), "2/1")
		e.replays(through)
		e.suspend("2/1", question(&a, "and?"))
		e = e.under(machine.AllowNever)
		e.resume(machine.Resumed{})
		require.Contains(t, e.finished(), "0 c1 failed refused")
		require.Empty(t, e.ids(), "nobody is asked about what is refused")
	})
}

// A laxer policy changes nothing about them.
func TestApproval_ofALaxerPolicy(t *testing.T) {
	e := fourCalls(t, machine.AskAlways)
	e.reply("2/3/1", machine.Reply{Approve: true})
	e = e.under(machine.AllowAlways)
	e.resume(machine.Resumed{})
	require.ElementsMatch(t, []string{"2/1/1", "2/2/1", "2/4/1", "2/3"}, e.ids())
	require.True(t, e.effect("2/3").Approved)
	for _, p := range []machine.ApprovalPolicy{nil, machine.AskAlways} {
		e = e.under(p)
		e.resume(machine.Resumed{})
		require.ElementsMatch(t, []string{"2/1/1", "2/2/1", "2/4/1", "2/3"}, e.ids(), "what a person approved is approved")
	}
}

// A journal is replayed as it is, whatever the policy says by then.
func TestApproval_ofAnotherDay(t *testing.T) {
	for _, was := range []machine.ApprovalPolicy{nil, machine.AskAlways, askOf("a"), askOf("w"), askOf("b")} {
		for _, is := range []machine.ApprovalPolicy{nil, machine.AllowAlways, machine.AskAlways, machine.AllowNever, askOf("a"), askOf("b")} {
			e := fourCalls(t, was)
			for e.m.Status() == "" && len(e.records) < 6 {
				x := e.open[0]
				if x.Kind == machine.EffectPerson {
					break
				}
				if x.Call.Name == "q" {
					e.suspend(x.ID.String(), question(&x, "?"))
					continue
				}
				e.answer(x.ID.String(), result(x.Call.ID, x.Call.Name))
			}
			e.stop(machine.Stopped{Now: true})
			for !e.m.Done() {
				e.answer(e.ids()[0], nextstep.Failure{Message: "cut"})
			}
			other := e.under(is)
			require.Equal(t, e.m.Output(), other.m.Output())
		}
	}
}

// A policy judges agents, too: before a branch is open its verdict is stored.
func TestApproval_ofAgents(t *testing.T) {
	set, edits := nested(2)
	build := func(p machine.ApprovalPolicy) *engine {
		e := begin(t, set, append(edits, judged(p))...)
		e.answer("1", calling("a2", "r"))
		return e
	}
	e := build(machine.AllowAlways)
	require.Equal(t, []string{"2/1 allow"}, e.intents())
	require.ElementsMatch(t, []string{"2/2", "3"}, e.ids())
	e = e.under(machine.AllowNever)
	e.resume(machine.Resumed{})
	require.Contains(t, e.ids(), "3", "a branch that is open stays")

	e = build(machine.AskIfChanging)
	require.Equal(t, []string{"2/1 ask"}, e.intents())
	e.reply("2/1/1", machine.Reply{Approve: true})
	require.Contains(t, e.ids(), "3")
	e.answer("3", said("part"))
	e.answer("2/2", result("c2", "R"))
	require.Equal(t, "all is well: part|R", e.m.Output().Text())
	e.replays(through)

	e = build(machine.AllowNever)
	require.Equal(t, "all is well: this call is not allowed here|this call is not allowed here", e.m.Output().Text())
	require.Len(t, e.events(machine.EventFrameEntered), 1)

	// a run that was begun without a policy is judged once there is one
	e = build(nil)
	e.crash(0)
	e = e.under(machine.AllowNever)
	e.resume(machine.Resumed{})
	e.answer("3", calling("r"))
	require.Contains(t, e.finished(), "0.1 c1 failed refused")
}

// What was decided about a call, and not stored when the run broke off, is decided again.
func TestApproval_verdictsThatWereLost(t *testing.T) {
	set, edits := nested(2)
	e := begin(t, set, append(edits, judged(machine.AskAlways), places(1))...)
	e.answer("1", calling("a2", "r", "w"))
	require.Equal(t, []string{"2/1 ask", "2/2 ask", "2/3 ask"}, e.intents())
	other := begin(t, set, append(edits, judged(machine.AskIfChanging))...)
	other.answer("1", calling("w", "a2"))
	other.crash(1)
	require.Empty(t, other.m.Status(), "a person is asked about w, and what becomes of a2 is not known")
	for lost := 1; lost <= 3; lost++ {
		for _, p := range []machine.ApprovalPolicy{machine.AskAlways, machine.AllowAlways} {
			for _, x := range fold(t, e.cfg, e.records[:len(e.records)-lost]).Open() {
				require.Equal(t, machine.EffectPerson, x.Kind, "none of the calls is to be made")
			}
			again := &engine{t: t, cfg: e.cfg, now: e.now, records: e.records, known: maps.Clone(e.known), made: map[string]int{}}
			again.crash(lost)
			require.Empty(t, again.m.Status(), "it does not wait for people alone")
			again = again.under(p)
			again.resume(machine.Resumed{})
			require.Len(t, again.open, map[bool]int{true: 3, false: 1 + 3 - lost}[p(machine.ApprovalRequest{}) == machine.VerdictAsk])
		}
	}
}
