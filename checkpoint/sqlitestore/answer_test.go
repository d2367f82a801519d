package sqlitestore_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

const payments = 20 // rounds of a run, with a call each

// paying runs an agent that pays, which is neither read-only nor idempotent, and returns how many
// answers, of model and tool, and intents its journal has.
func paying(t testing.TB, s *sqlitestore.Store, run string) (answers, intents int) {
	t.Helper()
	asked := 0
	client := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		if asked++; asked > payments {
			return &llmclient.Response{Message: messages.AssistantText("paid")}, nil
		}
		call := messages.ToolCall{ID: strconv.Itoa(asked), Name: "pay", Arguments: `{"to":` + strconv.Itoa(asked) + `}`}
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}}, nil
	})
	pay := tools.NewRaw(tools.Definition{Name: "pay"}, func(context.Context, string) (string, error) { return "done", nil })
	res, err := stoppable(s, client, pay).Run(t.Context(), orchestrator.Task{Run: run, Input: delegation.Input{Goal: "pay"}})
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	for r, err := range s.Read(t.Context(), key(run), 1) {
		require.NoError(t, err)
		switch r.Type {
		case "answered":
			answers++
		case "intended":
			intents++
		}
	}
	return answers, intents
}

// An answer is flushed once, together with the intents that follow from it.
func TestAnswer_isFlushedOnceWithItsIntents(t *testing.T) {
	s := fresh(t)
	before, drained := sqlitestore.Commits(s)
	answers, intents := paying(t, s, "r")
	after, drainedAfter := sqlitestore.Commits(s)
	require.Equal(t, drained, drainedAfter)
	require.Equal(t, 2*payments+1, answers)
	require.Equal(t, payments, intents)
	require.LessOrEqual(t, int(after-before), answers+3, "beside the answers: the beginning and the end of the run")
}

// BenchmarkSQLiteAnswer counts the flushes of whole runs, whose tools need an intent before each
// call.
func BenchmarkSQLiteAnswer(b *testing.B) {
	s := fresh(b)
	before, drainedBefore := sqlitestore.Commits(s)
	total, runs := 0, 0
	for b.Loop() {
		runs++
		answers, _ := paying(b, s, "run-"+strconv.Itoa(runs))
		total += answers
	}
	commits, drained := sqlitestore.Commits(s)
	b.ReportMetric(float64(commits-before+2*(drained-drainedBefore))/float64(total), "flushes/answer")
}
