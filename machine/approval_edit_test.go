package machine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// teller makes the calls of a model's reply, and is told how they were made.
type teller struct {
	*scene
	told *[]string
}

func (s teller) EditCalls(calls []messages.ToolCall) {
	for _, c := range calls {
		*s.told = append(*s.told, c.ID+" "+c.Arguments)
	}
}

func (teller) Snapshot() (json.RawMessage, error) { return json.RawMessage("{}"), nil }

func (teller) Restore(json.RawMessage) error { return nil }

// askedOf begins a run whose model calls tools, and whose policy judges each call. It returns how
// the strategy is told that the calls were made.
func askedOf(t *testing.T, p machine.ApprovalPolicy, defs ...tools.Definition) (e *engine, told *[]string) {
	t.Helper()
	var names []string
	edits := []func(*machine.Config){judged(p)}
	for _, def := range defs {
		names = append(names, def.Name)
		edits = append(edits, tool(def))
	}
	told = new([]string)
	edits = append(edits, func(c *machine.Config) {
		c.Strategies["main"] = func() strategy.Strategy { return teller{caller(names...)(), told} }
	})
	e = begin(t, only(caller()), edits...)
	e.answer("1", calling(names...))
	return e, told
}

// named are definitions of tools that change something.
func named(names ...string) (defs []tools.Definition) {
	for _, name := range names {
		defs = append(defs, tools.Definition{Name: name})
	}
	return defs
}

// A person changes the arguments of a call and approves it so: that call is made, its intent is for
// that call, and the conversation has it.
func TestApproval_edited(t *testing.T) {
	e, told := askedOf(t, machine.AskAlways, named("pay", "send")...)
	shown := e.effect("2/1/1").Digest
	e.reply("2/1/1", machine.Reply{Approve: true, Arguments: "{\n  \"to\": \"a <b>\",\n  \"amount\": 1.50\n}\n"})
	x := e.effect("2/1")
	require.Equal(t, `{"to":"a <b>","amount":1.50}`, x.Call.Arguments, "without blanks, otherwise as it was written")
	require.True(t, x.Approved)
	require.NotEqual(t, shown, x.Digest)
	last := e.records[len(e.records)-1].(machine.Intended)
	require.Equal(t, machine.VerdictAllow, last.Verdict)
	require.Equal(t, x.Digest, last.Digest, "the intent is for the call as it is made")
	started := e.events(machine.EventToolStarted)
	require.Equal(t, x.Call, started[0].Detail.(machine.ToolStarted).Call)
	ended := e.events(machine.EventWaitEnded)
	require.NotEmpty(t, ended[0].Detail.(machine.WaitEnded).Reply.Arguments)

	e.reply("2/2/1", machine.Reply{Approve: true})
	e.answer("2/2", result("c2", "sent"))
	e.answer("2/1", result("c1", "paid"))
	require.Equal(t, []string{`c1 {"to":"a <b>","amount":1.50}`, "c2 {}"}, *told)
	e.replays(through)
}

// Arguments that say the same as those that were shown change nothing.
func TestApproval_editedInNothing(t *testing.T) {
	e, told := askedOf(t, machine.AskAlways, named("pay")...)
	e.reply("2/1/1", machine.Reply{Approve: true, Arguments: " { } "})
	require.Equal(t, "{}", e.effect("2/1").Call.Arguments)
	e.answer("2/1", result("c1", "paid"))
	require.Empty(t, *told)
	e.replays(through)
}

// A changed call is judged again: the policy may refuse what a person made of it, and nothing is
// made of a call before that is stored.
func TestApproval_editedIsJudgedAgain(t *testing.T) {
	noFee := func(r machine.ApprovalRequest) machine.Verdict {
		switch r.Call.Arguments {
		case `{"fee":1}`:
			return machine.VerdictRefuse
		case `{"fee":0}`:
			return machine.VerdictAllow
		}
		return machine.VerdictAsk
	}
	e, told := askedOf(t, noFee, named("pay", "send", "ship")...)
	e.reply("2/1/1", machine.Reply{Approve: true, Arguments: `{"fee":1}`})
	require.Contains(t, e.intents(), "2/1 refuse")
	require.Equal(t, []string{"0 c1 failed refused"}, e.finished())
	e.reply("2/2/1", machine.Reply{Approve: true, Arguments: `{"fee":0}`})
	e.reply("2/3/1", machine.Reply{Approve: true, Arguments: `{"fee":2}`})
	require.ElementsMatch(t, []string{"2/2", "2/3"}, e.ids(), "a person need not be asked about what a person wrote")
	e.answer("2/2", result("c2", "2"))
	e.answer("2/3", result("c3", "3"))
	require.Equal(t, []string{`c1 {"fee":1}`, `c2 {"fee":0}`, `c3 {"fee":2}`}, *told)
	e.replays(through)

	for lost := range 2 { // with the verdict, and without it
		e, _ := askedOf(t, noFee, named("pay", "send")...)
		e.reply("2/1/1", machine.Reply{Approve: true, Arguments: `{"fee":1}`})
		e.crash(lost)
		e.resume(machine.Resumed{})
		require.Equal(t, []string{"2/2/1"}, e.ids())
		require.Contains(t, e.finished(), "0 c1 failed refused")
	}
}

// The same of a read-only tool, which needs no intent, and of an agent.
func TestApproval_editedOfOtherTools(t *testing.T) {
	noTwo := func(r machine.ApprovalRequest) machine.Verdict {
		if r.Call.Arguments == `{"n":2}` {
			return machine.VerdictRefuse
		}
		return machine.VerdictAsk
	}
	inputs := func(a *machine.Agent) {
		a.Inputs = func(arguments string) ([]delegation.Input, bool, error) {
			return []delegation.Input{{Goal: arguments}}, false, nil
		}
	}
	set := map[string]func() *scene{"main": caller("r", "sub", "sub2"), "child": caller()}
	e := begin(t, set, offering("r"), agent("sub", "child", inputs), agent("sub2", "child", inputs), judged(noTwo))
	e.answer("1", calling("r", "r", "sub", "sub2"))
	e.reply("2/1/1", machine.Reply{Approve: true, Arguments: `{"n":1}`})
	require.Equal(t, `{"n":1}`, e.effect("2/1").Call.Arguments)
	e.reply("2/2/1", machine.Reply{Approve: true, Arguments: `{"n":2}`})
	e.reply("2/3/1", machine.Reply{Approve: true, Arguments: `{"n":3}`})
	e.reply("2/4/1", machine.Reply{Approve: true, Arguments: `{"n":2}`})
	entered := e.events(machine.EventFrameEntered)
	require.Len(t, entered, 2)
	require.Equal(t, `{"n":3}`, entered[1].Detail.(machine.FrameEntered).Goal, "the agent gets what the person wrote")
	require.ElementsMatch(t, []string{"0 c2 failed refused", "0 c4 failed refused"}, e.finished())
	e.finishAll(t)
}

// Only the yes to a call that has not begun can change its arguments, and only to an object.
func TestApproval_editsThatAreRefused(t *testing.T) {
	e, _ := askedOf(t, machine.AskAlways, named("pay")...)
	id := e.effect("2/1/1").Wait.ID
	for problem, r := range map[string]machine.Reply{
		"its Arguments are not a JSON object": {Approve: true, Arguments: `[1]`},
		"not a JSON object":                   {Approve: true, Arguments: `{"a":1} {}`},
		"Arguments are for the approval":      {Arguments: `{}`, Reason: "no"},
	} {
		r.WaitID = id
		wrong[*machine.ReplyError](t, e, machine.Replied{At: e.now, Reply: r}, problem)
	}
	e.reply("2/1/1", machine.Reply{Approve: true})
	x := e.effect("2/1")
	e.suspend("2/1", question(&x, "?"))
	wrong[*machine.ReplyError](t, e, machine.Replied{At: e.now, Reply: machine.Reply{WaitID: question(&x, "?").ID, Text: "a", Arguments: `{}`}}, "for the approval of a call")
	e.finishAll(t)

	other := begin(t, only(caller("pay")), tool(tools.Definition{Name: "pay"}))
	other.answer("1", calling("pay"))
	x = other.effect("2/1")
	other.suspend("2/1", question(&x, "?"))
	other = other.under(machine.AskAlways)
	other.resume(machine.Resumed{})
	wait := other.effect("2/1/2").Wait
	require.Equal(t, machine.WaitApproval, wait.Kind)
	wrong[*machine.ReplyError](t, other, machine.Replied{At: other.now, Reply: machine.Reply{WaitID: wait.ID, Approve: true, Arguments: `{"a":1}`}}, "the call has begun")
	other.finishAll(t)
}

// A snapshot keeps what a person changed, whether the call has its result or waits for its turn.
func TestApproval_editedInASnapshot(t *testing.T) {
	e, told := askedOf(t, machine.AskAlways, append(named("a", "b"), tools.Definition{Name: "c", Sequential: true})...)
	e.reply("2/1/1", machine.Reply{Approve: true, Arguments: `{"n":1}`})
	e.answer("2/1", result("c1", "1"))
	e.reply("2/3/1", machine.Reply{Approve: true, Arguments: `{"n":3}`})
	require.Equal(t, machine.StatusWaiting, e.m.Status())
	e.now = e.tick()
	e.m = carryOver(t, e.cfg, e.m)
	e.records = nil
	wait := e.m.Waits()[0]
	apply := func(r machine.Record) {
		require.NoError(t, e.m.Apply(r))
		for _, i := range e.m.Ready().Intents {
			i := i.(machine.Intended)
			i.At = e.tick()
			require.NoError(t, e.m.Apply(i))
		}
	}
	apply(machine.Replied{At: e.tick(), Reply: machine.Reply{WaitID: wait.ID, Approve: true}})
	for _, id := range []string{"c2", "c3"} {
		x := e.m.Open()[0]
		require.Equal(t, map[string]string{"c2": "{}", "c3": `{"n":3}`}[id], x.Call.Arguments)
		apply(x.Answered(result(id, id), e.tick(), 0))
	}
	require.Equal(t, []string{`c1 {"n":1}`, "c2 {}", `c3 {"n":3}`}, *told)
}
