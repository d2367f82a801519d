package orchestrator_test

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// payment are the arguments of the tool pay.
type payment struct {
	To     string  `json:"to"`
	Amount float64 `json:"amount"`
}

// payInto is a tool that keeps what it paid.
func payInto(paid *[]payment) tools.Tool {
	return tools.New(tools.Definition{Name: "pay"}, func(_ context.Context, p payment) (string, error) {
		*paid = append(*paid, p)
		return "paid", nil
	})
}

const wantsToPay = `{"to":"shop","amount":500}`

// payerModel asks to pay once.
func payerModel() *scripted.Client {
	return scripted.New(scripted.Calls(scripted.Call("pay", wantsToPay, "1")), scripted.Text("done"))
}

// A person changes the arguments of a call and approves it: the tool gets them, and the model sees
// the call as it was made. The journal has both.
func TestApprove_edited(t *testing.T) {
	var paid []payment
	model := payerModel()
	o := solver(t, model, with(payInto(&paid)), approving(orchestrator.ApprovalConfig{}), replying(func(w machine.Wait) (machine.Reply, error) {
		require.Equal(t, wantsToPay, w.Arguments)
		return machine.Reply{Approve: true, Arguments: `{"to": "shop", "amount": 5}`}, nil
	}))
	res := ran(t, o, task("go"))
	require.Equal(t, []payment{{"shop", 5}}, paid)
	const made = `{"to":"shop","amount":5}`
	require.Equal(t, made, res.Output.Messages[1].(messages.Assistant).Calls()[0].Arguments)
	require.Equal(t, made, model.Requests()[1].Messages[1].(messages.Assistant).Calls()[0].Arguments)
}

// Arguments that the tool cannot take are no answer, by whatever way they come: the run waits on.
func TestApprove_editedMustFitTheTool(t *testing.T) {
	const problem = `its Arguments do not fit the tool "pay"`
	var paid []payment
	edits := []func(*orchestrator.Config){with(payInto(&paid)), approving(orchestrator.ApprovalConfig{})}
	wrong := func(w machine.Wait) (machine.Reply, error) {
		return machine.Reply{Approve: true, Arguments: `{"to":"shop","amount":"five"}`}, nil
	}
	_, err := solver(t, payerModel(), append(edits, replying(wrong))...).Run(t.Context(), task("go"))
	require.ErrorContains(t, err, problem)
	require.ErrorContains(t, err, "amount")

	store := new(checkpoint.Memory)
	o := solver(t, payerModel(), append(edits, stored(store))...)
	res := ran(t, o, task("go"))
	reply, _ := wrong(res.Waits[0])
	reply.WaitID = res.Waits[0].ID
	_, err = resumed(t, o, "r", reply)
	var refused *machine.ReplyError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Problem, problem)

	key := checkpoint.Key{Run: "r"}
	require.NoError(t, o.Answer(t.Context(), key, reply), "whether it fits is seen by whoever goes on with the run")
	res = goOn(t, o, "r")
	require.Equal(t, machine.StatusWaiting, res.Status)

	reply.Arguments = `{"to":"shop","amount":5}`
	require.NoError(t, o.Answer(t.Context(), key, reply))
	res = goOn(t, o, "r")
	require.Equal(t, "done", res.Output.Text())
	require.Equal(t, []payment{{"shop", 5}}, paid)
}

// A null in the place of what need not be there is shown and recorded as it was written, by the
// model or by a person, and does not reach the tool.
func TestApprove_nullIsLeftOut(t *testing.T) {
	const made, edited = `{"to":"shop","amount":500,"note":null}`, `{"to":"shop","amount":5,"note":null}`
	for _, arguments := range []string{"", edited} {
		var got []json.RawMessage
		pay := tools.New(tools.Definition{
			Name: "pay", Parameters: json.RawMessage(`{"type":"object","properties":{"note":{"type":"string"}}}`),
		}, func(_ context.Context, in map[string]json.RawMessage) (string, error) {
			text, err := json.Marshal(in)
			got = append(got, text)
			return "paid", err
		})
		model := scripted.New(scripted.Calls(scripted.Call("pay", made, "1")), scripted.Text("done"))
		o := solver(t, model, with(pay), approving(orchestrator.ApprovalConfig{}), replying(func(w machine.Wait) (machine.Reply, error) {
			require.Equal(t, made, w.Arguments)
			return machine.Reply{Approve: true, Arguments: arguments}, nil
		}))
		res := ran(t, o, task("go"))
		call := cmp.Or(arguments, made)
		require.Equal(t, call, res.Output.Messages[1].(messages.Assistant).Calls()[0].Arguments)
		require.Len(t, got, 1)
		require.JSONEq(t, strings.Replace(call, `,"note":null`, "", 1), string(got[0]))
	}
}

// The time that a person takes is none of the tool's and none of the run's: neither of their limits
// counts it, and no duration does.
func TestApprove_timeOfAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay := tools.New(tools.Definition{Name: "pay", Timeout: time.Minute}, func(context.Context, payment) (string, error) { return "paid", nil })
		ask := tools.AskUser()
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", wantsToPay, "1")), scripted.Calls(question("A?", "2")), scripted.Text("done")),
			with(pay, ask), approving(orchestrator.ApprovalConfig{}), func(c *orchestrator.Config) { c.Limits.Duration = time.Minute },
			replying(func(machine.Wait) (machine.Reply, error) {
				time.Sleep(time.Hour)
				return machine.Reply{Approve: true, Text: "yes"}, nil
			}))
		events := watched(t, o, task("go"))
		for _, e := range events {
			switch d := e.Detail.(type) {
			case machine.ToolFinished:
				require.True(t, d.Output.OK(), d.Output.Output)
				require.Less(t, d.Output.Elapsed, time.Minute, d.Output.ToolName)
			case machine.StepTaken:
				require.Less(t, d.Elapsed, time.Minute)
			case machine.FrameLeft:
				require.Less(t, d.Elapsed, time.Minute)
			}
		}
	})
}
