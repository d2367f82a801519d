package config

import (
	"encoding/json"
	"slices"
)

// handoffs are what the config of an agent says of the agents that it may hand over to. What has
// another form is reported by the schema.
func (a Agent) handoffs() []struct{ Strategy, Tool string } {
	var config struct {
		Handoffs []struct{ Strategy, Tool string }
	}
	_ = json.Unmarshal(a.Config, &config)
	return config.Handoffs
}

// HandsOffTo returns the names of the agents that the agent may hand over to, in the order of the
// file.
func (a Agent) HandsOffTo() []string {
	var names []string
	for _, h := range a.handoffs() {
		if !slices.Contains(names, h.Strategy) {
			names = append(names, h.Strategy)
		}
	}
	return names
}

// next returns the names of the agents that the agent can call, delegate to, hand over to or be
// composed of.
func (a Agent) next() []string {
	names := a.HandsOffTo()
	for _, p := range a.parts() {
		names = append(names, p.agents()...)
	}
	for _, child := range a.Children {
		names = append(names, child.Agent)
	}
	return names
}
