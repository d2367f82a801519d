package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// Answer refuses at once what the run would refuse later: a question without an answer, a reply
// that comes too late, and one to a timer. Nothing is posted.
func TestAnswer_refusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		asks := func(name string, q tools.Question) tools.Tool {
			return tools.NewRaw(tools.Definition{Name: name, ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
				return tools.Ask(ctx, q)
			})
		}
		o := solver(t, scripted.New(scripted.Calls(question("Which?", "1"), scripted.Call("soon", "{}", "2"), scripted.Call("later", "{}", "3"))), stored(store),
			with(tools.AskUser(), asks("soon", tools.Question{Kind: "code", Text: "The code?", Until: time.Now().Add(time.Minute)}),
				asks("later", tools.Question{Kind: tools.KindTimer, Until: time.Now().Add(time.Hour)})))
		res := ran(t, o, task("go"))
		require.Equal(t, machine.StatusWaiting, res.Status)
		ids := map[string]string{}
		for _, w := range res.Waits {
			ids[w.Kind] = w.ID
		}
		refused := func(kind, text, want string) {
			t.Helper()
			err := o.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: ids[kind], Text: text})
			var r *machine.ReplyError
			require.ErrorAs(t, err, &r)
			require.Contains(t, r.Problem, want)
		}
		refused(machine.WaitQuestion, "", "a question is answered by Text")
		refused(machine.WaitTimer, "now", "it is a timer")
		time.Sleep(2 * time.Minute)
		refused("code", "1234", "it has expired")
		posted, err := store.Posted(t.Context(), keyOfRun)
		require.NoError(t, err)
		require.Empty(t, posted)
		require.NoError(t, o.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: ids[machine.WaitQuestion], Text: "a.txt"}))
	})
}
