package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// crew is an agent of a configuration with all agents that it can reach, ready to run.
type crew struct {
	agents     []string             // those reached, the first is the one
	strategies strategy.Set         // an agent is a strategy
	tools      []tools.Tool         // those of the run, and the agents that can be called
	models     map[string]string    // the models of this file that are asked, by Request.Model; "" is that of the environment
	approvals  map[string]approvals // of agents, by their strategies
	called     []string             // the agents that can be called
}

// crewOptions are what flags say.
type crewOptions struct {
	strategy string // of the first agent; "" is what the file says
	settings        // the system prompt is that of the first agent
	tools    []tools.Tool
	files    bool // tools holds those for files
	ask      bool // tools holds ask_user
}

// address is what an agent calls its model in requests. It shows who asks.
func address(agent string) string { return "agent/" + agent }

// recruit is an agent of a crew. The first one may be changed by flags.
type recruit struct {
	name string
	agentConfig
}

// crew makes an agent and all that it can reach.
func (c *configuration) crew(name string, o crewOptions) (*crew, error) {
	made := &crew{strategies: strategy.Set{}, tools: slices.Clone(o.tools), models: map[string]string{}, approvals: map[string]approvals{}}
	recruits := c.reach(name, o.strategy)
	for _, m := range recruits {
		made.agents = append(made.agents, m.name)
		made.approvals[m.name] = m.approvals()
		for _, child := range m.children(asTool) {
			if !slices.Contains(made.called, child) {
				made.called = append(made.called, child)
				made.tools = append(made.tools, orchestrator.AgentTool(orchestrator.Agent{
					Definition: tools.Definition{Name: child, Description: c.Agents[child].Description},
					Strategy:   child,
					Limits:     c.limits(child),
				}))
			}
		}
	}
	for i, m := range recruits {
		own := o
		if i > 0 || own.system == "" {
			own.system = m.System
		}
		if err := c.enlist(made, m, own); err != nil {
			return nil, fmt.Errorf("agent %s: %w", m.name, err)
		}
	}
	return made, nil
}

// with returns the agent with another strategy: what was said to the first one is not for it, and
// it has no children that it could not use.
func (a agentConfig) with(other string) agentConfig {
	a.Strategy, a.Config = other, nil
	key, _ := partsOf(a.strategy()).executor()
	executors := a.children(asExecutor)
	if !partsOf(a.strategy())["executors"] {
		executors = executors[:min(1, len(executors))]
	}
	if key == "" {
		executors = nil
	}
	a.Children = slices.DeleteFunc(slices.Clone(a.Children), func(child childConfig) bool {
		return child.As == asExecutor && !slices.Contains(executors, child.Agent)
	})
	if !a.callsTools() {
		a.Children = slices.DeleteFunc(a.Children, func(child childConfig) bool { return child.As != asExecutor })
	}
	if a.strategy() == builtin.LLMOnly {
		a.Tools = nil
	}
	return a
}

// callsTools reports whether the agent itself calls tools: one with executors leaves that to them.
func (a agentConfig) callsTools() bool {
	key, _ := partsOf(a.strategy()).executor()
	return a.strategy() != builtin.LLMOnly && (key == "" || len(a.children(asExecutor)) == 0)
}

// asksModel reports whether the agent itself asks a model.
func (a agentConfig) asksModel() bool {
	has := partsOf(a.strategy())
	_, needed := has.executor()
	return has["model"] || needed && len(a.children(asExecutor)) == 0
}

func (c *configuration) limits(agent string) delegation.Limits { return c.Agents[agent].Limits }

// reach returns an agent, with another strategy if that is not "", and all that it can call or hand
// on to, itself first.
func (c *configuration) reach(name, other string) []recruit {
	first := c.Agents[name]
	if other != "" && realName(other) != first.strategy() {
		first = first.with(other)
	}
	recruits := []recruit{{name, first}}
	for i := 0; i < len(recruits); i++ {
		for _, child := range recruits[i].Children {
			if !slices.ContainsFunc(recruits, func(m recruit) bool { return m.name == child.Agent }) {
				recruits = append(recruits, recruit{child.Agent, c.Agents[child.Agent]})
			}
		}
	}
	return recruits
}

// enlist makes the strategy of an agent. Where it hands on all of its work and no executor is
// named, a complete-task with the agent's own model, system prompt and tools does it.
func (c *configuration) enlist(made *crew, m recruit, o crewOptions) error {
	offered, err := m.offered(o)
	if err != nil {
		return err
	}
	config, err := membersOfConfig(m.Config)
	if err != nil {
		return err
	}
	has, executors := partsOf(m.strategy()), m.children(asExecutor)
	if has["model"] {
		config["model"] = address(m.name)
	}
	if m.asksModel() {
		made.models[address(m.name)] = c.modelOf(m.agentConfig)
	}
	if critic, ok := config["critic_model"].(string); ok {
		made.models[critic] = critic
	}
	key, needed := has.executor()
	switch {
	case len(executors) > 0:
		c.handOn(config, has, executors)
		if m.Tools != nil { // whom the executors may call is up to them
			config[has.bound()] = append(offered, made.called...)
		}
		offered = nil
	case needed:
		worker := m.name + "/" + completetask.Name
		task := o.put(map[string]any{"model": address(m.name)}, partsOf(completetask.Name))
		if err := made.add(worker, completetask.Name, task, m.Tools != nil, offered); err != nil {
			return err
		}
		made.approvals[worker] = made.approvals[m.name]
		config[key], offered = worker, nil
	case !m.callsTools():
		offered = nil
	}
	return made.add(m.name, m.strategy(), o.put(config, has), m.Tools != nil, offered)
}

// handOn names the executors in the config of a strategy, with the limits of the one that there is.
func (c *configuration) handOn(config map[string]any, has parts, executors []string) {
	if len(executors) == 0 {
		return
	}
	key, _ := has.executor()
	config[key] = executors[0]
	if has["executors"] {
		config["executors"] = executors
	}
	if len(executors) > 1 || c.limits(executors[0]) == (delegation.Limits{}) {
		return
	}
	for _, bound := range []string{"step_limits", "limits"} {
		if _, said := config[bound]; has[bound] && !said {
			config[bound] = c.limits(executors[0])
			return
		}
	}
}

// add makes a strategy of its config. The tools are those that it offers, nil if it offers none; it
// must have them all if they are named, else it offers those that it may use.
func (m *crew) add(name, strategy string, config map[string]any, named bool, offered []string) error {
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
		factory = offeringOf(factory, offered)
	}
	m.strategies[name] = factory
	return nil
}

// offered returns the names of the tools that an agent may use: of those of the run, and the agents
// that it may call.
func (a agentConfig) offered(o crewOptions) ([]string, error) {
	names := []string{}
	if a.Tools == nil {
		for _, t := range o.tools {
			names = append(names, t.Definition().Name)
		}
	}
	for _, name := range a.Tools {
		switch {
		case name == tools.AskUserName && !o.ask:
		case name != tools.AskUserName && !o.files:
			return nil, fmt.Errorf("it uses %s: name the folder with --dir", name)
		default:
			names = append(names, name)
		}
	}
	return append(names, a.children(asTool)...), nil
}

// modelOf returns the name of the model of an agent; "" is that of the environment, or none if the
// agent asks none.
func (c *configuration) modelOf(a agentConfig) string {
	if a.Model == "" && len(c.Models) == 1 && a.asksModel() {
		return sortedKeys(c.Models)[0]
	}
	return a.Model
}

// nothing stands for a tool where only its name matters.
func nothing(context.Context, struct{}) (string, error) { return "", nil }
