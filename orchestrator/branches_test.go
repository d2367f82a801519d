package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// deep is a model of agents three deep, two each: goals get a digit longer with each level.
func deep(leaf func(*llmclient.Request) scripted.Reply) *scripted.Client {
	return always(func(req *llmclient.Request) scripted.Reply {
		goal := strings.TrimPrefix(goalOf(req), "go")
		switch {
		case len(goal) == 3:
			return leaf(req)
		case answered(req):
			var said []string
			for _, out := range (delegation.Output{Messages: req.Messages}).ToolMetas() {
				said = append(said, out.Output)
			}
			return billed(scripted.Stream("did", goal, "(", strings.Join(said, " "), ")"))
		default:
			return billed(scripted.Calls(scripted.Call("worker", `{"goal":"go`+goal+`1"}`, "1"), scripted.Call("worker", `{"goal":"go`+goal+`2"}`, "2")))
		}
	})
}

const deepText = "did(did1(did11(111 112) did12(121 122)) did2(did21(211 212) did22(221 222)))"

func leafText(req *llmclient.Request) scripted.Reply {
	return billed(scripted.Text(strings.TrimPrefix(goalOf(req), "go")))
}

// Agents three deep end with one place for all of them: whoever waits for its agents holds none.
// Their events are those of one run, lawful for each frame, and the run has the one journal.
func TestBranches_threeDeep(t *testing.T) {
	for _, parallel := range []int{1, 2, 0} {
		store := new(checkpoint.Memory)
		o := solver(t, deep(leafText), withWork, workAll, with(worker()), stored(store), func(c *orchestrator.Config) { c.Parallel = parallel })
		events := watched(t, o, task("go"))
		lawful(t, events)
		end := finished(t, events)
		require.Equal(t, deepText, end.Output.Text())
		require.Equal(t, delegation.Counts{Steps: 29, ModelCalls: 22, ToolCalls: 14}, end.Output.Counts)
		require.Equal(t, 22*tokens.Total, end.Output.Usage.Total)
		require.Equal(t, []string{"r"}, runsIn(t, store))

		calls, texts := map[string]string{}, map[string]string{}
		for _, e := range events {
			if d, ok := e.Detail.(machine.FrameEntered); ok {
				calls[e.Frame] = d.CallID
			}
			if e.Kind == machine.EventTextDelta {
				texts[e.Frame] += e.Text
			}
		}
		require.Len(t, calls, 15)
		require.Equal(t, []string{"", "1", "2"}, []string{calls["0"], calls["0.1.2.1"], calls["0.1.2.2"]})
		require.Equal(t, deepText, texts["0"], "pieces name the frame that they are of")
		require.Equal(t, "did12(121 122)", texts["0.1.2"])
		require.Equal(t, "122", texts["0.1.2.2"])
	}
}

// hanging answers at once, but for the goal "slow", which hangs until its context ends.
func hanging(calls string) llmclient.ClientFunc {
	return func(ctx context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		content := messages.AssistantContent(messages.Text{Text: "did " + goalOf(req)})
		switch {
		case goalOf(req) == "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		case goalOf(req) == "go" && !answered(req):
			var a messages.Assistant
			for i, goal := range strings.Fields(calls) {
				a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprint(i), Name: "worker", Arguments: fmt.Sprintf(`{"goal":%q}`, goal)})
			}
			return &llmclient.Response{Message: a}, nil
		case goalOf(req) == "long":
			time.Sleep(time.Minute)
		}
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{content}}}, nil
	}
}

// The time-out of an agent stops that branch, and neither its siblings nor the run; in a run that
// is resumed it counts from then.
func TestBranches_timeout(t *testing.T) {
	late := worker(func(a *orchestrator.Agent) { a.Definition.Timeout = 10 * time.Second })
	check := func(t *testing.T, res orchestrator.Result, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
		metas := res.Output.ToolMetas()
		require.Equal(t, "did quick", metas[0].Output)
		require.Equal(t, messages.StatusFailed, metas[1].Status)
		require.Contains(t, metas[1].Output, "the agent worker took longer than 10s")
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		res, err := solver(t, hanging("quick slow"), withWork, with(late)).Run(t.Context(), task("go"))
		check(t, res, err)
		require.Equal(t, 10*time.Second, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) {
		o := solver(t, hanging("quick slow"), withWork, with(late), stored(new(checkpoint.Memory)))
		for e := range o.Stream(t.Context(), task("go")) {
			if e.Kind == machine.EventToolFinished {
				break
			}
		}
		start := time.Now()
		res, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
		check(t, res, err)
		require.Equal(t, 10*time.Second, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) {
		patient := worker(func(a *orchestrator.Agent) { a.Definition.Timeout = time.Hour })
		res := ran(t, solver(t, hanging("long quick"), withWork, with(patient)), task("go"))
		require.Equal(t, "did long", res.Output.ToolMetas()[0].Output)
	})
}

// A run whose consumer leaves while the client of an agent is slow to notice can be resumed at
// once.
func TestBranches_resumedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		slow := deep(leafText)
		client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
			if goalOf(req) == "go121" && asked.Add(1) == 1 {
				time.Sleep(time.Minute) // whatever its context says
			}
			return slow.Complete(ctx, req, onDelta)
		})
		o := solver(t, client, withWork, workAll, with(worker()), stored(new(checkpoint.Memory)))
		for e := range o.Stream(t.Context(), task("go")) {
			if e.Kind == machine.EventFrameLeft && e.Frame == "0.2" {
				break
			}
		}
		res := goOn(t, o, "r")
		require.Equal(t, deepText, res.Output.Text())
	})
}
