package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// Setup holds everything that an orchestrator needs to run an agent of a configuration, with all
// agents that the agent can reach. Its fields may be changed before they are used.
type Setup struct {
	Strategy   string            // for the [orchestrator.Task]: the name of the agent
	Limits     delegation.Limits // for the [orchestrator.Task]
	Strategies strategy.Set      // for the [orchestrator.Config]: the strategies of the agents, by name, and of unnamed executors
	Tools      []tools.Tool      // for the [orchestrator.Config]: the tools of the Options, and the agents that can be called as tools
	Callable   []string          // the names of the agents that can be called as tools
	Unheeded   []string          // approval settings of a file that was found that are ignored, such as "writer: default: always"

	Unmatched []string // approval settings of agents with MCP servers for tools that the run does not have, such as "writer: files_move"

	config    *Config
	usual     approve.Policies            // of a strategy that says none
	approvals map[string]approve.Policies // of the agents, by the names of their strategies
	remote    []string                    // the names of the tools of MCP servers
	models    map[string]string           // the models of this file that are used, by Request.Model; "" means the model of the environment
}

// Options are what a program adds to the settings of the file.
type Options struct {
	// Tools are the tools of the run: list_files, read_file, write_file, edit_file, search_files,
	// ask_user, and any tools of the program. An agent may use the tools that it names, or all of
	// them if it names none.
	Tools []tools.Tool

	// MCP are the tools of the MCP servers of the file, by the names of the servers. An agent may
	// use those of the servers that it names. See [Config.MCPServers].
	MCP map[string][]tools.Tool

	Strategy string // overrides the strategy of the agent that is run; "": as in the file
	System   string // overrides the system prompt of the agent that is run; "": as in the file
	Bounded  bool   // the run has its own limits: turns off the strategies' bounds on model calls
	Approve  string // a word of --approve for agents that say none, and as loose as a file that was found may be; "": ask

	large bool // large results are kept, so there is a tool that reads them
}

// has reports whether the run has a tool.
func (o Options) has(tool string) bool {
	return slices.ContainsFunc(o.Tools, func(t tools.Tool) bool { return t.Definition().Name == tool })
}

// settings returns the settings for the strategy of an agent.
func (o Options) settings() strategies.Settings {
	return strategies.Settings{System: o.System, Bounded: o.Bounded, NoAsk: !o.has(tools.AskUserName)}
}

// address returns the model name in the requests of an agent. It identifies the agent.
func address(agent string) string { return "agent/" + agent }

// reachedAgent is an agent that can be reached. Options may have changed the first one.
type reachedAgent struct {
	name string
	Agent
}

// Setup makes the agent with that name, and all agents that it can reach. It returns an error if
// there is no such agent, or if an agent names a tool, other than ask_user, that is not in the
// Options. A Setup can be used for any number of runs.
func (c *Config) Setup(name string, o Options) (*Setup, error) {
	o.large = c.KeepLarge().Keep != 0
	if err := c.mustHave(name); err != nil {
		return nil, err
	}
	made := &Setup{
		Strategy: name, Limits: c.limits(name), Strategies: strategy.Set{}, Tools: slices.Clone(o.Tools), approvals: map[string]approve.Policies{},
		config: c, models: map[string]string{},
	}
	reached := c.reach(name, o.Strategy)
	if err := made.addMCP(reached, o); err != nil {
		return nil, err
	}
	for _, agent := range reached {
		made.approvals[agent.name] = agent.approvals(o.Approve)
		for _, child := range agent.children(asTool) {
			if !slices.Contains(made.Callable, child) {
				made.Callable = append(made.Callable, child)
				made.Tools = append(made.Tools, orchestrator.AgentTool(orchestrator.Agent{
					Definition: tools.Definition{Name: child, Description: c.Agents[child].Description},
					Strategy:   child,
					Limits:     c.limits(child),
				}))
			}
		}
	}
	for i, agent := range reached {
		own := o
		if i > 0 || own.System == "" {
			own.System = agent.System
		}
		if err := made.addAgent(agent, own); err != nil {
			return nil, fmt.Errorf("agent %s: %w", agent.name, err)
		}
	}
	for _, agent := range reached {
		_, looser := c.Agents[agent.name].ApprovalSaid()
		for _, said := range looser {
			if c.Found && o.Approve != approve.Always {
				made.Unheeded = append(made.Unheeded, agent.name+": "+said)
			}
		}
	}
	made.usual = approve.Policies{Default: o.Approve, Agents: made.Callable}
	made.Unmatched = made.unmatched(reached)
	return made, nil
}

// with returns the agent with another strategy. It removes the config of the old strategy, and
// children that the new one cannot use.
func (a Agent) with(other string) Agent {
	a.Strategy, a.Config = other, nil
	key, _ := strategies.KeysOf(a.StrategyName()).Executor()
	executors := a.children(asExecutor)
	if !strategies.KeysOf(a.StrategyName())["executors"] {
		executors = executors[:min(1, len(executors))]
	}
	if key == "" {
		executors = nil
	}
	a.Children = slices.DeleteFunc(slices.Clone(a.Children), func(child Child) bool {
		return child.As == asExecutor && !slices.Contains(executors, child.Agent)
	})
	if !a.callsTools() {
		a.Children = slices.DeleteFunc(a.Children, func(child Child) bool { return child.As != asExecutor })
	}
	if a.StrategyName() == builtin.LLMOnly {
		a.Tools = nil
	}
	if !a.usesTools() {
		a.MCP = nil
	}
	return a
}

// callsTools reports whether the agent itself calls tools. An agent with executors does not.
func (a Agent) callsTools() bool {
	key, _ := strategies.KeysOf(a.StrategyName()).Executor()
	return a.StrategyName() != builtin.LLMOnly && (key == "" || len(a.children(asExecutor)) == 0)
}

// usesTools reports whether the agent, or the unnamed executor that works for it, calls tools.
func (a Agent) usesTools() bool {
	return a.StrategyName() != builtin.LLMOnly && len(a.children(asExecutor)) == 0
}

// asksModel reports whether the agent itself calls a model.
func (a Agent) asksModel() bool {
	has := strategies.KeysOf(a.StrategyName())
	_, needed := has.Executor()
	return has["model"] || needed && len(a.children(asExecutor)) == 0 || slices.ContainsFunc(a.parts(), partAt.usual)
}

func (c *Config) limits(agent string) delegation.Limits { return c.Agents[agent].Limits }

// reach returns an agent, with another strategy if other is not "", followed by all agents that it
// can call, delegate to or hand over to.
func (c *Config) reach(name, other string) []reachedAgent {
	first := c.Agents[name]
	if other != "" && strategies.RealName(other) != first.StrategyName() {
		first = first.with(other)
	}
	reached := []reachedAgent{{name, first}}
	for i := 0; i < len(reached); i++ {
		for _, name := range reached[i].next() {
			if !slices.ContainsFunc(reached, func(a reachedAgent) bool { return a.name == name }) {
				reached = append(reached, reachedAgent{name, c.Agents[name]})
			}
		}
	}
	return reached
}

// addAgent makes the strategy of an agent. If the strategy delegates all of its work and no
// executor is named, it adds a complete-task with the agent's own model, system prompt and tools.
func (s *Setup) addAgent(agent reachedAgent, o Options) error {
	offered, err := agent.offered(o)
	config, invalid := strategies.ConfigMembers(agent.Config)
	if err = cmp.Or(err, invalid); err != nil {
		return err
	}
	for key, value := range strategies.Usual(agent.StrategyName()) {
		unlessSaid(config, key, value)
	}
	has, executors := strategies.KeysOf(agent.StrategyName()), agent.children(asExecutor)
	if composes(agent.StrategyName()) {
		return s.addComposition(agent, o, config, offered)
	}
	s.addModels(agent, config, has)
	if r := agent.named().Reviewer; r != "" {
		unlessSaid(config, "review_limits", s.config.limits(r))
		if agent.Tools != nil {
			unlessSaid(config, "review_tools", append([]string{}, slices.Concat(offered, s.Callable, s.remote)...))
		}
	}
	key, needed := has.Executor()
	var names map[string]string // of strategies in plans, and what they stand for
	switch {
	case len(executors) > 0:
		s.config.handOn(config, has, executors)
		if agent.Tools != nil { // executors may call any agents of their own
			config[has.Bound()] = append(append(offered, s.Callable...), s.remote...)
		}
		offered = nil
	case needed:
		if err := s.addWorker(agent, o, offered); err != nil {
			return err
		}
		config[key], offered = workerOf(agent.name), nil
		if has["executors"] { // a plan may name them, and knows them by the names of their strategies
			config[key] = completetask.Name
			names = map[string]string{completetask.Name: workerOf(agent.name), agent.StrategyName(): agent.name}
			if usual := strategies.UsualExecutors(agent.StrategyName()); usual != nil {
				config["executors"] = usual
			}
		}
	case !agent.callsTools():
		offered = nil
	}
	err = s.addStrategy(agent.name, agent.StrategyName(), o.settings().Apply(config, has), agent.Tools != nil, offered)
	if err == nil && names != nil {
		s.Strategies[agent.name] = fit(s.Strategies[agent.name], nil, names)
	}
	return err
}

// unlessSaid sets a member of the config of a strategy, unless the file says it.
func unlessSaid(config map[string]any, key string, value any) {
	if _, said := config[key]; !said {
		config[key] = value
	}
}

// addModels notes the models that an agent may ask.
func (s *Setup) addModels(agent reachedAgent, config map[string]any, has strategies.Keys) {
	if has["model"] {
		config["model"] = address(agent.name)
	}
	if agent.asksModel() {
		s.models[address(agent.name)] = s.config.ModelOf(agent.Agent)
	}
	compact, _ := config["compact"].(map[string]any)
	for _, other := range []any{config["critic_model"], compact["model"]} {
		if name, ok := other.(string); ok && name != "" {
			s.models[name] = name
		}
	}
}

// addWorker adds a complete-task with an agent's own model, system prompt and tools.
func (s *Setup) addWorker(agent reachedAgent, o Options, offered []string) error {
	worker := workerOf(agent.name)
	s.models[address(agent.name)] = s.config.ModelOf(agent.Agent)
	s.approvals[worker] = s.approvals[agent.name]
	task := o.settings().Apply(map[string]any{"model": address(agent.name)}, strategies.KeysOf(completetask.Name))
	return s.addStrategy(worker, completetask.Name, task, agent.Tools != nil, offered)
}

// handOn sets the executors in the config of a strategy, and their limits. A plan need not name the
// only one.
func (c *Config) handOn(config map[string]any, has strategies.Keys, executors []string) {
	key, _ := has.Executor()
	config[key] = executors[0]
	if !has["executors"] {
		unlessSaid(config, "limits", c.limits(executors[0]))
		return
	}
	each := map[string]delegation.Limits{}
	for _, name := range executors {
		if limits := c.limits(name); limits != (delegation.Limits{}) {
			each[name] = limits
		}
	}
	config["executor_limits"] = each
	if len(executors) > 1 {
		config["executors"] = executors
	}
}

// addStrategy makes a strategy from its config. offered lists the tools that it offers; nil means
// none. If named is true it must have all of them; otherwise it offers those that it may use.
func (s *Setup) addStrategy(name, strategy string, config map[string]any, named bool, offered []string) error {
	if named && offered != nil {
		config["tools"] = offered
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	factory, err := builtin.New(strategy, text)
	if err != nil {
		return err
	}
	if !named && offered != nil {
		factory = fit(factory, offered, nil)
	}
	s.Strategies[name] = factory
	return nil
}

// offered returns the names of the tools that an agent may use: tools of the run, and agents that
// it may call.
func (a Agent) offered(o Options) ([]string, error) {
	names := []string{}
	if a.Tools == nil {
		for _, t := range o.Tools {
			names = append(names, t.Definition().Name)
		}
	}
	for _, name := range a.Tools {
		switch {
		case o.has(name):
			names = append(names, name)
		case name == orchestrator.ReadResultTool && !o.large:
			return nil, fmt.Errorf("it uses %s: set large_results", name)
		case name == orchestrator.ReadResultTool:
			names = append(names, name)
		case name != tools.AskUserName:
			return nil, fmt.Errorf("it uses %s: name the folder with --dir", name)
		}
	}
	if o.large && (a.Tools == nil || len(a.MCP) > 0 && !slices.Contains(a.Tools, orchestrator.ReadResultTool)) {
		names = append(names, orchestrator.ReadResultTool)
	}
	for _, server := range a.MCP {
		for _, t := range o.MCP[server] {
			names = append(names, t.Definition().Name)
		}
	}
	return append(names, a.children(asTool)...), nil
}

// ModelOf returns the name of an agent's model in the file. "" means the model of the environment,
// or no model if the agent calls none.
func (c *Config) ModelOf(a Agent) string {
	if a.Model == "" && len(c.Models) == 1 && a.asksModel() {
		return sortedKeys(c.Models)[0]
	}
	return a.Model
}
