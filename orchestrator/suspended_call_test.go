package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// shipping reserves goods, asks two questions, and ships what was reserved: it must not reserve
// twice.
func shipping(reserved, shipped *atomic.Int32, expires time.Time) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: "ship"}, func(ctx context.Context, _ string) (string, error) {
		r, ok := tools.Resumed(ctx)
		if !ok {
			n := reserved.Add(1)
			state := json.RawMessage(fmt.Sprintf(`{"reservation":%d}`, n))
			return "", tools.Suspend(ctx, state, tools.Question{Text: "Where to?"}, tools.Question{Text: "By when?", Until: expires})
		}
		var state struct{ Reservation int }
		if err := json.Unmarshal(r.State, &state); err != nil {
			return "", fmt.Errorf("the state is not mine: %w", err)
		}
		if r.Answers[0].Err != nil {
			return "", r.Answers[0].Err
		}
		if r.Answers[0].Text == "where?" { // asks again, with a state of its own
			again := json.RawMessage(fmt.Sprintf(`{"reservation":%d}`, state.Reservation))
			return "", tools.Suspend(ctx, again, tools.Question{Text: "Where to?"})
		}
		shipped.Add(1)
		text := fmt.Sprintf("reservation %d goes to %s", state.Reservation, r.Answers[0].Text)
		if len(r.Answers) == 1 {
			return text, nil
		}
		if late := r.Answers[1].Err; late != nil {
			text += ", " + late.Error()
		}
		return text + " by " + r.Answers[1].Text, nil
	})
}

func shipment() []scripted.Reply {
	return []scripted.Reply{scripted.Calls(scripted.Call("ship", `{"what":"books"}`, "1")), scripted.Text("done")}
}

// answers returns the replies to the waits of a result, in their order.
func answersTo(res orchestrator.Result, texts ...string) (replies []machine.Reply) {
	for i, w := range res.Waits {
		r := machine.Reply{WaitID: w.ID, Text: texts[i]}
		if r.Text == "" {
			r.Reason = "none of your business"
		}
		replies = append(replies, r)
	}
	return replies
}

// A call that its tool has suspended goes on in another process, with the state and the answers.
func TestSuspend_anotherProcess(t *testing.T) {
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"answered": {[]string{"Rome", "May"}, "reservation 1 goes to Rome by May"},
		"declined": {[]string{"", "May"}, "tools: the person declined to answer: none of your business"},
	} {
		t.Run(name, func(t *testing.T) {
			var reserved, shipped atomic.Int32
			store := new(checkpoint.Memory)
			first := solver(t, scripted.New(shipment()[0]), with(shipping(&reserved, &shipped, time.Time{})), stored(store))
			res := ran(t, first, task("go"))
			require.Equal(t, machine.StatusWaiting, res.Status)
			require.Len(t, res.Waits, 2)
			require.Equal(t, []string{"Where to?", "By when?"}, []string{res.Waits[0].Text, res.Waits[1].Text})
			require.Equal(t, "ship", res.Waits[0].Tool)
			require.JSONEq(t, `{"what":"books"}`, res.Waits[0].Arguments)

			second := solver(t, scripted.New(shipment()[1]), with(shipping(&reserved, &shipped, time.Time{})), stored(store))
			replies := answersTo(res, c.texts...)
			res = goOn(t, second, "r", replies[0])
			require.Equal(t, machine.StatusWaiting, res.Status, "one question is open")
			require.Len(t, res.Waits, 1)
			res = goOn(t, second, "r", replies[1])
			require.Equal(t, c.want, res.Output.ToolMetas()[0].Output)
			require.EqualValues(t, 1, reserved.Load())
		})
	}
}

// The same question asked twice in one call is answered by its last answer.
func TestSuspend_again(t *testing.T) {
	var reserved, shipped atomic.Int32
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(shipment()...), with(shipping(&reserved, &shipped, time.Time{})), stored(store))
	res := ran(t, o, task("go"))
	res = goOn(t, o, "r", answersTo(res, "where?", "May")...)
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Len(t, res.Waits, 1)
	res = goOn(t, o, "r", answersTo(res, "Oslo")...)
	require.Equal(t, "reservation 1 goes to Oslo", res.Output.ToolMetas()[0].Output)
}

// Where Config.Reply answers, the call goes on in the same process.
func TestSuspend_sameProcess(t *testing.T) {
	var reserved, shipped atomic.Int32
	o := solver(t, scripted.New(shipment()...), with(shipping(&reserved, &shipped, time.Time{})), replying(func(w machine.Wait) (machine.Reply, error) {
		return machine.Reply{Text: "to " + w.Text}, nil
	}))
	res := ran(t, o, task("go"))
	require.Equal(t, "reservation 1 goes to to Where to? by to By when?", res.Output.ToolMetas()[0].Output)
	require.EqualValues(t, 1, reserved.Load())
}

func TestSuspend_expires(t *testing.T) {
	var reserved, shipped atomic.Int32
	o := solver(t, scripted.New(shipment()...), with(shipping(&reserved, &shipped, time.Now().Add(-time.Minute))), replying(func(machine.Wait) (machine.Reply, error) {
		return machine.Reply{Text: "Rome"}, nil
	}))
	res := ran(t, o, task("go"))
	require.Equal(t, machine.StatusDone, res.Status)
	require.Contains(t, res.Output.ToolMetas()[0].Output, "reservation 1 goes to Rome, ")
	require.Contains(t, res.Output.ToolMetas()[0].Output, "nobody answered in time")
}

// A state that a newer release wrote, or that a middleware left, is not taken for another.
func TestSuspend_foreignState(t *testing.T) {
	for state, want := range map[string]string{
		`{"tool_state":2,"waits":["x"]}`: "the state is not mine: unexpected end of JSON input",
		`{"mine":true}`:                  "",
	} {
		var reserved, shipped atomic.Int32
		calls := 0
		o := solver(t, scripted.New(shipment()...), with(shipping(&reserved, &shipped, time.Time{})), stored(new(checkpoint.Memory)),
			handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
				if e.Kind == machine.EffectTool {
					if calls++; calls == 1 {
						return nil, &orchestrator.SuspendedError{State: []byte(state), Waits: []machine.Wait{{Kind: machine.WaitQuestion, Text: "May I?"}}}
					}
				}
				return next(ctx, e)
			}))
		res := ran(t, o, task("go"))
		res = goOn(t, o, "r", answersTo(res, "yes")...)
		if want == "" {
			require.Equal(t, machine.StatusWaiting, res.Status, "the call begins")
			require.EqualValues(t, 1, reserved.Load())
			continue
		}
		require.Equal(t, want, res.Output.ToolMetas()[0].Output)
		require.Zero(t, reserved.Load())
	}
}

// A tool cannot ask with the kinds of the library's own waits.
func TestSuspend_kindTaken(t *testing.T) {
	taken := tools.Question{Kind: machine.WaitApproval, Text: "Sure?"}
	for _, ask := range []func(context.Context) (string, error){
		func(ctx context.Context) (string, error) { return "", tools.Suspend(ctx, nil, taken) },
		func(ctx context.Context) (string, error) { return tools.Ask(ctx, taken) },
	} {
		tool := tools.NewRaw(tools.Definition{Name: "ship"}, func(ctx context.Context, _ string) (string, error) { return ask(ctx) })
		o := solver(t, scripted.New(shipment()...), with(tool), stored(new(checkpoint.Memory)))
		res := ran(t, o, task("go"))
		require.Equal(t, `orchestrator: a tool cannot ask for a "approval": the kind is taken`, res.Output.ToolMetas()[0].Output)
	}
}

// A note of a definition asks a person before each call, whatever the rules say.
func TestApprovalNote(t *testing.T) {
	var paid atomic.Int32
	pay := counted("pay", &paid)
	noted := tools.NewRaw(tools.Definition{Name: "pay", ApprovalNote: "Its server has changed it."}, pay.Call)
	for name, rules := range map[string]*orchestrator.ApprovalConfig{
		"no rules": nil, "allowed": {Tools: map[string]machine.ApprovalPolicy{"pay": machine.AllowAlways}},
	} {
		t.Run(name, func(t *testing.T) {
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done")), with(noted), stored(new(checkpoint.Memory)),
				func(c *orchestrator.Config) { c.Approve = rules })
			res := ran(t, o, task("go"))
			require.Equal(t, machine.StatusWaiting, res.Status)
			require.Equal(t, "May pay be called? Its server has changed it.", res.Waits[0].Text)
			res = goOn(t, o, "r", machine.Reply{WaitID: res.Waits[0].ID, Approve: true})
			require.Equal(t, machine.StatusDone, res.Status)
		})
	}
}

// A tool that has a note by now asks also in a run that was begun without: what the run keeps is
// how the tool was described then.
func TestApprovalNote_afterResume(t *testing.T) {
	for name, rules := range map[string]*orchestrator.ApprovalConfig{
		"no rules": nil, "allowed": {Default: machine.AllowAlways},
	} {
		t.Run(name, func(t *testing.T) {
			var paid, shipped atomic.Int32
			pay, store := counted("pay", &paid), new(checkpoint.Memory)
			at := func(pay tools.Tool, replies ...scripted.Reply) *orchestrator.Orchestrator {
				return solver(t, scripted.New(replies...), with(shipping(new(atomic.Int32), &shipped, time.Time{}), pay), stored(store),
					func(c *orchestrator.Config) { c.Approve = rules })
			}
			res := ran(t, at(pay, shipment()[0]), task("go"))
			for _, w := range res.Waits {
				require.Equal(t, "ship", w.Tool)
			}

			noted := tools.NewRaw(tools.Definition{Name: "pay", ApprovalNote: "Its server has changed it."}, pay.Call)
			o := at(noted, scripted.Calls(scripted.Call("pay", "{}", "2")), scripted.Text("done"))
			res = goOn(t, o, "r", answersTo(res, "Rome", "May")...)
			require.EqualValues(t, 1, shipped.Load())
			require.Equal(t, machine.StatusWaiting, res.Status)
			require.Equal(t, machine.WaitApproval, res.Waits[0].Kind)
			require.Zero(t, paid.Load())
			res = goOn(t, o, "r", machine.Reply{WaitID: res.Waits[0].ID, Approve: true})
			require.Equal(t, machine.StatusDone, res.Status)
			require.EqualValues(t, 1, paid.Load())
		})
	}
}
