package orchestrator_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

// Whoever forgets a run of a session forgets the runs that continued the conversation, which hold
// what was said in it.
func TestSession_isForgottenFromARunOn(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3"), scripted.Text("4")), stored(store))
	for _, goal := range []string{"before", "my name is Ann", "and now?", "well?"} {
		ran(t, o, turn(goal))
	}
	require.Equal(t, checkpoint.Origin{Run: "chat.2"}, headOf(t, store, "chat.3").Header.Origin)
	gone, err := checkpoint.Forget(t.Context(), store, checkpoint.Key{Run: "chat.2"})
	require.NoError(t, err)
	require.Equal(t, []checkpoint.Key{{Run: "chat.2"}, {Run: "chat.3"}, {Run: "chat.4"}}, gone.Runs)
	require.Equal(t, []checkpoint.Key{{Run: "chat.1"}}, gone.Origins)
	require.NotContains(t, whole(t, store), "Ann")
	h, err := o.History(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Equal(t, []string{"user: before", "assistant: 1"}, saidIn(h))
}

// The last run of a session is the one with the highest turn, and not the one that came into the
// store last: by an import, or by a clock that goes wrong.
func TestSession_goesByTurns(t *testing.T) {
	store := new(checkpoint.Memory)
	model := scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3"))
	o := solver(t, model, stored(store))
	for _, goal := range []string{"a", "b"} {
		ran(t, o, turn(goal))
	}
	first := exported(t, o, checkpoint.Key{Run: "chat.1"})
	require.NoError(t, store.Delete(t.Context(), checkpoint.Key{Run: "chat.1"}))
	_, err := runs.Import(t.Context(), o, strings.NewReader(first))
	require.NoError(t, err)

	var turns []int
	for s, err := range o.Sessions(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, "chat.2", s.Last.Key.Run)
		turns = append(turns, s.Turns)
	}
	require.Equal(t, []int{2}, turns)
	res := ran(t, o, turn("c"))
	require.Equal(t, "chat.3", res.Run)
	require.Equal(t, []string{"user: a", "assistant: 1", "user: b", "assistant: 2", "user: c", "assistant: 3"}, saidIn(res.Output.Messages))
}

// The title of a session is the first text of its user that is kept: also of one that was forked,
// or whose first runs are deleted.
func TestSession_title(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3")), stored(store))
	title := func(want string) {
		t.Helper()
		for s, err := range o.Sessions(t.Context(), "") {
			require.NoError(t, err)
			got, err := o.Title(t.Context(), &s)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	ran(t, o, turn("Plan a trip\n\tto Rome, please, "+strings.Repeat("é", 100)))
	ran(t, o, turn("By train."))
	want := "Plan a trip to Rome, please, " + strings.Repeat("é", 25) + "…"
	title(want)
	require.NoError(t, store.Delete(t.Context(), checkpoint.Key{Run: "chat.1"}))
	title(want)

	require.NoError(t, store.Delete(t.Context(), checkpoint.Key{Run: "chat.2"}))
	said := turn("")
	said.Input.Messages = messages.History{messages.UserText("Hello.")}
	ran(t, o, said)
	title("Hello.")
	_, err := o.Title(t.Context(), &orchestrator.Session{First: checkpoint.Head{Key: checkpoint.Key{Run: "none"}}})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
}

// A branch is a session of its own: a fork cannot begin one that there is.
func TestFork_intoASession(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("1"), scripted.Text("2")), stored(store))
	for _, goal := range []string{"a", "b"} {
		ran(t, o, turn(goal))
	}
	_, err := runs.Fork(t.Context(), o, runs.ForkConfig{From: checkpoint.Key{Run: "chat.1"}, Session: "chat"})
	require.ErrorAs(t, err, new(*runs.Error))
	require.ErrorContains(t, err, `there is a session "chat"`)
}

// What a fork brings itself is redacted as all else is.
func TestFork_isRedacted(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("look", "{}", "1")), scripted.Text("done")), stored(store), with(echo("look")), redacting(withoutCards))
	ran(t, o, task("go"))
	at := placeOf(t, recordsIn(t, store, "r"), func(a machine.Answered) bool { return a.Kind == machine.EffectTool })
	for _, how := range []runs.ForkConfig{
		{Input: &delegation.Input{Goal: "pay " + card}},
		{At: at, Answer: nextstep.ToolResult{Output: messages.ToolOutput{Output: card}}},
	} {
		how.From = keyOfRun
		fork(t, o, how)
	}
	require.NotContains(t, whole(t, store), card)
}
