package eval_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is a client whose replies a function makes.
func model(reply func(*llmclient.Request) messages.Assistant) llmclient.Client {
	return llmclient.ClientFunc(func(_ context.Context, r *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Message: reply(r), Usage: messages.Usage{Input: 9, Output: 1, Total: 10}}, nil
	})
}

type numbers struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

var add = tools.New(tools.Definition{Name: "add"}, func(_ context.Context, in numbers) (float64, error) { return in.A + in.B, nil })

// adder adds with the tool, and answers with the result; each wrong-th time it answers at once.
func adder(wrong int64) func(context.Context, eval.Place) (*segue.Agent, error) {
	var asked atomic.Int64
	return func(context.Context, eval.Place) (*segue.Agent, error) {
		return &segue.Agent{Tools: []tools.Tool{add}, Model: model(func(r *llmclient.Request) messages.Assistant {
			if out, is := r.Messages.Last().(messages.Tool); is {
				return messages.AssistantText("It is " + out.Output + ".")
			}
			if wrong > 0 && asked.Add(1)%wrong == 0 {
				return messages.AssistantText("It is 41.")
			}
			return messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "add", Arguments: `{"a":1,"b":2}`}}}
		})}, nil
	}
}

func sums(n int) (all []eval.Case) {
	for i := range n {
		all = append(all, eval.Case{
			Name: fmt.Sprint("sum", i), Goal: "Add 1 and 2.", Only: true,
			Calls:  []eval.Call{{Tool: "add", Schema: []byte(`{"enum":[{"a":1,"b":2},{"a":2,"b":1}]}`)}},
			Answer: &eval.Answer{Matches: []string{`\b3\b`}},
		})
	}
	return all
}

func TestSuite(t *testing.T) {
	store := &checkpoint.Memory{}
	s := eval.Suite{
		Name: "sums", Cases: sums(4), Repeat: 3, Store: store,
		Variants: []eval.Variant{{Name: "right", Agent: adder(0)}, {Name: "hasty", Agent: adder(2)}},
	}
	results, err := eval.OpenResults(filepath.Join(t.TempDir(), "r.jsonl"))
	require.NoError(t, err)
	defer results.Close()
	report, err := s.Run(t.Context(), results)
	require.NoError(t, err)
	for _, row := range report.Table() {
		t.Log(row)
	}
	require.Equal(t, 12, report.Variant("right").Sum().Passed)
	require.Equal(t, 6, report.Variant("hasty").Sum().Passed)
	changes, err := eval.Compare(report.Variant("right"), report.Variant("hasty"), nil)
	require.NoError(t, err)
	t.Logf("%+v", changes)
}
