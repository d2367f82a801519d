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
	approvals  map[string]approvals // by address
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

// crew makes an agent and all that it can reach.
func (c *configuration) crew(name string, o crewOptions) (*crew, error) {
	made := &crew{agents: c.reach(name), strategies: strategy.Set{}, tools: slices.Clone(o.tools), models: map[string]string{}, approvals: map[string]approvals{}}
	for i, each := range made.agents {
		a, own := c.Agents[each], o
		if i > 0 {
			own.strategy, own.system = "", ""
		}
		if own.strategy != "" && realName(own.strategy) != a.strategy() {
			a = a.with(own.strategy)
		}
		if own.system == "" {
			own.system = a.System
		}
		if err := c.enlist(made, each, a, own); err != nil {
			return nil, fmt.Errorf("agent %s: %w", each, err)
		}
		for _, child := range a.children(asTool) {
			if !slices.Contains(made.called, child) {
				made.called = append(made.called, child)
				made.tools = append(made.tools, orchestrator.AgentTool(orchestrator.Agent{
					Definition: tools.Definition{Name: child, Description: c.Agents[child].Description},
					Strategy:   child,
					Limits:     c.limits(child),
				}))
			}
		}
		made.approvals[address(each)] = a.approvals()
	}
	return made, nil
}

// with returns the agent with another strategy: what was said to the first one is not for it.
func (a agentConfig) with(other string) agentConfig {
	a.Strategy, a.Config = other, nil
	if key, _ := partsOf(a.strategy()).executor(); key == "" {
		a.Children = slices.DeleteFunc(slices.Clone(a.Children), func(child childConfig) bool { return child.As == asExecutor })
	} else if many := a.children(asExecutor); len(many) > 1 && !partsOf(a.strategy())["executors"] {
		a.Children = slices.DeleteFunc(slices.Clone(a.Children), func(child childConfig) bool {
			return child.As == asExecutor && child.Agent != many[0]
		})
	}
	return a
}

func (c *configuration) limits(agent string) delegation.Limits { return c.Agents[agent].Limits }

// reach returns the names of an agent and all that it can call or hand on to, itself first.
func (c *configuration) reach(name string) []string {
	names := []string{name}
	for i := 0; i < len(names); i++ {
		for _, child := range c.Agents[names[i]].Children {
			if !slices.Contains(names, child.Agent) {
				names = append(names, child.Agent)
			}
		}
	}
	return names
}

// enlist makes the strategy of an agent. Where it hands on all of its work and no executor is named, a complete-task with
// the agent's own model, system prompt and tools does it.
func (c *configuration) enlist(made *crew, name string, a agentConfig, o crewOptions) error {
	offered, err := a.offered(o)
	if err != nil {
		return err
	}
	config, err := membersOfConfig(a.Config)
	if err != nil {
		return err
	}
	has, executors := partsOf(a.strategy()), a.children(asExecutor)
	key, needed := has.executor()
	worker := ""
	if needed && len(executors) == 0 {
		worker = name + "/" + completetask.Name
		task := map[string]any{"model": address(name), "tools": offered}
		if err := made.add(worker, completetask.Name, o.put(task, partsOf(completetask.Name))); err != nil {
			return err
		}
		config[key] = worker
	}
	c.handOn(config, has, executors)
	if has["model"] {
		config["model"] = address(name)
	}
	if has["tools"] && worker == "" && a.strategy() != builtin.LLMOnly && (len(executors) == 0 || a.Tools != nil) {
		config["tools"] = offered
	}
	if has["step_tools"] && len(executors) > 0 && a.Tools != nil {
		config["step_tools"] = offered
	}
	made.models[address(name)] = c.modelOf(a)
	if critic, ok := config["critic_model"].(string); ok {
		made.models[critic] = critic
	}
	return made.add(name, a.strategy(), o.put(config, has))
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

// add makes a strategy of its config.
func (m *crew) add(name, strategy string, config map[string]any) error {
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	factory, err := builtin.New(strategy, text)
	if err != nil {
		return err
	}
	m.strategies[name] = factory
	return nil
}

// offered returns the names of the tools that an agent may use: of those of the run, and the agents that it may call.
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

// modelOf returns the name of the model of an agent; "" is that of the environment.
func (c *configuration) modelOf(a agentConfig) string {
	if a.Model == "" && len(c.Models) == 1 {
		return sortedKeys(c.Models)[0]
	}
	return a.Model
}

// nothing stands for a tool where only its name matters.
func nothing(context.Context, struct{}) (string, error) { return "", nil }
