package orchestrator_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// goalOf is what a request is about: its first user message.
func goalOf(req *llmclient.Request) string {
	for _, m := range req.Messages {
		if u, ok := m.(messages.User); ok {
			return u.Text()
		}
	}
	return ""
}

func answered(req *llmclient.Request) bool {
	_, ok := req.Messages.Last().(messages.Tool)
	return ok
}

// always is a model that answers each request by a function, any number of times.
func always(reply func(*llmclient.Request) scripted.Reply) *scripted.Client {
	r := scripted.Func(reply)
	r.Times = -1
	return scripted.New(r)
}

func worker(edit ...func(*orchestrator.Agent)) tools.Tool {
	a := orchestrator.Agent{Definition: tools.Definition{Name: "worker", Description: "Works."}, Strategy: "work"}
	for _, e := range edit {
		e(&a)
	}
	return orchestrator.AgentTool(a)
}

func withWork(c *orchestrator.Config) {
	c.Strategies["work"] = completetask.New(completetask.Config{Tools: []string{}})
	c.Default = "solve"
}

// Agents of one batch run at the same time, each in a branch of the one run, whose events and
// pieces name the branch's frame; results come in the order of the calls, and what they use is the
// run's.
func TestAgentTool_batch(t *testing.T) {
	const n = 8
	var together sync.WaitGroup
	together.Add(n)
	model := always(func(req *llmclient.Request) scripted.Reply {
		reply := scripted.Text("all done")
		switch goal := goalOf(req); {
		case strings.HasPrefix(goal, "part"):
			together.Done()
			together.Wait()
			reply = scripted.Stream("did ", goal)
		case !answered(req):
			var calls []messages.ToolCall
			for i := range n {
				calls = append(calls, scripted.Call("worker", fmt.Sprintf(`{"goal":"part %d"}`, i), fmt.Sprint("c", i)))
			}
			reply = scripted.Calls(calls...)
		}
		reply.Usage = messages.Usage{Input: 10, Output: 1, Total: 11}
		return reply
	})
	o := solver(t, model, withWork, with(worker()))
	events := watched(t, o, task("go"))
	end := finished(t, events)
	for i, m := range end.Output.ToolMetas() {
		require.Equal(t, fmt.Sprintf("did part %d", i), m.Output)
	}
	require.EqualValues(t, 11*(n+2), end.Output.Usage.Total)
	require.Equal(t, 1, count(events, machine.EventRunStarted))
	require.Equal(t, 1, count(events, machine.EventRunFinished))
	texts, calls := map[string]string{}, map[string]string{}
	for _, e := range events {
		require.Equal(t, "r", e.Run)
		if e.Frame == "0" {
			continue
		}
		require.Equal(t, 2, e.Depth)
		if d, ok := e.Detail.(machine.FrameEntered); ok {
			require.Equal(t, "worker", d.Tool)
			calls[d.CallID] = e.Frame
		}
		if e.Kind == machine.EventTextDelta {
			require.Contains(t, slices.Collect(maps.Values(calls)), e.Frame)
			texts[e.Frame] += e.Text
		}
	}
	require.Len(t, texts, n)
	for i := range n {
		require.Equal(t, fmt.Sprintf("did part %d", i), texts[calls[fmt.Sprint("c", i)]])
	}

	together.Add(n)
	res := ran(t, o, task("go"))
	require.Equal(t, timeless(end.Output), timeless(res.Output), "Run and Stream")
}

// S3-20: one goal gives a text, several a list in their order; both or none are wrong arguments.
func TestS3_20_fanOut(t *testing.T) {
	model := func(args string) *scripted.Client {
		return always(func(req *llmclient.Request) scripted.Reply {
			switch goal := goalOf(req); {
			case goal != "go":
				return scripted.Text("did " + goal)
			case answered(req):
				return scripted.Text("done")
			default:
				return scripted.Calls(scripted.Call("worker", args, "c"))
			}
		})
	}
	for args, want := range map[string]string{
		`{"goal":"a"}`:                "did a",
		`{"goals":["a","b","c"]}`:     `["did a","did b","did c"]`,
		`{"goals":["a"]}`:             `["did a"]`,
		`{"goal":"a","goals":null}`:   "did a",
		`{"goal":null,"goals":["a"]}`: `["did a"]`,
		`{"goal":"a","goals":["b"]}`:  `either "goal" or "goals"`,
		`{}`:                          `either "goal" or "goals"`,
		`{"aim":"a"}`:                 "aim",
	} {
		o := solver(t, model(args), withWork, with(worker(func(a *orchestrator.Agent) { a.FanOut = true })))
		res := ran(t, o, task("go"))
		out := res.Output.ToolMetas()[0]
		require.Contains(t, out.Output, want)
		require.Equal(t, strings.Contains(out.Output, "did"), out.OK(), args)
	}
}

// S1-30: an agent counts as one level more; past the depth limit the call fails and the run goes
// on. Agents are charged call by call: whoever comes first uses what is left, and no more.
func TestS1_30_limits(t *testing.T) {
	var asked atomic.Int32
	model := always(func(req *llmclient.Request) scripted.Reply {
		switch {
		case goalOf(req) == "go" && answered(req):
			return scripted.Text("done")
		case goalOf(req) == "go":
			return scripted.Calls(scripted.Call("worker", `{"goal":"a"}`, "1"), scripted.Call("worker", `{"goal":"b"}`, "2"), scripted.Call("worker", `{"goal":"c"}`, "3"))
		default:
			asked.Add(1)
			return scripted.Calls(scripted.Call("again", "{}", fmt.Sprint(len(req.Messages))))
		}
	})
	run := func(l delegation.Limits) orchestrator.Result {
		asked.Store(0)
		o := solver(t, model, withWork, with(worker(), echo("again")), func(c *orchestrator.Config) {
			c.Strategies["work"] = completetask.New(completetask.Config{})
		})
		ta := task("go")
		ta.Limits = l
		res, _ := o.Run(t.Context(), ta)
		return res
	}
	res := run(delegation.Limits{Depth: 1})
	require.Equal(t, machine.StatusDone, res.Status)
	require.Zero(t, asked.Load())
	require.Contains(t, res.Output.ToolMetas()[0].Output, "depth")

	res = run(delegation.Limits{ModelCalls: 9})
	require.Equal(t, machine.StatusLimit, res.Status, "its agents have used up what it had")
	require.EqualValues(t, 8, asked.Load())
	require.Equal(t, 9, res.Output.Counts.ModelCalls)

	res = run(delegation.Limits{ModelCalls: 3})
	require.Equal(t, machine.StatusLimit, res.Status)
	require.EqualValues(t, 2, asked.Load(), "the run ended with the third, which had nothing left")
	require.Equal(t, 3, res.Output.Counts.ModelCalls)
	require.Contains(t, res.Output.ToolMetas()[2].Output, "model_calls")
}

// An agent that fails is a failed call, with what it reached.
func TestAgentTool_fails(t *testing.T) {
	o := solver(t, always(func(req *llmclient.Request) scripted.Reply {
		switch {
		case goalOf(req) == "a":
			return scripted.Error(&llmclient.Error{Code: llmclient.CodeAuth, Message: "no key"})
		case answered(req):
			return scripted.Text("done")
		default:
			return scripted.Calls(scripted.Call("worker", `{"goal":"a"}`, "1"))
		}
	}), withWork, with(worker()))
	res := ran(t, o, task("go"))
	out := res.Output.ToolMetas()[0]
	require.Equal(t, messages.StatusFailed, out.Status)
	require.Contains(t, out.Output, "agent worker ended as failed")

	_, err := worker().Call(t.Context(), `{"goal":"a"}`)
	require.ErrorContains(t, err, "works only in a run")
	_, err = orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}, Tools: []tools.Tool{worker()}})
	require.ErrorContains(t, err, `no strategy "work"`)
}

// What agents wait for, their parent waits for; a reply to it goes on with that agent, and nothing
// is done again.
func TestAgentTool_suspendAndResume(t *testing.T) {
	store := new(checkpoint.Memory)
	var asked atomic.Int32
	build := func() *orchestrator.Orchestrator {
		model := always(func(req *llmclient.Request) scripted.Reply {
			asked.Add(1)
			switch goal := goalOf(req); {
			case answered(req):
				last := req.Messages.Last().(messages.Tool)
				return scripted.Text(goal + " knows " + last.Output)
			case goal == "go":
				return scripted.Calls(scripted.Call("worker", `{"goal":"a"}`, "1"), scripted.Call("worker", `{"goal":"b"}`, "2"), scripted.Call("worker", `{"goal":"plain"}`, "3"))
			case goal == "plain":
				return scripted.Text("nothing to ask")
			default:
				return scripted.Calls(question(goal+"?", "q"))
			}
		})
		return solver(t, model, withWork, with(worker(), tools.AskUser()), stored(store), func(c *orchestrator.Config) {
			c.Strategies["work"] = completetask.New(completetask.Config{Tools: []string{"ask_user"}})
		})
	}
	res := ran(t, build(), task("go"))
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Len(t, res.Waits, 2)
	require.ElementsMatch(t, []string{"0.1", "0.2"}, []string{res.Waits[0].Frame, res.Waits[1].Frame})
	require.EqualValues(t, 4, asked.Load())

	b := res.Waits[slices.IndexFunc(res.Waits, func(w machine.Wait) bool { return w.Text == "b?" })]
	res = goOn(t, build(), "r", machine.Reply{WaitID: b.ID, Text: "B"})
	require.Len(t, res.Waits, 1)
	require.Equal(t, "a?", res.Waits[0].Text)
	require.EqualValues(t, 5, asked.Load())

	events := watchedOn(t, build(), "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "A"})
	end := finished(t, events)
	require.Equal(t, machine.StatusDone, end.Status)
	metas := end.Output.ToolMetas()
	require.Equal(t, []string{"a knows A", "b knows B", "nothing to ask"}, []string{metas[0].Output, metas[1].Output, metas[2].Output})
	require.EqualValues(t, 7, asked.Load())
	require.Equal(t, []string{"r"}, runsIn(t, store), "the journal of the agents is that of their run")
}
