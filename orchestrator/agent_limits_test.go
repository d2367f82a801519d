package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

var tokens = messages.Usage{Input: 10, Output: 1, Total: 11}

func billed(r scripted.Reply) scripted.Reply { r.Usage = tokens; return r }
func workAll(c *orchestrator.Config)         { c.Strategies["work"] = completetask.New(completetask.Config{}) }

func toolMessages(req *llmclient.Request) int {
	n := 0
	for _, m := range req.Messages {
		if _, ok := m.(messages.Tool); ok {
			n++
		}
	}
	return n
}

// An agent whose tool ignores its context past the time-out of the agent ends without the tool, and
// is paid for: with all that it and the agents below it were answered. A sibling goes on.
func TestAgentTool_abandonedIsPaidFor(t *testing.T) {
	for _, c := range []struct {
		goal string
		used int // model calls before the agent is stopped
	}{{"alone", 2}, {"outer", 3}} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			client := llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
				goal, round := goalOf(req), toolMessages(req)
				content := messages.AssistantContent(messages.Text{Text: "done"})
				call := func(tool, arguments string) { content = messages.ToolCall{ID: "1", Name: tool, Arguments: arguments} }
				switch {
				case goal == "go" && round == 0:
					call("worker", `{"goal":"`+c.goal+`"}`)
				case goal == "outer":
					call("inner", `{"goal":"alone"}`)
				case goal == "alone" && round == 0:
					call("stuck", "{}")
				}
				return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{content}}, Usage: tokens}, nil
			})
			stuck := tools.NewRaw(tools.Definition{Name: "stuck"}, func(context.Context, string) (string, error) {
				<-release
				return "", nil
			})
			timeout := func(a *orchestrator.Agent) { a.Definition.Timeout = time.Second }
			inner := func(a *orchestrator.Agent) { a.Definition.Name = "inner" }
			for most, status := range map[int]machine.Status{c.used: machine.StatusLimit, c.used + 1: machine.StatusDone} {
				o := solver(t, client, withWork, workAll, with(worker(timeout), worker(inner), stuck))
				ta := task("go")
				ta.Limits.ModelCalls = most
				res, _ := o.Run(t.Context(), ta)
				require.Equal(t, status, res.Status)
				out := res.Output.ToolMetas()[0]
				require.Equal(t, messages.StatusFailed, out.Status)
				require.Contains(t, out.Output, "ended as stopped")
				require.Contains(t, out.Output, "the agent worker took longer than 1s")
				require.Equal(t, int64(most)*tokens.Total, res.Output.Usage.Total)
				require.Equal(t, most, res.Output.Counts.ModelCalls)
			}
		})
	}
}

// A tool whose parameters are its own may have goals that are no fan-out.
func TestAgentTool_goalsOfItsOwn(t *testing.T) {
	own := worker(func(a *orchestrator.Agent) {
		a.Definition.Parameters = []byte(`{"type":"object","properties":{"goal":{"type":"string"},"goals":{"type":"array"}}}`)
	})
	var data []string
	m := always(func(req *llmclient.Request) scripted.Reply {
		switch {
		case goalOf(req) != "go":
			data = append(data, goalOf(req))
			return scripted.Text("did it")
		case answered(req):
			return scripted.Text("done")
		default:
			return scripted.Calls(scripted.Call("worker", `{"goal":"main","goals":[{"name":"a"},"b"]}`, "1"))
		}
	})
	res := ran(t, solver(t, m, withWork, workAll, with(own)), task("go"))
	require.Equal(t, []string{"main"}, data)
	require.Equal(t, "did it", res.Output.ToolMetas()[0].Output)
}
