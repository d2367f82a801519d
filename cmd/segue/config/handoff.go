package config

import (
	"encoding/json"
	"slices"
)

// named is what the config of an agent says of other agents: those that it may hand over to, and
// the one that judges its plans. What has another form is reported by the schema.
func (a Agent) named() (n struct {
	Handoffs []struct{ Strategy, Tool string }
	Reviewer string
},
) {
	_ = json.Unmarshal(a.Config, &n)
	return n
}

// HandsOffTo returns the names of the agents that the agent may hand over to, in the order of the
// file.
func (a Agent) HandsOffTo() []string {
	var names []string
	for _, h := range a.named().Handoffs {
		if !slices.Contains(names, h.Strategy) {
			names = append(names, h.Strategy)
		}
	}
	return names
}

// next returns the names of the agents that the agent can call, delegate to, hand over to or be
// composed of.
func (a Agent) next() []string {
	names := append(a.HandsOffTo(), a.named().Reviewer)
	for _, p := range a.parts() {
		names = append(names, p.agents()...)
	}
	for _, child := range a.Children {
		names = append(names, child.Agent)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
