package builtin_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

// fanned is a plan of one step that has eight agents work at the same time: eleven replies.
func fanned(agent delegation.Limits, steps delegation.Limits) *play {
	const eight = `{"goals":["part 1","part 2","part 3","part 4","part 5","part 6","part 7","part 8"]}`
	return &play{
		set: strategy.Set{
			"outer":  pre.New(pre.Config{Evaluation: pre.EvaluateNever, Executor: "middle", StepLimits: steps, MaxRevisions: -1}),
			"middle": completetask.New(completetask.Config{Tools: []string{"worker"}}),
			"inner":  completetask.New(completetask.Config{Tools: []string{"look"}}),
		},
		tools: []tools.Tool{orchestrator.AgentTool(orchestrator.Agent{
			Definition: tools.Definition{Name: "worker"}, Strategy: "inner", FanOut: true, Limits: agent, Tools: []string{"look"},
		})},
		say: func(n int, req *llmclient.Request) scripted.Reply {
			goal := req.Messages[0].(messages.User).Text()
			switch {
			case n == 1:
				return line(`call submit_plan {"steps":["all of it"]}`)
			case n == 2:
				return line("call worker " + eight)
			case !strings.HasPrefix(goal, "part"):
				return line("all done")
			case goal == "part 3" && len(req.Messages) == 1 && agent != (delegation.Limits{}):
				return line("call look {}")
			default:
				return line("did " + goal)
			}
		},
	}
}

// agents is how many replies the agents had.
func (p *play) agents(t *testing.T) (runs int, total messages.Usage) {
	t.Helper()
	for name, d := range p.left {
		if strings.Contains(name, "/") {
			runs++
			total = total.Add(d.Usage)
		}
	}
	return runs, total
}

func TestCompose_fanOutInAPlan(t *testing.T) {
	p := fanned(delegation.Limits{}, delegation.Limits{})
	p.run(t)
	require.NoError(t, p.err)
	require.Equal(t, "all done", p.end.Output.Text())
	runs, total := p.agents(t)
	require.Equal(t, 8, runs)
	require.Equal(t, cost(8), total)
	require.Equal(t, cost(10), p.left["0.1"].Usage)
	require.Equal(t, cost(11), p.end.Output.Usage)
	require.Equal(t, pre.StepDone, p.plan(t)[0].Status)
}

func TestCompose_fanOutInAPlan_limits(t *testing.T) {
	t.Run("outer", func(t *testing.T) { // what is left is shared out before the agents start
		p := fanned(delegation.Limits{}, delegation.Limits{})
		p.limits = delegation.Limits{ModelCalls: 7}
		p.run(t)
		p.reached(t, "0")
		runs, total := p.agents(t)
		require.Equal(t, 5, runs)
		require.Equal(t, cost(5), total)
		require.Equal(t, cost(7), p.end.Output.Usage)
	})
	t.Run("middle", func(t *testing.T) {
		p := fanned(delegation.Limits{}, delegation.Limits{ModelCalls: 5})
		p.run(t)
		require.Equal(t, orchestrator.StatusFailed, p.end.Status)
		step := p.plan(t)[0]
		require.Equal(t, delegation.CodeLimit, step.Err.Code)
		require.Contains(t, step.Err.Message, "frame 0.1: the limit of 5 model_calls")
		runs, _ := p.agents(t)
		require.Equal(t, 4, runs)
		require.Equal(t, cost(5), p.left["0.1"].Usage)
		require.Equal(t, cost(6), p.end.Output.Usage)
	})
	t.Run("inner", func(t *testing.T) { // one agent reaches its limit; the others do not care
		p := fanned(delegation.Limits{ModelCalls: 1}, delegation.Limits{})
		p.run(t)
		require.NoError(t, p.err)
		require.Equal(t, "all done", p.end.Output.Text())
		limited := 0
		for name, d := range p.left {
			if strings.Contains(name, "/") && d.Err != nil {
				require.Equal(t, delegation.CodeLimit, d.Err.Code)
				require.Contains(t, name, "/3 0")
				limited++
			}
		}
		require.Equal(t, 1, limited)
		require.Equal(t, cost(11), p.end.Output.Usage)
	})
}

func TestCompose_fanOutInAPlan_stop(t *testing.T) {
	for kind, now := range stops {
		t.Run("inner "+kind, func(t *testing.T) { // all agents are at work when it is stopped
			p := fanned(delegation.Limits{}, delegation.Limits{})
			var together sync.WaitGroup
			together.Add(8)
			say := p.say
			p.say = func(n int, req *llmclient.Request) scripted.Reply {
				if n > 2 {
					together.Done()
					together.Wait()
				}
				return say(n, req)
			}
			p.at, p.now = 10, now
			p.run(t)
			p.stopped(t, "0.1", "0")
			runs, total := p.agents(t)
			require.Equal(t, 8, runs)
			require.Equal(t, p.end.Output.Usage, total.Add(cost(2)))
			if !now {
				require.Equal(t, cost(8), total, "the step in progress came to its end, and they are in it")
			}
			require.Nil(t, p.end.Output.Result)
		})
		t.Run("middle "+kind, func(t *testing.T) { // before they start
			p := fanned(delegation.Limits{}, delegation.Limits{})
			p.at, p.now = 2, now
			p.run(t)
			p.stopped(t, "0.1", "0")
			runs, _ := p.agents(t)
			require.Zero(t, runs)
		})
		t.Run("outer "+kind, func(t *testing.T) {
			p := fanned(delegation.Limits{}, delegation.Limits{})
			p.at, p.now = 1, now
			p.run(t)
			p.stopped(t, "0")
		})
	}
}
