package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// untrusted is a result that came from outside.
func untrusted(id, text string) nextstep.ToolResult {
	return nextstep.ToolResult{Output: messages.ToolOutput{CallID: id, Output: text, Untrusted: true}}
}

// Text from outside taints the branch that reads it, those that it opens then, and its caller once
// the batch has ended: never a sibling. So a verdict does not depend on which of them ends first.
func TestTaint_ofBranches(t *testing.T) {
	for _, order := range [][]string{{"5/1", "4"}, {"4", "5/1"}} {
		var judged []string
		set, edits := nested(3)
		again := set["main"]
		set["main"] = func() *scene {
			s := again()
			turn := 0
			s.Results = func(r []messages.ToolOutput) nextstep.NextStep {
				if turn++; turn == 1 {
					return ask("more", "r", "a2")
				}
				return done(texts(r))
			}
			return s
		}
		e := begin(t, set, append(edits, func(c *machine.Config) {
			c.Approve = func(r machine.ApprovalRequest) machine.Verdict {
				judged = append(judged, r.Frame+" "+r.Call.Name+map[bool]string{true: " tainted"}[r.Untrusted])
				return machine.VerdictAllow
			}
		})...)
		e.answer("1", calling("a2", "a2"))
		e.answer("3", calling("r"))
		for _, id := range order {
			if id == "4" {
				e.answer(id, calling("r", "a3"))
			} else {
				e.answer(id, untrusted("c1", "of the web"))
			}
		}
		require.Contains(t, judged, "0.2 r", "its sibling has read of the web, and it has not")
		e.answer("6/1", result("c1", "clean"))
		require.False(t, e.effect("7").Untrusted)
		e.answer("7", said("clean, too"))
		require.Equal(t, "8", e.ids()[0])
		require.True(t, e.effect("8").Untrusted, "the batch has ended")
		judged = nil
		e.answer("8", calling("a2", "r"))
		require.Equal(t, []string{"0 a2 tainted", "0 r tainted"}, judged)
		require.True(t, e.effect("10").Untrusted, "what it opens inherits that")
		e.answer("10", said("x"))
		e.answer("9/2", result("c2", "y"))
		require.True(t, e.m.Output().Untrusted)
		metas := e.events(machine.EventToolFinished)
		var taints []bool
		for _, ev := range metas {
			if ev.Frame == "0" {
				taints = append(taints, ev.Detail.(machine.ToolFinished).Output.Untrusted)
			}
		}
		require.ElementsMatch(t, []bool{true, false, true, false}, taints)
		e.replays(through)
	}
}

// A delegation is of the same branch: what a child reads taints its parent at once, and the other
// way.
func TestTaint_ofDelegations(t *testing.T) {
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			s := caller("r")()
			s.Start = func(delegation.Input) nextstep.NextStep {
				return nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "x"}}
			}
			s.Child = func(delegation.Output) nextstep.NextStep { return ask("on", "r") }
			return s
		},
		"child": caller("r"),
	}, offering("r"))
	e.answer("2", calling("r"))
	e.answer("3/1", untrusted("c1", "of the web"))
	require.True(t, e.effect("4").Untrusted)
	require.Equal(t, "0", e.effect("4").Frame)
}

// Other ways in which text from outside comes into a run.
func TestTaint_sources(t *testing.T) {
	outside := messages.History{
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "1", Name: "r"}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", Untrusted: true}},
	}
	e := drive(t, config(only(hungry())), machine.Started{Strategy: "main", Input: delegation.Input{Goal: "x", Messages: outside}})
	require.True(t, e.effect("1").Untrusted, "the input")

	e = begin(t, only(hungry("a")), agent("a", "main", func(a *machine.Agent) {
		a.Inputs = func(string) ([]delegation.Input, bool, error) {
			return []delegation.Input{{Goal: "x", Messages: outside}}, false, nil
		}
	}))
	require.False(t, e.effect("1").Untrusted)
	e.answer("1", calling("a"))
	require.True(t, e.effect("3").Untrusted, "the input of a branch")

	for name, out := range map[string]delegation.Output{"said so": {Untrusted: true}, "read": {Messages: outside}, "clean": {}} {
		e = begin(t, only(func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
				Child: func(delegation.Output) nextstep.NextStep { return ask("on") },
			}
		}), remote)
		e.answer("1", nextstep.DelegationResult{Output: out})
		if name == "clean" {
			require.Equal(t, machine.StatusLimit, e.m.Status(), "it is taken to have used all")
			require.False(t, e.m.Output().Untrusted)
			continue
		}
		require.True(t, e.m.Output().Untrusted, "a remote: %s", name)
	}

	e = begin(t, only(caller("out")), tool(tools.Definition{Name: "out", ReadOnly: true, Untrusted: true}))
	e.answer("1", calling("out"))
	e.answer("2/1", nextstep.Failure{Message: "the page says: obey"})
	require.True(t, e.m.Output().Untrusted, "the error of such a tool")

	set := map[string]func() *scene{"main": hungry("a"), "part": func() *scene { return &scene{} }}
	e = begin(t, set, agent("a", "part"), func(c *machine.Config) { c.Tools[0].Untrusted = true })
	e.answer("1", calling("a"))
	e.answer("3", said("x"))
	require.True(t, e.m.Output().Untrusted, "an agent whose definition says so")
}

// Calls as they were made are those of the conversation.
func TestMachine_callsAsMade(t *testing.T) {
	var edited []messages.ToolCall
	e := begin(t, only(caller("a", "b")), offering("a", "b"), func(c *machine.Config) {
		c.Strategies["main"] = editing(c.Strategies["main"], &edited)
	})
	e.answer("1", calling("a", "b"))
	made := messages.ToolCall{ID: "c2", Name: "b", Arguments: `{"safe":1}`}
	e.answer("2/2", nextstep.ToolResult{Output: messages.ToolOutput{CallID: "c2"}, Call: &made})
	e.answer("2/1", result("c1", ""))
	want := []messages.ToolCall{{ID: "c1", Name: "a", Arguments: "{}"}, made}
	require.Equal(t, want, edited)
	require.Equal(t, want, e.m.Output().Messages[1].(messages.Assistant).Calls())
}
