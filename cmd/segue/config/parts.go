package config

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
)

// partAt is a part of a composition, in the config of an agent.
type partAt struct {
	at   string // JSON pointer in the config
	said map[string]any
}

// strategy returns the agent that is the part; "" if it is a tool, or a complete-task of its own.
func (p partAt) strategy() string { return p.text("strategy") }

// usual reports whether the part is a complete-task with the model of the composition.
func (p partAt) usual() bool { return p.strategy() == "" && p.text("tool") == "" }

func (p partAt) text(key string) string {
	text, _ := p.said[key].(string)
	return text
}

// agents returns the agents that the part names.
func (p partAt) agents() (names []string) {
	for _, key := range []string{"strategy", "fallback"} {
		if name := p.text(key); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// composes reports whether a strategy is a composition of package workflow.
func composes(strategy string) bool {
	return slices.Contains([]string{workflow.NameSequence, workflow.NameParallel, workflow.NameLoop, workflow.NameChoose}, strategy)
}

// partsIn returns the parts in the config of a composition. Those that it has without saying so are
// added to the config. What has another form is reported by the schema.
func partsIn(strategy string, config map[string]any) (parts []partAt) {
	if !composes(strategy) {
		return nil
	}
	for key, has := range map[string]bool{"part": strategy == workflow.NameLoop, "router": strategy == workflow.NameChoose} {
		if _, said := config[key]; has && !said {
			config[key] = map[string]any{}
		}
	}
	if list, _ := config["parts"].([]any); strategy != workflow.NameLoop && len(list) == 0 {
		config["parts"] = []any{map[string]any{}}
	}
	list, _ := config["parts"].([]any)
	for i, p := range list {
		if said, ok := p.(map[string]any); ok {
			parts = append(parts, partAt{within("/parts", i), said})
		}
	}
	for _, key := range []string{"part", "reduce", "judge", "router"} {
		if said, ok := config[key].(map[string]any); ok {
			parts = append(parts, partAt{"/" + key, said})
		}
	}
	return parts
}

// parts returns the parts of an agent that composes others.
func (a Agent) parts() []partAt {
	config, err := strategies.ConfigMembers(a.Config)
	if err != nil {
		return nil
	}
	return partsIn(a.StrategyName(), config)
}

// addComposition makes the strategy of an agent that composes others. A part that is none of them
// is a complete-task with the agent's own model, system prompt and tools.
func (s *Setup) addComposition(agent reachedAgent, o Options, config map[string]any, offered []string) error {
	worker, needed := workerOf(agent.name), false
	for _, p := range partsIn(agent.StrategyName(), config) {
		if other := s.config.Agents[p.strategy()].Description; p.text("description") == "" && other != "" {
			p.said["description"] = other
		}
		switch {
		case p.usual():
			needed, p.said["strategy"] = true, worker
			unlessSaid(p.said, "name", nameOfPart(p.at))
		case p.text("tool") != "":
			continue
		default:
			unlessSaid(p.said, "limits", s.config.limits(p.strategy()))
		}
		if agent.Tools != nil {
			unlessSaid(p.said, "tools", append([]string{}, slices.Concat(offered, s.Callable, s.remote)...))
		}
	}
	if needed {
		if err := s.addWorker(agent, o, offered); err != nil {
			return err
		}
	}
	return s.addStrategy(agent.name, agent.StrategyName(), config, false, nil)
}

// nameOfPart returns the usual name of a part that is no other agent.
func nameOfPart(at string) string {
	switch at {
	case "/reduce", "/judge", "/router":
		return at[1:]
	default:
		return completetask.Name
	}
}

// workerOf returns the name of the complete-task that works for an agent.
func workerOf(agent string) string { return fmt.Sprint(agent, "/", completetask.Name) }

// Table returns the state machine of the agent's strategy; nil if it cannot be made. That of a
// composition has its parts as states.
func (a Agent) Table() *strategy.Table {
	factory, err := builtin.New(a.StrategyName(), a.Config)
	if err != nil {
		return nil
	}
	t, ok := factory().(strategy.Tabler)
	if !ok {
		return nil
	}
	return t.FSM().Table()
}
