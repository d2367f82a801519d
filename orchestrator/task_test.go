package orchestrator_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// S1: a strategy a call. A task brings its own; each process that resumes the run brings it again.
func TestTask_Factory(t *testing.T) {
	store := new(checkpoint.Memory)
	own := completetask.New(completetask.Config{System: "You are the task's own."})
	build := func(replies ...scripted.Reply) (*orchestrator.Orchestrator, *scripted.Client) {
		model := scripted.New(replies...)
		return solver(t, model, stored(store), with(tools.AskUser())), model
	}
	o, model := build(scripted.Calls(question("Which?", "1")))
	res := ran(t, o, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}, Factory: own})
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Equal(t, "You are the task's own.", model.Requests()[0].Messages[0].(messages.System).Text)

	reply := machine.Reply{WaitID: res.Waits[0].ID, Text: "that"}
	o, model = build(scripted.Text("done"))
	for name, factory := range map[string]func() strategy.Strategy{
		"none":          nil,
		"another table": new(tabled).by(circle(""), nil),
		"broken":        func() strategy.Strategy { return nil },
	} {
		_, err := all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: []machine.Reply{reply}, Factory: factory}))
		var refused *orchestrator.FactoryError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, "r", refused.Run)
		require.Equal(t, "task", refused.Strategy)
		require.ErrorContains(t, err, `run "r"`)
		require.Equal(t, 1, strings.Count(err.Error(), "orchestrator: "), "%v", err)
		require.NotContains(t, err.Error(), "orchestrator: Task.", name)
		if name == "broken" {
			require.ErrorContains(t, err, "cannot be resumed: Resumption.Factory: the factory of")
		}
	}
	require.Empty(t, model.Requests())
	events, err := all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: []machine.Reply{reply}, Factory: own}))
	require.NoError(t, err)
	require.Equal(t, "task", events[0].Detail.(machine.RunResumed).Strategy)
	require.Equal(t, "done", finished(t, events).Output.Text())
	require.Equal(t, "You are the task's own.", model.Requests()[0].Messages[0].(messages.System).Text)

	_, err = all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
	require.ErrorAs(t, err, new(*orchestrator.FactoryError), "of a run that has ended, too")
}

// A run that was begun without a factory takes none.
func TestResume_needlessFactory(t *testing.T) {
	o := solver(t, scripted.New(scripted.Text("done")), stored(new(checkpoint.Memory)))
	ran(t, o, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}})
	_, err := all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Factory: completetask.New(completetask.Config{})}))
	require.ErrorAs(t, err, new(*orchestrator.FactoryError))
	require.ErrorContains(t, err, "without a Task.Factory")
}

// A task's own strategy may delegate to those of the Config, and to itself by its name.
func TestTask_FactoryDelegates(t *testing.T) {
	o := solver(t, scripted.New(scripted.Text("from the child")))
	own := func() strategy.Strategy {
		return &scene{
			Start: func(in delegation.Input) nextstep.NextStep {
				if in.Goal == "again" {
					return nextstep.Delegate{Strategy: "solve", Input: delegation.Input{Goal: "ask"}}
				}
				return nextstep.Delegate{Strategy: "mine", Input: delegation.Input{Goal: "again"}}
			},
			Child: func(o delegation.Output) nextstep.NextStep { return done(o.Text()) },
		}
	}
	res := ran(t, o, orchestrator.Task{Strategy: "mine", Input: delegation.Input{Goal: "go"}, Factory: own})
	require.Equal(t, "from the child", res.Output.Text())
}

// What a task asks for is checked before a model is asked, and before anything is stored.
func TestTask_checks(t *testing.T) {
	fine := completetask.New(completetask.Config{})
	clash := func() strategy.Strategy { return &bringing{tool: tools.AskUser()} }
	for field, task := range map[string]orchestrator.Task{
		"Task.Tools":       {Tools: []string{"look", tools.AskUserName}},
		"Task.Temperature": {Temperature: new(math.NaN())},
		"Task.Strategy":    {Strategy: "solve", Factory: fine},
		"Task.Factory":     {Factory: clash},
	} {
		store := new(checkpoint.Memory)
		o := solver(t, scripted.New(), stored(store), with(tools.AskUser()))
		task.Run = "r"
		_, err := o.Run(t.Context(), task)
		var refused *orchestrator.ConfigError
		require.ErrorAs(t, err, &refused, field)
		require.Equal(t, field, refused.Field)
		for _, err := range store.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
			require.ErrorIs(t, err, checkpoint.ErrNotFound, field)
		}
	}
	o := solver(t, scripted.New(), with(tools.AskUser()))
	_, err := o.Run(t.Context(), orchestrator.Task{Tools: []string{"look"}})
	require.ErrorContains(t, err, `no tool "look"`)
	require.ErrorContains(t, err, tools.AskUserName)
}

type bringing struct {
	scene
	tool tools.Tool
}

func (b *bringing) Tools() []tools.Tool { return []tools.Tool{b.tool} }

// requests are the models and temperatures of requests; nil is -1.
func requests(c *scripted.Client) (models []string, temperatures []float64) {
	for _, r := range c.Requests() {
		models, temperatures = append(models, r.Model), append(temperatures, -1)
		if r.Temperature != nil {
			temperatures[len(temperatures)-1] = *r.Temperature
		}
	}
	return models, temperatures
}

// The model and the temperature of a task hold for what leaves its own open: the root, what it
// delegates to, and agents; in another process, too.
func TestTask_ModelAndTemperature(t *testing.T) {
	store := new(checkpoint.Memory)
	build := func(replies ...scripted.Reply) (*orchestrator.Orchestrator, *scripted.Client) {
		model := scripted.New(replies...)
		o, err := orchestrator.New(orchestrator.Config{
			Client: model, Store: store, Default: "main",
			Tools: []tools.Tool{orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "research"}, Strategy: "choosy"}), tools.AskUser()},
			Strategies: strategy.Set{
				"plain":  completetask.New(completetask.Config{}),
				"choosy": completetask.New(completetask.Config{Model: "large"}),
				"main": func() strategy.Strategy {
					return &scene{
						Start: func(delegation.Input) nextstep.NextStep {
							return nextstep.Delegate{Strategy: "plain", Input: delegation.Input{Goal: "a"}}
						},
						Child: func(delegation.Output) nextstep.NextStep { return ask("b") },
					}
				},
			},
		})
		require.NoError(t, err)
		return o, model
	}
	o, model := build(scripted.Calls(scripted.Call("research", `{"goal":"x"}`, "1"), question("Which?", "2")), scripted.Text("found"))
	res := ran(t, o, orchestrator.Task{Run: "r", Model: "small", Temperature: new(0.25)})
	require.Equal(t, machine.StatusWaiting, res.Status)
	models, temperatures := requests(model)
	require.Equal(t, []string{"small", "large"}, models)
	require.Equal(t, []float64{0.25, 0.25}, temperatures)

	o, model = build(scripted.Text("a"), scripted.Text("b"))
	events := watchedOn(t, o, "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "that"})
	for _, e := range events {
		require.NotEqual(t, machine.EventDrifted, e.Kind, "the replay asks in the same words")
	}
	require.Equal(t, machine.StatusDone, finished(t, events).Status)
	models, temperatures = requests(model)
	require.Equal(t, []string{"small", "small"}, models)
	require.Equal(t, []float64{0.25, 0.25}, temperatures)
}

// A run may use the tools that its task names, and no others: neither may its agents.
func TestTask_Tools(t *testing.T) {
	model := scripted.New(scripted.Calls(scripted.Call("research", `{"goal":"x"}`, "1"), scripted.Call("write", "{}", "2")),
		scripted.Calls(scripted.Call("write", "{}", "3")), scripted.Text("no"), scripted.Text("done"))
	o := solver(t, model, with(echo("look"), echo("write"),
		orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "research"}, Strategy: "solve"})))
	res := ran(t, o, orchestrator.Task{Input: delegation.Input{Goal: "go"}, Tools: []string{"research", "look"}})
	for _, r := range model.Requests() {
		require.Equal(t, []string{"look", "research"}, names(r))
	}
	require.Equal(t, machine.ReasonNotOffered, res.Output.ToolMetas()[1].Reason)

	model = scripted.New(scripted.Text("done"))
	o = solver(t, model, with(echo("look")))
	ran(t, o, orchestrator.Task{Input: delegation.Input{Goal: "go"}, Tools: []string{}})
	require.Empty(t, model.Requests()[0].Tools, "none")
}

func names(r llmclient.Request) []string {
	var all []string
	for _, d := range r.Tools {
		all = append(all, d.Name)
	}
	return all
}

// What a task says of itself stands in the journal, and its metadata in the first event of each
// process.
func TestTask_Metadata(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Calls(question("Which?", "1")), scripted.Text("done")), stored(store), with(tools.AskUser()))
	meta := map[string]string{"user": "u1"}
	events, err := all(t, o.Stream(t.Context(), orchestrator.Task{
		Run: "r", Input: delegation.Input{Goal: "go"}, Metadata: meta, Labels: map[string]string{"team": "a"}, Namespace: "tenant",
	}))
	require.NoError(t, err)
	meta["user"] = "u2"
	require.Equal(t, map[string]string{"user": "u1"}, events[0].Detail.(machine.RunStarted).Metadata)
	for rec, err := range store.Read(t.Context(), checkpoint.Key{Namespace: "tenant", Run: "r"}, 1) {
		require.NoError(t, err)
		began, err := machine.ReadRecord(rec.Data)
		require.NoError(t, err)
		s := began.(machine.Started)
		require.Equal(t, map[string]string{"user": "u1"}, s.Metadata)
		require.Equal(t, map[string]string{"team": "a"}, s.Labels)
		require.Equal(t, "tenant", s.Namespace)
		break
	}
	how := resuming("r", machine.Reply{WaitID: finished(t, events).Waits[0].ID, Text: "that"})
	how.Namespace = "tenant"
	events, err = all(t, o.Resume(t.Context(), how))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"user": "u1"}, events[0].Detail.(machine.RunResumed).Metadata)
}
