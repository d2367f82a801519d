package orchestrator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// turn is a task of the session chat.
func turn(goal string) orchestrator.Task {
	return orchestrator.Task{Session: "chat", Input: delegation.Input{Goal: goal}}
}

// saidIn is a history as text.
func saidIn(h messages.History) (list []string) {
	for _, m := range h {
		switch m := m.(type) {
		case messages.User:
			list = append(list, "user: "+m.Text())
		case messages.Assistant:
			list = append(list, "assistant: "+m.Text())
		case messages.Tool:
			list = append(list, "tool: "+string(m.Status)+" "+m.Reason)
		}
	}
	return list
}

// A session goes on from run to run, in other processes, whatever became of the run before: it
// failed, was stopped, waits, or broke off.
func TestSession(t *testing.T) {
	store := new(checkpoint.Memory)
	var model *scripted.Client
	build := func(replies ...scripted.Reply) *orchestrator.Orchestrator {
		model = scripted.New(replies...)
		return solver(t, model, stored(store), with(tools.AskUser(), counted("pay", new(atomic.Int32))))
	}
	res := ran(t, build(scripted.Text("Hello Ann.")), turn("I am Ann."))
	require.Equal(t, "chat.1", res.Run)
	res = ran(t, build(scripted.Text("Ann.")), turn("Who am I?"))
	require.Equal(t, "chat.2", res.Run)
	said := []string{"user: I am Ann.", "assistant: Hello Ann.", "user: Who am I?"}
	require.Equal(t, said, saidIn(model.Requests()[0].Messages))

	_, err := build(scripted.Error(&llmclient.Error{Code: llmclient.CodeAuth, Message: "no"})).Run(t.Context(), turn("And now?"))
	require.Error(t, err)
	said = append(said, "assistant: Ann.", "user: And now?")
	h, err := build().History(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Equal(t, said, saidIn(h))

	res = ran(t, build(scripted.Calls(question("Which?", "1"))), turn("Choose."))
	require.Equal(t, machine.StatusWaiting, res.Status)
	said = append(said, "user: Choose.", "assistant: ", "tool: failed suspended")
	h, err = build().History(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Equal(t, said, saidIn(h))

	stopped, stop := turn("Stop."), make(chan struct{})
	close(stop)
	stopped.Stop = stop
	res, err = build().Run(t.Context(), stopped)
	require.Error(t, err)
	require.Equal(t, machine.StatusStopped, res.Status)

	for e := range build(scripted.Calls(scripted.Call("pay", "{}", "2"))).Stream(t.Context(), turn("Pay.")) {
		if e.Kind == machine.EventToolStarted {
			break // the process dies
		}
	}
	res = ran(t, build(scripted.Text("at last")), turn("Well?"))
	request := model.Requests()[0].Messages
	require.NoError(t, request.Validate())
	require.Equal(t, []string{"user: Pay.", "assistant: ", "tool: unknown interrupted", "user: Well?"}, saidIn(request)[len(saidIn(request))-4:])
	require.Equal(t, "chat.7", res.Run)
	require.NoError(t, res.Output.Messages.Validate())
}

// Sessions and their runs are listed; the namespaces do not know each other's.
func TestSession_lists(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3"), scripted.Text("4"), scripted.Text("5")), stored(store))
	for _, ta := range []orchestrator.Task{
		turn("a"), turn("b"),
		{Session: "other", Input: delegation.Input{Goal: "c"}, Labels: map[string]string{"team": "x"}},
		{Session: "chat", Namespace: "n", Input: delegation.Input{Goal: "d"}},
		{Input: delegation.Input{Goal: "e"}},
	} {
		ran(t, o, ta)
	}
	var names []string
	var turns []int
	for s, err := range o.Sessions(t.Context(), "") {
		require.NoError(t, err)
		names, turns = append(names, s.Name), append(turns, s.Turns)
	}
	require.Equal(t, []string{"other", "chat"}, names)
	require.Equal(t, []int{1, 2}, turns)
	var runs []string
	for head, err := range o.SessionRuns(t.Context(), "", "chat") {
		require.NoError(t, err)
		runs = append(runs, head.Key.Run)
	}
	require.Equal(t, []string{"chat.2", "chat.1"}, runs)
	h, err := o.History(t.Context(), "n", "chat")
	require.NoError(t, err)
	require.Equal(t, []string{"user: d", "assistant: 4"}, saidIn(h))
	h, err = o.History(t.Context(), "", "nobody")
	require.NoError(t, err)
	require.Empty(t, h)
}

// A fork is the first run of a branch: a session of its own. Without a name it is of no session.
func TestSession_branches(t *testing.T) {
	store := new(checkpoint.Memory)
	model := scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("other 2"), scripted.Text("other 3"))
	o := solver(t, model, stored(store))
	for _, goal := range []string{"a", "b"} {
		ran(t, o, turn(goal))
	}
	last := recordsIn(t, store, "chat.2")
	require.Len(t, last, 2)
	fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "chat.2"}, At: 1, Run: "branch.1", Session: "branch"})
	require.Equal(t, "other 2", goOn(t, o, "branch.1").Output.Text())
	res := ran(t, o, orchestrator.Task{Session: "branch", Input: delegation.Input{Goal: "c"}})
	require.Equal(t, "branch.2", res.Run)
	require.Equal(t, []string{"user: a", "assistant: 1", "user: b", "assistant: other 2", "user: c", "assistant: other 3"}, saidIn(res.Output.Messages))
	fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "chat.1"}, Run: "f"})
	require.Empty(t, headOf(t, store, "f").Header.Labels)
	h, err := o.History(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Equal(t, []string{"user: a", "assistant: 1", "user: b", "assistant: 2"}, saidIn(h))
}

// One turn at a time: who begins one while somebody works on the last is told so, and of two who
// begin the same one gets it.
func TestSession_oneAtATime(t *testing.T) {
	store := new(checkpoint.Memory)
	released, asked := make(chan struct{}), make(chan struct{}, 1)
	model := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		asked <- struct{}{}
		<-released
		return &llmclient.Response{Message: messages.AssistantText("ok")}, nil
	})
	o, elsewhere := solver(t, model, stored(store)), solver(t, model, stored(store))
	over := make(chan error)
	go func() {
		_, err := o.Run(t.Context(), turn("a"))
		over <- err
	}()
	waittest.Receive(t, asked)
	for _, other := range []*orchestrator.Orchestrator{o, elsewhere} {
		_, err := other.Run(t.Context(), turn("b"))
		busy := new(orchestrator.RunExistsError)
		require.ErrorAs(t, err, &busy)
		require.True(t, busy.InProgress)
		require.Equal(t, "chat.1", busy.Run)
	}
	close(released)
	require.NoError(t, waittest.Receive(t, over))
}

// Without leases the head says who may be at work: a turn that is running there keeps the next one
// from beginning, until the task says that it is dead. A turn that waits does not.
func TestSession_withoutLeases(t *testing.T) {
	none := func(c *orchestrator.Config) { c.Lease = -1 }
	for name, wrap := range map[string]func(*checkpoint.Memory) checkpoint.Store{
		"switched off": func(m *checkpoint.Memory) checkpoint.Store { return m },
		"a store that has none": func(m *checkpoint.Memory) checkpoint.Store {
			return struct {
				checkpoint.Store
				checkpoint.Lister
			}{m, m}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := wrap(new(checkpoint.Memory))
			slow, release, over := slowTurn(t, store, none)
			fast := solver(t, scripted.New(scripted.Text("ok"), scripted.Calls(question("A?", "1")), scripted.Text("ok")), stored(store), none, with(tools.AskUser()))
			_, err := fast.Run(t.Context(), turn("b"))
			busy := new(orchestrator.RunExistsError)
			require.ErrorAs(t, err, &busy)
			require.ErrorIs(t, err, checkpoint.ErrConflict)
			require.True(t, busy.InProgress)
			require.ErrorContains(t, err, `run "chat.1" is in progress, or its process has died: without leases nobody knows; wait until it has ended, or set Task.TakeOver`)

			dead := turn("b")
			dead.TakeOver = true
			_, err = slow.Run(t.Context(), dead)
			require.ErrorAs(t, err, &busy, "it is at work in this process")
			res := ran(t, fast, dead)
			require.Equal(t, "chat.2", res.Run)
			close(release)
			require.Equal(t, machine.StatusTakenOver, waittest.Receive(t, over).Status)
			head, err := fast.Head(t.Context(), checkpoint.Key{Run: "chat.1"})
			require.NoError(t, err)
			require.Equal(t, checkpoint.StatusParked, head.Header.Status)
			h, err := fast.History(t.Context(), "", "chat")
			require.NoError(t, err)
			require.Equal(t, []string{"user: a", "user: b", "assistant: ok"}, saidIn(h))

			for range 2 { // the first waits at its end, and the second begins nevertheless
				ran(t, fast, turn("c"))
			}
		})
	}
}

// What a session cannot do without is said; a run whose strategy is gone still has its history.
func TestSession_refuses(t *testing.T) {
	_, err := solver(t, scripted.New()).Run(t.Context(), turn("a"))
	require.ErrorAs(t, err, new(*orchestrator.ConfigError))
	require.ErrorContains(t, err, "Task.Session")
	_, err = solver(t, scripted.New(), stored(storeOnly{new(checkpoint.Memory)})).Run(t.Context(), turn("a"))
	require.ErrorContains(t, err, "checkpoint.Lister")
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(), stored(store))
	bad := turn("a")
	bad.Session = "\x00"
	_, err = o.Run(t.Context(), bad)
	require.True(t, errors.Is(err, checkpoint.ErrID))

	ran(t, solver(t, scripted.New(scripted.Text("ok")), stored(store)), turn("a"))
	renamed := solver(t, scripted.New(), stored(store), func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"renamed": completetask.New(completetask.Config{})}
	})
	h, err := renamed.History(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Equal(t, []string{"user: a"}, saidIn(h))
}

// storeOnly is a store without abilities.
type storeOnly struct{ checkpoint.Store }

// A handoff lasts: the next turn of a session begins with the strategy that has answered. Going
// back is a handoff like another, and a turn can say where it begins.
func TestSession_handoffLasts(t *testing.T) {
	transfer := func(to string) scripted.Reply { return scripted.Calls(scripted.Call("transfer_to_"+to, "{}", "")) }
	model := scripted.New(
		transfer("refunds"), scripted.Text("Which order?"), // turn 1
		scripted.Text("Done."),                          // turn 2
		transfer("triage"), scripted.Text("What else?"), // turn 3
		scripted.Text("Bye."),   // turn 4
		scripted.Text("Again?"), // turn 5
	)
	agent := func(system, to string) func() strategy.Strategy {
		return completetask.New(completetask.Config{System: system, Handoffs: []completetask.Handoff{{Strategy: to}}})
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: model, Store: new(checkpoint.Memory), Default: "triage",
		Strategies: strategy.Set{"triage": agent("You are triage.", "refunds"), "refunds": agent("You are refunds.", "triage")},
	})
	require.NoError(t, err)
	for i, want := range []struct{ begins, system, answers string }{
		{"", "You are triage.", "refunds"},
		{"", "You are refunds.", "refunds"},
		{"", "You are refunds.", "triage"},
		{"", "You are triage.", "triage"},
		{"refunds", "You are refunds.", "refunds"},
	} {
		before := len(model.Requests())
		task := turn("go on")
		task.Strategy = want.begins
		res, err := o.Run(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, want.answers, res.Strategy, "turn %d", i+1)
		require.Equal(t, want.system, model.Requests()[before].Messages[0].(messages.System).Text, "turn %d", i+1)
	}
}

// A conversation says what its last run asks, and from where it is followed: all before that place
// stands in the history, and nothing behind it does.
func TestSession_conversation(t *testing.T) {
	o := solver(t, scripted.New(scripted.Text("Hello Ann."), scripted.Calls(scripted.Call("ask_user", `{"question":"Where to?"}`, "1")), scripted.Text("To Rome.")),
		stored(new(checkpoint.Memory)), with(tools.AskUser()))
	c, err := o.Conversation(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Equal(t, orchestrator.Conversation{Session: orchestrator.Session{Name: "chat"}}, c)
	for _, goal := range []string{"I am Ann.", "Book a trip."} {
		_, err = o.Run(t.Context(), turn(goal))
		require.NoError(t, err)
	}
	c, err = o.Conversation(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Equal(t, 2, c.Turns)
	require.Equal(t, "chat.2", c.Last.Key.Run)
	require.Equal(t, c.Last.Last, c.Position.Record)
	require.Equal(t, "Where to?", c.Waits[0].Text)
	require.Equal(t, []string{"user: I am Ann.", "assistant: Hello Ann.", "user: Book a trip.", "assistant: ", "tool: failed suspended"}, saidIn(c.History))

	answer := machine.Reply{WaitID: c.Waits[0].ID, Text: "To Rome."}
	require.NoError(t, o.Answer(t.Context(), c.Last.Key, answer))
	answered, err := o.Conversation(t.Context(), "", "chat")
	require.NoError(t, err)
	require.Empty(t, answered.Waits, "the answer is in the inbox")
	_, err = orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "chat.2"}))
	require.NoError(t, err)
	var kinds []machine.EventKind
	for e, err := range o.Follow(t.Context(), c.Last.Key, c.Position) {
		require.NoError(t, err)
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []machine.EventKind{machine.EventRunResumed, machine.EventWaitEnded}, kinds[:2])
	require.Equal(t, machine.EventRunFinished, kinds[len(kinds)-1])
}
