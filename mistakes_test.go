package segue_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/tools"
)

// mistake is what a beginner does wrong, and what the error says. An error that is returned before
// any model is asked is all that it costs.
type mistake struct {
	name string
	make func(ctx context.Context, model llmclient.Client) error
	as   any // a pointer to the type of error; nil if it has none of its own
	want string
}

func TestMistakes(t *testing.T) {
	all := append(append(mistakesOfConfig(), mistakesOfStrategies()...), mistakesOfAgents()...)
	require.GreaterOrEqual(t, len(all), 40)
	packages := regexp.MustCompile(`(^|[^"\w/.])(builtin|completetask|llmclient|machine|openaichat|orchestrator|planreviseexecute|react|reflection|retry|segue|strategy|tools): `)
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			model := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
				t.Error("a model was asked")
				return nil, errors.New("asked")
			})
			err := m.make(t.Context(), model)
			require.Error(t, err)
			if m.as != nil {
				require.ErrorAs(t, err, m.as)
			}
			require.Contains(t, err.Error(), m.want)
			for line := range strings.Lines(err.Error()) {
				if strings.HasPrefix(strings.TrimSpace(line), "- ") { // an item of a list that the error ends with
					continue
				}
				require.Len(t, packages.FindAllString(line, -1), 1, "one prefix a line: %s", line)
			}
		})
	}
}

// configured is a mistake in the Config of an orchestrator.
func configured(name, want string, change func(*orchestrator.Config)) mistake {
	return mistake{name, func(_ context.Context, model llmclient.Client) error {
		cfg := orchestrator.Config{Client: model, Strategies: strategy.Set{"task": completetask.New(completetask.Config{})}}
		change(&cfg)
		_, err := orchestrator.New(cfg)
		return err
	}, new(*orchestrator.ConfigError), want}
}

func tool(name string) tools.Tool {
	return tools.New(tools.Definition{Name: name}, func(context.Context, struct{ Text string }) (string, error) { return "", nil })
}

func withTools(list ...tools.Tool) func(*orchestrator.Config) {
	return func(cfg *orchestrator.Config) { cfg.Tools = list }
}

func mistakesOfConfig() []mistake {
	type C = orchestrator.Config
	agentOf := func(name string, names ...string) tools.Tool {
		return orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "helper"}, Strategy: name, Tools: names})
	}
	returning := func(v any) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: "t", Parameters: json.RawMessage(v.(string))}, func(context.Context, string) (string, error) { return "", nil })
	}
	twoTasks := func(cfg *C) { cfg.Strategies["other"] = completetask.New(completetask.Config{}) }
	running := func(name, want string, change func(*C), task orchestrator.Task) mistake {
		return mistake{name, func(ctx context.Context, model llmclient.Client) error {
			cfg := C{Client: model, Strategies: strategy.Set{"task": completetask.New(completetask.Config{})}}
			change(&cfg)
			o, err := orchestrator.New(cfg)
			if err != nil {
				return errors.New("New: " + err.Error())
			}
			_, err = o.Run(ctx, task)
			return err
		}, new(*orchestrator.ConfigError), want}
	}
	goal := delegation.Input{Goal: "go"}
	return []mistake{
		configured("no client", "Client: is nil: give it", func(cfg *C) { cfg.Client = nil }),
		configured("a client whose error nobody looked at", "Client: is nil: give it", func(cfg *C) { cfg.Client = (*openaichat.Client)(nil) }),
		configured("no strategy", "Strategies: is empty: give it one", func(cfg *C) { cfg.Strategies = nil }),
		configured("a default that there is not", `Default: no strategy "tsk"; known: task (did you mean "task"?)`, func(cfg *C) { cfg.Default = "tsk" }),
		configured("a tool that is nil", "Tools: tool \"#0\": nil: leave it out", withTools(nil)),
		configured("a nil pointer for a tool", "make one, or leave it out", withTools((*namedTool)(nil))),
		configured("two tools of one name", `tools 0 and 1 have the same name, "a": rename one`, withTools(tool("a"), tool("a"))),
		configured("a tool's name with a blank", `a name is 1 to 64 of letters`, withTools(tool("look up"))),
		configured("a tool without a name", `a name is 1 to 64 of letters`, withTools(tool(""))),
		configured("a tool without a function", "no function: give it", withTools(tools.New[struct{}, string](tools.Definition{Name: "a"}, nil))),
		configured("fields that are not exported", "begin their names with capital letters",
			withTools(tools.New(tools.Definition{Name: "a"}, func(_ context.Context, in struct{ text string }) (string, error) { return in.text, nil }))),
		configured("arguments that are no object", "the type must be a struct",
			withTools(tools.New(tools.Definition{Name: "a"}, func(_ context.Context, in string) (string, error) { return in, nil }))),
		configured("parameters that are no schema", `parameters must be a JSON Schema of "type":"object"`, withTools(returning(`{"type":"string"}`))),
		configured("parameters that are no JSON", "parameters are not a JSON object", withTools(returning(`{type: object}`))),
		configured("an enum of numbers", "only strings",
			withTools(tools.New(tools.Definition{Name: "a"}, func(context.Context, numbers) (string, error) { return "", nil }))),
		configured("an agent of no strategy", `agent tool "helper": no strategy "tasks"; known: task (did you mean "task"?)`, withTools(agentOf("tasks"))),
		configured("an agent with tools that there are not", `agent tool "helper" names a tool that is not in Tools: "look"`, withTools(agentOf("task", "look"))),
		configured("an approval of no tool", `did you mean "look"?`, func(cfg *C) {
			cfg.Tools = []tools.Tool{tool("look")}
			cfg.Approve = &orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"lok": machine.AllowAlways}}
		}),
		configured("a middleware that is nil", "Middleware: number 0 is nil: leave it out", func(cfg *C) { cfg.Middleware = []orchestrator.Middleware{nil} }),
		configured("a remote that is nil", `Remote: "far" is nil: give it`, func(cfg *C) { cfg.Remote = map[string]orchestrator.Remote{"far": nil} }),
		configured("a remote with the name of a strategy", `Remote: "task" is in Strategies too: rename one`, func(cfg *C) {
			cfg.Remote = map[string]orchestrator.Remote{"task": func(context.Context, nextstep.Delegate) (delegation.Output, error) {
				return delegation.Output{}, nil
			}}
		}),
		running("two strategies and no default", "Task.Strategy: no strategy is named; known: other, task: name one of them, or set Config.Default", twoTasks, orchestrator.Task{Input: goal}),
		running("a task's strategy that there is not", `Task.Strategy: no strategy "tasc"; known: other, task`, twoTasks, orchestrator.Task{Strategy: "tasc", Input: goal}),
		running("an id of a run that cannot be kept", "Task.Run: ", twoTasks, orchestrator.Task{Strategy: "task", Run: strings.Repeat("x", 2000), Input: goal}),
		{"resuming without a store", func(ctx context.Context, model llmclient.Client) error {
			o, err := orchestrator.New(C{Client: model, Strategies: strategy.Set{"task": completetask.New(completetask.Config{})}})
			if err != nil {
				return err
			}
			for _, err = range o.Resume(ctx, orchestrator.Resumption{Run: "r"}) {
			}
			return err
		}, new(*orchestrator.ConfigError), "Store: is nil"},
	}
}

type numbers struct {
	N int `enum:"1,2"`
}

type namedTool struct{ name string }

func (n *namedTool) Definition() tools.Definition                 { return tools.Definition{Name: n.name} }
func (n *namedTool) Call(context.Context, string) (string, error) { return n.name, nil }

// bringer brings tools of its own.
type bringer struct {
	strategy.Strategy
	list []tools.Tool
}

func (b bringer) Tools() []tools.Tool { return b.list }

func mistakesOfStrategies() []mistake {
	type C = orchestrator.Config
	of := func(name, want string, factory func() strategy.Strategy) mistake {
		return configured(name, want, func(cfg *C) { cfg.Strategies["mine"] = factory })
	}
	task := func(c completetask.Config) func() strategy.Strategy { return completetask.New(c) }
	schema := func(name, text string) func() strategy.Strategy {
		return task(completetask.Config{Schema: &llmclient.Schema{Name: name, Schema: json.RawMessage(text)}})
	}
	shared := completetask.New(completetask.Config{})()
	return []mistake{
		of("a factory that is nil", `the factory of "mine" is nil: give it one`, nil),
		of("a factory of nothing", `must return a new strategy at each call`, func() strategy.Strategy { return nil }),
		of("a factory of one strategy", `the factory of "mine" returned the same strategy twice: it must make a new one at each call`, func() strategy.Strategy { return shared }),
		of("a factory that panics", "panicked", func() strategy.Strategy { panic("oops") }),
		of("a policy that there is not", `strategy "mine": OnEmpty: "guess" is not one of`, task(completetask.Config{OnEmpty: "guess"})),
		of("a tool that there is not", `strategy "mine" names a tool that is not in Tools: "look"; there are no tools`, task(completetask.Config{Tools: []string{"look"}})),
		of("a forced tool that there is not", `names a tool that is not in Tools: "look"`, task(completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "look"}})),
		of("a tool named twice", "leave out all but one", task(completetask.Config{Tools: []string{"a", "a"}})),
		of("a schema without a name", "Schema: has no Name: give it one", schema("", `{"type":"object"}`)),
		of("a schema whose name has a blank", `Schema: the Name "my answer" is not 1 to 64`, schema("my answer", `{"type":"object"}`)),
		of("a schema that is none", "Schema: the schema", schema("answer", `{"type":3}`)),
		of("a prompt that is no template", "Prompts: template", task(completetask.Config{Prompts: completetask.Prompts{Empty: "{{"}})),
		of("a prompt with a field that there is not", "Prompts: template", pre.New(pre.Config{Executor: "task", Prompts: pre.Prompts{Plan: "{{.Gaol}}"}})),
		of("an executor that there is not", `strategy "mine" delegates to one that is neither in Strategies nor in Remote: no strategy "complete-task"; known: mine, task`, pre.New(pre.Config{})),
		of("an executor misspelt", `no strategy "tusk"; known: mine, task (did you mean "task"?)`, pre.New(pre.Config{Executor: "task", Executors: []string{"tusk"}})),
		of("tools of steps that there are not", `names a tool that is not in Tools: "look"`, pre.New(pre.Config{Executor: "task", StepTools: []string{"look"}})),
		of("a judge that is nil", "Evaluation is func, and Judge is nil", pre.New(pre.Config{Executor: "task", Evaluation: pre.EvaluateByFunc})),
		of("a strategy to retry that there is not", `no strategy "tesk"; known: mine, task (did you mean "task"?)`, retry.New(retry.Config{Strategy: "tesk"})),
		of("a generator that there is not", `no strategy "writer"`, reflection.New(reflection.Config{Generator: "writer"})),
		of("drafts without an end", "MaxIterations is negative", reflection.New(reflection.Config{MaxIterations: -1})),
		of("tools of react that there are not", `names a tool that is not in Tools: "look"`, react.New(react.Config{Tools: []string{"look"}})),
		of("a table without an end", "is a dead end", func() strategy.Strategy { return endless{fsm: endlessTable.New(nil)} }),
		of("a tool that cannot be used among its own", "brings tools that cannot be used", func() strategy.Strategy {
			return bringer{completetask.New(completetask.Config{})(), []tools.Tool{tool("look up")}}
		}),
		configured("a tool of its own whose name is taken", "rename or leave out the one in Tools", func(cfg *C) {
			cfg.Tools = []tools.Tool{tool(pre.SubmitPlan)}
			cfg.Strategies["plan"] = pre.New(pre.Config{Executor: "task"})
		}),
	}
}

var endlessTable = &strategy.Table{
	Name: "endless", Initial: "ready",
	States: []strategy.StateRule{{Name: "ready"}, {Name: "asking", Awaits: nextstep.KindGetChatCompletion}},
	Rules:  []strategy.Rule{{From: []strategy.State{"ready"}, On: "start", To: "asking"}},
}

type endless struct {
	strategy.Defaults
	fsm *strategy.FSM
}

func (e endless) FSM() *strategy.FSM { return e.fsm }

func (e endless) Initialize(delegation.Input) nextstep.NextStep { return e.fsm.OutOfTurn() }

func mistakesOfAgents() []mistake {
	asked := func(name string, as any, want string, agent *segue.Agent) mistake {
		return mistake{name, func(ctx context.Context, model llmclient.Client) error {
			agent.Model = model
			_, err := agent.Ask(ctx, "go")
			return err
		}, as, want}
	}
	chat := func(name, want string, cfg openaichat.Config) mistake {
		return mistake{name, func(context.Context, llmclient.Client) error {
			_, err := openaichat.New(cfg)
			return err
		}, new(*llmclient.ConfigError), want}
	}
	orch := new(*orchestrator.ConfigError)
	return []mistake{
		{"an agent without a model", func(ctx context.Context, _ llmclient.Client) error {
			_, err := (&segue.Agent{}).Ask(ctx, "go")
			return err
		}, nil, "Agent.Model: is nil: give it the Client of a model"},
		{"no agent", func(ctx context.Context, _ llmclient.Client) error {
			_, err := (*segue.Agent)(nil).Ask(ctx, "go")
			return err
		}, nil, "segue: the *Agent is nil: make one, such as &segue.Agent{Model: model}"},
		{"no agent for a typed answer", func(ctx context.Context, _ llmclient.Client) error {
			_, err := segue.Ask[struct{ A string }](ctx, nil, "go")
			return err
		}, nil, "segue: the *Agent is nil: make one"},
		asked("a prompt beside a strategy", nil, "Agent.System: is for an Agent without a Strategy: give the prompt to the Strategy",
			&segue.Agent{System: "Be brief.", Strategy: completetask.New(completetask.Config{})}),
		asked("an agent's strategy without its child", orch, `no strategy "complete-task"; known: agent`, &segue.Agent{Strategy: retry.New(retry.Config{})}),
		asked("an agent's tool twice", nil, "rename one", &segue.Agent{Tools: []tools.Tool{tool("a"), tool("a")}}),
		asked("an agent's tool that cannot be used", nil, "a name is 1 to 64", &segue.Agent{Tools: []tools.Tool{tool("a b")}}),
		asked("an agent that is given no task by its configuration", orch, `Default: no strategy "x"`, &segue.Agent{Configure: func(c *orchestrator.Config) { c.Default = "x" }}),
		{"an answer that is no struct", func(ctx context.Context, model llmclient.Client) error {
			_, err := segue.Ask[[]string](ctx, &segue.Agent{Model: model}, "go")
			return err
		}, nil, "put the []string into a struct"},
		{"an answer without exported fields", func(ctx context.Context, model llmclient.Client) error {
			_, err := segue.Ask[struct{ hidden int }](ctx, &segue.Agent{Model: model}, "go")
			return err
		}, nil, "no field that JSON is read into"},
		{"a typed answer of a strategy", func(ctx context.Context, model llmclient.Client) error {
			_, err := segue.Ask[struct{ A string }](ctx, &segue.Agent{Model: model, Strategy: completetask.New(completetask.Config{})}, "go")
			return err
		}, nil, "read the answer with Output.Decode"},
		chat("a key with a line break", "APIKey: has a line break", openaichat.Config{APIKey: "sk-1\n"}),
		chat("a base URL without a scheme", "BaseURL: the base URL", openaichat.Config{BaseURL: "localhost:11434/v1"}),
		chat("a base URL with a query", "give a query with option.WithQuery", openaichat.Config{BaseURL: "https://example.com/v1?key=1"}),
		chat("a token field that there is not", "TokenField: is \"tokens\"; it is max_tokens", openaichat.Config{TokenField: "tokens"}),
		chat("a kind of reasoning that there is not", "Reasoning: is \"high\"; it is auto", openaichat.Config{Reasoning: "high"}),
	}
}
